/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/door_check.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct warden {
	int fd;
	pid_t pid;
	bool is_attached, is_dead;
	uint64_t last_id;
	struct warden_call *calls; /* calls that wait for an answer; a list, since they are few */
	uv_poll_t poll;
	struct warden_request req;    /* a member, because it is too large for the stack */
	struct unsent *first, **last; /* requests that wait until the socket has room */
};

struct unsent {
	struct unsent *next;
	struct warden_request req;
};

static void answer(struct warden_call **at, const struct warden_reply *reply, const int *fds)
{
	struct warden_call *call = *at;
	*at = call->next;
	call->next = NULL;
	call->done(call, reply, fds);
}

static void drop_unsent(struct warden *w)
{
	while (w->first) {
		struct unsent *u = w->first;
		w->first = u->next;
		free(u);
	}
	w->last = &w->first;
}

/* Complete every call with ERR_GONE. */
static void fail_all(struct warden *w)
{
	struct warden_reply reply = {.version = WIRE_VERSION};
	reply.status = err_set(&reply.err, ERR_GONE, "the warden is gone");
	w->is_dead = true;
	drop_unsent(w);
	/* A callback may forget calls, and it may start new ones. This loop leaves out the new
	 * calls, which have greater ids; a later fail_all() completes them. */
	for (uint64_t last_id = w->last_id;;) {
		struct warden_call **at = &w->calls;
		while (*at && (*at)->id > last_id)
			at = &(*at)->next;
		if (!*at)
			break;
		answer(at, &reply, NULL);
	}
}

static struct warden_call **find_call(struct warden *w, uint64_t id)
{
	struct warden_call **at = &w->calls;
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void dispatch(
	struct warden *w, const struct warden_reply *reply, const int *fds, size_t n_fds)
{
	struct warden_call **at = find_call(w, reply->id);
	const int n_books = cgroup_books_count((enum cgroup_kind)reply->books);
	const size_t skip = reply->op == WARDEN_BRANCHED ? WARDEN_FD_WORKSPACE : WARDEN_FD_INIT;
	int made[WARDEN_FD_WORKSPACE + WARDEN_FDS_MAX] = {[WARDEN_FD_INIT] = -1};
	bool is_prepared = reply->op == WARDEN_BRANCH && n_fds == WARDEN_PREPARED_END_;
	memcpy(made + skip, fds, n_fds * sizeof *fds);
	bool is_good = reply->op == WARDEN_OPEN
		? reply->status == 0 && door_spread(made, n_fds, reply->opened)
		: n_fds > 0 && skip + n_fds == WARDEN_FD_END_ + (size_t)n_books;
	if (*at && is_prepared) {
		(*at)->prepared(*at, fds, n_fds);
		return;
	}
	for (size_t i = 0; i < n_fds && !(*at && is_good); i++)
		(void)close(fds[i]);
	if (*at)
		answer(at, reply, is_good ? made : NULL);
}

static void flush(struct warden *w);
static void watch(struct warden *w);

static void on_socket(uv_poll_t *poll, int status, int events)
{
	struct warden *w = poll->data;
	struct warden_reply reply = {0};
	int fds[WARDEN_FDS_MAX];
	size_t n_fds = 0;
	if (status == 0 && (events & UV_WRITABLE)) {
		flush(w);
		watch(w);
	}
	ssize_t n = status < 0 ? status
			       : fd_recv(w->fd, &reply, sizeof reply, fds, ARRAY_LEN(fds), &n_fds);
	if (n == -EAGAIN)
		return;
	if ((n != (ssize_t)sizeof reply && n != -EMFILE) || reply.version != WIRE_VERSION) {
		(void)uv_poll_stop(poll);
		fail_all(w);
		return;
	}
	if (reply.status < 0)
		err_check(&reply.err);
	else if (n == -EMFILE)
		err_sys(&reply.err, ERR_IO, EMFILE, "take a box");
	dispatch(w, &reply, fds, n_fds);
}

static int spawn_warden(struct warden *w, const char *path, int sock, struct err *err)
{
	posix_spawn_file_actions_t actions;
	static char name[] = "retort-warden";
	char *const argv[] = {name, NULL};
	const char *cgroup = getenv("RETORT_CGROUP");
	char forced[64] = "RETORT_CGROUP=";
	if (cgroup)
		strncat(forced, cgroup, sizeof forced - strlen(forced) - 1);
	char *const envp[] = {cgroup ? forced : NULL, NULL};
	int r = posix_spawn_file_actions_init(&actions);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, sock, WIRE_SOCK_FD);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, WIRE_SOCK_FD + 1);
	if (r == 0)
		r = posix_spawn(&w->pid, path, &actions, NULL, argv, envp);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? 0 : err_sys(err, ERR_BOX, r, "start %s", path);
}

int warden_start(struct warden **out, const char *path, struct err *err)
{
	int pair[2];
	struct warden *w = xnew(struct warden);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(w);
		return err_sys(err, ERR_BOX, errno, "socketpair");
	}
	cleanup_fd int theirs = pair[1];
	w->fd = pair[0];
	w->last = &w->first;
	int r = spawn_warden(w, path, theirs, err);
	if (r < 0) {
		fd_close(&w->fd);
		free(w);
		return r;
	}
	*out = w;
	return 0;
}

