/* Read rule(…) and trust(…). SPDX-License-Identifier: Apache-2.0 */
#include "plan/policy/inside.h"

#include "base/word.h"
#include "plan/value/int.h"
#include "plan/value/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct policy_word otherwise_words[] = {{"deny", 0}, {"ask", 1}, {NULL, 0}};

static int read_bool(struct policy_reader *r, const struct node *node, bool *out)
{
	struct val v;
	if (policy_const(r, node, &v) < 0)
		return -1;
	if (v.type != T_BOOL)
		return policy_fail(r, P_VALUE, node, "", "True or False is needed");
	*out = v.i;
	return 0;
}

static int read_number(struct policy_reader *r, const struct node *node, double *out)
{
	struct val v;
	if (policy_const(r, node, &v) < 0)
		return -1;
	if (v.type == T_FLOAT)
		*out = v.f;
	else if (!val_is_int(v) || int_to_float(&r->p->heap, v, out) < 0)
		return policy_fail(r, P_VALUE, node, "", "a number is needed");
	if (!(*out >= 0) || !isfinite(*out))
		return policy_fail(r, P_VALUE, node, "", "a limit is a number, at least 0");
	return 0;
}

/* Read covers("recipients"), an option of the parameter that @rule is about. It demands that
 * everybody whom the parameter "recipients" names may read the value of this parameter. */
static int read_covers(struct policy_reader *r, const struct node *node, const struct tool *tool,
	struct param_rule *rule)
{
	const char *name = policy_callee(node), *param;
	if (!name || strcmp(name, "covers") != 0 || node->n != 2)
		return policy_fail(r, P_WORD, node, "readers = covers(\"recipients\")",
			"covers(…) is needed here");
	if (policy_text(r, node->kid[1], &param) < 0)
		return -1;
	rule->covers = tool_param(tool, param);
	return rule->covers >= 0 ? 0
				 : policy_unknown(r, P_PARAM, node->kid[1],
					   "parameter of this tool called", param, NULL);
}

static int param_option(struct policy_reader *r, const struct node *arg, const struct tool *tool,
	struct param_rule *rule)
{
	int asks;
	const struct node *node = arg->kid[0];
	if (str_is(arg->value, "allow"))
		return policy_clauses(r, node, &rule->allow);
	if (str_is(arg->value, "readers"))
		return read_covers(r, node, tool, rule);
	if (str_is(arg->value, "otherwise")) {
		if (policy_word(r, node, otherwise_words, &asks) < 0)
			return -1;
		rule->asks = asks;
		return 0;
	}
	if (!str_is(arg->value, "deny"))
		return policy_unknown(r, P_WORD, arg, "option called", arg->value.str->data, NULL);
	if (policy_clauses(r, node, &rule->deny) < 0)
		return -1;
	/* The option `deny` accepts only ends_with(…) and member(…), because they test the value
	 * itself. A clause that tests the label, such as `trusted`, is refused. The reason:
	 * `deny = trusted` would need a proof that the value is not trusted. A label cannot
	 * prove this, because it may contain origins that the value does not have. */
	for (uint32_t i = 0; i < rule->deny.n; i++)
		if (rule->deny.item[i].kind < CLAUSE_ENDS_WITH)
			return policy_fail(r, P_VALUE, node, "deny = ends_with([…])",
				"only ends_with and member can be denied");
	return 0;
}

static bool has_common(struct val a, struct val b)
{
	for (uint32_t i = 0; i < a.tuple->n; i++)
		for (uint32_t k = 0; k < b.tuple->n; k++) {
			struct val x = a.tuple->item[i], y = b.tuple->item[k];
			if (x.type == T_STRING && y.type == T_STRING && str_equal(x.str, y.str))
				return true;
		}
	return false;
}

static int check_param(
	struct policy_reader *r, const struct node *call, struct param_rule *rule, int self)
{
	for (uint32_t i = 0; i < rule->allow.n; i++)
		for (uint32_t k = 0; k < rule->deny.n; k++)
			if (rule->allow.item[i].kind == rule->deny.item[k].kind &&
				has_common(rule->allow.item[i].list, rule->deny.item[k].list))
				return policy_fail(r, P_CONTRADICTION, call, "",
					"the same texts are allowed and denied");
	if (rule->covers == self)
		return policy_fail(r, P_CONTRADICTION, call, "name who receives it",
			"covers(…) must not name its own parameter");
	return 0;
}

