/* SPDX-License-Identifier: Apache-2.0 */
#include "base/helper/helper.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct ending {
	uv_poll_t poll; /* of the pidfd, which becomes readable when the process has ended */
	uv_timer_t timer;
	int pidfd, n_handles;
	pid_t pid;
	void (*done)(void *arg);
	void *arg;
};

static int set_actions(posix_spawn_file_actions_t *actions, int channel)
{
	/* ORDER: duplicate the channel first: it may be 0, 1 or 2, and the loop replaces these. */
	int r = posix_spawn_file_actions_adddup2(actions, channel, HELPER_FD);
	for (int fd = 0; fd < HELPER_FD && r == 0; fd++)
		r = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
	return r;
}

int helper_start(pid_t *pid, const char *path, char *const argv[], int channel, struct err *err)
{
	char *env[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all, none;
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attr);
	(void)posix_spawnattr_setsigdefault(&attr, &all);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setpgroup(&attr, 0);
	(void)posix_spawnattr_setflags(
		&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	int r = set_actions(&actions, channel);
	if (r == 0)
		r = posix_spawn(pid, path, &actions, &attr, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attr);
	if (r == 0)
		return 0;
	return err_fail_sys(err, ERR_BOX, r, "install retort again: its parts must stay together",
		"start %.150s", path);
}

static void on_closed(uv_handle_t *handle)
{
	struct ending *e = handle->data;
	if (--e->n_handles > 0)
		return;
	fd_close(&e->pidfd);
	e->done(e->arg);
	free(e);
}

static void finish(struct ending *e)
{
	uv_close((uv_handle_t *)&e->timer, on_closed);
	if (e->pidfd >= 0)
		uv_close((uv_handle_t *)&e->poll, on_closed);
}

static void on_ended(uv_poll_t *poll, int status, int events)
{
	struct ending *e = poll->data;
	(void)status;
	(void)events;
	if (waitpid(e->pid, NULL, WNOHANG) != 0)
		finish(e);
}

static void on_late(uv_timer_t *timer)
{
	struct ending *e = timer->data;
	if (e->pid > 0)
		(void)kill(e->pid, SIGKILL);
	if (e->pidfd >= 0)
		return;
	/* Without a pidfd, nothing tells when the process has ended. */
	while (e->pid > 0 && waitpid(e->pid, NULL, 0) < 0 && errno == EINTR)
		;
	finish(e);
}

void helper_end(uv_loop_t *loop, pid_t pid, uint64_t grace_ms, void (*done)(void *arg), void *arg)
{
	struct ending *e = xnew(struct ending);
	*e = (struct ending){.pid = pid, .pidfd = -1, .n_handles = 1, .done = done, .arg = arg};
	if (pid > 0)
		e->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	(void)uv_timer_init(loop, &e->timer);
	e->timer.data = e->poll.data = e;
	if (e->pidfd >= 0 && uv_poll_init(loop, &e->poll, e->pidfd) < 0)
		fd_close(&e->pidfd);
	if (e->pidfd >= 0) {
		e->n_handles++;
		(void)uv_poll_start(&e->poll, UV_READABLE, on_ended);
	}
	timer_start(&e->timer, on_late, e->pidfd >= 0 ? grace_ms : 0, 0);
}
