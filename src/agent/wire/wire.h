/* A model, asked over whatever wire it has. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/model.h"
#include "agent/wire/reduction.h"
#include "agent/wire/retry.h"

#include <uv.h>

struct wire;
struct wire_call; /* one question and its answer */

/* Of one try. 0: the default. */
enum { WIRE_CONNECT_MS = 30000, WIRE_IDLE_MS = 300000, WIRE_WHOLE_MS = 600000 };

struct wire_config {
	const char *spec;     /* as model_parse() reads it */
	const char *key_file; /* NULL: the environment */
	model_env *env;	      /* NULL: getenv() */
	uint64_t connect_ms, idle_ms, whole_ms;
	uint64_t random; /* of the times between tries; 0: from the kernel */
	int tries_max;	 /* after the first; 0: RETRY_TRIES_MAX; negative: none */
};

/*
 * Callbacks come from the loop, never from within wire_ask(). After `done`, and after
 * wire_cancel(), none comes.
 */
struct wire_watch {
	void *arg;
	delta_fn *on_delta; /* or NULL; not 0: enough, `done` follows with REPLY_STOPPED */
	/* A try failed after something of it was shown, and another would begin anew. Not 0: no,
	 * for something was done with it. NULL: always no. */
	int (*on_restart)(void *arg, const struct failure *why);
	/* Another try follows in @ms. Or NULL. */
	void (*on_wait)(void *arg, const struct failure *why, int64_t ms);
	/* @why NULL: the reply is whole, or stopped by on_delta. Else it has what came before it
	 * broke off. To keep it: copy *@reply and set it to {0}. */
	void (*done)(void *arg, struct reply *reply, const struct failure *why);
};

/*
 * Owns:    the caller ends it with wire_close().
 * Errors:  those of model_parse(), key_find(), net_open(); ERR_NOT_FOUND: a recording.
 */
int wire_open(
	struct wire **out, uv_loop_t *loop, const struct wire_config *config, struct err *err);

/* Cancels what is under way. The memory goes when the loop has closed its handles. */
void wire_close(struct wire *w);

/* "openai:gpt-5.5". Valid as long as the wire is. */
const char *wire_name(const struct wire *w);

/*
 * Ask. What failed for a passing reason is tried again, as retry_next() says, but not after
 * something of an answer was shown, unless on_restart allows it.
 *
 * Limits:  REPLY_TEXT_BYTES, REPLY_PARTS_MAX; as the wire was opened with.
 * Owns:    nothing of @request, which need not stay. *@out is valid until `done` has returned.
 * Errors:  ERR_NO_MEMORY; ERR_USAGE: a header that the environment adds is none.
 */
int wire_ask(struct wire *w, const struct wire_request *request, const struct wire_watch *watch,
	struct wire_call **out, struct err *err);

/* Nothing is heard of it any more; a program that is the model is killed. May be called in
 * callbacks. */
void wire_cancel(struct wire_call *call);
