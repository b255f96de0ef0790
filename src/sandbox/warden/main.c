/*
 * The warden: the only code that makes boxes.
 *
 * Theory of operation. The engine starts the warden with a socket as descriptor 3 and nothing else.
 * The warden leaves the engine's session, and goes into namespaces of its own: as an ordinary user
 * into a user and a mount namespace (which gives it the right to make boxes), as root only into a
 * mount namespace. Then it answers one fixed-size request after the other. It has no threads, no
 * heap, no libraries but libc, and parses nothing that a client or a box wrote. When the socket
 * closes, because the engine is done or was killed, it destroys every box and leaves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/fd.h"
#include "sandbox/warden/box.h"
#include "sandbox/warden/message.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

struct warden {
	struct box_host host;
	struct err broken; /* why no box can be made at all; code ERR_NONE when all is well */
	struct warden_bind binds[WIRE_BINDS_MAX];
	unsigned n_binds;
	bool is_swept;
	struct err bad_bind; /* of a bind since the last box: the next box is then not made */
	struct box boxes[WIRE_BOXES_MAX];
};

static int enter_namespaces(struct warden *w, struct err *err)
{
	struct idmap *ids = &w->host.ids;
	*ids = (struct idmap){
		.is_root = geteuid() == 0, .uid = geteuid(), .gid = getegid(), .lock_fd = -1};
	if (ids->is_root && setgroups(0, NULL) < 0)
		ids->is_root = false; /* uid 0 without the rights: as good as an ordinary user */
	if (ids->is_root)
		idmap_claim(ids);
	int flags = CLONE_NEWNS | (ids->is_root ? 0 : CLONE_NEWUSER);
	if (unshare(flags) < 0) {
		int r = err_sys(err, ERR_BOX, errno, "new user namespace");
		return err_hint(err,
			       "this host does not let you make user namespaces: `retort doctor` "
			       "tells how to turn them on"),
		       r;
	}
	if (!ids->is_root) {
		int r = idmap_write(getpid(), ids->uid, ids->uid, ids->gid, err);
		if (r < 0)
			return r;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		int r = err_sys(err, ERR_BOX, errno, "make mounts private");
		return err_hint(err,
			       "user namespaces have no rights here (AppArmor on Ubuntu 24.04, for "
			       "example): `retort doctor` tells how to turn them on"),
		       r;
	}
	return 0;
}

/* The executable of init stands beside the warden's own. */
static int open_init(struct err *err)
{
	char path[WIRE_PATH_BYTES + 16];
	ssize_t n = readlink("/proc/self/exe", path, WIRE_PATH_BYTES - 1);
	if (n < 0)
		return err_sys(err, ERR_BOX, errno, "read /proc/self/exe");
	path[n] = '\0';
	char *slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "retort-init");
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0) {
		int r = err_sys(err, ERR_BOX, errno, "open %s", path);
		return err_hint(err, "install retort again: its parts must stay together"), r;
	}
	return fd;
}

static int cgroup_forced(void)
{
	static const char *const names[] = {
		[CGROUP_NONE] = "none", [CGROUP_V1] = "v1", [CGROUP_V2] = "v2"};
	const char *want = getenv("RETORT_CGROUP");
	for (size_t i = 0; want && i < ARRAY_LEN(names); i++)
		if (strcmp(want, names[i]) == 0)
			return (int)i;
	return -1;
}

static int warden_open(struct warden *w, struct err *err)
{
	/* Before the namespaces change what of the hierarchy can be seen and written. */
	cgroup_host_open(&w->host.cgroup, "", cgroup_forced());
	int r = open_init(err);
	if (r < 0)
		return r;
	w->host.init_fd = r;
	return enter_namespaces(w, err);
}

static struct box *free_box(struct warden *w)
{
	for (unsigned i = 0; i < ARRAY_LEN(w->boxes); i++)
		if (w->boxes[i].state == BOX_FREE) {
			w->boxes[i].slot = i;
			return &w->boxes[i];
		}
	return NULL;
}

static struct box *live_box(struct warden *w, uint32_t id)
{
	if (id >= ARRAY_LEN(w->boxes) || w->boxes[id].state != BOX_LIVE)
		return NULL;
	return &w->boxes[id];
}

/* A bind has no reply of its own: what is wrong with it is the answer to the WARDEN_CREATE behind
 * it. */
