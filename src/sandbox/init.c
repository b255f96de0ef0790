/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/init.h"
#include "sandbox/rollback.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* A request that waits until the socket has room. */
struct init_unsent {
	struct init_unsent *next;
	struct init_request *req;
	size_t bytes;
	int fds[FD_PASS_MAX];
	size_t n_fds;
};

/* ---- sending ---- */

static void on_socket(uv_poll_t *poll, int status, int events);

/* Drop the request to which @at, a link of the list, refers. */
static void drop(struct init_link *link, struct init_unsent **at)
{
	struct init_unsent *u = *at;
	*at = u->next;
	if (!*at)
		link->last = at;
	for (size_t i = 0; i < u->n_fds; i++)
		fd_close(&u->fds[i]);
	free(u->req);
	free(u);
}

static void watch(struct init_link *link)
{
	int events = UV_READABLE | (link->first ? UV_WRITABLE : 0);
	if (!link->is_over)
		(void)uv_poll_start(&link->poll, events, on_socket);
}

/* Send the requests that wait, until the socket is full. Other errors need no handling: the
 * connection has then ended, and on_socket() notices that. */
static void flush(struct init_link *link)
{
	while (link->first) {
		const struct init_unsent *u = link->first;
		if (fd_send(link->fd, u->req, u->bytes, u->fds, u->n_fds) == -EAGAIN)
			return;
		drop(link, &link->first);
	}
	watch(link);
}

/* Drop a signal that waits, if another one like @req will follow: so few wait, however many are
 * sent. */
static void drop_same(struct init_link *link, const struct init_request *req)
{
	for (struct init_unsent **at = &link->first; *at; at = &(*at)->next) {
		const struct init_request *r = (*at)->req;
		if (r->op == req->op && r->id == req->id && r->signal == req->signal &&
			r->is_forced == req->is_forced) {
			drop(link, at);
			return;
		}
	}
}

/* Let a request wait. Owns: takes @req; @fds are duplicated. Returns: 0, or negative errno. */
static int put_off(struct init_link *link, struct init_request *req, size_t bytes, const int *fds,
	size_t n_fds)
{
	struct init_unsent *u = xnew(struct init_unsent);
	struct init_request *small = realloc(req, bytes);
	*u = (struct init_unsent){.req = small ? small : req, .bytes = bytes};
	if (u->req->op == INIT_SIGNAL)
		drop_same(link, u->req);
	struct init_unsent **at = link->last;
	*at = u;
	link->last = &u->next;
	for (; u->n_fds < n_fds; u->n_fds++) {
		u->fds[u->n_fds] = fcntl(fds[u->n_fds], F_DUPFD_CLOEXEC, 0);
		if (u->fds[u->n_fds] < 0) {
			int r = -errno;
			drop(link, at);
			return r;
		}
	}
	watch(link);
	return 0;
}

/*
 * Send a request, or let it wait if the socket is full: do not block, since init may be waiting for
 * us to read its events. Owns: takes @req; @fds stay the caller's. Returns: 0, or negative errno.
 */
static int put_request(struct init_link *link, struct init_request *req, size_t bytes,
	const int *fds, size_t n_fds)
{
	ssize_t n = link->first ? -EAGAIN : fd_send(link->fd, req, bytes, fds, n_fds);
	if (n == -EAGAIN)
		return put_off(link, req, bytes, fds, n_fds);
	free(req);
	return n < 0 ? (int)n : 0;
}

/* ---- receiving ---- */

static void on_socket(uv_poll_t *poll, int status, int events)
{
	struct init_link *link = container_of(poll, struct init_link, poll);
	struct init_event event;
	if (status == 0 && events & UV_WRITABLE)
		flush(link);
	if (status == 0 && !(events & UV_READABLE))
		return;
	ssize_t n = status < 0 ? status : fd_recv(link->fd, &event, sizeof event, NULL, 0, NULL);
	if (n == -EAGAIN)
		return;
	bool is_good = n == (ssize_t)sizeof event && event.version == WIRE_VERSION &&
		event.kind >= INIT_READY && event.kind < INIT_EVENT_END_;
	link->is_over = !is_good;
	if (!is_good)
		(void)uv_poll_stop(poll);
	else if (event.kind == INIT_FAILED)
		err_check(&event.err);
	link->on_event(link, is_good ? &event : NULL);
}