static int read_param(struct policy_reader *r, const struct node *arg, struct rule *rule)
{
	static const struct clause trusted = {.kind = CLAUSE_TRUSTED};
	const struct node *call = arg->kid[0];
	bool is_control = strcmp(policy_callee(call), "control") == 0;
	struct param_rule one = {
		.role = is_control ? ROLE_CONTROL : ROLE_PAYLOAD, .covers = -1, .at = arg->start};
	int i;
	if (policy_param(r, arg, rule->tool, &i) < 0)
		return -1;
	if (is_control)
		one.allow = (struct clauses){&trusted, 1, call->start, call->end};
	for (uint32_t k = 1; k < call->n; k++) {
		if (call->kid[k]->kind != NODE_ARG_NAMED)
			return policy_fail(r, P_VALUE, call->kid[k], "allow = …, otherwise = …",
				"options have names");
		if (param_option(r, call->kid[k], rule->tool, &one) < 0)
			return -1;
	}
	if (check_param(r, call, &one, i) < 0)
		return -1;
	one.has_limit = rule->param[i].has_limit;
	one.limit = rule->param[i].limit;
	one.limit_index = rule->param[i].limit_index;
	rule->param[i] = one;
	return 0;
}

/* Read at_most_per_run(3, amount = 100): at most 3 calls, and a sum of at most 100 for the
 * parameter `amount`. */
static int read_limit(struct policy_reader *r, const struct node *call, struct rule *rule)
{
	const char *name = policy_callee(call);
	if (!name || strcmp(name, "at_most_per_run") != 0 || call->n < 2)
		return policy_fail(r, P_WORD, call, "at_most_per_run(amount = 100)",
			"at_most_per_run(…) is needed here");
	for (uint32_t k = 1; k < call->n; k++) {
		const struct node *arg = call->kid[k];
		int i;
		if (arg->kind != NODE_ARG_NAMED) {
			if (read_number(r, arg, &rule->limit) < 0)
				return -1;
			rule->has_limit = true;
			rule->limit_index = r->p->n_limits++;
			continue;
		}
		if (policy_param(r, arg, rule->tool, &i) < 0 ||
			read_number(r, arg->kid[0], &rule->param[i].limit) < 0)
			return -1;
		rule->param[i].has_limit = true;
		rule->param[i].limit_index = r->p->n_limits++;
	}
	return 0;
}

/* Check that the declared result has a field @name. If the result is a list, its items must have
 * the field. A result without declared fields may have any field. */
int policy_field(
	struct policy_reader *r, const struct node *node, const struct tool *tool, struct val name)
{
	const struct tool_type *type = tool->result;
	if (type && type->shape == TOOL_LIST)
		type = type->item;
	struct word_near near = WORD_NEAR(name.str->data);
	for (uint32_t i = 0; type && i < type->n_fields; i++) {
		if (strcmp(type->field[i].name, name.str->data) == 0)
			return 0;
		word_near_try(&near, type->field[i].name);
	}
	return !type || type->n_fields == 0
		? 0
		: policy_unknown(r, P_PARAM, node, "field of the result called", name.str->data,
			  near.best);
}

/* Check the names of fields in each(…) against the declared result. */
static int check_fields(struct policy_reader *r, const struct node *node, const struct rule *rule)
{
	if (!rule->result.is_each)
		return 0;
	const struct val all[] = {rule->result.readers, rule->result.says};
	if (rule->result.origin.type == T_STRING &&
		policy_field(r, node, rule->tool, rule->result.origin) < 0)
		return -1;
	for (size_t k = 0; k < ARRAY_LEN(all); k++)
		for (uint32_t i = 0; all[k].type == T_TUPLE && i < all[k].tuple->n; i++)
			if (policy_field(r, node, rule->tool, all[k].tuple->item[i]) < 0)
				return -1;
	return 0;
}

