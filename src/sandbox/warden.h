/* The engine's side of the connection to the warden. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>
#include <uv.h>

struct warden;
struct warden_call;

/*
 * Called with the answer to a call. reply->status is 0, or negative errno with the reason in
 * reply->err.
 *
 * @fds depends on the call:
 * - After a successful warden_create(), @fds has WARDEN_FD_END_ descriptors in the order of
 *   WARDEN_FD_…, followed by the usage files of reply->books.
 * - After a successful warden_branch(), @fds has the same elements, but @fds[WARDEN_FD_INIT] is -1.
 *   The socket to init was passed to the call's other callback, `prepared`, before.
 * - After a successful warden_open(), @fds has WARDEN_FDS_MAX elements: the i-th is the i-th thing
 *   asked for. It is -1 if there is none, or if it was not opened.
 * - After all other calls and after failures, @fds is NULL.
 *
 * Owns: the callee takes @fds.
 */
typedef void warden_done_fn(
	struct warden_call *call, const struct warden_reply *reply, const int *fds);

/*
 * Called in the middle of a warden_branch(). @fds has @n_fds = WARDEN_PREPARED_END_ elements: one
 * descriptor for each of the constants WARDEN_PREPARED_…, in the order of the constants. The callee
 * keeps the first descriptor and sends the other ones to the driver of the parent box.
 * Owns: the callee takes @fds.
 */
typedef void warden_prepared_fn(struct warden_call *call, const int *fds, size_t n_fds);

/* What a new box is. */
struct warden_box {
	const struct limits *limits;
	const struct warden_bind *binds;
	size_t n_binds;
	uint32_t uid, gid;
};

/* A call that waits for its answer. It is a member of the caller's struct, which must live until
 * `done` has run. */
struct warden_call {
	warden_done_fn *done;
	warden_prepared_fn *prepared; /* for warden_branch(): runs at most once, before `done` */
	uint64_t id;
	struct warden_call *next;
};

/*
 * Start the warden, whose program is at @path. The caller may make calls at once; their answers
 * arrive from @loop once warden_attach() was called.
 * Owns: the caller ends the warden with warden_stop().
 * Errors:  ERR_BOX when it cannot be started.
 */
int warden_start(struct warden **out, const char *path, struct err *err);
int warden_attach(struct warden *w, uv_loop_t *loop, struct err *err);

/* Make a box. @flags: enum warden_flag; @uid and @gid are the ids that the user of the box
 * has in it. In this call and all calls below, `done` runs
 * once, from the loop: with the reply, or with ERR_GONE if the warden is gone. */
void warden_create(
	struct warden *w, struct warden_call *call, uint32_t flags, const struct warden_box *box);
void warden_usage(struct warden *w, struct warden_call *call, uint32_t box);

/*
 * Make a branch: a box whose driver is a copy of box @parent's driver. @parent must be branchable
 * or itself a branch. @limits may differ from the parent's, but a limit that an rlimit enforces
 * cannot be raised. @binds may contain a workspace on the host; without it, the parent's workspace
 * is copied. @binds must repeat the parent's volumes below /home/user and /tmp, because both
 * directories are new in the branch.
 * At most WIRE_AHEAD_MAX branches of one box can be under way.
 * Errors: ERR_LIMIT (too deep, too many boxes, too many under way), ERR_NO_SPACE (the workspace
 * does not fit), ERR_GONE (the parent), ERR_BOX.
 */
void warden_branch(struct warden *w, struct warden_call *call, uint32_t parent,
	const struct limits *limits, const struct warden_bind *binds, size_t n_binds);

/*
 * Open @what in the namespaces of @box; @net says more about WARDEN_DOOR_NET, and is else NULL. The
 * caller should check the @fds of `done` with door_check().
 * Limits: WIRE_DOORS_MAX calls at a time.
 * Errors: ERR_GONE (the box), ERR_LIMIT (no terminal is left), ERR_BUSY (too many at a time),
 * ERR_BOX.
 */
void warden_open(struct warden *w, struct warden_call *call, uint32_t box, enum warden_door what,
	const struct warden_net *net);

/* Destroy a box. If it has branches, its first process and its number remain until the last branch
 * is destroyed. */
void warden_destroy(struct warden *w, struct warden_call *call, uint32_t box);

/* Forget a call, so that its `done` will not run. A box that the call makes lives until
 * warden_stop(). */
void warden_forget(struct warden *w, struct warden_call *call);

/* Return whether the warden has ended by itself. Its boxes have ended then, and every call
 * fails. */
bool warden_is_dead(const struct warden *w);

/* Send no more requests. The warden then destroys all boxes and ends, and every pending or later
 * call is completed with ERR_GONE. */
void warden_end(struct warden *w);

/*
 * Close the connection and wait until the warden has destroyed its boxes and ended. @w is freed.
 * Blocks: some milliseconds. The loop must run once more, to close the handle of the socket.
 */
void warden_stop(struct warden *w);
