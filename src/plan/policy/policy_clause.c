/* Read the clauses, kinds, origins and values of a policy. SPDX-License-Identifier: Apache-2.0 */
#include "plan/policy/inside.h"

#include "base/word.h"
#include "plan/value/int.h"
#include "plan/value/str.h"

#include <stdio.h>
#include <string.h>

enum { HOSTS_TRIED = 1000 };

/* Read a kind that has an argument: enum(n), handle("file") or name("e-mail"). */
static int sized_kind(struct policy_reader *r, const struct node *call, struct kind *out)
{
	static const struct policy_word words[] = {
		{"enum", KIND_ENUM}, {"handle", KIND_HANDLE}, {"name", KIND_NAME}, {NULL, 0}};
	struct val v;
	const char *text;
	int rank;
	if (call->n != 2 || policy_word(r, call->kid[0], words, &rank) < 0)
		return call->n == 2 ? -1
				    : policy_fail(r, P_VALUE, call, "enum(8), handle(\"file\")",
					      "one argument is needed");
	*out = (struct kind){.rank = (enum label_kind)rank};
	if (rank == KIND_ENUM) {
		if (policy_const(r, call->kid[1], &v) < 0)
			return -1;
		if (v.type != T_INT || v.i < 2 || v.i > INT32_MAX)
			return policy_fail(r, P_VALUE, call->kid[1], "enum(8)",
				"a number of words is needed, at least 2");
		out->size = (uint32_t)v.i;
		return 0;
	}
	if (policy_text(r, call->kid[1], &text) < 0)
		return -1;
	out->type = policy_atom(r->p, text, NULL, NULL);
	return out->type ? 0 : -1;
}

int policy_kind(struct policy_reader *r, const struct node *node, struct kind *out)
{
	static const struct policy_word words[] = {{"const", KIND_CONST}, {"bool", KIND_BOOL},
		{"number", KIND_NUMBER}, {"date", KIND_DATE}, {"handle", KIND_HANDLE},
		{"name", KIND_NAME}, {"text", KIND_TEXT}, {NULL, 0}};
	int rank;
	if (node->kind == NODE_CALL && node->kid[0]->kind == NODE_NAME)
		return sized_kind(r, node, out);
	if (policy_word(r, node, words, &rank) < 0)
		return -1;
	*out = (struct kind){.rank = (enum label_kind)rank};
	return 0;
}

static int clause_list(struct policy_reader *r, const struct node *node, struct clause *out)
{
	if (out->kind == CLAUSE_ENDS_WITH)
		return policy_strings(r, node, &out->list);
	if (policy_const(r, node, &out->list) < 0)
		return -1;
	if (out->list.type != T_TUPLE)
		return policy_fail(r, P_VALUE, node, "member([\"a\", \"b\"])", "a list is needed");
	return 0;
}

static int read_clause(struct policy_reader *r, const struct node *node, struct clause *out)
{
	static const struct policy_word plain[] = {{"trusted", CLAUSE_TRUSTED},
		{"approved", CLAUSE_APPROVED}, {"chosen", CLAUSE_CHOSEN}, {NULL, 0}};
	static const struct policy_word called[] = {{"at_most", CLAUSE_AT_MOST},
		{"chosen", CLAUSE_CHOSEN}, {"ends_with", CLAUSE_ENDS_WITH},
		{"member", CLAUSE_MEMBER}, {"greatest", CLAUSE_GREATEST}, {"least", CLAUSE_LEAST},
		{NULL, 0}};
	bool is_call = node->kind == NODE_CALL;
	int kind;
	if (policy_word(r, is_call ? node->kid[0] : node, is_call ? called : plain, &kind) < 0)
		return -1;
	*out = (struct clause){.kind = (enum clause_kind)kind,
		.list = VAL_UNSET,
		.start = node->start,
		.end = node->end};
	if (!is_call)
		return 0;
	for (uint32_t i = 1; kind == CLAUSE_CHOSEN && i < node->n; i++)
		if (policy_origin(r, node->kid[i], &out->givers) < 0)
			return -1;
	if (kind == CLAUSE_CHOSEN && node->n > 1)
		return 0;
	if (kind == CLAUSE_GREATEST || kind == CLAUSE_LEAST)
		return policy_extreme(r, node, out);
	if (node->n != 2)
		return policy_fail(r, P_VALUE, node, "", "one argument is needed");
	return kind == CLAUSE_AT_MOST ? policy_kind(r, node->kid[1], &out->at_most)
				      : clause_list(r, node->kid[1], out);
}

