/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/box.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "sandbox/door_check.h"
#include "sandbox/syscalls.h"
#include "session/box/driver.h"
#include "session/box/lost_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * Closing a workspace frees its files, which takes long if there are many. So the loop itself
 * closes only a workspace with at most CLOSE_BYTES of data and CLOSE_FILES files. A thread closes a
 * larger one.
 */
enum { CLOSE_BYTES = 64 << 20, CLOSE_FILES = 1000 };

static void finish(struct box *b)
{
	struct engine *e = b->engine;
	free(b);
	engine_release(e);
}

/* Return whether @fd is on a tmpfs with more than CLOSE_BYTES of data or CLOSE_FILES files.
 * Closing the last descriptor of a tmpfs frees all of its files. */
static bool holds_much(int fd)
{
	struct statfs fs;
	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
		((fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize > CLOSE_BYTES ||
			fs.f_files - fs.f_ffree > CLOSE_FILES);
}

static void on_workspace_closed(uv_fs_t *closing)
{
	uv_fs_req_cleanup(closing);
	finish(container_of(closing, struct box, closing));
}

static void close_workspace(struct box *b)
{
	if (holds_much(b->workspace_fd) &&
		uv_fs_close(b->engine->loop, &b->closing, b->workspace_fd, on_workspace_closed) ==
			0)
		return;
	fd_close(&b->workspace_fd);
	fd_close(&b->changes_fd);
	finish(b);
}

static void on_init_closed(uv_handle_t *handle)
{
	close_workspace(handle->data);
}

static void free_box(struct box *b)
{
	warden_forget(b->engine->warden, &b->watch);
	cgroup_books_close(&b->books);
	if (b->has_init) {
		b->init.poll.data = b;
		init_link_close(&b->init, on_init_closed);
		return;
	}
	close_workspace(b);
}

static void end_now(struct box *b);

/* End the box if it has no references and no call to the warden is pending. If the warden knows
 * the box, the warden destroys it first. Then the struct is freed. */
static void maybe_free(struct box *b)
{
	if (b->n_refs > 0 || b->is_calling)
		return;
	if (b->has_number)
		end_now(b);
	else
		free_box(b);
}

static void on_ended(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	static const struct box_usage nothing = {0};
	struct box *b = container_of(call, struct box, call);
	(void)fds;
	b->is_calling = b->has_number = false;
	b->is_over = true;
	/* ended() may drop the last other reference, so hold one here. */
	b->n_refs++;
	box_usage_fn *ended = take_ptr(b->ended);
	if (ended)
		ended(b->ended_arg, reply->status == 0 ? &reply->usage : &nothing);
	box_let_go(b);
}

static void end_now(struct box *b)
{
	b->is_calling = true;
	b->has_number = false;
	b->call.done = on_ended;
	b->call.prepared = NULL;
	warden_destroy(b->engine->warden, &b->call, b->number);
}

struct box *box_new(struct engine *e, const struct limits *limits)
{
	struct box *b = xnew(struct box);
	*b = (struct box){
		.engine = e, .n_refs = 1, .workspace_fd = -1, .changes_fd = -1, .limits = *limits};
	limits_settle(&b->limits);
	engine_hold(e);
	return b;
}

static void tell_made(struct box *b, const struct err *err)
{
	box_made_fn *made = take_ptr(b->made);
	if (made)
		made(b->arg, err);
}

static void on_created(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct box *b = container_of(call, struct box, call);
	struct err err;
	b->is_calling = false;
	/* made() may drop the last other reference, so hold one here. */
	b->n_refs++;
	if (reply->status < 0 || !fds) {
		box_take_number(b, reply);
		tell_made(b, &reply->err);
	} else {
		box_take_reply(b, reply, fds);
		int r = box_take_init(b, fds[WARDEN_FD_INIT], &err);
		tell_made(b, r < 0 ? &err : NULL);
	}
	box_let_go(b);
}

struct box *box_create(struct engine *e, uint32_t flags, const struct warden_box *what,
	box_made_fn *made, void *arg)
{
	struct box *b = box_new(e, what->limits);
	struct warden_box order = *what;
	order.limits = &b->limits;
	b->made = made;
	b->arg = arg;
	b->is_calling = true;
	b->call.done = on_created;
	warden_create(e->warden, &b->call, flags, &order);
	return b;
}

/*
 * Keep the descriptors of the cgroup's usage files, so that usage can be read without the warden.
 * If the engine already uses more than half of the descriptors that it may have, close them
 * instead: new boxes need the rest, and the warden can report usage, too.
 */
static void take_books(struct box *b, const struct warden_reply *reply, const int *fds)
{
	struct rlimit limit;
	b->books.kind = (enum cgroup_kind)reply->books;
	if (b->books.kind == CGROUP_NONE)
		return;
	memcpy(b->books.fds, fds,
		(size_t)cgroup_books_count(b->books.kind) * sizeof b->books.fds[0]);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)fds[0] > limit.rlim_cur / 2)
		cgroup_books_close(&b->books);
}

void box_take_number(struct box *b, const struct warden_reply *reply)
{
	b->has_number = reply->status >= 0;
	b->number = reply->box;
}

