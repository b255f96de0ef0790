/*
 * The warden: the only code that makes boxes.
 *
 * Theory of operation. The engine starts the warden with a socket as descriptor 3. The warden
 * leaves the engine's session and enters a mount namespace of its own. If it does not run as root,
 * it also enters a user namespace, which gives it the right to make boxes. Then it answers requests
 * of fixed size one after the other. Making a branch takes several turns of the warden's loop,
 * because the parent box takes part; the warden polls, and never waits for a box. It has no
 * threads, heap, or libraries but libc, and parses nothing that a client or box wrote. When the
 * socket closes (the engine ends or is killed), the warden destroys all boxes and exits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/sched.h"
#include "sandbox/warden/box.h"
#include "sandbox/warden/box_host.h"
#include "sandbox/warden/branching.h"
#include "sandbox/warden/door.h"
#include "sandbox/warden/message.h"
#include "sandbox/warden/spare.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	QUIET_MS = 10,	     /* how long a seccomp listener is ignored after a refused clone() */
	SPARE_MS = 4,	     /* idle time before a spare cgroup leaf is made */
	STALL_MS = 500,	     /* longest poll; a delay of this length counts as a stall */
	QUESTIONS_MAX = 256, /* limit on clone() calls answered for one listener in one turn */
	POLLS_MAX = 1 + WIRE_BOXES_MAX + 3 * WIRE_BRANCHINGS_MAX + DOORS_AT_ONCE
};

struct state {
	struct box_host host;
	struct spare spare;
	struct err broken; /* why boxes cannot be made at all; code ERR_NONE if they can */
	struct warden_bind binds[WIRE_BINDS_MAX];
	unsigned n_binds;
	bool is_swept;
	/* the first error of a bind since the last box; the next box fails with it */
	struct err bad_bind;
	struct box boxes[WIRE_BOXES_MAX];
	struct branching branchings[WIRE_BRANCHINGS_MAX];
	struct doors doors;
	unsigned n_used;   /* boxes from this index on were never used */
	int64_t turned_ms; /* when the last poll ended */
};

static struct box *free_box(struct state *w)
{
	for (unsigned i = 0; i < ARRAY_LEN(w->boxes); i++)
		if (w->boxes[i].state == BOX_FREE) {
			box_init(&w->boxes[i], i);
			w->n_used = MAX(w->n_used, i + 1);
			return &w->boxes[i];
		}
	return NULL;
}

static struct box *live_box(struct state *w, uint32_t id)
{
	if (id >= ARRAY_LEN(w->boxes) || w->boxes[id].state != BOX_LIVE)
		return NULL;
	return &w->boxes[id];
}

/* Keep a bind for the next box. Its error is reported by the request for that box. */
static void do_bind(struct state *w, const struct warden_request *req)
{
	struct err err = {0};
	if (message_check(req, &err) == 0 && w->n_binds == ARRAY_LEN(w->binds))
		err_set(&err, ERR_LIMIT, "more than %d binds", WIRE_BINDS_MAX);
	if (err.code == ERR_NONE)
		w->binds[w->n_binds++] = req->bind;
	else if (w->bad_bind.code == ERR_NONE)
		w->bad_bind = err;
}

/* Fill @spec from the request and the binds that came before it, and set *@box to a free box. */
static int take_spec(struct state *w, const struct warden_request *req, struct box_spec *spec,
	struct box **box, struct err *err)
{
	struct err bad_bind = w->bad_bind;
	*spec = (struct box_spec){.binds = w->binds,
		.n_binds = w->n_binds,
		.limits = &req->limits,
		.has_own_files = req->flags & WARDEN_OWN_FILES,
		.ids = {.uid = req->uid, .gid = req->gid},
		.is_branchable = req->op == WARDEN_BRANCH || (req->flags & WARDEN_BRANCHABLE)};
	w->n_binds = 0;
	w->bad_bind = (struct err){0};
	if (w->broken.code != ERR_NONE) {
		*err = w->broken;
		return -EPERM;
	}
	if (bad_bind.code != ERR_NONE) {
		*err = bad_bind;
		return -err_errno(bad_bind.code);
	}
	*box = free_box(w);
	if (!*box)
		return err_set(err, ERR_LIMIT, "more than %d boxes", WIRE_BOXES_MAX);
	spec->ids_slot = (*box)->slot;
	return 0;
}

