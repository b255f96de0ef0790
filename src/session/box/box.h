/* A box (sandbox) as the engine sees it, with its init process, its workspace and its drivers.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/init.h"
#include "sandbox/warden.h"
#include "session/start/engine.h"

#include <stdbool.h>

struct driver;
struct box;
struct box_door;

/* A program that a client started in the box. It is a member of the caller's struct. */
struct box_program {
	struct box_program *next;
	uint64_t id; /* in the box; box_add_program() chooses it */
	/* Called with init's events about the program: INIT_STARTED, INIT_FAILED, INIT_EXITED. With
	 * NULL, the box has ended. */
	void (*event)(struct box_program *program, const struct init_event *event);
};

/* Called when the box is made (@err is NULL) or could not be made (@err says why). In both cases
 * the caller of box_create() still has to drop its reference to the box. */
typedef void box_made_fn(void *arg, const struct err *err);
typedef void box_filed_fn(void *arg, uint64_t id, int status);
typedef void box_cleared_fn(void *arg, int n);
typedef void box_marked_fn(void *arg, uint32_t mark);
typedef void box_listed_fn(void *arg, int n);
typedef void box_usage_fn(void *arg, const struct box_usage *usage);
/* Called with what box_open() has opened: @fds has WARDEN_FDS_MAX elements, of which those that
 * were not asked for are -1. On failure @fds is NULL, and @err has the reason.
 * Owns: the callee takes @fds. */
typedef void box_opened_fn(void *arg, const int *fds, const struct err *err);

/* A box, shared by reference count. A session, its checkpoints and a stem may hold the same box. */
struct box {
	struct engine *engine;
	unsigned n_refs;
	bool has_number; /* the box has a @number, by which the warden knows it */
	bool is_over;	 /* init and all other processes of the box have ended */
	uint32_t number;
	/* 0 if the box is not a branch, else 1 more than the depth of the box it was branched
	 * from. */
	unsigned depth;
	uint32_t by[LIMIT_END_]; /* who enforces each limit, a value of enum limit_by */
	struct limits limits;
	int workspace_fd;
	/* what the box has changed of its image (WIRE_CHANGES_DIR); -1: the box has no image */
	int changes_fd;
	int64_t made_ns; /* when the box was complete, on the clock of lost_files_now_ns() */
	uv_fs_t closing; /* request to close @workspace_fd on a thread */
	struct init_link init;
	bool has_init;
	struct driver *drivers;
	struct box_program *programs;
	uint64_t last_id; /* id of the driver or program that was made last */
	struct warden_call call;
	bool is_calling;
	box_made_fn *made;
	void *arg;
	struct warden_call watch;
	struct cgroup_books books;
	struct box_usage usage; /* usage at the last measurement, from @books or the warden */
	bool is_watching;
	box_usage_fn *used;
	void *used_arg;
	box_usage_fn *ended;
	void *ended_arg;
	box_filed_fn *filed; /* called with each result of box_file(); may be NULL */
	void *filed_arg;
	box_cleared_fn *cleared;
	void *cleared_arg;
	/* Called with init's reply to init_list(). May be NULL. */
	box_listed_fn *listed;
	void *listed_arg;
	uint64_t list_id; /* of the newest request; an older one is answered too late */
	/* Called when init has set a mark, and when the box has ended. May be NULL. */
	box_marked_fn *marked;
	void *marked_arg;
	unsigned n_doors; /* calls of box_open() without an answer */
};

/* Ask the warden for a new box, and call @made from the loop when the reply has arrived. The
 * caller gets a reference to the unfinished box at once. */
struct box *box_create(struct engine *e, uint32_t flags, const struct warden_box *what,
	box_made_fn *made, void *arg);

/* Allocate a box for a branch. It has no processes and no descriptors yet; stem.c adds them. */
struct box *box_new(struct engine *e, const struct limits *limits);

/* Take over @fd, the engine's end of the socket to the box's init process. Errors: ERR_BOX. */
int box_take_init(struct box *b, int fd, struct err *err);

/* box_take_reply() takes the box's number and descriptors from the warden's reply.
 * box_take_number() takes only the number, if the reply has no descriptors. */
void box_take_reply(struct box *b, const struct warden_reply *reply, const int *fds);
void box_take_number(struct box *b, const struct warden_reply *reply);

/* Add a reference, which box_let_go() drops. */
struct box *box_hold(struct box *b);

/* Drop a reference. When the last one is dropped, the box is destroyed and its pending callbacks
 * are no longer called. */
void box_let_go(struct box *b);

/* End all processes of the box now, but keep the references. @ended is called from the loop with
 * the box's last usage. */
void box_end(struct box *b, box_usage_fn *ended, void *arg);

/* ---- requests to a running box ---- */

/* Measure the box's usage and call @used with it: at once if the cgroup's files are open, else
 * when the warden replies. Returns: false while another measurement is pending. */
bool box_ask_usage(struct box *b, box_usage_fn *used, void *arg);
/* Cancel the callbacks of a pending measurement and of box_clear(). */
void box_forget(struct box *b);

/* box_add_program() gives the program an id and has its events passed on. box_remove_program() ends
 * that; a program that was removed already is ignored. */
void box_add_program(struct box *b, struct box_program *program);
void box_remove_program(struct box *b, struct box_program *program);

/* Read how many processes the box has lost for lack of memory. Returns: false if no open file says
 * so. */
bool box_count_ooms(struct box *b, uint64_t *n);

/* Return whether the box has exactly @n processes and threads. False if no cgroup counts them. */
bool box_has_just(struct box *b, uint64_t n);

/* Have init write or remove a file of the workspace. The callback `filed` gets the result.
 * Returns: 0, or negative errno. */
int box_file(struct box *b, const struct init_file *file);

/*
 * End all processes of the box except init and the driver @d.
 *
 * Unless @how is CLEAR_ALL, init first checks the processes. If one of them is neither a driver nor
 * listed in @pids, init refuses and ends none.
 *
 * @cleared gets 0 after success. If init refused, it gets the number of processes that are neither
 * drivers nor in @pids. If some processes did not end, or the box has ended, it gets a negative
 * number.
 */
void box_clear(struct box *b, const struct driver *d, const int32_t *pids, size_t n_pids,
	enum init_clearing how, box_cleared_fn *cleared, void *arg);

/*
 * Open @what in the namespaces of the box: a terminal, a socket, the list of listeners, or the
 * network @net, which is NULL for the others. The descriptors are of the kind that enum warden_door
 * says; that was checked. All but a network are one descriptor, @fds[0] of @done. A socket of a
 * network is -1 if its port is taken; see struct warden_net.
 *
 * @done is called once: from the loop, or before box_open() returns if the box has ended or has
 * BOX_DOORS_MAX such requests. While the box lives, the request holds a reference to it.
 *
 * Returns: the request, until @done is called; NULL if @done was called already.
 * Errors:  ERR_GONE (the box), ERR_LIMIT (no terminal is left), ERR_BUSY (too many requests),
 * ERR_BOX.
 */
enum { BOX_DOORS_MAX = 128 };
struct box_door *box_open(struct box *b, enum warden_door what, const struct warden_net *net,
	box_opened_fn *done, void *arg);

/* Give up a request, so that its @done is not called. */
void box_open_forget(struct box_door *door);