int warden_attach(struct warden *w, uv_loop_t *loop, struct err *err)
{
	int r = uv_poll_init(loop, &w->poll, w->fd);
	w->poll.data = w;
	if (r == 0)
		r = uv_poll_start(&w->poll, UV_READABLE | UV_WRITABLE, on_socket);
	if (r < 0)
		return err_sys(err, ERR_BOX, -r, "watch the warden");
	w->is_attached = true;
	return 0;
}

static void watch(struct warden *w)
{
	if (w->is_attached)
		(void)uv_poll_start(
			&w->poll, UV_READABLE | (w->first ? UV_WRITABLE : 0), on_socket);
}

/* Send the queued requests until the socket is full. Errors other than EAGAIN need no handling:
 * the connection has then ended, and on_socket() notices this. */
static void flush(struct warden *w)
{
	while (w->first) {
		struct unsent *u = w->first;
		if (fd_send(w->fd, &u->req, sizeof u->req, NULL, 0) == -EAGAIN)
			return;
		w->first = u->next;
		if (!w->first)
			w->last = &w->first;
		free(u);
	}
}

/* Send w->req, or queue it if the socket is full. Do not block: the warden may be waiting for us to
 * read its replies. */
static void send_request(struct warden *w)
{
	if (!w->first && fd_send(w->fd, &w->req, sizeof w->req, NULL, 0) != -EAGAIN)
		return;
	struct unsent *u = xnew(struct unsent);
	u->req = w->req;
	*w->last = u;
	w->last = &u->next;
	watch(w);
}

static void start_call(struct warden *w, struct warden_call *call)
{
	call->id = ++w->last_id;
	call->next = w->calls;
	w->calls = call;
	w->req.version = WIRE_VERSION;
	w->req.id = call->id;
	w->req.flags = 0;
	/* The socket of a dead warden is always readable. Watch the socket again, so that
	 * on_socket() runs and lets fail_all() complete this call, too. */
	if (w->is_dead)
		watch(w);
}

static void send_binds(struct warden *w, const struct warden_bind *binds, size_t n_binds)
{
	for (size_t i = 0; i < n_binds; i++) {
		w->req.op = WARDEN_BIND;
		w->req.bind = binds[i];
		send_request(w);
	}
}

void warden_create(
	struct warden *w, struct warden_call *call, uint32_t flags, const struct warden_box *box)
{
	start_call(w, call);
	send_binds(w, box->binds, box->n_binds);
	w->req.op = WARDEN_CREATE;
	w->req.flags = flags;
	w->req.limits = *box->limits;
	w->req.uid = box->uid;
	w->req.gid = box->gid;
	send_request(w);
}

void warden_branch(struct warden *w, struct warden_call *call, uint32_t parent,
	const struct limits *limits, const struct warden_bind *binds, size_t n_binds)
{
	start_call(w, call);
	send_binds(w, binds, n_binds);
	w->req.op = WARDEN_BRANCH;
	w->req.box = parent;
	w->req.limits = *limits;
	send_request(w);
}

static void call_box(struct warden *w, struct warden_call *call, uint32_t op, uint32_t box)
{
	start_call(w, call);
	w->req.op = op;
	w->req.box = box;
	send_request(w);
}

void warden_usage(struct warden *w, struct warden_call *call, uint32_t box)
{
	call_box(w, call, WARDEN_USAGE, box);
}

void warden_open(struct warden *w, struct warden_call *call, uint32_t box, enum warden_door what,
	const struct warden_net *net)
{
	w->req.door = what;
	w->req.net = net ? *net : (struct warden_net){0};
	call_box(w, call, WARDEN_OPEN, box);
}

void warden_destroy(struct warden *w, struct warden_call *call, uint32_t box)
{
	call_box(w, call, WARDEN_DESTROY, box);
}

void warden_forget(struct warden *w, struct warden_call *call)
{
	struct warden_call **at = find_call(w, call->id);
	if (*at)
		*at = call->next;
}

bool warden_is_dead(const struct warden *w)
{
	return w->is_dead;
}

static void closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Remove the cgroups that a killed warden has left. The processes of its boxes die with the
 * warden, but that takes a moment, so try repeatedly. */
static void sweep_after(void)
{
	enum { TRIES = 20, PAUSE_NS = 10000000 };
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct cgroup_host host;
	cgroup_host_look(&host, "");
	for (int i = 0; host.kind != CGROUP_NONE && i < TRIES; i++) {
		cgroup_host_sweep(&host);
		(void)nanosleep(&pause, NULL);
	}
}

void warden_end(struct warden *w)
{
	drop_unsent(w);
	(void)shutdown(w->fd, SHUT_WR);
}

void warden_stop(struct warden *w)
{
	int status = 0;
	fd_close(&w->fd);
	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		sweep_after();
	w->calls = NULL;
	drop_unsent(w);
	if (!w->is_attached) {
		free(w);
		return;
	}
	uv_close((uv_handle_t *)&w->poll, closed);
}