/* Open the directory with the changes, before programs of the box could put another in its place.
 * Another driver may have done so in a branch: no program can make a read-only mount. */
static int open_changes(int workspace_fd)
{
	struct statvfs fs;
	cleanup_fd int root = openat(workspace_fd, "../..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd = root < 0 ? -1
				     : sys_open_beneath(root, &WIRE_CHANGES_DIR[1],
					       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	bool is_it = fd >= 0 && fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY);
	return is_it ? take_fd(fd) : -1;
}

void box_take_reply(struct box *b, const struct warden_reply *reply, const int *fds)
{
	box_take_number(b, reply);
	b->workspace_fd = fds[WARDEN_FD_WORKSPACE];
	b->changes_fd = open_changes(b->workspace_fd);
	b->made_ns = lost_files_now_ns();
	take_books(b, reply, fds + WARDEN_FD_END_);
	memcpy(b->by, reply->by, sizeof b->by);
	/*
	 * Without a cgroup, the kernel would count the processes of branches as well, so the warden
	 * enforces no process limit in a box that can be branched. The engine counts the processes
	 * of the box instead.
	 */
	if (b->by[LIMIT_pids] == LIMIT_BY_NONE)
		b->by[LIMIT_pids] = LIMIT_BY_ENGINE;
}

static struct driver *driver_of(struct box *b, uint64_t id)
{
	struct driver *d = b->drivers;
	while (d && d->id != id)
		d = d->next;
	return d;
}

static struct box_program *program_of(struct box *b, uint64_t id)
{
	struct box_program *p = b->programs;
	while (p && p->id != id)
		p = p->next;
	return p;
}

void box_add_program(struct box *b, struct box_program *program)
{
	program->id = ++b->last_id;
	program->next = b->programs;
	b->programs = program;
}

void box_remove_program(struct box *b, struct box_program *program)
{
	for (struct box_program **at = &b->programs; *at; at = &(*at)->next)
		if (*at == program) {
			*at = program->next;
			return;
		}
}

/* Tell all listeners that the box has ended with all of its drivers. A listener may drop other
 * drivers of the box. */
static void tell_over(struct box *b)
{
	struct err err;
	b->is_over = true;
	err_set(&err, ERR_GONE, "the box ended unexpectedly");
	b->n_refs++;
	box_cleared_fn *cleared = take_ptr(b->cleared);
	if (cleared)
		cleared(b->cleared_arg, -1);
	for (struct driver *d = b->drivers; d;) {
		bool is_news = !d->is_over;
		if (is_news)
			driver_on_broken(d, &err);
		else if (!d->is_let_go)
			/* The driver has already ended. A rollback may still be waiting for
			 * init's reply about this driver (INIT_ROLLED_BACK). Init has ended with
			 * the box and cannot reply any more, so report an error to the rollback. */
			driver_on_rolled_back(d, &err);
		/* The listener may have dropped any driver, so start again with the first. */
		d = is_news ? b->drivers : d->next;
	}
	while (b->programs) {
		struct box_program *program = b->programs;
		b->programs = program->next;
		program->event(program, NULL);
	}
	box_listed_fn *listed = take_ptr(b->listed);
	if (listed)
		listed(b->listed_arg, -EPIPE);
	if (b->filed)
		b->filed(b->filed_arg, UINT64_MAX, -EPIPE);
	if (b->marked)
		b->marked(b->marked_arg, 0);
	box_let_go(b);
}

static void on_list(struct box *b, const struct init_event *event)
{
	box_listed_fn *listed = event->id == b->list_id ? take_ptr(b->listed) : NULL;
	if (listed)
		listed(b->listed_arg, event->status);
}

static void on_init(struct init_link *link, const struct init_event *event)
{
	struct box *b = container_of(link, struct box, init);
	if (!event) {
		tell_over(b);
		return;
	}
	struct driver *d = driver_of(b, event->id);
	struct box_program *program = program_of(b, event->id);
	if (event->kind == INIT_LISTED) {
		on_list(b, event);
		return;
	}
	if (event->kind == INIT_FILE_DONE && b->filed) {
		b->filed(b->filed_arg, event->id, event->status);
		return;
	}
	if (event->kind == INIT_MARKED) {
		if (b->marked)
			b->marked(b->marked_arg, (uint32_t)event->id);
		return;
	}
	if (event->kind == INIT_CLEARED && b->cleared) {
		box_cleared_fn *cleared = take_ptr(b->cleared);
		cleared(b->cleared_arg, event->status);
		return;
	}
	if (program &&
		(event->kind == INIT_STARTED || event->kind == INIT_FAILED ||
			event->kind == INIT_EXITED)) {
		program->event(program, event);
		return;
	}
	if (event->kind == INIT_FAILED && event->id == 0 && b->drivers)
		driver_on_broken(b->drivers, &event->err);
	else if (d && event->kind == INIT_FAILED && d->is_over)
		driver_on_rolled_back(d, &event->err);
	else if (d && event->kind == INIT_FAILED)
		driver_on_broken(d, &event->err);
	else if (d && event->kind == INIT_EXITED)
		driver_on_exited(d, event->status);
	else if (d && event->kind == INIT_ROLLED_BACK)
		driver_on_rolled_back(d, NULL);
}

int box_take_init(struct box *b, int fd, struct err *err)
{
	b->init.on_event = on_init;
	int r = init_link_open(&b->init, b->engine->loop, fd, err);
	b->has_init = r == 0;
	return r;
}

struct box *box_hold(struct box *b)
{
	b->n_refs++;
	return b;
}

void box_let_go(struct box *b)
{
	if (--b->n_refs > 0)
		return;
	b->made = NULL;
	b->ended = NULL;
	maybe_free(b);
}

void box_end(struct box *b, box_usage_fn *ended, void *arg)
{
	b->ended = ended;
	b->ended_arg = arg;
	end_now(b);
}

/* Read the usage from the cgroup's files, without a request to the warden. Return whether that
 * was possible. */
static bool read_books(struct box *b)
{
	struct box_usage now = b->usage;
	if (b->books.kind == CGROUP_NONE || cgroup_books_read(&b->books, &now) < 0)
		return false;
	now.memory_peak_bytes =
		MAX(MAX(now.memory_peak_bytes, now.memory_bytes), b->usage.memory_peak_bytes);
	now.cpu_us = MAX(now.cpu_us, b->usage.cpu_us);
	b->usage = now;
	return true;
}

bool box_count_ooms(struct box *b, uint64_t *n)
{
	bool is_read = read_books(b);
	*n = b->usage.n_oom_kills;
	return is_read;
}

bool box_has_just(struct box *b, uint64_t n)
{
	enum limit_by by = (enum limit_by)b->by[LIMIT_pids];
	bool is_counted = by == LIMIT_BY_CGROUP_V1 || by == LIMIT_BY_CGROUP_V2;
	return is_counted && read_books(b) && b->usage.n_pids == n;
}

static void on_usage(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct box *b = container_of(call, struct box, watch);
	(void)fds;
	b->is_watching = false;
	b->usage = reply->usage;
	box_usage_fn *used = take_ptr(b->used);
	if (used)
		used(b->used_arg, reply->status < 0 ? NULL : &reply->usage);
}

bool box_ask_usage(struct box *b, box_usage_fn *used, void *arg)
{
	if (b->is_watching)
		return false;
	if (read_books(b)) {
		struct box_usage now = b->usage;
		used(arg, &now);
		return true;
	}
	b->is_watching = true;
	b->used = used;
	b->used_arg = arg;
	b->watch.done = on_usage;
	warden_usage(b->engine->warden, &b->watch, b->number);
	return true;
}

void box_forget(struct box *b)
{
	b->used = NULL;
	b->cleared = NULL;
}

int box_file(struct box *b, const struct init_file *file)
{
	return b->is_over ? -EPIPE : init_file(&b->init, file);
}

/* NOLINTNEXTLINE(readability-function-size): one caller, and all is handed on as it is */
void box_clear(struct box *b, const struct driver *d, const int32_t *pids, size_t n_pids,
	enum init_clearing how, box_cleared_fn *cleared, void *arg)
{
	if (b->is_over) {
		cleared(arg, -1);
		return;
	}
	b->cleared = cleared;
	b->cleared_arg = arg;
	init_clear(&b->init, d ? d->id : 0, pids, n_pids, how);
}

/* A request for a door, from box_open() until its answer. */
struct box_door {
	struct warden_call call;
	struct box *box;
	enum warden_door what;
	struct warden_net net;
	box_opened_fn *done;
	void *arg;
};

static void free_door(struct box_door *door)
{
	struct box *b = door->box;
	b->n_doors--;
	free(door);
	box_let_go(b);
}

static void on_opened(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct box_door *door = container_of(call, struct box_door, call);
	struct err err = reply->err;
	bool is_good = fds && door_check(door->what, &door->net, fds, &err) == 0;
	for (size_t i = 0; fds && !is_good && i < WARDEN_FDS_MAX; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	door->done(door->arg, is_good ? fds : NULL, &err);
	free_door(door);
}

struct box_door *box_open(struct box *b, enum warden_door what, const struct warden_net *net,
	box_opened_fn *done, void *arg)
{
	struct err err;
	if (!b->has_number || b->is_over || b->n_doors >= BOX_DOORS_MAX) {
		if (b->has_number && !b->is_over)
			(void)err_fail(&err, ERR_BUSY, "try again in a moment",
				"more than %d terminals and connections are being opened here",
				BOX_DOORS_MAX);
		else
			(void)err_set(&err, ERR_GONE, "the box has ended");
		done(arg, NULL, &err);
		return NULL;
	}
	struct box_door *door = xnew(struct box_door);
	*door = (struct box_door){.call = {.done = on_opened},
		.box = box_hold(b),
		.what = what,
		.net = net ? *net : (struct warden_net){0},
		.done = done,
		.arg = arg};
	b->n_doors++;
	warden_open(b->engine->warden, &door->call, b->number, what, net);
	return door;
}

void box_open_forget(struct box_door *door)
{
	warden_forget(door->box->engine->warden, &door->call);
	free_door(door);
}
