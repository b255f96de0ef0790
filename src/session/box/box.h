/* A box, as the engine sees it: its init, its workspace, the drivers in it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/init.h"
#include "sandbox/warden.h"
#include "session/start/engine.h"

#include <stdbool.h>

struct driver;
struct box;

/* The box is made (@err NULL), or it could not be made; either way the caller lets go of it. */
typedef void box_made_fn(void *arg, const struct err *err);
typedef void box_filed_fn(void *arg, uint64_t id, int status);
typedef void box_cleared_fn(void *arg, int n);
typedef void box_marked_fn(void *arg, uint32_t mark);
typedef void box_usage_fn(void *arg, const struct box_usage *usage);

/* Shared by those who hold it: a session, its checkpoints, a stem. */
struct box {
	struct engine *engine;
	unsigned n_refs;
	bool has_number; /* the warden has it in its table */
	bool is_over;	 /* its init has ended, and with it everything in the box */
	uint32_t number;
	unsigned depth;		 /* levels of branches above it; 0: it is no branch */
	uint32_t by[LIMIT_END_]; /* enum limit_by */
	struct limits limits;
	int workspace_fd;
	uv_fs_t closing; /* closing @workspace_fd */
	struct init_link init;
	bool has_init;
	struct driver *drivers;
	uint64_t last_id; /* the last id given to a process in it */
	struct warden_call call;
	bool is_calling;
	box_made_fn *made;
	void *arg;
	struct warden_call watch;
	struct cgroup_books books;
	struct box_usage usage; /* the last usage that was read there */
	bool is_watching;
	box_usage_fn *used;
	void *used_arg;
	box_usage_fn *ended;
	void *ended_arg;
	box_filed_fn *filed; /* called with the answer to a box_file(); or NULL */
	void *filed_arg;
	box_cleared_fn *cleared;
	void *cleared_arg;
	box_marked_fn *marked; /* init has set a mark, or the box is over; or NULL */
	void *marked_arg;
};

/* Make a box; @made follows from the loop. The caller holds it. */
struct box *box_create(struct engine *e, uint32_t flags, const struct limits *limits,
	const struct warden_bind *binds, size_t n_binds, box_made_fn *made, void *arg);

/* An empty box for a branch; stem.c fills it in. */
struct box *box_new(struct engine *e, const struct limits *limits);

/* Take over the engine's end of init's socket. Errors: ERR_BOX. */
int box_take_init(struct box *b, int fd, struct err *err);

/* Take what the warden answers about a new box; without @fds only its number. */
void box_take_reply(struct box *b, const struct warden_reply *reply, const int *fds);
void box_take_number(struct box *b, const struct warden_reply *reply);

/* One more holds it; each holder lets go once. */
struct box *box_hold(struct box *b);

/* The last holder ends the box. Events that were not told yet are not told any more. */
void box_let_go(struct box *b);

/* End everything in it now; @ended gets the last usage, from the loop. The holders still let go. */
void box_end(struct box *b, box_usage_fn *ended, void *arg);

/* ---- requests to a running box ---- */

/* Ask for its usage, one question at a time. Returns: false while another is under way. */
bool box_ask_usage(struct box *b, box_usage_fn *used, void *arg);
/* Drop the callbacks of questions about usage and of a clearing. */
void box_forget(struct box *b);

/* Does the box have exactly @n processes and threads? False if no cgroup tells. */
bool box_has_just(struct box *b, uint64_t n);

/* Have init change a file of the workspace; `filed` gets the result. Returns: 0, or negative errno.
 */
int box_file(struct box *b, const struct init_file *file);

/*
 * End all of its processes but init and the driver @d. Unless @is_forced, only if there are no
 * others than drivers and the guards @pids. @cleared follows: with 0; with the number of others; or
 * with less than 0, when some did not end or the box is over.
 */
void box_clear(struct box *b, const struct driver *d, const int32_t *pids, size_t n_pids,
	bool is_forced, box_cleared_fn *cleared, void *arg);
