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
	LOOP_REPLY_BYTES = 256 << 10, /* a longer reply is cut there */
	LOOP_NUDGES = 2,	      /* empty replies in a row that are forgiven */
	LOOP_LAST_MS = 60000,	      /* for the last answer, once a limit is reached */
	LOOP_CONTEXT_TOKENS = 100000,
	LOOP_CANDIDATES_MAX = 16,
};

/* How a loop ends. */
enum loop_end {
#define X(symbol, word) LOOP_##symbol,
#include "agent/loop/loop.def"
#undef X
	LOOP_ENDS_
};

#define LOOP_END_CHOICES "ok|failed|check_failed|error|steps|budget|stuck|interrupted"

/* "ok", "failed", … */
const char *loop_end_word(enum loop_end end);

/* Code to run. Borrowed for the call. */
struct loop_code {
	const char *runtime; /* NULL: the session's */
	const char *code;
	size_t bytes;
	unsigned place; /* 0: the session; else the branch of that candidate */
	bool is_check;
};

/* The caller's half: it owns the session, and runs there the code that the model writes. */
struct loop_hooks {
	void *arg;
	/* Run the code. loop_ran() follows once, possibly before this returns; not after an error.
	 */
	int (*run)(void *arg, const struct loop_code *code, struct err *err);
	/* Interrupt all code that runs, in the session or a branch; a second call kills it. */
	void (*interrupt)(void *arg);
	/* {"text", "images"?: [{"mime", "data"}]}: how the model sees a record. Owned by the loop.
	 */
	json_t *(*observe)(void *arg, const json_t *record);
	/* {"event": "model.delta", …}, borrowed; docs/use/agent.md lists them. Or NULL. */
	void (*event)(void *arg, const json_t *event);
	/* Called once, with the result, borrowed. The loop may be freed. */
	void (*done)(void *arg, const json_t *result);
	/* Branch the session for a candidate, from 1 on. loop_branched() follows once, possibly
	 * before this returns; not after an error. NULL: no branches, so one candidate. */
	int (*branch)(void *arg, unsigned place, struct err *err);
	/* Make the state of that branch the session's (0: leave the session as it is), and end all
	 * branches. loop_adopted() follows once, possibly before this returns. */
	void (*adopt)(void *arg, unsigned place);
	/* Save the whole state of the loop, borrowed; called after every turn. Or NULL. */
	void (*save)(void *arg, const json_t *state);
};

/* What a loop resumes from after it was interrupted or came to its end. Borrowed for loop_open().
 * The config's task is then what the user says next; NULL: nothing. */
struct loop_past {
	const json_t *state;  /* as `save` was given it last */
	const json_t *record; /* of the step that ran then, if known by now; or NULL */
	const char *remark;   /* a sentence on what happened to the session since; or NULL */
	/* Limits that the caller sets again: their use begins at 0. */
	bool is_given[BUDGET_KINDS];
};

/* Texts are copied. */
struct loop_config {
	struct wire *wire;	    /* stays the caller's, and open until the loop is freed */
	const char *task, *runtime; /* task: NULL for one that resumes, if the user says nothing */
	const char *limits;	    /* what the model is told of them, or NULL */
	const char *check; /* what the answer has to meet, as criterion_parse() reads it, or NULL */
	struct budget budget;
	const struct price *price; /* NULL: the model's price is unknown */
	uint64_t context_tokens;   /* 0: LOOP_CONTEXT_TOKENS */
	const char *servers;	   /* of tools that code can call, as of struct prompt; or NULL */
	uint64_t n_queries, query_bytes; /* what the model is told of query.h; 0: nothing */
	unsigned best_of;		 /* candidates for each step; 0 or 1: one */
	bool is_grounded;
	bool no_images;		      /* the model reads no images */
	const struct loop_past *past; /* to resume from; NULL: a new loop */
	struct loop_hooks hooks;
};

struct loop;

/*
 * Start a loop: its first question is asked when @loop runs.
 * Owns:    the caller ends it with loop_close().
 * Errors:  ERR_NO_MEMORY; ERR_USAGE: no task, or a malformed check. With a past also ERR_DAMAGED
 *          and ERR_USAGE of loop_restore(); ERR_USAGE: the loop has its answer, and no task is
 *          given.
 */
int loop_open(
	struct loop **out, uv_loop_t *loop, const struct loop_config *config, struct err *err);

/* The code at @place was run, with this @record; or it could not be run: @err. */
void loop_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err);

/* The candidate has its branch, or cannot have one: @err. */
void loop_branched(struct loop *l, unsigned place, const struct err *err);
/* The session has the state of the branch, or cannot have it: @err. */
void loop_adopted(struct loop *l, const struct err *err);

/* Count the tokens of a question that code asked a model, at @price (NULL: unknown). */
void loop_spend(struct loop *l, const struct wire_usage *usage, const struct price *price);
/* UINT64_MAX: no limit. */
uint64_t loop_tokens_left(const struct loop *l);

/* Stop the step that runs, and tell the model so. When called again, or while the model is asked,
 * or if @is_end, the loop ends. */
void loop_interrupt(struct loop *l, bool is_end);

/* No hook is called any more. The memory is freed once the loop's handles are closed. NULL is
 * nothing. */
void loop_close(struct loop *l);
