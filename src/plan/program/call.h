/* Calls that the host answers: tools, the quarantined model, a person. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"
#include "plan/program/program.h"
#include "plan/value/str.h"

enum call_kind { CALL_TOOL, CALL_ASK, CALL_APPROVE };

/* A call that the machine waits for. Its data lives as long as the program. */
struct plan_call {
	enum call_kind kind;
	const struct tool *tool; /* CALL_TOOL */
	struct policy_arg *arg;	 /* by number of its parameters */
	bool is_try;		 /* an error is a value */
	struct val value;	 /* CALL_APPROVE: the value; CALL_ASK: the data */
	struct val text;	 /* CALL_APPROVE: the reason, CALL_ASK: the question; strings */
	struct val schema;	 /* CALL_ASK: JSON Schema as a dict */
	struct val asked;	 /* and as the plan wrote it */
	struct kind kind_most;	 /* CALL_ASK: the upper bound of the answer's kind */
	uint32_t label;		 /* the join of all arguments */
	uint32_t guard;		 /* the program counter label */
	uint32_t at;		 /* offset in the source */
};

/* The first words of the names of tools, each a tool or a struct of those behind it.
 * Returns: how many were added to @out, -1 over a limit of @h. */
int tool_names(struct heap *h, const struct tool_set *tools, struct predeclared *out, size_t room);

/* Read the open call. Returns: 0, or -1: malformed; then call program_fail(). */
int call_read(struct program *p, struct plan_call *out);

/* The check's result for this call; NULL: it has none. */
const struct check_call *call_checked(const struct program *p, const struct plan_call *call);

/* The arguments that were given as a JSON object, canonical. Returns: 0 or -1. */
int call_arguments(struct program *p, const struct plan_call *call, struct text *out);

/*
 * Answer the call with JSON, or with the text of an error; then call program_resume(). A tool's
 * result gets the labels of the policy, a model's answer the origin "model". @policy: NULL without
 * labels. Returns: 0, or -1; then call program_fail().
 */
int call_answer(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *json, size_t bytes);
int call_error(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *text, size_t bytes);

/* Does @json fit the schema of ask()? Does not answer the call. Returns: 1, 0, or -1 as above. */
int call_fits(struct program *p, const struct plan_call *call, const char *json, size_t bytes);

/* No answer comes, also to a try_call(): the plan cannot go on. Returns: -1, as above. */
int call_lost(struct program *p, const struct plan_call *call, const char *why);

/* A person approved: the result is a frozen copy of the value that was shown. */
int call_yes(struct program *p, const struct plan_call *call);
