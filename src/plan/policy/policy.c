/*
 * Read a policy. A policy file has the syntax of plans, but it is never run: it is parsed, and its
 * top-level calls (rule, trust, deny, literals, test, defaults) are read as declarations with
 * constant arguments. Every name of a tool, parameter or field is checked against the tools, and a
 * tool with an effect must have a rule for each of its parameters (coverage), so that a typing
 * error cannot allow a call by accident.
 *
 * Without a policy file, each tool gets a rule from its own annotations: a tool that only reads is
 * allowed; any other tool needs trusted arguments and a trusted guard, or a person's approval.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/policy/inside.h"

#include "plan/value/str.h"
#include "plan/value/table.h"

#include <stdio.h>
#include <string.h>

enum { POLICY_BYTES_MAX = 256 << 20 };

static int read_deny(struct policy_reader *r, const struct node *call)
{
	const struct tool *tool;
	if (call->n != 2)
		return policy_fail(
			r, P_VALUE, call, "deny(\"files.delete\")", "deny: one tool is needed");
	if (policy_tool(r, call->kid[1], &tool) < 0)
		return -1;
	size_t i = (size_t)(tool - r->p->tools->tool);
	if (r->p->rule[i] || r->p->is_denied[i])
		return policy_fail(r, P_CONTRADICTION, call, "leave one of them out",
			"%.100s has a rule or is denied already", tool->name);
	r->p->is_denied[i] = true;
	return 0;
}

static int read_literals(struct policy_reader *r, const struct node *call)
{
	if (call->n != 2)
		return policy_fail(r, P_VALUE, call, "literals([\"INBOX\", \"EUR\"])",
			"literals: one list is needed");
	if (r->p->literals.type != T_UNSET)
		return policy_fail(
			r, P_CONTRADICTION, call, "write one list", "literals are declared twice");
	return policy_strings(r, call->kid[1], &r->p->literals);
}

/* Derive the rule of the tool with the index @i from the annotations of the tool. */
static int default_rule(struct policy *p, size_t i)
{
	static const struct clause trusted = {.kind = CLAUSE_TRUSTED};
	const struct clauses allow = {&trusted, 1, 0, 0};
	const struct tool *tool = &p->tools->tool[i];
	struct rule *rule = heap_zero(&p->heap, sizeof *rule);
	if (!rule)
		return -1;
	rule->tool = tool;
	rule->result.origin = rule->result.readers = rule->result.says = VAL_UNSET;
	rule->effect = tool->is_read_only ? EFFECT_READ
		: tool->is_destructive	  ? EFFECT_DESTRUCTIVE
		: tool->is_open_world	  ? EFFECT_EXTERNAL
					  : EFFECT_WRITE;
	rule->param = heap_zero(&p->heap, (tool->n_params + 1) * sizeof *rule->param);
	if (!rule->param)
		return -1;
	for (uint32_t k = 0; k < tool->n_params; k++)
		rule->param[k] =
			(struct param_rule){.role = tool->is_read_only ? ROLE_NONE : ROLE_CONTROL,
				.allow = tool->is_read_only ? (struct clauses){0} : allow,
				.covers = -1,
				.asks = true};
	if (!tool->is_read_only) {
		rule->when = allow;
		rule->when_asks = true;
	}
	p->rule[i] = rule;
	return 0;
}

static int read_defaults(struct policy_reader *r, const struct node *call)
{
	const char *word = call->n == 2 ? policy_name(call->kid[1]) : NULL;
	if (!word || strcmp(word, "annotations") != 0)
		return policy_fail(r, P_VALUE, call, "defaults(annotations)",
			"defaults: the source of the rules is needed");
	return 0;
}

static int read_call(struct policy_reader *r, const struct node *call)
{
	static const struct {
		const char *name;
		int (*read)(struct policy_reader *r, const struct node *call);
	} rows[] = {
		{"rule", policy_read_rule},
		{"trust", policy_read_trust},
		{"deny", read_deny},
		{"literals", read_literals},
		{"test", policy_read_case},
		{"defaults", read_defaults},
	};
	const char *name = policy_callee(call);
	for (size_t i = 0; name && i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].read(r, call);
	return policy_fail(r, P_STATEMENT, call,
		"a policy has rule, trust, deny, literals, defaults, test and NAME = constant",
		"this is not a declaration");
}

static int read_constant(struct policy_reader *r, const struct node *node)
{
	struct val v;
	const struct node *target = node->kid[0];
	if (target->kind != NODE_NAME)
		return policy_fail(
			r, P_STATEMENT, node, "NAME = constant", "only a name can be assigned to");
	if (policy_const(r, node->kid[1], &v) < 0)
		return -1;
	int is_new = table_put(&r->p->heap, r->names, target->value, v);
	if (is_new == 0)
		return policy_fail(r, P_CONTRADICTION, target, "give it another name",
			"%.80s is declared twice", target->value.str->data);
	return is_new < 0 ? -1 : 0;
}

