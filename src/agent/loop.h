/* The loop: a model writes code, the code is run, the model sees what came of it, until it has an
 * answer, or something is used up. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/budget.h"
#include "agent/loop_end.h"
#include "agent/loop_past.h"
#include "agent/price.h"
#include "agent/wire.h"

enum {
	LOOP_REPLY_BYTES = 256 << 10, /* more of a reply is not waited for */
	LOOP_NUDGES = 2,	      /* empty replies in a row that are forgiven */
	LOOP_LAST_MS = 60000,	      /* for the last answer, when all is used up */
	LOOP_CONTEXT_TOKENS = 100000,
};

/* Borrowed for the call. */
struct loop_code {
	const char *runtime; /* NULL: the session's */
	const char *code;
	size_t bytes;
	bool is_check;
};

struct loop_hooks {
	void *arg;
	/* Run it; loop_ran() follows once, possibly before this returns. Not after an error. */
	int (*run)(void *arg, const struct loop_code *code, struct err *err);
	/* Stop what runs; asked again: at once. */
	void (*interrupt)(void *arg);
	/* {"text", "images"?: [{"mime", "data"}]}: how the model sees a record. Owned by the loop.
	 */
	json_t *(*observe)(void *arg, const json_t *record);
	/* {"event": "model.delta", …}, borrowed; docs/agent.md lists them. Or NULL. */
	void (*event)(void *arg, const json_t *event);
	/* Once: what came of it, borrowed. The loop may be freed. */
	void (*done)(void *arg, const json_t *result);
	/* All there is of it, borrowed, after every turn: to be kept. Or NULL. */
	void (*keep)(void *arg, const json_t *state);
};

/* Texts are copied. */
struct loop_config {
	struct wire *wire;	    /* stays the caller's, and open until the loop is freed */
	const char *task, *runtime; /* of one that goes on, NULL: as it was */
	const char *limits;	    /* what the model is told of them, or NULL */
	const char *check;	    /* a shell command that the answer has to pass, or NULL */
	struct budget budget;
	const struct price *price; /* NULL: it is not known what the model costs */
	uint64_t context_tokens;   /* 0: LOOP_CONTEXT_TOKENS */
	bool is_grounded;
	bool no_images;		      /* the model reads none */
	const struct loop_past *past; /* it goes on; or NULL: it begins */
	struct loop_hooks hooks;
};

struct loop;

/*
 * Start it: it begins when @loop runs.
 * Owns:    the caller ends it with loop_close().
 * Errors:  ERR_NO_MEMORY, ERR_USAGE: there is no task; those of loop_resume().
 */
int loop_open(
	struct loop **out, uv_loop_t *loop, const struct loop_config *config, struct err *err);

/* The code that was run gave @record, or could not be run: @err. */
void loop_ran(struct loop *l, const json_t *record, const struct err *err);

/* A step that runs is stopped, and the model sees that; asked again, or while the model is asked,
 * or if this @is_end: the loop ends. */
void loop_interrupt(struct loop *l, bool is_end);

/* Nothing is heard of it any more. The memory goes when the loop has closed its handles. NULL is
 * nothing. */
void loop_close(struct loop *l);
