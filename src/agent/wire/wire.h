/* Requests to a model over its wire. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/model.h"
#include "agent/wire/reduction.h"
#include "agent/wire/retry.h"

#include <uv.h>

struct wire;
struct wire_call; /* one request and its reply */

/* Time limits of one try; 0 in a config means these defaults. */
enum { WIRE_CONNECT_MS = 30000, WIRE_IDLE_MS = 300000, WIRE_WHOLE_MS = 600000 };

struct wire_config {
	const char *spec;     /* the model, in the form that model_parse() reads */
	const char *key_file; /* file with the key; NULL: the key comes from the environment */
	model_env *env;	      /* reads environment variables; NULL: getenv() */
	uint64_t connect_ms, idle_ms, whole_ms;
	uint64_t random; /* seed for the times between tries; 0: a seed from the kernel */
	int tries_max;	 /* retries after the first try; 0: RETRY_TRIES_MAX; negative: no retries */
};

/*
 * Callbacks of a request. They are called from the event loop, never from within wire_ask(), and
 * not after `done` or wire_cancel().
 */
struct wire_watch {
	void *arg;
	delta_fn *on_delta; /* or NULL; returns not 0: stop, then `done` is called with
			       REPLY_STOPPED */
	/* Decide whether a try that failed after part of its reply was received may start again.
	 * Returns: 0: yes; not 0: no, because the part was acted upon. NULL: never. */
	int (*on_restart)(void *arg, const struct failure *why);
	/* Receive notice that another try starts in @ms. Or NULL. */
	void (*on_wait)(void *arg, const struct failure *why, int64_t ms);
	/* Receive the reply. @why NULL: the reply is complete, or on_delta stopped it. Otherwise
	 * @reply has the part received before the failure. To keep the reply: copy *@reply and set
	 * it to {0}. */
	void (*done)(void *arg, struct reply *reply, const struct failure *why);
};

/*
 * Open the wire to a model.
 * Owns:    the caller ends it with wire_close().
 * Errors:  those of model_parse(), key_find(), net_open(); ERR_NOT_FOUND: a recording.
 */
int wire_open(
	struct wire **out, uv_loop_t *loop, const struct wire_config *config, struct err *err);

/* Cancel all calls, and close the wire. The memory is freed once the loop has closed the handles.
 */
void wire_close(struct wire *w);

/* Return the model's name: "openai:gpt-5.5". Valid as long as the wire. */
const char *wire_name(const struct wire *w);

/*
 * Send a request. After a temporary failure the request is retried, as retry_next() decides; but
 * once part of a reply was received, only if on_restart allows it.
 *
 * Limits:  REPLY_TEXT_BYTES, REPLY_PARTS_MAX; as the wire was opened with.
 * Owns:    nothing of @request, which the caller may free. *@out is valid until `done` has
 *          returned.
 * Errors:  ERR_NO_MEMORY; ERR_USAGE: an invalid header in the environment.
 */
int wire_ask(struct wire *w, const struct wire_request *request, const struct wire_watch *watch,
	struct wire_call **out, struct err *err);

/* Cancel the call; no callback is called afterwards. A program that is the model is killed. May be
 * called in callbacks. */
void wire_cancel(struct wire_call *call);
