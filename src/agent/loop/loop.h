/* The loop: a model writes code, the code is run, the model sees what came of it, until it has an
 * answer, or something is used up. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/loop/budget.h"
#include "agent/loop/loop_end.h"
#include "agent/loop/loop_hooks.h"
#include "agent/loop/loop_past.h"
#include "agent/wire/price.h"
#include "agent/wire/wire.h"

enum {
	LOOP_REPLY_BYTES = 256 << 10, /* more of a reply is not waited for */
	LOOP_NUDGES = 2,	      /* empty replies in a row that are forgiven */
	LOOP_LAST_MS = 60000,	      /* for the last answer, when all is used up */
	LOOP_CONTEXT_TOKENS = 100000,
	LOOP_CANDIDATES_MAX = 16,
};

/* Texts are copied. */
struct loop_config {
	struct wire *wire;	    /* stays the caller's, and open until the loop is freed */
	const char *task, *runtime; /* of one that goes on, NULL: nothing more is said */
	const char *limits;	    /* what the model is told of them, or NULL */
	const char *check; /* what the answer has to meet, as criterion_parse() reads it, or NULL */
	struct budget budget;
	const struct price *price; /* NULL: it is not known what the model costs */
	uint64_t context_tokens;   /* 0: LOOP_CONTEXT_TOKENS */
	const char *servers;	   /* of tools that code can call, as of struct prompt; or NULL */
	uint64_t n_queries, query_bytes; /* what the model is told of query.h; 0: nothing */
	unsigned best_of;		 /* candidates for each step; 0 or 1: one */
	bool is_grounded;
	bool no_images;		      /* the model reads none */
	const struct loop_past *past; /* it goes on; or NULL: it begins */
	struct loop_hooks hooks;
};

struct loop;

/*
 * Start it: it begins when @loop runs.
 * Owns:    the caller ends it with loop_close().
 * Errors:  ERR_NO_MEMORY, ERR_USAGE: there is no task, or the check is none; those of
 *          loop_resume().
 */
int loop_open(
	struct loop **out, uv_loop_t *loop, const struct loop_config *config, struct err *err);

/* The code that was run at @place gave @record, or could not be run: @err. */
void loop_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err);

/* The candidate has its branch, or there can be none: @err. The session has moved, or @err. */
void loop_branched(struct loop *l, unsigned place, const struct err *err);
void loop_adopted(struct loop *l, const struct err *err);

/* What code asked a model: its tokens count as those of the loop, at its own price (NULL: it is
 * not known). */
void loop_spend(struct loop *l, const struct wire_usage *usage, const struct price *price);
/* UINT64_MAX: any number. */
uint64_t loop_tokens_left(const struct loop *l);

/* A step that runs is stopped, and the model sees that; asked again, or while the model is asked,
 * or if this @is_end: the loop ends. */
void loop_interrupt(struct loop *l, bool is_end);

/* Nothing is heard of it any more. The memory goes when the loop has closed its handles. NULL is
 * nothing. */
void loop_close(struct loop *l);