/* Read every declaration, even after an error, so that all mistakes are reported at once. */
static void read_all(struct policy_reader *r, const struct node *tree)
{
	bool has_defaults = false;
	for (uint32_t i = 0; i < tree->n && r->p->heap.kind == FAIL_NONE; i++) {
		const struct node *node = tree->kid[i];
		if (node->kind == NODE_ASSIGN)
			(void)read_constant(r, node);
		else if (node->kind == NODE_EXPR && node->kid[0]->kind == NODE_CALL) {
			const char *name = policy_callee(node->kid[0]);
			has_defaults |= name && strcmp(name, "defaults") == 0;
			(void)read_call(r, node->kid[0]);
		} else if (node->kind != NODE_PASS &&
			!(node->kind == NODE_EXPR && node->kid[0]->kind == NODE_CONST))
			(void)policy_fail(r, P_STATEMENT, node,
				"a policy has rule, trust, deny, literals, defaults, test and NAME = constant",
				"a policy has declarations only");
	}
	for (size_t i = 0; has_defaults && i < r->p->tools->n; i++)
		if (!r->p->rule[i] && !r->p->is_denied[i] && default_rule(r->p, i) < 0)
			return;
}

/* Make the origins of the hosts that the tools read from. They are made once, because the label of
 * each item of a result needs them. Origins are shown in the order in which they were made, and
 * a tool says more than its hosts. */
static int set_up_hosts(struct policy *p)
{
	p->hosts = heap_zero(&p->heap, (p->tools->n + 1) * sizeof *p->hosts);
	for (size_t i = 0; i < p->tools->n; i++)
		if (p->tools->tool[i].n_hosts > 0)
			(void)policy_atom(p, "tool", p->tools->tool[i].name, NULL);
	for (size_t i = 0; p->hosts && i < p->tools->n; i++) {
		const struct tool *tool = &p->tools->tool[i];
		for (uint32_t k = 0; k < tool->n_hosts; k++) {
			uint32_t atom = policy_atom(p, "tool:net", tool->host[k], NULL);
			p->hosts[i] =
				label_union(p->labels, p->hosts[i], label_set(p->labels, atom));
		}
	}
	return p->hosts ? 0 : -1;
}

static int set_up(struct policy *p, const struct source *src, const struct tool_set *tools,
	struct labels *labels)
{
	const struct heap_limits limits = {
		.fuel = UINT64_C(1) << 40, .bytes = POLICY_BYTES_MAX, .depth = 1000};
	const uint64_t seed[2] = {0};
	*p = (struct policy){.tools = tools, .labels = labels, .literals = VAL_UNSET};
	heap_init(&p->heap, &limits, seed);
	if (src)
		p->src = *src;
	p->rule = heap_zero(&p->heap, (tools->n + 1) * sizeof *p->rule);
	p->is_denied = heap_zero(&p->heap, (tools->n + 1) * sizeof *p->is_denied);
	uint32_t user = policy_atom(p, "user", NULL, NULL),
		 own = policy_atom(p, "policy", NULL, NULL);
	if (!p->rule || !p->is_denied || !user || !own || set_up_hosts(p) < 0)
		return -1;
	p->trusted = label_union(labels, label_set(labels, user), label_set(labels, own));
	return labels_has_failed(labels) ? -1 : 0;
}

static int parse_source(struct policy *p, struct diags *diags)
{
	/* A policy is only parsed, never run, so only the syntax of the dialect matters. */
	const struct dialect dialect = DIALECT_PLAN;
	struct node *tree;
	struct val names;
	struct policy_reader r = {.p = p, .diags = diags};
	if (table_new(&p->heap, T_DICT, 0, &names) < 0 ||
		tree_parse(&p->heap, &p->src, &dialect, diags, &tree) < 0)
		return -1;
	r.names = names.table;
	read_all(&r, tree);
	return 0;
}

int policy_parse(struct policy *p, const struct source *src, const struct tool_set *tools,
	struct labels *labels, struct diags *diags)
{
	static const struct source none = {"policy", "", 0};
	size_t n_before = diags->n_all;
	int rc = set_up(p, src, tools, labels);
	if (rc == 0 && src)
		rc = parse_source(p, diags);
	for (size_t i = 0; !src && rc == 0 && i < tools->n; i++)
		rc = default_rule(p, i);
	if (diags->n_all == n_before &&
		(rc < 0 || p->heap.kind != FAIL_NONE || labels_has_failed(labels))) {
		struct diag d = {.code = P_POLICY_LIMIT};
		snprintf(d.msg, sizeof d.msg, "the policy is too large: %.180s",
			p->heap.kind != FAIL_NONE ? p->heap.msg
						  : "out of memory: too many different labels");
		(void)diag_add(diags, src ? src : &none, &d);
	}
	return diags->n_all > n_before ? -1 : 0;
}

void policy_done(struct policy *p)
{
	heap_done(&p->heap);
}
