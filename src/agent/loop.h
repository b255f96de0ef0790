/* The loop: a model writes code, the code is run, the model sees what came of it, until it has an
 * answer, or something is used up. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/budget.h"
#include "agent/wire.h"

/* How it ended. */
enum loop_end {
#define X(symbol, word) LOOP_##symbol,
#include "agent/loop.def"
#undef X
	LOOP_ENDS_
};

#define LOOP_END_CHOICES "ok|failed|check_failed|error|steps|budget|stuck|interrupted"

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
};

/* Texts are copied. */
struct loop_config {
	struct wire *wire; /* stays the caller's, and open until the loop is freed */
	const char *task, *runtime;
	const char *limits; /* what the model is told of them, or NULL */
	const char *check;  /* a shell command that the answer has to pass, or NULL */
	struct budget budget;
	uint64_t context_tokens; /* 0: LOOP_CONTEXT_TOKENS */
	const char *servers;	 /* of tools that code can call, as of struct prompt; or NULL */
	uint64_t n_queries, query_bytes; /* what the model is told of query.h; 0: nothing */
	bool is_grounded;
	struct loop_hooks hooks;
};

struct loop;

/*
 * Start it: it begins when @loop runs.
 * Owns:    the caller ends it with loop_close().
 * Errors:  ERR_NO_MEMORY, ERR_USAGE: there is no task.
 */
int loop_open(
	struct loop **out, uv_loop_t *loop, const struct loop_config *config, struct err *err);

/* The code that was run gave @record, or could not be run: @err. */
void loop_ran(struct loop *l, const json_t *record, const struct err *err);

/* What code asked a model: its tokens count as those of the loop. */
void loop_spend(struct loop *l, const struct wire_usage *usage);
/* UINT64_MAX: any number. */
uint64_t loop_tokens_left(const struct loop *l);

/* A step that runs is stopped, and the model sees that; asked again, or while the model is asked,
 * or if this @is_end: the loop ends. */
void loop_interrupt(struct loop *l, bool is_end);

/* Nothing is heard of it any more. The memory goes when the loop has closed its handles. NULL is
 * nothing. */
void loop_close(struct loop *l);