static void do_bind(struct warden *w, const struct warden_request *req)
{
	struct err err = {0};
	if (message_check(req, &err) == 0 && w->n_binds == ARRAY_LEN(w->binds))
		err_set(&err, ERR_LIMIT, "more than %d volumes", WIRE_BINDS_MAX);
	if (err.code == ERR_NONE)
		w->binds[w->n_binds++] = req->bind;
	else if (w->bad_bind.code == ERR_NONE)
		w->bad_bind = err;
}

static int do_create(struct warden *w, const struct warden_request *req, struct warden_reply *reply,
	int fds[WARDEN_FD_END_], struct err *err)
{
	unsigned n_binds = w->n_binds;
	struct box *box = free_box(w);
	struct err bad_bind = w->bad_bind;
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
	if (!box)
		return err_set(err, ERR_LIMIT, "more than %d boxes", WIRE_BOXES_MAX);
	struct box_spec spec = {.binds = w->binds, .n_binds = n_binds, .limits = &req->limits};
	int r = box_create(box, &w->host, &spec, reply->by, fds, err);
	if (r < 0)
		return r;
	reply->box = box->slot;
	reply->pid = box->pid;
	return WARDEN_FD_END_;
}

static int do_box(struct warden *w, const struct warden_request *req, struct warden_reply *reply,
	struct err *err)
{
	struct box *box = live_box(w, req->box);
	if (!box)
		return err_set(err, ERR_GONE, "no box %u", req->box);
	if (req->op == WARDEN_DESTROY)
		box_destroy(box);
	else
		box_usage(box);
	reply->usage = box->usage;
	return 0;
}

/* Returns: how many descriptors go with the reply, or negative errno. */
static int answer(struct warden *w, const struct warden_request *req, struct warden_reply *reply,
	int fds[WARDEN_FD_END_], struct err *err)
{
	int r = message_check(req, err);
	if (r < 0)
		return r;
	switch ((enum warden_op)req->op) {
	case WARDEN_CREATE:
		return do_create(w, req, reply, fds, err);
	case WARDEN_USAGE:
	case WARDEN_DESTROY:
		return do_box(w, req, reply, err);
	case WARDEN_BIND:
	case WARDEN_OP_END_:
		break;
	}
	return err_set(err, ERR_PROTOCOL, "unknown operation %u", req->op);
}

static int serve_one(struct warden *w)
{
	static struct warden_request req;
	struct warden_reply reply = {.version = WIRE_VERSION};
	int fds[WARDEN_FD_END_] = {-1, -1};
	struct err err = {0};
	ssize_t n = fd_recv(WIRE_SOCK_FD, &req, sizeof req, NULL, 0, NULL);
	if (n <= 0 && n != -EMSGSIZE)
		return -1;
	if (n == (ssize_t)sizeof req && req.op == WARDEN_BIND) {
		do_bind(w, &req);
		return 0;
	}
	int r = n == (ssize_t)sizeof req ? answer(w, &req, &reply, fds, &err)
					 : err_set(&err, ERR_PROTOCOL, "message of %zd bytes", n);
	if (r < 0) {
		reply.status = r;
		reply.err = err;
	}
	reply.op = req.op;
	reply.id = req.id;
	size_t n_fds = r > 0 ? MIN((size_t)r, ARRAY_LEN(fds)) : 0;
	ssize_t sent = fd_send(WIRE_SOCK_FD, &reply, sizeof reply, fds, n_fds);
	for (size_t i = 0; i < n_fds; i++)
		(void)close(fds[i]);
	/* What dead wardens left is swept while the first box starts, when nobody waits for us. */
	if (req.op == WARDEN_CREATE && !w->is_swept) {
		cgroup_host_sweep(&w->host.cgroup);
		w->is_swept = true;
	}
	return sent < 0 ? -1 : 0;
}

static void detach_from_terminal(void)
{
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		(void)dup2(null, fd);
	(void)setsid();
	/* Ends with its socket, not with a signal meant for the engine's process group. */
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
}

int main(void)
{
	static struct warden w;
	(void)prctl(PR_SET_NAME, "retort-warden");
	detach_from_terminal();
	if (warden_open(&w, &w.broken) == 0)
		w.broken = (struct err){0};
	while (serve_one(&w) == 0)
		;
	for (unsigned i = 0; i < ARRAY_LEN(w.boxes); i++)
		if (w.boxes[i].state == BOX_LIVE)
			box_destroy(&w.boxes[i]);
	return 0;
}
