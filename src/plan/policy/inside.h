/* What the parts that read a policy share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"
#include "plan/syntax/tree.h"

struct policy_reader {
	struct policy *p;
	struct diags *diags;
	struct table *names; /* text → constant */
};

/* A test(…) of the policy: the call and the expected ruling. */
struct policy_case {
	struct policy_case *next;
	const struct tool *tool;
	struct policy_arg *arg;
	uint32_t guard, start, end;
	enum policy_ruling expect;
};

/* Items of the tool are trusted if their owner ends with an element of `list`. `tool` is an atom.
 */
struct trusted_items {
	struct trusted_items *next;
	uint32_t tool;
	struct val list;
};

/* A word and its number. The last row of a table has no text. */
struct policy_word {
	const char *text;
	int value;
};

/* Add a diagnostic. Returns: -1, which compilers and analysers can see. */
#define policy_fail(...)    heap_negative(policy_say(__VA_ARGS__))
#define policy_unknown(...) heap_negative(policy_say_unknown(__VA_ARGS__))
int policy_say(struct policy_reader *r, int code, const struct node *at, const char *hint,
	const char *fmt, ...) attr_printf(5, 6);
int policy_say_unknown(struct policy_reader *r, int code, const struct node *at, const char *what,
	const char *word, const char *near);

/* The name in a NODE_NAME; the name of the function that is called. Returns: NULL: another node. */
const char *policy_name(const struct node *node);
const char *policy_callee(const struct node *node);
/* A constant: text, number, True, None, or a list of them as a tuple. Returns: 0 or -1. */
int policy_const(struct policy_reader *r, const struct node *node, struct val *out);
int policy_strings(struct policy_reader *r, const struct node *node, struct val *out);
int policy_text(struct policy_reader *r, const struct node *node, const char **out);
int policy_word(struct policy_reader *r, const struct node *node, const struct policy_word *words,
	int *out);
/* The tool, the parameter, that a string names. Returns: 0 or -1. */
int policy_tool(struct policy_reader *r, const struct node *node, const struct tool **out);
int policy_param(
	struct policy_reader *r, const struct node *node, const struct tool *tool, int *out);
/* A field of what the tool returns, by its name. Returns: 0 or -1. */
int policy_field(
	struct policy_reader *r, const struct node *node, const struct tool *tool, struct val name);
/* greatest("size", of = "drive.list", field = "id", said = ["largest"]), least(…). */
int policy_extreme(struct policy_reader *r, const struct node *call, struct clause *out);
/* Read a kind, a list of clauses, an origin as a set, a value() of a test. Returns: 0 or -1. */
int policy_kind(struct policy_reader *r, const struct node *node, struct kind *out);
int policy_clauses(struct policy_reader *r, const struct node *node, struct clauses *out);
int policy_origin(struct policy_reader *r, const struct node *node, uint32_t *set);
int policy_value(struct policy_reader *r, const struct node *node, struct policy_arg *out);

/* A field of an item of a result; T_UNSET: it has no such field. */
struct val policy_member(struct val item, struct val name);

/* Declarations. Returns: 0 or -1. */
int policy_read_rule(struct policy_reader *r, const struct node *call);
int policy_read_case(struct policy_reader *r, const struct node *call);
int policy_read_trust(struct policy_reader *r, const struct node *call);

/* The atom of "a", "a:b" or "a:b#c"; parts may be NULL. Returns: 0 without memory. */
uint32_t policy_atom(const struct policy *p, const char *a, const char *b, const char *c);