int policy_clauses(struct policy_reader *r, const struct node *node, struct clauses *out)
{
	uint32_t n = 1;
	for (const struct node *at = node; at->kind == NODE_BINARY && at->op == TOK_PIPE;
		at = at->kid[0])
		n++;
	struct clause *item = heap_zero(&r->p->heap, n * sizeof *item);
	if (!item)
		return -1;
	const struct node *at = node;
	for (uint32_t i = n; i-- > 0;) {
		bool is_more = i > 0;
		if (read_clause(r, is_more ? at->kid[1] : at, &item[i]) < 0)
			return -1;
		at = is_more ? at->kid[0] : at;
	}
	*out = (struct clauses){item, n, node->start, node->end};
	return 0;
}

/* Read the name of the host in tool("net:api.example"). A host that no tool declares is refused:
 * its name is most likely misspelt. */
static int net_origin(
	struct policy_reader *r, const struct node *node, const char *host, uint32_t *set)
{
	const struct tool_set *tools = r->p->tools;
	struct word_near near = WORD_NEAR(host);
	char meant[DIAG_HINT_BYTES];
	size_t n_tried = 0;
	for (size_t i = 0; i < tools->n; i++)
		for (uint32_t k = 0; k < tools->tool[i].n_hosts; k++) {
			const char *one = tools->tool[i].host[k];
			if (strcmp(one, host) == 0) {
				uint32_t atom = policy_atom(r->p, "tool:net", host, NULL);
				*set = label_union(
					r->p->labels, *set, label_set(r->p->labels, atom));
				return labels_has_failed(r->p->labels) ? -1 : 0;
			}
			if (n_tried++ < HOSTS_TRIED)
				word_near_try(&near, one);
		}
	if (near.best)
		snprintf(meant, sizeof meant, "net:%.190s", near.best);
	return policy_unknown(
		r, P_TOOL, node, "tool that declares the host", host, near.best ? meant : NULL);
}

/* Read an origin such as tool("mail.search"), tool("mail.search", of = "ann@example.com"),
 * tool("net:api.example") or error("mail.search"), and add it to *set. */
static int called_origin(struct policy_reader *r, const struct node *call, uint32_t *set)
{
	static const char net[] = "net:";
	const char *name = policy_callee(call), *of = NULL, *text;
	const struct tool *tool;
	bool is_tool = name && strcmp(name, "tool") == 0;
	if ((!is_tool && (!name || strcmp(name, "error") != 0)) || call->n < 2 ||
		call->n > (is_tool ? 3u : 2u))
		return policy_fail(r, P_WORD, call, "tool(\"web.get\"), error(\"web.get\")",
			"an origin is needed here");
	if (policy_text(r, call->kid[1], &text) < 0)
		return -1;
	if (is_tool && call->n == 2 && strncmp(text, net, sizeof net - 1) == 0)
		return net_origin(r, call->kid[1], text + sizeof net - 1, set);
	if (policy_tool(r, call->kid[1], &tool) < 0)
		return -1;
	if (call->n == 3) {
		const struct node *arg = call->kid[2];
		if (arg->kind != NODE_ARG_NAMED || !str_is(arg->value, "of"))
			return policy_fail(r, P_VALUE, arg, "tool(\"mail.search\", of = \"ann\")",
				"this option must be `of`, the owner of the items");
		if (policy_text(r, arg->kid[0], &of) < 0)
			return -1;
	}
	uint32_t atom = policy_atom(r->p, name, tool->name, of);
	*set = label_union(r->p->labels, *set, label_set(r->p->labels, atom));
	return labels_has_failed(r->p->labels) ? -1 : 0;
}

