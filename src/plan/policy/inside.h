/*
 * Declarations that are shared by the files that read a policy.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/policy/policy.h"
#include "plan/syntax/tree.h"

struct policy_reader {
	struct policy *p;
	struct diags *diags;
	struct table *names; /* constants by name */
};

/* A test(…) declaration of the policy: a call and the ruling that it should get. */
struct policy_case {
	struct policy_case *next;
	const struct tool *tool;
	struct policy_arg *arg;
	uint32_t guard, start, end;
	enum policy_ruling expect;
};

/* Items that are trusted because of their owner. `tool` is the atom of an origin, such as
 * "tool:mail.search". An item in a result of this tool is trusted if the name of its owner ends
 * with an element of `list`. */
struct trusted_items {
	struct trusted_items *next;
	uint32_t tool;
	struct val list;
};

/* A row of a table of words: a word of the policy language and its value. In the last row,
 * `text` is NULL. */
struct policy_word {
	const char *text;
	int value;
};

/* Add a diagnostic. Returns: -1. policy_fail() and policy_unknown() are macros, so that
 * compilers and analysers see that the result is negative. */
#define policy_fail(...)    heap_negative(policy_say(__VA_ARGS__))
#define policy_unknown(...) heap_negative(policy_say_unknown(__VA_ARGS__))
int policy_say(struct policy_reader *r, int code, const struct node *at, const char *hint,
	const char *fmt, ...) attr_printf(5, 6);
int policy_say_unknown(struct policy_reader *r, int code, const struct node *at, const char *what,
	const char *word, const char *near);

/* policy_name(): return the name of a NODE_NAME. policy_callee(): return the name of the
 * function that a NODE_CALL calls. Returns: NULL for any other node. */
const char *policy_name(const struct node *node);
const char *policy_callee(const struct node *node);
/* policy_const(): read a text, a number, True, False, None, or a list of constants, which
 * becomes a tuple. policy_strings(): read a list of texts. policy_text(): read a text.
 * policy_word(): read a word of the table @words. Returns: 0 or -1. */
int policy_const(struct policy_reader *r, const struct node *node, struct val *out);
int policy_strings(struct policy_reader *r, const struct node *node, struct val *out);
int policy_text(struct policy_reader *r, const struct node *node, const char **out);
int policy_word(struct policy_reader *r, const struct node *node, const struct policy_word *words,
	int *out);
/* policy_tool(): find the tool that the string @node names. policy_param(): find the index of
 * the parameter of @tool that the named argument @node names. Returns: 0 or -1. */
int policy_tool(struct policy_reader *r, const struct node *node, const struct tool **out);
int policy_param(
	struct policy_reader *r, const struct node *node, const struct tool *tool, int *out);
/* Check that the result of @tool may have a field @name. If the result is a list, check this for
 * the items of the list. Returns: 0 or -1. */
int policy_field(
	struct policy_reader *r, const struct node *node, const struct tool *tool, struct val name);
/* Read a clause greatest(…) or least(…), such as greatest("size", of = "drive.list", field =
 * "id", said = ["largest"]). */
int policy_extreme(struct policy_reader *r, const struct node *call, struct clause *out);
/* policy_kind(): read a kind. policy_clauses(): read clauses joined with |. policy_origin():
 * read an origin or a list of origins, and add them to the set *set. policy_value(): read the
 * value of an argument in a test(…). Returns: 0 or -1. */
int policy_kind(struct policy_reader *r, const struct node *node, struct kind *out);
int policy_clauses(struct policy_reader *r, const struct node *node, struct clauses *out);
int policy_origin(struct policy_reader *r, const struct node *node, uint32_t *set);
int policy_value(struct policy_reader *r, const struct node *node, struct policy_arg *out);

/* Return the field @name of an item of a result. If the item has no such field, the type of the
 * returned value is T_UNSET. */
struct val policy_member(struct val item, struct val name);

/* Read a declaration rule(…), test(…) or trust(…). Returns: 0 or -1. */
int policy_read_rule(struct policy_reader *r, const struct node *call);
int policy_read_case(struct policy_reader *r, const struct node *call);
int policy_read_trust(struct policy_reader *r, const struct node *call);

/* Return the atom of a text that is composed of @a, @b and @c: "a:b#c", or "a:b" if @c is NULL,
 * or "a" if @b is NULL, too. Returns: 0 if memory is exhausted or the text is too long. */
uint32_t policy_atom(const struct policy *p, const char *a, const char *b, const char *c);
