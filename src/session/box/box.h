/* A box as the engine sees it: its init, its workspace and its drivers.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/init.h"
#include "sandbox/warden.h"
#include "session/start/engine.h"

#include <stdbool.h>

struct driver;
struct box;

/* Reports that the box is made (@err NULL) or could not be made. In both cases the caller drops its
 * reference. */
typedef void box_made_fn(void *arg, const struct err *err);
typedef void box_filed_fn(void *arg, uint64_t id, int status);
typedef void box_cleared_fn(void *arg, int n);
typedef void box_marked_fn(void *arg, uint32_t mark);
typedef void box_usage_fn(void *arg, const struct box_usage *usage);

/* A box, shared by reference count: between a session, its checkpoints and a stem. */
struct box {
	struct engine *engine;
	unsigned n_refs;
	bool has_number; /* the warden has an entry for the box */
	bool is_over;	 /* init and all other processes of the box have ended */
	uint32_t number;
	unsigned depth;		 /* number of branchings from the first box; 0: no branch */
	uint32_t by[LIMIT_END_]; /* how each limit is enforced: enum limit_by */
	struct limits limits;
	int workspace_fd;
	uv_fs_t closing; /* request that closes @workspace_fd on a thread */
	struct init_link init;
	bool has_init;
	struct driver *drivers;
	uint64_t last_id; /* last id given to a driver of the box */
	struct warden_call call;
	bool is_calling;
	box_made_fn *made;
	void *arg;
	struct warden_call watch;
	struct cgroup_books books;
	struct box_usage usage; /* last usage that was read from @books or the warden */
	bool is_watching;
	box_usage_fn *used;
	void *used_arg;
	box_usage_fn *ended;
	void *ended_arg;
	box_filed_fn *filed; /* receives the results of box_file(), or NULL */
	void *filed_arg;
	box_cleared_fn *cleared;
	void *cleared_arg;
	box_marked_fn *marked; /* called when init has set a mark, or the box is over; or NULL */
	void *marked_arg;
};

/* Make a box; @made follows from the loop. The caller gets a reference. */
struct box *box_create(struct engine *e, uint32_t flags, const struct limits *limits,
	const struct warden_bind *binds, size_t n_binds, box_made_fn *made, void *arg);

/* Make an empty box for a branch; stem.c fills it in. */
struct box *box_new(struct engine *e, const struct limits *limits);

/* Take over @fd, the engine's end of init's socket. Errors: ERR_BOX. */
int box_take_init(struct box *b, int fd, struct err *err);

/* Take descriptors and number of the box from the warden's reply, or only the number. */
void box_take_reply(struct box *b, const struct warden_reply *reply, const int *fds);
void box_take_number(struct box *b, const struct warden_reply *reply);

/* Add a reference; box_let_go() drops one. */
struct box *box_hold(struct box *b);

/* Drop a reference; the last one ends the box. Then pending callbacks are not called any more. */
void box_let_go(struct box *b);

/* End all processes of the box now; @ended gets the last usage, from the loop. References stay. */
void box_end(struct box *b, box_usage_fn *ended, void *arg);

/* ---- requests to a running box ---- */

/* Measure the box's usage. Returns: false while another measurement is pending. */
bool box_ask_usage(struct box *b, box_usage_fn *used, void *arg);
/* Drop the callbacks of a pending measurement and of box_clear(). */
void box_forget(struct box *b);

/* Does the box have exactly @n processes and threads? False if no cgroup counts them. */
bool box_has_just(struct box *b, uint64_t n);

/* Have init change a file of the workspace; `filed` gets the result. Returns: 0, or negative errno.
 */
int box_file(struct box *b, const struct init_file *file);

/*
 * End all processes of the box but init and the driver @d. Unless @is_forced, do so only if all
 * others are drivers or listed in @pids. @cleared follows with 0, with the number of other
 * processes, or with a negative number if some did not end or the box is over.
 */
void box_clear(struct box *b, const struct driver *d, const int32_t *pids, size_t n_pids,
	bool is_forced, box_cleared_fn *cleared, void *arg);
