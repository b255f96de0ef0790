/*
 * init: process 1 of a box, and the whole of the code that runs inside one before the user's.
 *
 * Theory of operation. The warden has made the namespaces and the root, and executes this static
 * program with a socket as descriptor 3. Before it reads a single request, init gives up everything
 * for good: capabilities, the chance of new privileges, Landlock, the syscall filter. What it
 * spawns inherits that. It then does three things: spawn what the engine asks for, reap, and report
 * the ends of what it spawned. When the socket closes it leaves, and the kernel kills the rest of
 * the box.
 *
 * It is not dumpable, so that nothing in the box can look into it through /proc/1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/fd.h"
#include "sandbox/init/lock.h"
#include "sandbox/init/spawn.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INIT_CHILDREN_MAX = 64 };

struct child {
	pid_t pid; /* 0: free */
	uint64_t id;
};

struct init {
	int signal_fd;
	struct child children[INIT_CHILDREN_MAX];
};

static void report(uint32_t kind, uint64_t id, int status, const struct err *err)
{
	struct init_event event = {
		.version = WIRE_VERSION, .kind = kind, .id = id, .status = status};
	if (err)
		event.err = *err;
	if (fd_send(WIRE_SOCK_FD, &event, sizeof event, NULL, 0) < 0)
		_exit(1); /* the engine is gone: so is the box */
}

static struct child *child_of_pid(struct init *in, pid_t pid)
{
	for (size_t i = 0; i < ARRAY_LEN(in->children); i++)
		if (in->children[i].pid == pid)
			return &in->children[i];
	return NULL;
}

static struct child *child_of_id(struct init *in, uint64_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(in->children); i++)
		if (in->children[i].pid > 0 && in->children[i].id == id)
			return &in->children[i];
	return NULL;
}

static void reap(struct init *in)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct child *child = child_of_pid(in, pid);
		if (!child)
			continue; /* an orphan of the box */
		child->pid = 0;
		report(INIT_EXITED, child->id, status, NULL);
	}
}

static void do_spawn(struct init *in, const struct init_request *req, int *fds)
{
	struct err err = {0};
	struct child *child = child_of_pid(in, 0);
	int r = child ? spawn(req, fds, &err)
		      : err_set(&err, ERR_LIMIT, "more than %d processes", INIT_CHILDREN_MAX);
	if (r < 0) {
		report(INIT_FAILED, req->id, 0, &err);
		return;
	}
	*child = (struct child){.pid = r, .id = req->id};
}

static void do_request(struct init *in, const struct init_request *req, int *fds, size_t n_fds)
{
	struct err err = {0};
	struct child *child;
	if (spawn_check(req, n_fds, &err) < 0) {
		report(INIT_FAILED, req->id, 0, &err);
		return;
	}
	switch ((enum init_op)req->op) {
	case INIT_SPAWN:
		do_spawn(in, req, fds);
		break;
	case INIT_SIGNAL:
		child = child_of_id(in, req->id);
		if (child)
			(void)kill(child->pid, req->signal);
		break;
	case INIT_KILL_ALL:
		(void)kill(-1, SIGKILL);
		break;
	case INIT_OP_END_:
		break;
	}
}

static int serve_one(struct init *in)
{
	static struct init_request req;
	int fds[WIRE_SPAWN_FDS];
	size_t n_fds = 0;
	memset(&req, 0, offsetof(struct init_request, text));
	ssize_t n = fd_recv(WIRE_SOCK_FD, &req, sizeof req, fds, ARRAY_LEN(fds), &n_fds);
	if (n <= 0)
		return -1;
	if ((size_t)n == offsetof(struct init_request, text) + req.text_bytes)
		do_request(in, &req, fds, n_fds);
	for (size_t i = 0; i < n_fds; i++)
		(void)close(fds[i]);
	return 0;
}

static int take_signals(struct init *in, struct err *err)
{
	sigset_t mask;
	(void)sigfillset(&mask);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return err_sys(err, ERR_BOX, errno, "block signals");
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGCHLD);
	in->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return in->signal_fd < 0 ? err_sys(err, ERR_BOX, errno, "signalfd") : 0;
}

/* The warden says by an argument what it could not give a cgroup for. */
static enum filter_variant variant_of(const char *word)
{
	if (word && strcmp(word, "uncounted") == 0)
		return FILTER_UNCOUNTED;
	return word && strcmp(word, "pinned") == 0 ? FILTER_PINNED : FILTER_DEFAULT;
}

static int start(struct init *in, const char *word, struct err *err)
{
	const struct lock lock = {.filter = variant_of(word), .has_landlock = true};
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "become not dumpable");
	(void)prctl(PR_SET_NAME, "retort-init");
	(void)fcntl(WIRE_SOCK_FD, F_SETFD, FD_CLOEXEC);
	(void)close_range(WIRE_SOCK_FD + 1, ~0u, 0);
	int r = take_signals(in, err);
	return r < 0 ? r : lock_process(&lock, err);
}

int main(int argc, char **argv)
{
	static struct init in;
	struct err err = {0};
	if (start(&in, argc > 1 ? argv[1] : NULL, &err) < 0) {
		report(INIT_FAILED, 0, 0, &err);
		return 1;
	}
	report(INIT_READY, 0, 0, NULL);
	struct pollfd polls[] = {
		{.fd = WIRE_SOCK_FD, .events = POLLIN}, {.fd = in.signal_fd, .events = POLLIN}};
	for (;;) {
		struct signalfd_siginfo info;
		if (poll(polls, ARRAY_LEN(polls), -1) < 0 && errno != EINTR)
			return 1;
		if (polls[1].revents) {
			while (read(in.signal_fd, &info, sizeof info) > 0)
				;
			reap(&in);
		}
		if (polls[0].revents && serve_one(&in) < 0)
			return 0;
	}
}
