/* Requests to a model over its wire: HTTP, a program, or a recording. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/wire/model.h"
#include "agent/wire/reduction.h"
#include "agent/wire/retry.h"

#include <uv.h>

struct wire;
struct wire_call; /* one request and its reply */

/* Default time limits of one try, for a config whose limits are 0. */
enum { WIRE_CONNECT_MS = 30000, WIRE_IDLE_MS = 300000, WIRE_WHOLE_MS = 600000 };

struct wire_config {
	const char *spec;     /* the model, as model_parse() reads it */
	const char *key_file; /* file with the key; NULL if it comes from the environment */
	model_env *env;	      /* reads environment variables; NULL means getenv() */
	uint64_t connect_ms, idle_ms, whole_ms;
	uint64_t random; /* seed for the random part of waits between tries; 0: a random seed */
	int tries_max;	 /* maximum number of retries; 0: RETRY_TRIES_MAX; negative: none */
};

/* Callbacks of a request. They are called from the event loop, never from within wire_ask(), and
 * never after `done` or wire_cancel(). */
struct wire_watch {
	void *arg;
	/* Receive a piece of the reply. If this hook returns a value other than 0, the reply is
	 * stopped: `done` then receives what has arrived, with REPLY_STOPPED. May be NULL. */
	delta_fn *on_delta;
	/* A try has failed after a part of the reply was received. Return 0 if the request may
	 * be repeated, or another value if the caller has already acted on this part. If the
	 * hook is NULL, the request is not repeated. */
	int (*on_restart)(void *arg, const struct failure *why);
	/* Receive notice that the next try starts in @ms. May be NULL. */
	void (*on_wait)(void *arg, const struct failure *why, int64_t ms);
	/* Receive the reply. If @why is NULL, the reply is complete, or on_delta stopped it.
	 * Otherwise @reply has the part that arrived before the failure. To keep the reply, copy
	 * *@reply and set it to {0}. */
	void (*done)(void *arg, struct reply *reply, const struct failure *why);
};

/*
 * Open the wire to a model.
 * Owns:    the caller, until wire_close().
 * Errors:  those of model_parse(), key_find() and net_open(), and for a recording those of
 * file_load() and recorded_parse().
 */
int wire_open(
	struct wire **out, uv_loop_t *loop, const struct wire_config *config, struct err *err);

/* Cancel all calls and close the wire. The memory is freed later, when the event loop has closed
 * all handles of the wire. */
void wire_close(struct wire *w);

/* Return the model's name, such as "openai:gpt-5.5". It is valid until the wire is closed. */
const char *wire_name(const struct wire *w);

/*
 * Send a request. After a temporary failure it is sent again, as retry_next() decides. If on_delta
 * had received a part of the reply before the failure, on_restart must also allow it.
 *
 * Limits:  REPLY_TEXT_BYTES, REPLY_PARTS_MAX, and the limits in the wire's config.
 * Owns:    @request is not needed after this call. *@out is valid until `done` has returned.
 * Errors:  ERR_NO_MEMORY. All other failures are passed to `done`.
 */
int wire_ask(struct wire *w, const struct wire_request *request, const struct wire_watch *watch,
	struct wire_call **out, struct err *err);

/* Cancel the call. No callback is called afterwards. A program that acts as the model is killed.
 * A callback may cancel any call. */
void wire_cancel(struct wire_call *call);