int init_link_open(struct init_link *link, uv_loop_t *loop, int fd, struct err *err)
{
	link->fd = fd;
	link->first = NULL;
	link->last = &link->first;
	link->is_over = false;
	fd_refuse_passed(fd);
	int r = uv_poll_init(loop, &link->poll, fd);
	if (r == 0)
		r = uv_poll_start(&link->poll, UV_READABLE, on_socket);
	return r < 0 ? err_sys(err, ERR_BOX, -r, "watch init") : 0;
}

/* ---- requests ---- */

static int put_strings(struct init_request *req, const char *const *strings, uint32_t *count)
{
	for (*count = 0; strings[*count]; (*count)++) {
		size_t bytes = strlen(strings[*count]) + 1;
		if (bytes > sizeof req->text - req->text_bytes)
			return -E2BIG;
		memcpy(req->text + req->text_bytes, strings[*count], bytes);
		req->text_bytes += (uint32_t)bytes;
	}
	return 0;
}

int init_spawn(struct init_link *link, const struct spawn *spawn, struct err *err)
{
	const uint64_t *limit = spawn->limits->value;
	struct init_request *req = xnew(struct init_request);
	*req = (struct init_request){.version = WIRE_VERSION,
		.op = INIT_SPAWN,
		.id = spawn->id,
		.memory_bytes = spawn->data_bytes,
		.cpu_ms = limit[LIMIT_cpu_ms],
		.pids = limit[LIMIT_pids],
		.file_bytes = limit[LIMIT_file_bytes],
		.open_files = limit[LIMIT_open_files],
		.is_session = spawn->is_session,
		.is_fixed = spawn->is_fixed,
		.is_program = spawn->is_program,
		.is_terminal = spawn->is_terminal,
		.has_directory = !spawn->directory  ? 0
			: spawn->may_make_directory ? 2
						    : 1};
	const char *const directory[] = {spawn->directory, NULL};
	uint32_t n_directory;
	int r = put_strings(req, spawn->argv, &req->argc);
	if (r == 0)
		r = put_strings(req, spawn->envp, &req->envc);
	if (r == 0)
		r = put_strings(req, directory, &n_directory);
	if (r == 0) {
		size_t bytes = offsetof(struct init_request, text) + req->text_bytes;
		r = put_request(link, req, bytes, spawn->fds,
			spawn->is_program ? WIRE_PROGRAM_FDS : WIRE_SPAWN_FDS);
		r = r < 0 ? err_sys(err, ERR_GONE, -r, "ask init for %s", spawn->argv[0]) : 0;
	} else {
		free(req);
		r = err_fail(err, ERR_LIMIT,
			spawn->is_program
				? "write large data to its input, or to a file: `file.write`"
				: "pass large data as a file: -v data.txt:/data.txt",
			"arguments and variables are over %d KiB", WIRE_TEXT_BYTES >> 10);
	}
	return r;
}

/* The fields of a request that has no `text`. Only the bytes of struct init_request before
 * `text` are sent. */
struct init_head {
	uint32_t op;
	uint64_t id;
	int32_t signal, guard_pid;
	uint32_t mark;
	uint32_t is_forced, clearing;
	const int32_t *pids;
	size_t n_pids;
};

static void send_short(struct init_link *link, const struct init_head *head)
{
	struct init_request *req = xnew(struct init_request);
	*req = (struct init_request){.version = WIRE_VERSION,
		.op = head->op,
		.id = head->id,
		.signal = head->signal,
		.guard_pid = head->guard_pid,
		.mark = head->mark,
		.is_forced = head->is_forced,
		.n_guards = (uint32_t)MIN(head->n_pids, (size_t)WIRE_PIDS_MAX)};
	for (uint32_t i = 0; i < req->n_guards; i++)
		req->guards[i] = head->pids[i];
	(void)put_request(link, req, offsetof(struct init_request, text), NULL, 0);
}

