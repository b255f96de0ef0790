/* A box as the engine holds it: its init, its workspace, the drivers that run in it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/init.h"
#include "sandbox/warden.h"
#include "session/start/engine.h"

#include <stdbool.h>

struct driver;
struct box;

/* The box is made (@err NULL), or not; it is then to be let go all the same. */
typedef void box_made_fn(void *arg, const struct err *err);
typedef void box_filed_fn(void *arg, uint64_t id, int status);
typedef void box_cleared_fn(void *arg, int n);
typedef void box_marked_fn(void *arg, uint32_t mark);
typedef void box_usage_fn(void *arg, const struct box_usage *usage);

/* Shared by those who hold it: a session, its checkpoints, a stem. */
struct box {
	struct engine *engine;
	unsigned n_refs;
	bool has_number; /* the warden knows it */
	bool is_over;	 /* its init is gone, and everything in it */
	uint32_t number;
	unsigned depth;		 /* how many boxes it is a branch of, one of the other */
	uint32_t by[LIMIT_END_]; /* enum limit_by */
	struct limits limits;
	int workspace_fd;
	uv_fs_t closing; /* of it */
	struct init_link init;
	bool has_init;
	struct driver *drivers;
	uint64_t last_id; /* of a process in it */
	struct warden_call call;
	bool is_calling;
	box_made_fn *made;
	void *arg;
	struct warden_call watch;
	struct cgroup_books books;
	struct box_usage usage; /* the last that was read there */
	bool is_watching;
	box_usage_fn *used;
	void *used_arg;
	box_usage_fn *ended;
	void *ended_arg;
	box_filed_fn *filed; /* the answer to a box_file() of that id; or NULL */
	void *filed_arg;
	box_cleared_fn *cleared;
	void *cleared_arg;
	box_marked_fn *marked; /* init has come to a mark, or the box is over; or NULL */
	void *marked_arg;
};

/* Make one; @made follows from the loop. The caller holds it. */
struct box *box_create(struct engine *e, uint32_t flags, const struct limits *limits,
	const struct warden_bind *binds, size_t n_binds, box_made_fn *made, void *arg);

/* An empty one for a branch, which fills it in (stem.c). */
struct box *box_new(struct engine *e, const struct limits *limits);

/* Take the engine's end of init's socket. Errors: ERR_BOX. */
int box_take_init(struct box *b, int fd, struct err *err);

/* What the warden says of a box that was made: warden_done_fn; of its number alone without @fds. */
void box_take_reply(struct box *b, const struct warden_reply *reply, const int *fds);
void box_take_number(struct box *b, const struct warden_reply *reply);

/* One more holds it; each lets go of it once. */
struct box *box_hold(struct box *b);

/* Whoever lets go of it last ends it. Whom it had not told yet is not told any more. */
void box_let_go(struct box *b);

/* Everything in it ends now; @ended with the last usage, from the loop. It stays to be let go. */
void box_end(struct box *b, box_usage_fn *ended, void *arg);

/* ---- what is asked of it while it runs ---- */

/* Ask for its books, one question at a time. Returns: false while another is under way. */
bool box_ask_usage(struct box *b, box_usage_fn *used, void *arg);
/* Whoever asked for books or a clearing does not hear the answer. */
void box_forget(struct box *b);

/* Are there exactly @n processes and threads in it? Told by its cgroup; without one: no. */
bool box_has_just(struct box *b, uint64_t n);

/* Change a file of the workspace; `filed` hears how it went. Returns: 0, or negative errno. */
int box_file(struct box *b, const struct init_file *file);

/*
 * An end to all of its processes but init and the driver @d. Unless @is_forced, only if there are
 * no others than drivers and the guards @pids. @cleared follows: with 0, how many there are of
 * those, or less than 0 when some would not end, or the box is over.
 */
void box_clear(struct box *b, const struct driver *d, const int32_t *pids, size_t n_pids,
	bool is_forced, box_cleared_fn *cleared, void *arg);
