/* Calls that the host answers: tools, the quarantined model, a person. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"
#include "plan/program/program.h"
#include "plan/value/str.h"

enum call_kind { CALL_TOOL, CALL_ASK, CALL_APPROVE };

/* A call for whose answer the machine waits. The data of the call exists as long as the program. */
struct plan_call {
	enum call_kind kind;
	const struct tool *tool; /* CALL_TOOL: the tool */
	struct policy_arg *arg;	 /* CALL_TOOL: array with one argument per parameter */
	bool is_try; /* true if try_call() makes the call, so that an error becomes a value */
	/* CALL_APPROVE: the value to approve. CALL_ASK: the data that the question is about. */
	struct val value;
	/* A string. CALL_APPROVE: the reason for the approval. CALL_ASK: the question. */
	struct val text;
	struct val schema; /* CALL_ASK: the schema as a dict that is a JSON Schema */
	struct val asked;  /* CALL_ASK: the schema as the plan wrote it */
	/* CALL_ASK: the greatest kind that the answer can have, such as KIND_BOOL (one bit of
	 * information) if the schema is bool. */
	struct kind kind_most;
	uint32_t label; /* join of the labels of all arguments */
	uint32_t guard; /* label of the program counter at the call */
	uint32_t at;	/* offset of the call in the source */
};

/* Add the names of all tools to @out, as a plan sees them. A plan sees the first part of each
 * name, such as "mail" of "mail.send". The value of "mail" is the tool if this is its whole
 * name, otherwise a struct of all tools whose names begin with "mail.". Returns: the number of
 * names added; -1 if a limit of @h is exceeded. */
int tool_names(struct heap *h, const struct tool_set *tools, struct predeclared *out, size_t room);

/* Read the call for whose answer the machine waits. Returns: 0; -1 if the call is malformed.
 * After -1, the caller must call program_fail(). */
int call_read(struct program *p, struct plan_call *out);

/* Find the check's result for this call. Returns: NULL if the check has no result for it. */
const struct check_call *call_checked(const struct program *p, const struct plan_call *call);

/* Write the arguments that the plan passes as a canonical JSON object. Returns: 0 or -1. */
int call_arguments(struct program *p, const struct plan_call *call, struct text *out);

/*
 * call_answer(): answer the call with a value in JSON.
 * call_error(): answer the call with the text of an error.
 * The result of a tool gets the labels that @policy declares, the answer of a model gets the origin
 * "model". @policy is NULL if values carry no labels.
 * Returns: 0 if the caller must now call program_resume(); -1 if the caller must now call
 * program_fail().
 */
int call_answer(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *json, size_t bytes);
int call_error(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *text, size_t bytes);

/* Check whether the answer @json fits the schema of ask(), without answering the call. Returns:
 * 1 if it fits, 0 if it does not; -1 if the caller must now call program_fail(). */
int call_fits(struct program *p, const struct plan_call *call, const char *json, size_t bytes);

/* Fail the call because no answer will come. The plan cannot continue, even if the call is a
 * try_call(). Returns: -1, and the caller must call program_fail(). */
int call_lost(struct program *p, const struct plan_call *call, const char *why);

/* Answer an approve(): a person has approved. The result is a frozen copy of the value that the
 * person saw. Returns: as call_answer(). */
int call_yes(struct program *p, const struct plan_call *call);
