/* Calls that the host answers: tools, the quarantined model, a person. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"
#include "plan/program/program.h"
#include "plan/value/str.h"

enum call_kind { CALL_TOOL, CALL_ASK, CALL_APPROVE };

/* A call that the machine waits for. Its data exists as long as the program. */
struct plan_call {
	enum call_kind kind;
	const struct tool *tool; /* CALL_TOOL: the tool */
	struct policy_arg *arg;	 /* CALL_TOOL: one per parameter of the tool */
	bool is_try;		 /* try_call(): an error becomes a value */
	struct val value;	 /* CALL_APPROVE: the value; CALL_ASK: the data */
	struct val text;	 /* CALL_APPROVE: the reason; CALL_ASK: the question; strings */
	struct val schema;	 /* CALL_ASK: JSON Schema as a dict */
	struct val asked;	 /* CALL_ASK: the schema as the plan wrote it */
	struct kind kind_most;	 /* CALL_ASK: the upper bound of the answer's kind */
	uint32_t label;		 /* join of the labels of all arguments */
	uint32_t guard;		 /* label of the program counter */
	uint32_t at;		 /* offset in the source */
};

/* Add the first words of the tools' names to @out. The value of a word is a tool, or a struct of
 * the tools whose names begin with the word. Returns: the number of words added; -1 if a limit of
 * @h is exceeded. */
int tool_names(struct heap *h, const struct tool_set *tools, struct predeclared *out, size_t room);

/* Read the open call. Returns: 0; -1 if the call is malformed: then call program_fail(). */
int call_read(struct program *p, struct plan_call *out);

/* Find the check's result for this call. Returns: NULL if the check has no result for it. */
const struct check_call *call_checked(const struct program *p, const struct plan_call *call);

/* Write the given arguments as a canonical JSON object. Returns: 0 or -1. */
int call_arguments(struct program *p, const struct plan_call *call, struct text *out);

/*
 * Answer the call with JSON, or with the text of an error. A tool's result gets the labels of the
 * policy, a model's answer the origin "model". @policy is NULL if values carry no labels. Returns:
 * 0: then call program_resume(); -1: then call program_fail().
 */
int call_answer(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *json, size_t bytes);
int call_error(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *text, size_t bytes);

/* Does @json fit the schema of ask()? The call is not answered. Returns: 1 or 0; -1: then call
 * program_fail(). */
int call_fits(struct program *p, const struct plan_call *call, const char *json, size_t bytes);

/* Fail the call, even a try_call(), because no answer will come: the plan cannot continue. Returns:
 * -1: then call program_fail(). */
int call_lost(struct program *p, const struct plan_call *call, const char *why);

/* Answer that a person approved: the result is a frozen copy of the value that the person saw. */
int call_yes(struct program *p, const struct plan_call *call);