int policy_origin(struct policy_reader *r, const struct node *node, uint32_t *set)
{
	static const struct policy_word words[] = {
		{"user", 0}, {"plan", 1}, {"policy", 2}, {"model", 3}, {NULL, 0}};
	int which;
	if (node->kind == NODE_LIST || node->kind == NODE_TUPLE) {
		for (uint32_t i = 0; i < node->n; i++)
			if (policy_origin(r, node->kid[i], set) < 0)
				return -1;
		return 0;
	}
	if (node->kind == NODE_CALL)
		return called_origin(r, node, set);
	if (policy_word(r, node, words, &which) < 0)
		return -1;
	uint32_t atom = policy_atom(r->p, words[which].text, NULL, NULL);
	*set = label_union(r->p->labels, *set, label_set(r->p->labels, atom));
	return labels_has_failed(r->p->labels) ? -1 : 0;
}

static int read_set(struct policy_reader *r, const struct node *node, uint32_t *set)
{
	struct val all;
	*set = 0;
	if (policy_strings(r, node, &all) < 0)
		return -1;
	for (uint32_t i = 0; i < all.tuple->n; i++) {
		uint32_t atom = label_atom(r->p->labels, all.tuple->item[i].str->data,
			all.tuple->item[i].str->n_bytes);
		*set = label_union(r->p->labels, *set, label_set(r->p->labels, atom));
	}
	return labels_has_failed(r->p->labels) ? -1 : 0;
}

static int value_option(struct policy_reader *r, const struct node *arg, struct label *l)
{
	const struct node *node = arg->kid[0];
	struct val v;
	if (str_is(arg->value, "origin"))
		return policy_origin(r, node, &l->origins);
	if (str_is(arg->value, "chosen_by"))
		return policy_origin(r, node, &l->choosers);
	if (str_is(arg->value, "kind"))
		return policy_kind(r, node, &l->kind);
	if (str_is(arg->value, "readers"))
		return read_set(r, node, &l->readers);
	if (!str_is(arg->value, "approved"))
		return policy_unknown(
			r, P_WORD, arg, "option of value() called", arg->value.str->data, NULL);
	if (policy_const(r, node, &v) < 0)
		return -1;
	uint32_t atom = policy_atom(r->p, "approved", NULL, NULL);
	if (v.type == T_BOOL && v.i)
		l->endorsements = label_set(r->p->labels, atom);
	return 0;
}

/* Read the value of an argument in a test: a constant, or value("a", origin = …, chosen_by = …,
 * kind = …, readers = […], approved = True). Without `origin`, the origin is the user. */
int policy_value(struct policy_reader *r, const struct node *node, struct policy_arg *out)
{
	const char *name = policy_callee(node);
	struct label l = {.readers = LABEL_ALL, .kind = {.rank = KIND_TEXT}};
	*out = (struct policy_arg){.is_given = true, .value = VAL_UNSET};
	if (node->kind != NODE_CALL) {
		l.kind.rank = KIND_CONST;
		if (policy_const(r, node, &out->value) < 0)
			return -1;
	} else if (!name || strcmp(name, "value") != 0) {
		return policy_fail(r, P_WORD, node, "value(origin = tool(\"web.get\"))",
			"a constant or value(…) is needed here");
	}
	for (uint32_t i = 1; node->kind == NODE_CALL && i < node->n; i++) {
		const struct node *arg = node->kid[i];
		if (arg->kind != NODE_ARG_NAMED ? policy_const(r, arg, &out->value) < 0
						: value_option(r, arg, &l) < 0)
			return -1;
	}
	if (l.origins == 0)
		l.origins = label_set(r->p->labels, policy_atom(r->p, "user", NULL, NULL));
	l.origins = label_union(r->p->labels, l.origins, l.choosers);
	out->label = label_intern(r->p->labels, &l);
	return out->label == LABEL_FAILED ? -1 : 0;
}
