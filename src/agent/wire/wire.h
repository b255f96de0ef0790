/* Ask a model, over the wire that it has. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/model.h"
#include "agent/wire/reduction.h"
#include "agent/wire/retry.h"

#include <uv.h>

struct wire;
struct wire_call; /* one question and its answer */

/* Of one try; 0 stands for the default. */
enum { WIRE_CONNECT_MS = 30000, WIRE_IDLE_MS = 300000, WIRE_WHOLE_MS = 600000 };

struct wire_config {
	const char *spec;     /* as model_parse() reads it */
	const char *key_file; /* NULL: the environment */
	model_env *env;	      /* NULL: getenv() */
	uint64_t connect_ms, idle_ms, whole_ms;
	uint64_t random; /* of the times between tries; 0: from the kernel */
	int tries_max;	 /* after the first; 0: RETRY_TRIES_MAX; negative: no retries */
};

/*
 * Callbacks come from the loop, never from within wire_ask(). After `done`, and after
 * wire_cancel(), none comes.
 */
struct wire_watch {
	void *arg;
	delta_fn *on_delta; /* or NULL; not 0: stop, and `done` follows with REPLY_STOPPED */
	/* A try failed after part of its answer was shown; may it begin again from the start? Not
	 * 0: no, because the part was acted upon. NULL: never. */
	int (*on_restart)(void *arg, const struct failure *why);
	/* Another try follows in @ms. Or NULL. */
	void (*on_wait)(void *arg, const struct failure *why, int64_t ms);
	/* @why NULL: the reply is whole, or was stopped by on_delta. Else @reply has what came
	 * before the failure. To keep it: copy *@reply and set it to {0}. */
	void (*done)(void *arg, struct reply *reply, const struct failure *why);
};

/*
 * Owns:    the caller ends it with wire_close().
 * Errors:  those of model_parse(), key_find(), net_open(); ERR_NOT_FOUND: a recording.
 */
int wire_open(
	struct wire **out, uv_loop_t *loop, const struct wire_config *config, struct err *err);

/* Cancels all calls. The memory is freed once the loop has closed the handles. */
void wire_close(struct wire *w);

/* "openai:gpt-5.5". Valid as long as the wire is. */
const char *wire_name(const struct wire *w);

/*
 * Ask. After a temporary failure it is tried again, as retry_next() says; but once part of an
 * answer was shown, only if on_restart allows it.
 *
 * Limits:  REPLY_TEXT_BYTES, REPLY_PARTS_MAX; as the wire was opened with.
 * Owns:    nothing of @request, which the caller may free. *@out is valid until `done` has
 * returned. Errors:  ERR_NO_MEMORY; ERR_USAGE: an invalid header in the environment.
 */
int wire_ask(struct wire *w, const struct wire_request *request, const struct wire_watch *watch,
	struct wire_call **out, struct err *err);

/* Cancel the call; no callback comes any more. A program that is the model is killed. May be called
 * in callbacks. */
void wire_cancel(struct wire_call *call);