/* Add the usage files of the box to the reply. Returns: how many there are. */
static int add_books(const struct box *box, struct warden_reply *reply, int fds[CGROUP_BOOKS_MAX])
{
	int n = cgroup_leaf_books(&box->leaf, fds);
	reply->books = n > 0 ? (uint32_t)box->leaf.host->kind : CGROUP_NONE;
	return n;
}

static int do_create(struct state *w, const struct warden_request *req, struct warden_reply *reply,
	int *fds, struct err *err)
{
	struct box_spec spec;
	struct box *box = NULL;
	int r = take_spec(w, req, &spec, &box, err);
	if (r == 0 && box)
		r = box_create(box, &w->host, &spec, reply->by, fds, err);
	if (r < 0 || !box)
		return r;
	reply->box = box->slot;
	reply->pid = box->pid;
	return WARDEN_FD_END_ + add_books(box, reply, fds + WARDEN_FD_END_);
}

static struct branching *free_branching(struct state *w)
{
	for (size_t i = 0; i < ARRAY_LEN(w->branchings); i++)
		if (w->branchings[i].state == BRANCHING_FREE)
			return &w->branchings[i];
	return NULL;
}

/* Begin the next branch of @parent, unless another branch of it is in the state HELLO or CLONE:
 * with two branches in these states, a clone() could belong to either. */
static void give_window(struct state *w, const struct box *parent)
{
	struct branching *next = NULL;
	for (size_t i = 0; i < ARRAY_LEN(w->branchings); i++) {
		struct branching *b = &w->branchings[i];
		if (b->state == BRANCHING_FREE || b->parent != parent)
			continue;
		if (branching_is_open(b))
			return;
		if (b->state == BRANCHING_WAIT)
			next = b;
	}
	if (!next)
		return;
	branching_begin(next);
	w->boxes[parent->root].quiet_until_ms = 0; /* poll the listener of the root box again */
}

static int do_branch(struct state *w, const struct warden_request *req, int *fds, struct err *err)
{
	struct box_spec spec;
	struct box *box = NULL, *parent = live_box(w, req->box);
	struct branching *b = free_branching(w);
	int r = take_spec(w, req, &spec, &box, err);
	if (r < 0)
		return r;
	if (!parent)
		return err_set(err, ERR_GONE, "no box %u", req->box);
	if (!b)
		return err_set(
			err, ERR_LIMIT, "more than %d branches at once", WIRE_BRANCHINGS_MAX);
	spec.ids_slot = parent->root;
	spec.ids = parent->ids;
	spec.has_own_files = parent->has_own_files;
	b->box = box;
	b->parent = parent;
	r = branching_open(b, &w->host, &spec, fds, err);
	if (r <= 0)
		return r;
	b->id = req->id;
	give_window(w, parent);
	return r;
}

static int send_reply(const struct warden_reply *reply, const int *fds, size_t n_fds)
{
	ssize_t sent = fd_send_waiting(WIRE_SOCK_FD, reply, sizeof *reply, fds, n_fds);
	while (n_fds > 0)
		(void)close(fds[--n_fds]);
	return sent < 0 ? -1 : 0;
}

/* Undo a branch and report the error to the engine. If the engine is gone, turn() notices. */
static void fail_branching(struct state *w, struct branching *b, const struct err *err)
{
	struct warden_reply reply = {.version = WIRE_VERSION, .op = WARDEN_BRANCHED, .id = b->id};
	const struct boxes all = {w->boxes, w->n_used};
	reply.status = -err_errno(err->code);
	reply.err = *err;
	branching_fail(b, &all);
	give_window(w, b->parent);
	(void)send_reply(&reply, NULL, 0);
}

