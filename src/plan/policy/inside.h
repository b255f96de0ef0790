/* Declarations that the files that read a policy share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"
#include "plan/syntax/tree.h"

struct policy_reader {
	struct policy *p;
	struct diags *diags;
	struct table *names; /* constants by name */
};

/* A test(…) of the policy: a call and the expected ruling. */
struct policy_case {
	struct policy_case *next;
	const struct tool *tool;
	struct policy_arg *arg;
	uint32_t guard, start, end;
	enum policy_ruling expect;
};

/* A trusted set of items: an item of the tool is trusted if the item's owner ends with an element
 * of `list`. `tool` is an atom. */
struct trusted_items {
	struct trusted_items *next;
	uint32_t tool;
	struct val list;
};

/* A word of the policy language and its value. The last row of a table has text NULL. */
struct policy_word {
	const char *text;
	int value;
};

/* Add a diagnostic. Returns: -1; the macros make this visible to compilers and analysers. */
#define policy_fail(...)    heap_negative(policy_say(__VA_ARGS__))
#define policy_unknown(...) heap_negative(policy_say_unknown(__VA_ARGS__))
int policy_say(struct policy_reader *r, int code, const struct node *at, const char *hint,
	const char *fmt, ...) attr_printf(5, 6);
int policy_say_unknown(struct policy_reader *r, int code, const struct node *at, const char *what,
	const char *word, const char *near);

/* Return the name of a NODE_NAME, or the name of the function that a NODE_CALL calls. Returns: NULL
 * for any other node. */
const char *policy_name(const struct node *node);
const char *policy_callee(const struct node *node);
/* Read a constant: text, number, True, False, None, or a list of constants as a tuple. Returns: 0
 * or -1. */
int policy_const(struct policy_reader *r, const struct node *node, struct val *out);
int policy_strings(struct policy_reader *r, const struct node *node, struct val *out);
int policy_text(struct policy_reader *r, const struct node *node, const char **out);
int policy_word(struct policy_reader *r, const struct node *node, const struct policy_word *words,
	int *out);
/* Find the tool, or the parameter, that a string names. Returns: 0 or -1. */
int policy_tool(struct policy_reader *r, const struct node *node, const struct tool **out);
int policy_param(
	struct policy_reader *r, const struct node *node, const struct tool *tool, int *out);
/* Check that the tool's result, or an item of it, may have a field @name. Returns: 0 or -1. */
int policy_field(
	struct policy_reader *r, const struct node *node, const struct tool *tool, struct val name);
/* Read greatest("size", of = "drive.list", field = "id", said = ["largest"]), or least(…). */
int policy_extreme(struct policy_reader *r, const struct node *call, struct clause *out);
/* Read a kind, a list of clauses, an origin as a set, or a value() of a test. Returns: 0 or -1. */
int policy_kind(struct policy_reader *r, const struct node *node, struct kind *out);
int policy_clauses(struct policy_reader *r, const struct node *node, struct clauses *out);
int policy_origin(struct policy_reader *r, const struct node *node, uint32_t *set);
int policy_value(struct policy_reader *r, const struct node *node, struct policy_arg *out);

/* Return a field of an item of a result; T_UNSET if the item has no field of that name. */
struct val policy_member(struct val item, struct val name);

/* Read a declaration. Returns: 0 or -1. */
int policy_read_rule(struct policy_reader *r, const struct node *call);
int policy_read_case(struct policy_reader *r, const struct node *call);
int policy_read_trust(struct policy_reader *r, const struct node *call);

/* Return the atom of "a", "a:b" or "a:b#c"; @b and @c may be NULL. Returns: 0 if memory is
 * exhausted or the text is too long. */
uint32_t policy_atom(const struct policy *p, const char *a, const char *b, const char *c);