void init_signal(struct init_link *link, uint64_t id, int signal)
{
	send_short(link, &(struct init_head){.op = INIT_SIGNAL, .id = id, .signal = signal});
}

void init_kill_all(struct init_link *link)
{
	send_short(link, &(struct init_head){.op = INIT_KILL_ALL});
}

void init_rollback(struct init_link *link, const struct init_back *back)
{
	send_short(link,
		&(struct init_head){.op = INIT_ROLLBACK,
			.id = back->id,
			.guard_pid = back->guard_pid,
			.mark = back->mark,
			.pids = back->pids,
			.n_pids = back->n_pids});
}

void init_mark(struct init_link *link, uint32_t mark)
{
	send_short(link, &(struct init_head){.op = INIT_MARK, .mark = mark});
}

int init_file(struct init_link *link, const struct init_file *file)
{
	struct init_request *req = xnew(struct init_request);
	const char *const strings[] = {file->path, file->target, NULL};
	uint32_t n;
	*req = (struct init_request){.version = WIRE_VERSION,
		.op = INIT_FILE,
		.id = file->id,
		.act = file->act,
		.root = file->root,
		.mode = file->mode};
	if (file->modified) {
		req->is_timed = 1;
		req->modified_s = file->modified->tv_sec;
		req->modified_ns = (uint32_t)file->modified->tv_nsec;
	}
	int r = put_strings(req, strings, &n);
	size_t bytes = offsetof(struct init_request, text) + req->text_bytes;
	ssize_t sent = r < 0  ? r
		: link->first ? -EAGAIN
			      : fd_send(link->fd, req, bytes, &file->fd, file->fd >= 0);
	free(req);
	return sent < 0 ? (int)sent : 0;
}

static void send_pids(
	struct init_link *link, const struct init_head *head, const int32_t *pids, size_t n_pids)
{
	struct init_request *req = xnew(struct init_request);
	*req = (struct init_request){.version = WIRE_VERSION,
		.op = head->op,
		.id = head->id,
		.signal = head->signal,
		.is_forced = head->is_forced,
		.clearing = head->clearing,
		.n_guards = (uint32_t)MIN(n_pids, (size_t)WIRE_PIDS_MAX)};
	if (n_pids > 0)
		memcpy(req->guards, pids, req->n_guards * sizeof *pids);
	(void)put_request(link, req, offsetof(struct init_request, text), NULL, 0);
}

void init_clear(struct init_link *link, uint64_t id, const int32_t *pids, size_t n_pids,
	enum init_clearing how)
{
	send_pids(link, &(struct init_head){.op = INIT_CLEAR, .id = id, .clearing = how}, pids,
		n_pids);
}

void init_sweep(struct init_link *link, const int32_t *pids, size_t n_pids, bool has_programs)
{
	send_pids(link, &(struct init_head){.op = INIT_SWEEP, .is_forced = has_programs}, pids,
		n_pids);
}

void init_signal_all(struct init_link *link, uint64_t id, int signal)
{
	send_short(link,
		&(struct init_head){
			.op = INIT_SIGNAL, .id = id, .signal = signal, .is_forced = true});
}

int init_list(struct init_link *link, uint64_t id, int fd)
{
	struct init_request *req = xnew(struct init_request);
	*req = (struct init_request){.version = WIRE_VERSION, .op = INIT_LIST, .id = id};
	return put_request(link, req, offsetof(struct init_request, text), &fd, 1);
}

void init_link_close(struct init_link *link, uv_close_cb done)
{
	while (link->first)
		drop(link, &link->first);
	fd_close(&link->fd);
	uv_close((uv_handle_t *)&link->poll, done);
}