/* End a door and answer its request: with @opened, which is then closed, or with the error @err if
 * @opened is NULL. */
static void finish_door(
	struct state *w, struct door *d, const struct door_opened *opened, const struct err *err)
{
	struct warden_reply reply = {
		.version = WIRE_VERSION, .op = WARDEN_OPEN, .id = d->id, .box = d->box->slot};
	if (opened) {
		reply.opened = opened->mask;
	} else {
		reply.status = -err_errno(err->code);
		reply.err = *err;
	}
	door_end(&w->doors, d);
	(void)send_reply(&reply, opened ? opened->fds : NULL, opened ? opened->n : 0);
}

static void begin_doors(struct state *w)
{
	struct err err = {0};
	for (struct door *d; (d = door_next(&w->doors));)
		if (door_begin(&w->doors, d, &err) < 0)
			finish_door(w, d, NULL, &err);
}

/* Answer all requests for doors of @box, which ends. */
static void drop_doors(struct state *w, const struct box *box)
{
	struct err gone = {0};
	(void)err_set(&gone, ERR_GONE, "the box has ended");
	for (size_t i = 0; w->doors.n_used > 0 && i < ARRAY_LEN(w->doors.v); i++)
		if (w->doors.v[i].state != DOOR_FREE && w->doors.v[i].box == box)
			finish_door(w, &w->doors.v[i], NULL, &gone);
	begin_doors(w);
}

/* Destroy a box. First give up its doors, and its branches that are under way. If it has other
 * branches, keep the box as an anchor. Otherwise also destroy each ancestor that was an anchor just
 * for it. */
static void destroy_box(struct state *w, struct box *box)
{
	struct err gone;
	drop_doors(w, box);
	(void)err_set(&gone, ERR_GONE, "box %u was destroyed while it was branched", box->slot);
	for (size_t i = 0; box->n_branchings > 0 && i < ARRAY_LEN(w->branchings); i++)
		if (w->branchings[i].state != BRANCHING_FREE && w->branchings[i].parent == box)
			fail_branching(w, &w->branchings[i], &gone);
	if (box->n_branches > 0) {
		box_anchor(box);
		return;
	}
	for (;;) {
		uint32_t parent = box->parent;
		box_destroy(box);
		if (parent == BOX_NONE)
			return;
		box = &w->boxes[parent];
		box->n_branches--;
		if (box->n_branches > 0 || box->state != BOX_ANCHOR)
			return;
	}
}

static int do_box(struct state *w, const struct warden_request *req, struct warden_reply *reply,
	struct err *err)
{
	struct box *box = live_box(w, req->box);
	if (!box)
		return err_set(err, ERR_GONE, "no box %u", req->box);
	if (req->op == WARDEN_DESTROY)
		destroy_box(w, box);
	else
		box_usage(box);
	reply->usage = box->usage;
	return 0;
}

static int do_open(struct state *w, const struct warden_request *req, struct err *err)
{
	const struct box *box = live_box(w, req->box);
	if (!box)
		return err_set(err, ERR_GONE, "no box %u", req->box);
	enum warden_door what = (enum warden_door)req->door;
	int r = door_add(&w->doors, req->id, box, what, &req->net, err);
	if (r == 0)
		begin_doors(w);
	return r;
}

/* Carry out a request. Returns: how many descriptors go with the reply, or negative errno. */
static int answer(struct state *w, const struct warden_request *req, struct warden_reply *reply,
	int *fds, struct err *err)
{
	int r = message_check(req, err);
	if (r < 0)
		return r;
	switch ((enum warden_op)req->op) {
	case WARDEN_CREATE:
		return do_create(w, req, reply, fds, err);
	case WARDEN_BRANCH:
		return do_branch(w, req, fds, err);
	case WARDEN_USAGE:
	case WARDEN_DESTROY:
		return do_box(w, req, reply, err);
	case WARDEN_OPEN:
		return do_open(w, req, err);
	case WARDEN_BIND:
	case WARDEN_BRANCHED:
	case WARDEN_OP_END_:
		break;
	}
	return err_set(err, ERR_PROTOCOL, "unknown operation %u", req->op);
}

