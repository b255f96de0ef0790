/* The engine's end of the conversation with the warden. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <uv.h>

struct warden;
struct warden_call;

/*
 * The answer to a call. @reply's status is 0 or negative errno with its `err` filled; @fds are the
 * WARDEN_FD_END_ descriptors of a WARDEN_CREATE that went well (else NULL): the callee owns them.
 */
typedef void warden_done_fn(
	struct warden_call *call, const struct warden_reply *reply, const int *fds);

/* A call under way: embedded in what waits for it, which must live until `done` has run. */
struct warden_call {
	warden_done_fn *done;
	uint64_t id;
	struct warden_call *next;
};

/*
 * Start the warden at @path. Its socket is read on @loop from warden_attach() on; calls may be made
 * before. Owns:    the caller ends with warden_stop(). Errors:  ERR_BOX when it cannot be started.
 */
int warden_start(struct warden **out, const char *path, struct err *err);
int warden_attach(struct warden *w, uv_loop_t *loop, struct err *err);

/*
 * Make a call; its `done` runs once, from the loop: with the reply, or with ERR_GONE when the
 * warden is. @binds go before a WARDEN_CREATE.
 */
void warden_create(struct warden *w, struct warden_call *call, const struct limits *limits,
	const struct warden_bind *binds, size_t n_binds);
void warden_usage(struct warden *w, struct warden_call *call, uint32_t box);
void warden_destroy(struct warden *w, struct warden_call *call, uint32_t box);

/* Forget a call: its `done` will not run. A box that it makes lives until warden_stop(). */
void warden_forget(struct warden *w, struct warden_call *call);

/*
 * Close the conversation; the warden destroys what boxes it has. Waits for that.
 * Blocks: some milliseconds; the loop must run once more to let its handle go.
 */
void warden_stop(struct warden *w);