static int read_result(struct policy_reader *r, const struct node *call, struct rule *rule)
{
	const char *name = policy_callee(call);
	struct result_rule *out = &rule->result;
	if (!name || (strcmp(name, "each") != 0 && strcmp(name, "value") != 0))
		return policy_fail(r, P_WORD, call,
			"each(origin = \"sender\"), value(kind = number)",
			"each(…) or value(…) is needed here");
	out->is_each = strcmp(name, "each") == 0;
	for (uint32_t i = 1; i < call->n; i++) {
		const struct node *arg = call->kid[i];
		if (arg->kind != NODE_ARG_NAMED)
			return policy_fail(r, P_VALUE, arg, "", "options have names");
		int rc = -1;
		if (str_is(arg->value, "readers"))
			rc = policy_strings(r, arg->kid[0], &out->readers);
		else if (str_is(arg->value, "kind"))
			rc = policy_kind(r, arg->kid[0], &out->kind);
		else if (str_is(arg->value, "origin") && out->is_each)
			rc = policy_const(r, arg->kid[0], &out->origin);
		else if (str_is(arg->value, "says") && out->is_each)
			rc = policy_strings(r, arg->kid[0], &out->says);
		else
			return policy_unknown(
				r, P_WORD, arg, "option called", arg->value.str->data, NULL);
		if (rc < 0)
			return -1;
		out->has_kind |= str_is(arg->value, "kind");
	}
	if (out->is_each && out->origin.type != T_UNSET && out->origin.type != T_STRING)
		return policy_fail(r, P_VALUE, call, "each(origin = \"sender\")",
			"origin is the name of a field");
	if (out->says.type != T_UNSET && out->origin.type == T_UNSET)
		return policy_fail(r, P_VALUE, call, "each(origin = \"owner\", says = [\"name\"])",
			"says needs origin, which names the field with the owner");
	return check_fields(r, call, rule);
}

/*
 * Read the option when = …. Its clauses are about the guard: the data that decides whether the call
 * is made. Two sorts of clauses are refused:
 * - chosen(). This clause tests only the origins whose data is in a value. The data in a guard only
 *   selects, so there would be nothing to test, and the clause would always hold.
 * - greatest() and least(). These clauses are about the value of an argument.
 */
static int read_when(struct policy_reader *r, const struct node *node, struct rule *rule)
{
	if (policy_clauses(r, node, &rule->when) < 0)
		return -1;
	for (uint32_t i = 0; i < rule->when.n; i++)
		if (rule->when.item[i].kind == CLAUSE_CHOSEN || rule->when.item[i].extreme)
			return policy_fail(r, P_VALUE, node, "when = trusted | at_most(bool)",
				"%s for values, not for `when`",
				rule->when.item[i].extreme ? "greatest and least are"
							   : "chosen is");
	return 0;
}

static int rule_option(struct policy_reader *r, const struct node *arg, struct rule *rule)
{
	static const struct policy_word effects[] = {{"read", EFFECT_READ}, {"write", EFFECT_WRITE},
		{"external", EFFECT_EXTERNAL}, {"destructive", EFFECT_DESTRUCTIVE},
		{"payment", EFFECT_PAYMENT}, {NULL, 0}};
	const struct node *node = arg->kid[0];
	int word;
	if (str_is(arg->value, "effect")) {
		if (policy_word(r, node, effects, &word) < 0)
			return -1;
		rule->effect = (enum effect)word;
		return 0;
	}
	if (str_is(arg->value, "when"))
		return read_when(r, node, rule);
	if (str_is(arg->value, "otherwise")) {
		if (policy_word(r, node, otherwise_words, &word) < 0)
			return -1;
		rule->when_asks = word;
		return 0;
	}
	if (str_is(arg->value, "limit"))
		return read_limit(r, node, rule);
	if (str_is(arg->value, "result"))
		return read_result(r, node, rule);
	if (str_is(arg->value, "launder"))
		return read_bool(r, node, &rule->result.launders);
	/*
	 * The name of this argument is not one of the options above. There are two cases:
	 * - The tool has no parameter of this name. The name is then most likely misspelt, and
	 *   policy_param() reports it as unknown.
	 * - The tool has a parameter of this name. The mistake is then the value after "=", because
	 *   it is neither control(…) nor payload(…).
	 */
	int i;
	if (policy_param(r, arg, rule->tool, &i) < 0)
		return -1;
	const struct source *src = &r->p->src;
	char hint[DIAG_HINT_BYTES];
	size_t bytes =
		node->kind == NODE_NAME || node->kind == NODE_BINARY || node->kind == NODE_CALL
		? node->end - node->start
		: 0;
	bool is_shown = bytes > 0 && bytes < DIAG_HINT_BYTES / 4;
	const char *name = rule->tool->param[i].name;
	snprintf(hint, sizeof hint, "%.60s = control(allow = %.*s), or %.60s = payload()", name,
		is_shown ? (int)bytes : 7, is_shown ? src->text + node->start : "trusted", name);
	return policy_fail(r, P_VALUE, node, hint, "a parameter is control or payload");
}