static int serve_one(struct state *w)
{
	static struct warden_request req;
	struct warden_reply reply = {.version = WIRE_VERSION};
	int fds[WARDEN_FDS_MAX] = {-1};
	struct err err = {0};
	ssize_t n = fd_recv(WIRE_SOCK_FD, &req, sizeof req, NULL, 0, NULL);
	if (n <= 0 && n != -EMSGSIZE && n != -EPROTO)
		return n == -EAGAIN ? 0 : -1;
	if (n == (ssize_t)sizeof req && req.op == WARDEN_BIND) {
		do_bind(w, &req);
		return 0;
	}
	int r = n == (ssize_t)sizeof req ? answer(w, &req, &reply, fds, &err)
					 : err_set(&err, ERR_PROTOCOL, "message of %zd bytes", n);
	if (r == 0 && req.op == WARDEN_OPEN)
		return 0; /* finish_door() answers */
	if (r < 0) {
		reply.status = r;
		reply.err = err;
	}
	reply.op = req.op;
	reply.id = req.id;
	int sent = send_reply(&reply, fds, r > 0 ? MIN((size_t)r, ARRAY_LEN(fds)) : 0);
	/* Remove the leftovers of dead wardens now, when nobody waits for the warden. */
	if (req.op == WARDEN_CREATE && !w->is_swept) {
		cgroup_host_sweep(&w->host.cgroup);
		w->is_swept = true;
	}
	return sent;
}

static void serve_branching(struct state *w, struct branching *b, const struct pollfd *polls)
{
	struct err err = {0};
	const struct boxes all = {w->boxes, w->n_used};
	struct box *box = b->box;
	int fds[1 + CGROUP_BOOKS_MAX] = {-1}, r = 0;
	struct warden_reply reply = {
		.version = WIRE_VERSION, .op = WARDEN_BRANCHED, .id = b->id, .box = box->slot};
	if (polls[0].revents)
		r = branching_hear(b, &all, &err);
	if (r == 0 && b->state == BRANCHING_FURNISH)
		give_window(w, b->parent);
	if (r == 0 && polls[1].revents)
		r = branching_hear_c1(b, &err);
	if (r == 0 && polls[2].revents && b->state == BRANCHING_FURNISH)
		r = branching_hear_helper(b, &fds[0], &err);
	if (r == 0)
		r = branching_check_late(b, &err);
	if (r < 0)
		fail_branching(w, b, &err);
	if (r <= 0)
		return;
	reply.pid = box->pid;
	memcpy(reply.by, b->by, sizeof reply.by);
	int n_books = add_books(box, &reply, fds + 1);
	(void)send_reply(&reply, fds, 1 + (size_t)n_books);
}

static void serve_door(struct state *w, struct door *d, bool is_ready)
{
	struct err err = {0};
	struct door_opened opened = {0};
	int r = is_ready ? door_hear(d, &opened, &err) : door_check_late(d, &err);
	if (!is_ready && r == 0)
		return;
	finish_door(w, d, is_ready && r >= 0 ? &opened : NULL, &err);
	begin_doors(w);
}

static struct branching *asked_for(struct state *w, const struct box *root, pid_t tid)
{
	const struct boxes all = {w->boxes, w->n_used};
	for (size_t i = 0; i < ARRAY_LEN(w->branchings); i++)
		if (branching_is_open(&w->branchings[i]) &&
			w->branchings[i].parent->root == root->slot &&
			branching_may_clone(&w->branchings[i], tid, &all))
			return &w->branchings[i];
	return NULL;
}

