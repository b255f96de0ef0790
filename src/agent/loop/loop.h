/* The loop: a model writes code, the code is run, the model sees the result, until it answers or a
 * limit is reached. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/loop/budget.h"
#include "agent/wire/price.h"
#include "agent/wire/wire.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	LOOP_REPLY_BYTES = 256 << 10, /* the length at which a reply is cut */
	LOOP_NUDGES = 2,	      /* empty replies in a row that are tolerated */
	LOOP_LAST_MS = 60000,	      /* time for the last answer, once a limit is reached */
	LOOP_CONTEXT_TOKENS = 100000,
	LOOP_CANDIDATES_MAX = 16,
};

/* The ends of a loop. */
enum loop_end {
#define X(symbol, word) LOOP_##symbol,
#include "agent/loop/loop.def"
#undef X
	LOOP_ENDS_
};

#define LOOP_END_CHOICES "ok|failed|check_failed|error|steps|budget|stuck|interrupted"

/* Return the word for an end: "ok", "failed", … */
const char *loop_end_word(enum loop_end end);

/* Code to run. Borrowed for the call. */
struct loop_code {
	const char *runtime; /* the language; NULL: the session's */
	const char *code;
	size_t bytes;
	unsigned place; /* where to run: 0: the session; otherwise the branch of that candidate */
	bool is_check;
};

/* Callbacks of the loop. The caller owns the session, and runs in it the code that the model
 * writes. */
struct loop_hooks {
	void *arg;
	/* Run the code. The caller calls loop_ran() once, possibly before this hook returns; not
	 * after an error. */
	int (*run)(void *arg, const struct loop_code *code, struct err *err);
	/* Interrupt all running code, in the session and in branches; a second call kills the code.
	 */
	void (*interrupt)(void *arg);
	/* Return the model's view of a record: {"text", "images"?: [{"mime", "data"}]}. The loop
	 * owns the result. */
	json_t *(*observe)(void *arg, const json_t *record);
	/* Receive an event: {"event": "model.delta", …}, borrowed; docs/use/agent.md lists all
	 * events. Or NULL. */
	void (*event)(void *arg, const json_t *event);
	/* Receive the result, borrowed; called once. The hook may free the loop. */
	void (*done)(void *arg, const json_t *result);
	/* Branch the session for a candidate; @place starts at 1. The caller calls loop_branched()
	 * once, possibly before this hook returns; not after an error. NULL: the session cannot
	 * branch, so each step has one candidate. */
	int (*branch)(void *arg, unsigned place, struct err *err);
	/* Replace the session's state by that of the branch at @place (0: keep the session's
	 * state), and end all branches. The caller calls loop_adopted() once, possibly before this
	 * hook returns. */
	void (*adopt)(void *arg, unsigned place);
	/* Save @state, the whole state of the loop (borrowed); called after every turn. The hook
	 * may be NULL. */
	void (*save)(void *arg, const json_t *state);
};

/* The past of a loop that resumes after it was interrupted or ended. Borrowed for loop_open(). The
 * config's task is then the user's next message; NULL: no message. */
struct loop_past {
	const json_t *state;  /* the last state that `save` received */
	const json_t *record; /* record of the step that was running then, if known; or NULL */
	const char *remark;   /* a sentence on changes to the session since then; or NULL */
	/* The limits that the caller sets again: their use restarts at 0. */
	bool is_given[BUDGET_KINDS];
};

/* The configuration of a loop. Texts are copied. */
struct loop_config {
	struct wire *wire;	    /* borrowed; must stay open until the loop is freed */
	const char *task, *runtime; /* task: NULL: resume without a message of the user */
	const char *limits;	    /* description of the limits for the model, or NULL */
	const char *check; /* a check of the answer, as criterion_parse() reads it; or NULL */
	struct budget budget;
	const struct price *price;	 /* price of the model; NULL: unknown */
	uint64_t context_tokens;	 /* the model's context; 0: LOOP_CONTEXT_TOKENS */
	const char *servers;		 /* servers of tools, as in struct prompt; or NULL */
	uint64_t n_queries, query_bytes; /* limits of query.h for the prompt: count, and bytes of
					    one prompt; 0: no queries */
	unsigned best_of;		 /* number of candidates for each step; 0 or 1: one */
	bool is_grounded;
	bool no_images;		      /* the model cannot read images */
	const struct loop_past *past; /* the past to resume from; NULL: a new loop */
	struct loop_hooks hooks;
};

struct loop;

/*
 * Start a loop: the first request is sent when @loop runs.
 * Owns:    the caller ends it with loop_close().
 * Errors:  ERR_NO_MEMORY; ERR_USAGE: no task, or a malformed check. With a past also ERR_DAMAGED
 *          and ERR_USAGE of loop_restore(); ERR_USAGE: the loop already has its answer, and @config
 * has no task.
 */
int loop_open(
	struct loop **out, uv_loop_t *loop, const struct loop_config *config, struct err *err);

/* Report that the code at @place was run, with its @record; or that it could not be run: @err. */
void loop_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err);

/* Report that the candidate at @place has its branch, or cannot have one: @err. */
void loop_branched(struct loop *l, unsigned place, const struct err *err);
/* Report that the session adopted the branch, or could not: @err. */
void loop_adopted(struct loop *l, const struct err *err);

/* Count the tokens of a query that code in the box sent, at @price (NULL: unknown). */
void loop_spend(struct loop *l, const struct wire_usage *usage, const struct price *price);
/* Return the rest of the token limit; UINT64_MAX: no limit. */
uint64_t loop_tokens_left(const struct loop *l);

/* Interrupt the running step, and tell the model so. The loop ends if this is called again, while
 * the model is being asked, or with @is_end. */
void loop_interrupt(struct loop *l, bool is_end);

/* Close the loop; no hook is called afterwards. The memory is freed once the loop's handles are
 * closed. @l may be NULL. */
void loop_close(struct loop *l);