/* Check that a rule is complete: a tool with an effect other than `read` needs control(…) or
 * payload(…) for each parameter. If the rule has no `when`, demand a trusted guard. */
static int check_coverage(
	struct policy_reader *r, const struct node *call, struct rule *rule, bool has_effect)
{
	static const struct clause trusted = {.kind = CLAUSE_TRUSTED};
	int rc = 0;
	if (!has_effect)
		return policy_fail(r, P_COVERAGE, call,
			"effect = read, write, external, destructive or payment",
			"the rule of %.100s has no effect = …", rule->tool->name);
	if (rule->effect == EFFECT_READ)
		return 0;
	for (uint32_t i = 0; i < rule->tool->n_params; i++)
		if (rule->param[i].role == ROLE_NONE)
			rc = policy_fail(r, P_COVERAGE, call,
				"say control(allow = …) or payload(…) for it",
				"parameter %.80s of %.80s has no rule", rule->tool->param[i].name,
				rule->tool->name);
	if (rule->when.n == 0)
		rule->when = (struct clauses){&trusted, 1, call->start, call->end};
	return rc;
}

static bool is_param(const struct node *arg)
{
	const char *name = arg->kind == NODE_ARG_NAMED ? policy_callee(arg->kid[0]) : NULL;
	return name && (strcmp(name, "control") == 0 || strcmp(name, "payload") == 0);
}

int policy_read_rule(struct policy_reader *r, const struct node *call)
{
	const struct tool *tool;
	bool has_effect = false;
	if (call->n < 2)
		return policy_fail(r, P_VALUE, call, "rule(\"mail.send\", effect = external, …)",
			"rule: a tool is needed");
	if (policy_tool(r, call->kid[1], &tool) < 0)
		return -1;
	size_t at = (size_t)(tool - r->p->tools->tool);
	if (r->p->rule[at] || r->p->is_denied[at])
		return policy_fail(r, P_CONTRADICTION, call, "leave one of them out",
			"%.100s has a rule or is denied already", tool->name);
	struct rule *rule = heap_zero(&r->p->heap, sizeof *rule);
	if (!rule)
		return -1;
	*rule = (struct rule){.tool = tool, .start = call->start, .end = call->end};
	rule->result.origin = rule->result.readers = rule->result.says = VAL_UNSET;
	rule->param = heap_zero(&r->p->heap, (tool->n_params + 1) * sizeof *rule->param);
	for (uint32_t i = 0; rule->param && i < tool->n_params; i++)
		rule->param[i].covers = -1;
	r->p->rule[at] = rule;
	int rc = rule->param ? 0 : -1;
	for (uint32_t i = 2; i < call->n && rule->param; i++) {
		const struct node *arg = call->kid[i];
		if (arg->kind != NODE_ARG_NAMED)
			rc = policy_fail(r, P_VALUE, arg, "effect = …", "options have names");
		else if ((is_param(arg) ? read_param(r, arg, rule) : rule_option(r, arg, rule)) < 0)
			rc = -1;
		has_effect |= arg->kind == NODE_ARG_NAMED && str_is(arg->value, "effect");
	}
	return rc < 0 ? -1 : check_coverage(r, call, rule, has_effect);
}

/* Read trust(tool("mail.search", principals = ["@example.com"])), which trusts items by their
 * owner. */
static int trust_items(struct policy_reader *r, const struct node *call)
{
	const struct tool *tool;
	struct trusted_items *items = heap_zero(&r->p->heap, sizeof *items);
	if (!items || policy_tool(r, call->kid[1], &tool) < 0 ||
		policy_strings(r, call->kid[2]->kid[0], &items->list) < 0)
		return -1;
	items->tool = policy_atom(r->p, "tool", tool->name, NULL);
	items->next = r->p->items;
	r->p->items = items;
	return items->tool ? 0 : -1;
}

int policy_read_trust(struct policy_reader *r, const struct node *call)
{
	int rc = 0;
	for (uint32_t i = 1; i < call->n; i++) {
		const struct node *arg = call->kid[i];
		bool is_items = arg->kind == NODE_CALL && arg->n == 3 &&
			arg->kid[2]->kind == NODE_ARG_NAMED &&
			str_is(arg->kid[2]->value, "principals");
		if ((is_items ? trust_items(r, arg) : policy_origin(r, arg, &r->p->trusted)) < 0)
			rc = -1;
	}
	return rc;
}