static bool is_branching(const struct state *w, const struct box *root)
{
	for (size_t i = 0; i < ARRAY_LEN(w->branchings); i++)
		if (branching_is_open(&w->branchings[i]) &&
			w->branchings[i].parent->root == root->slot)
			return true;
	return false;
}

/* Answer the questions that @root and its branches ask. Refuse unexpected ones, then ignore the
 * listener for a while, so that a process that asks all the time delays only itself. After a
 * repeated question, ignore it as well: what interrupts the clone() may have stopped by then. */
static void serve_listener(struct state *w, struct box *root)
{
	struct pollfd p = {.fd = root->listener_fd, .events = POLLIN};
	bool is_busy = is_branching(w, root);
	for (int i = 0; i < (is_busy ? QUESTIONS_MAX : 1); i++) {
		struct listener_question question;
		if (i > 0 && (poll(&p, 1, 0) <= 0 || !(p.revents & POLLIN)))
			return;
		int r = listener_take(root->listener_fd, &question);
		if (r < 0) { /* no process that has the listener's filter is left */
			fd_close(&root->listener_fd);
			return;
		}
		struct branching *b = r > 0 ? asked_for(w, root, question.tid) : NULL;
		if (b && listener_allow(root->listener_fd, &question) == 0) {
			if (branching_granted(b))
				return;
			break;
		}
		if (r > 0 && !b)
			listener_refuse(root->listener_fd, &question);
	}
	root->quiet_until_ms = clock_now_ms() + QUIET_MS;
}

/* What to poll, and how long. */
struct waiting {
	/* the engine's socket, then three descriptors per branch in the making, then doors, then
	 * listeners */
	struct pollfd polls[POLLS_MAX];
	size_t n;
	struct branching *branchings[WIRE_BRANCHINGS_MAX];
	size_t n_branchings;
	struct door *doors[DOORS_AT_ONCE];
	size_t n_doors;
	uint32_t roots[WIRE_BOXES_MAX]; /* for each listener, the number of its box */
	size_t n_roots;
	int64_t until_ms; /* when poll() must end; negative: no deadline */
};

static void wait_until(struct waiting *at, int64_t ms)
{
	at->until_ms = at->until_ms < 0 ? ms : MIN(at->until_ms, ms);
}

