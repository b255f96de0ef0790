/* Calls that the host answers: tools, the quarantined model, a person. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"
#include "plan/program/program.h"
#include "plan/value/str.h"

enum call_kind { CALL_TOOL, CALL_ASK, CALL_APPROVE };

/* What the machine waits for. Everything lives as long as the program. */
struct plan_call {
	enum call_kind kind;
	const struct tool *tool; /* CALL_TOOL */
	struct policy_arg *arg;	 /* by number of its parameters */
	bool is_try;		 /* an error is a value */
	struct val value;	 /* CALL_APPROVE: what; CALL_ASK: the data */
	struct val text;	 /* CALL_APPROVE: the reason, CALL_ASK: the question; strings */
	struct val schema;	 /* CALL_ASK: JSON Schema as a dict */
	struct val asked;	 /* and as the plan wrote it */
	struct kind kind_most;	 /* CALL_ASK: what the answer can say at most */
	uint32_t label;		 /* of all that goes in */
	uint32_t guard;		 /* of what decided that it happens */
	uint32_t at;		 /* offset in the source */
};

/* The first words of the names of tools, each a tool or a struct of those behind it.
 * Returns: how many were added to @out, -1 over a limit of @h. */
int tool_names(struct heap *h, const struct tool_set *tools, struct predeclared *out, size_t room);

/* What the machine waits for. Returns: 0, or -1 after which program_fail() ends it: no such call.
 */
int call_read(struct program *p, struct plan_call *out);

/* What the check says of that place; NULL: nothing. */
const struct check_call *call_checked(const struct program *p, const struct plan_call *call);

/* The arguments that were given as a JSON object, canonical. Returns: 0 or -1. */
int call_arguments(struct program *p, const struct plan_call *call, struct text *out);

/*
 * Answer it with JSON, or with the text of an error: program_resume() goes on then. What a tool
 * gives gets the labels of the policy, an answer of the model its own. @policy: NULL without
 * labels. Returns: 0, or -1 after which program_fail() ends it.
 */
int call_answer(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *json, size_t bytes);
int call_error(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *text, size_t bytes);

/* Is @json what ask() asked for? Nothing is answered by it. Returns: 1, 0, or -1 as above. */
int call_fits(struct program *p, const struct plan_call *call, const char *json, size_t bytes);

/* No answer comes, also to a try_call(): the plan cannot go on. Returns: -1, as above. */
int call_lost(struct program *p, const struct plan_call *call, const char *why);

/* A person said yes: what was shown goes on, as a copy that nobody can change afterwards. */
int call_yes(struct program *p, const struct plan_call *call);
