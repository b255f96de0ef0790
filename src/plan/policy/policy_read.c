/* Read the constants, words and names of a policy. SPDX-License-Identifier: Apache-2.0 */
#include "plan/policy/inside.h"

#include "base/word.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int policy_say(struct policy_reader *r, int code, const struct node *at, const char *hint,
	const char *fmt, ...)
{
	struct diag d = {.code = code, .start = at->start, .end = at->end};
	va_list args;
	va_start(args, fmt);
	vsnprintf(d.msg, sizeof d.msg, fmt, args);
	va_end(args);
	snprintf(d.hint, sizeof d.hint, "%s", hint);
	return diag_add(r->diags, &r->p->src, &d);
}

int policy_say_unknown(struct policy_reader *r, int code, const struct node *at, const char *what,
	const char *word, const char *near)
{
	char hint[DIAG_HINT_BYTES] = "";
	if (near)
		snprintf(hint, sizeof hint, "did you mean %.200s?", near);
	return policy_fail(r, code, at, hint, "there is no %s %.100s", what, word);
}

const char *policy_name(const struct node *node)
{
	return node->kind == NODE_NAME ? node->value.str->data : NULL;
}

const char *policy_callee(const struct node *node)
{
	return node->kind == NODE_CALL ? policy_name(node->kid[0]) : NULL;
}

static int const_list(struct policy_reader *r, const struct node *node, struct val *out)
{
	struct val all;
	if (tuple_new(&r->p->heap, node->n, &all) < 0)
		return -1;
	for (uint32_t i = 0; i < node->n; i++)
		if (policy_const(r, node->kid[i], &all.tuple->item[i]) < 0)
			return -1;
	*out = all;
	return 0;
}

static int const_sum(struct policy_reader *r, const struct node *node, struct val *out)
{
	struct val a = VAL_NONE, b = VAL_NONE, all;
	if (policy_const(r, node->kid[0], &a) < 0 || policy_const(r, node->kid[1], &b) < 0)
		return -1;
	if (a.type != T_TUPLE || b.type != T_TUPLE)
		return policy_fail(r, P_VALUE, node, "", "only two lists can be added");
	size_t n = a.tuple->n;
	if (tuple_new(&r->p->heap, n + b.tuple->n, &all) < 0)
		return -1;
	for (size_t i = 0; i < n + b.tuple->n; i++)
		all.tuple->item[i] = i < n ? a.tuple->item[i] : b.tuple->item[i - n];
	*out = all;
	return 0;
}

static int const_name(struct policy_reader *r, const struct node *node, struct val *out)
{
	const char *name = node->value.str->data;
	int64_t at = table_find(&r->p->heap, r->names, node->value);
	if (at >= 0) {
		*out = r->names->entry[at].value;
		return 0;
	}
	*out = strcmp(name, "True") == 0     ? VAL_BOOL(true)
		: strcmp(name, "False") == 0 ? VAL_BOOL(false)
					     : VAL_NONE;
	if (out->type == T_BOOL || strcmp(name, "None") == 0)
		return 0;
	struct word_near near = WORD_NEAR(name);
	const struct entry *e;
	uint32_t next = 0;
	while ((e = table_next(r->names, &next)))
		word_near_try(&near, e->key.str->data);
	return policy_unknown(r, P_WORD, node, "constant", name, near.best);
}

int policy_const(struct policy_reader *r, const struct node *node, struct val *out)
{
	struct val v = VAL_NONE;
	switch ((int)node->kind) {
	case NODE_CONST:
		*out = node->value;
		return 0;
	case NODE_NAME:
		return const_name(r, node, out);
	case NODE_LIST:
	case NODE_TUPLE:
	case NODE_SET:
		return const_list(r, node, out);
	case NODE_BINARY:
		if (node->op == TOK_PLUS)
			return const_sum(r, node, out);
		break;
	case NODE_UNARY:
		if (node->op != TOK_MINUS || policy_const(r, node->kid[0], &v) < 0)
			break;
		if (v.type == T_INT || v.type == T_BIG)
			return int_negate(&r->p->heap, v, out);
		*out = VAL_FLOAT(-v.f);
		if (v.type == T_FLOAT)
			return 0;
		break;
	default:
		break;
	}
	return policy_fail(r, P_VALUE, node, "write texts, numbers and lists of them",
		"a constant is needed here");
}

int policy_strings(struct policy_reader *r, const struct node *node, struct val *out)
{
	struct val all;
	if (policy_const(r, node, &all) < 0)
		return -1;
	bool is_good = all.type == T_TUPLE;
	for (uint32_t i = 0; is_good && i < all.tuple->n; i++)
		is_good = all.tuple->item[i].type == T_STRING && all.tuple->item[i].str->n_bytes;
	if (!is_good)
		return policy_fail(r, P_VALUE, node, "[\"a\", \"b\"]",
			"a list of texts that are not empty is needed");
	*out = all;
	return 0;
}

int policy_text(struct policy_reader *r, const struct node *node, const char **out)
{
	struct val v;
	if (policy_const(r, node, &v) < 0)
		return -1;
	if (v.type != T_STRING || strlen(v.str->data) != v.str->n_bytes || v.str->n_bytes == 0)
		return policy_fail(r, P_VALUE, node, "write it in quotes", "a text is needed here");
	*out = v.str->data;
	return 0;
}

int policy_word(
	struct policy_reader *r, const struct node *node, const struct policy_word *words, int *out)
{
	const char *name = policy_name(node);
	if (!name)
		return policy_fail(
			r, P_WORD, node, "", "a word such as %s is needed here", words[0].text);
	struct word_near near = WORD_NEAR(name);
	for (; words->text; words++) {
		word_near_try(&near, words->text);
		if (strcmp(words->text, name) == 0) {
			*out = words->value;
			return 0;
		}
	}
	return policy_unknown(r, P_WORD, node, "word", name, near.best);
}

int policy_tool(struct policy_reader *r, const struct node *node, const struct tool **out)
{
	const char *name;
	if (policy_text(r, node, &name) < 0)
		return -1;
	*out = tool_find(r->p->tools, name);
	if (*out)
		return 0;
	struct word_near near = WORD_NEAR(name);
	for (size_t i = 0; i < r->p->tools->n && i < 1000; i++)
		word_near_try(&near, r->p->tools->tool[i].name);
	return policy_unknown(r, P_TOOL, node, "tool", name, near.best);
}

int policy_param(
	struct policy_reader *r, const struct node *node, const struct tool *tool, int *out)
{
	const char *name = node->value.str->data;
	int i = tool_param(tool, name);
	if (i >= 0) {
		*out = i;
		return 0;
	}
	struct word_near near = WORD_NEAR(name);
	char what[DIAG_MSG_BYTES];
	for (uint32_t k = 0; k < tool->n_params; k++)
		word_near_try(&near, tool->param[k].name);
	snprintf(what, sizeof what, "parameter of %.100s called", tool->name);
	return policy_unknown(r, P_PARAM, node, what, name, near.best);
}

uint32_t policy_atom(const struct policy *p, const char *a, const char *b, const char *c)
{
	char text[LABEL_ATOM_MAX_BYTES + 1];
	int n = snprintf(text, sizeof text, "%s%s%s%s%s", a, b ? ":" : "", b ? b : "", c ? "#" : "",
		c ? c : "");
	return n < 0 || (size_t)n >= sizeof text ? 0 : label_atom(p->labels, text, (size_t)n);
}