static void wait_for(struct waiting *at, int fd)
{
	at->polls[at->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void wait_for_doors(struct doors *all, struct waiting *at)
{
	at->n_doors = 0;
	for (size_t i = 0; at->n_doors < all->n_running && i < ARRAY_LEN(all->v); i++) {
		struct door *d = &all->v[i];
		if (d->state != DOOR_RUNS)
			continue;
		at->doors[at->n_doors++] = d;
		wait_for(at, d->sock);
		wait_until(at, d->deadline_ms);
	}
}

/* Collect what to poll. Idle entries are left out: poll() refuses more than RLIMIT_NOFILE. */
static void set_waiting(struct state *w, struct waiting *at)
{
	at->until_ms = -1;
	at->n = at->n_branchings = at->n_roots = 0;
	wait_for(at, WIRE_SOCK_FD);
	for (size_t i = 0; i < ARRAY_LEN(w->branchings); i++) {
		struct branching *b = &w->branchings[i];
		if (b->state == BRANCHING_FREE)
			continue;
		at->branchings[at->n_branchings++] = b;
		wait_for(at, b->state == BRANCHING_WAIT ? -1 : b->ends.sync);
		wait_for(at, b->c1_fd);
		wait_for(at, b->furnish.sock);
		wait_until(at, b->deadline_ms);
	}
	wait_for_doors(&w->doors, at);
	int64_t now = clock_now_ms();
	if (w->spare.is_due && at->n_branchings == 0)
		wait_until(at, now + SPARE_MS);
	for (uint32_t i = 0; i < w->n_used; i++) {
		const struct box *box = &w->boxes[i];
		if (box->state == BOX_FREE || box->listener_fd < 0)
			continue;
		if (box->quiet_until_ms > now) {
			wait_until(at, box->quiet_until_ms);
			continue;
		}
		at->roots[at->n_roots++] = i;
		wait_for(at, box->listener_fd);
	}
}

/* After a stall of the warden, extend all deadlines: other processes may have stalled, too. */
static void forgive_stall(struct state *w, int64_t waited_ms)
{
	int64_t now = clock_now_ms(), stall_ms = now - w->turned_ms - waited_ms;
	w->turned_ms = now;
	if (stall_ms < STALL_MS)
		return;
	for (size_t i = 0; i < ARRAY_LEN(w->branchings); i++)
		w->branchings[i].deadline_ms += stall_ms;
	for (size_t i = 0; i < ARRAY_LEN(w->doors.v); i++)
		w->doors.v[i].deadline_ms += stall_ms;
}

/* Serve what is ready. Serve each branch in the making before the listeners: the process that
 * makes a branch first sends the byte 'P', and then calls clone(), which a listener reports. So
 * the warden reads the 'P' before it decides about the clone(). */
static int turn(struct state *w)
{
	static struct waiting at;
	set_waiting(w, &at);
	int64_t left = at.until_ms < 0 ? -1 : MAX(at.until_ms - clock_now_ms(), (int64_t)0);
	left = MIN(left, (int64_t)STALL_MS);
	int n = poll(at.polls, at.n, (int)left);
	forgive_stall(w, MAX(left, (int64_t)0));
	if (n < 0)
		return errno == EINTR ? 0 : -1;
	if (n == 0 && at.n_branchings == 0)
		spare_make(&w->spare, &w->host.cgroup);
	const struct pollfd *poll_of = at.polls + 1;
	for (size_t i = 0; i < at.n_branchings; i++, poll_of += 3)
		if (at.branchings[i]->state != BRANCHING_FREE)
			serve_branching(w, at.branchings[i], poll_of);
	for (size_t i = 0; i < at.n_doors; i++, poll_of++)
		serve_door(w, at.doors[i], poll_of->revents != 0);
	for (size_t i = 0; i < at.n_roots; i++, poll_of++)
		if (poll_of->revents)
			serve_listener(w, &w->boxes[at.roots[i]]);
	return at.polls[0].revents ? serve_one(w) : 0;
}

static void destroy_all(struct state *w)
{
	const struct boxes all = {w->boxes, w->n_used};
	for (size_t i = 0; i < ARRAY_LEN(w->branchings); i++)
		if (w->branchings[i].state != BRANCHING_FREE)
			branching_fail(&w->branchings[i], &all);
	for (size_t i = 0; i < ARRAY_LEN(w->doors.v); i++)
		if (w->doors.v[i].state != DOOR_FREE)
			door_end(&w->doors, &w->doors.v[i]);
	/* Kill all boxes before waiting for any, since each takes milliseconds to end. */
	for (unsigned i = 0; i < w->n_used; i++)
		if (w->boxes[i].state != BOX_FREE)
			box_kill(&w->boxes[i]);
	for (unsigned i = 0; i < w->n_used; i++)
		if (w->boxes[i].state != BOX_FREE)
			box_destroy(&w->boxes[i]);
	spare_done(&w->spare);
}

/* Forbid huge pages for @w: they would take memory for parts of @w that are never touched. */
static void stay_small(struct state *w)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)w & ~(page - 1);
	(void)madvise((void *)start, (uintptr_t)(w + 1) - start, MADV_NOHUGEPAGE);
}

int main(void)
{
	static struct state w;
	(void)prctl(PR_SET_NAME, "retort-warden");
	stay_small(&w);
	box_host_detach();
	w.host.spare = &w.spare;
	if (box_host_open(&w.host, &w.broken) == 0)
		w.broken = (struct err){0};
	sched_be_brief();
	while (turn(&w) == 0)
		;
	destroy_all(&w);
	cgroup_host_close(&w.host.cgroup);
	return 0;
}
