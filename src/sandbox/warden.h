/* The engine's side of the connection to the warden. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>
#include <uv.h>

struct warden;
struct warden_call;

/*
 * The answer to a call. @reply's status is 0 or negative errno with its `err` filled; @fds are the
 * descriptors of a create or branch that went well (else NULL), WARDEN_FD_END_ and those of the
 * reply's books: the callee owns them. After a branch, WARDEN_FD_INIT is -1: init's end came with
 * `prepared`.
 */
typedef void warden_done_fn(
	struct warden_call *call, const struct warden_reply *reply, const int *fds);

/*
 * In the middle of a warden_branch(): hand @fds to the driver of the box. They are in the order of
 * WARDEN_PREPARED_…, WARDEN_PREPARED_END_ of them: the callee owns them.
 */
typedef void warden_prepared_fn(struct warden_call *call, const int *fds, size_t n_fds);

/* A call under way: embedded in what waits for it, which must live until `done` has run. */
struct warden_call {
	warden_done_fn *done;
	warden_prepared_fn *prepared; /* for warden_branch(); runs at most once, before `done` */
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
 * warden is gone. @flags are WARDEN_BRANCHABLE or 0.
 */
void warden_create(struct warden *w, struct warden_call *call, uint32_t flags,
	const struct limits *limits, const struct warden_bind *binds, size_t n_binds);
void warden_usage(struct warden *w, struct warden_call *call, uint32_t box);

/*
 * Make a box from the driver of box @parent, which must be branchable or a branch. @limits may
 * differ from the parent's; those that rlimits enforce may not be greater. @binds: a workspace of
 * the host (without one, the parent's is copied), and again the volumes below /home/user and
 * /tmp, since both directories are new. One branch of one box at a time.
 * Errors: ERR_LIMIT (too deep, too many boxes, one under way), ERR_NO_SPACE (the workspace does not
 *         fit), ERR_GONE (the parent), ERR_BOX.
 */
void warden_branch(struct warden *w, struct warden_call *call, uint32_t parent,
	const struct limits *limits, const struct warden_bind *binds, size_t n_binds);

/* Destroy a box. While it has branches, its first process and its number remain. */
void warden_destroy(struct warden *w, struct warden_call *call, uint32_t box);

/* Forget a call: its `done` will not run. A box that it makes lives until warden_stop(). */
void warden_forget(struct warden *w, struct warden_call *call);

/* Has the warden ended by itself, and all boxes with it? Then every call fails. */
bool warden_is_dead(const struct warden *w);

/* End the requests: the warden destroys all boxes at once and ends. Every pending or later call
 * is completed with ERR_GONE. */
void warden_end(struct warden *w);

/*
 * Close the connection; the warden destroys the boxes that it has. Waits for that.
 * Blocks: some milliseconds; the loop must run once more to let its handle go.
 */
void warden_stop(struct warden *w);
