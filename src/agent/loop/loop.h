/* The loop of an agent. A model writes code, the code is run, and the model is shown the result.
 * This is repeated until the model answers or a limit is reached. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/loop/budget.h"
#include "agent/wire/price.h"
#include "agent/wire/wire.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	LOOP_REPLY_BYTES = 256 << 10, /* a reply is stopped at this length */
	LOOP_NUDGES = 2,	      /* number of empty replies in a row that are tolerated */
	LOOP_LAST_MS = 60000,	      /* time for the last answer after a limit is reached */
	LOOP_CONTEXT_TOKENS = 100000,
	LOOP_CANDIDATES_MAX = 16,
};

/* How a loop can end. */
enum loop_end {
#define X(symbol, word) LOOP_##symbol,
#include "agent/loop/loop.def"
#undef X
	LOOP_ENDS_
};

#define LOOP_END_CHOICES "ok|failed|check_failed|error|steps|budget|stuck|interrupted"

/* Return the word for an end: "ok", "failed", … */
const char *loop_end_word(enum loop_end end);

/* Code that the caller is to run. It is borrowed only during the call of the hook. */
struct loop_code {
	const char *runtime; /* the language; NULL means the session's default */
	const char *code;
	size_t bytes;
	/* The candidate in whose branch the code runs; 0 means that it runs in the session
	 * itself. */
	unsigned place;
	bool is_check;
};

/* Callbacks of the loop. The caller of loop_open() owns the session; it runs the model's code
 * there. */
struct loop_hooks {
	void *arg;
	/* Run @code. When the code has ended, the implementation of this hook calls loop_ran()
	 * exactly once: before the hook returns, or later. If the hook returns an error,
	 * loop_ran() must not be called. */
	int (*run)(void *arg, const struct loop_code *code, struct err *err);
	/* Interrupt all running code, in the session and in branches. A second call kills the
	 * code. */
	void (*interrupt)(void *arg);
	/* Return what the model is shown of a record: {"text", "images"?: [{"mime", "data"}]}.
	 * Owns: the loop. */
	json_t *(*observe)(void *arg, const json_t *record);
	/* Receive an event, such as {"event": "model.delta", …}, borrowed. docs/use/agent.md
	 * lists all events. The hook may be NULL. */
	void (*event)(void *arg, const json_t *event);
	/* Receive the loop's result, borrowed. Called once. The hook may free the loop. */
	void (*done)(void *arg, const json_t *result);
	/* Make a branch of the session for the candidate at @place, which counts from 1. When
	 * the branch is made or has failed, the implementation of this hook calls loop_branched()
	 * exactly once: before the hook returns, or later. If the hook returns an error,
	 * loop_branched() must not be called. If the hook is NULL, the session cannot branch, and
	 * each step has one candidate. */
	int (*branch)(void *arg, unsigned place, struct err *err);
	/* Replace the state of the session by the state of the branch at @place. If @place is 0,
	 * the session keeps its state. In both cases, end all branches. When this is done or has
	 * failed, the implementation of this hook calls loop_adopted() exactly once: before the
	 * hook returns, or later. */
	void (*adopt)(void *arg, unsigned place);
	/* Save @state, the whole state of the loop (borrowed). Called before each request to the
	 * model and each step, and at the end. The hook may be NULL. */
	void (*save)(void *arg, const json_t *state);
};

/* What is needed to resume a loop that was interrupted or has ended. A struct loop_past is
 * borrowed only during loop_open(). When a loop is resumed, the member `task` of struct
 * loop_config is the user's next message; `task` is NULL if the loop continues without a new
 * message. */
struct loop_past {
	const json_t *state; /* the last state that `save` received */
	/* The record of the step that was running when `state` was saved, or NULL. */
	const json_t *record;
	/* A sentence that tells the model what has changed since `state` was saved, such as that
	 * all variables are lost; or NULL. */
	const char *remark;
	/* The limits to which the caller gives a new value. The used amount of such a limit
	 * starts again at 0. */
	bool is_given[BUDGET_KINDS];
};

/* The configuration of a loop. Texts are copied. */
struct loop_config {
	struct wire *wire; /* borrowed; must stay open until the loop is freed */
	/* `task` is NULL if a loop is resumed without a message of the user. `runtime` is the
	 * language of code that names none; NULL means "python". */
	const char *task, *runtime;
	/* A description of the session's limits, which the model is shown; or NULL. */
	const char *limits;
	/* The session's network rules, which the model is shown; NULL: it has no network. */
	const char *net;
	/* The user's check of answers, as criterion_parse() reads it; or NULL. */
	const char *check;
	struct budget budget;
	const struct price *price; /* price of the model's tokens; NULL if unknown */
	uint64_t context_tokens;   /* 0 means LOOP_CONTEXT_TOKENS */
	const char *servers; /* names of tool servers; NULL if there are none; see struct prompt */
	uint64_t n_queries, query_bytes; /* limits of queries from code; see struct prompt */
	unsigned best_of;		 /* number of candidates for each step; 0 means 1 */
	bool is_grounded;
	bool no_images;		      /* the model cannot read images */
	const struct loop_past *past; /* NULL to start a new loop */
	struct loop_hooks hooks;
};

struct loop;

/*
 * Start a loop. Its first request is sent later, by the event loop @loop.
 * Owns:    the caller, until loop_close().
 * Errors:  ERR_NO_MEMORY; ERR_USAGE: the task is empty, or the check is malformed.
 * If @config has a past, also the errors of loop_restore(), and ERR_USAGE: the loop already has its
 * answer, and @config has no task.
 */
int loop_open(
	struct loop **out, uv_loop_t *loop, const struct loop_config *config, struct err *err);

/* Report the end of the code that the hook `run` has received. @place is the member `place` of
 * this code. @record is the record of the step that ran the code. If the code could not be run,
 * @record is NULL, and @err has the reason. */
void loop_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err);

/* Report the end of a call of the hook `branch` for the candidate at @place. @err is NULL if the
 * branch was made; otherwise @err has the reason why not. */
void loop_branched(struct loop *l, unsigned place, const struct err *err);
/* Report the end of a call of the hook `adopt`. @err is NULL if the session has adopted the
 * state of the branch; otherwise @err has the reason why not. */
void loop_adopted(struct loop *l, const struct err *err);

/* Charge @usage at @price (NULL if unknown) to the budget. The caller does this for queries from
 * code in the box; the loop itself charges its own requests. */
void loop_spend(struct loop *l, const struct wire_usage *usage, const struct price *price);
/* Return what is left of the token limit; UINT64_MAX if it is unlimited. */
uint64_t loop_tokens_left(const struct loop *l);

/*
 * Interrupt the running step. The model learns of it from the record of the step. The loop ends
 * - if @is_end is true;
 * - if the same step was interrupted before;
 * - if the model is being asked, so that no step is running.
 */
void loop_interrupt(struct loop *l, bool is_end);

/* Close the loop. No hook is called afterwards. The memory is freed later, when the event loop
 * has closed the timer of @l. @l may be NULL. */
void loop_close(struct loop *l);
