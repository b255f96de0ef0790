/* SPDX-License-Identifier: Apache-2.0 */
#include "package/ask.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 10000, PAUSE_MS = 5, PART_BYTES = 16 << 10 };

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool find(const char *name, char out[PATH_MAX])
{
	const char *at = getenv("PATH");
	if (name[0] == '/')
		return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX && is_program(out);
	for (; at; at = *at ? at + 1 : NULL) {
		size_t bytes = strcspn(at, ":");
		int n = snprintf(out, PATH_MAX, "%.*s/%s", (int)MIN(bytes, PATH_MAX), at, name);
		if (at[0] == '/' && n < PATH_MAX && is_program(out))
			return true;
		at += bytes;
	}
	return false;
}

/* Start it in a process group of its own, so that its children can be killed with it. */
static int start(pid_t *pid, const char *path, const char *const *argv, int out, struct err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	(void)sigemptyset(&none), (void)sigfillset(&all);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int sys =
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (sys == 0)
		sys = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (sys == 0)
		sys = posix_spawn_file_actions_addopen(
			&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (sys == 0)
		sys = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	if (sys == 0)
		sys = posix_spawn_file_actions_addchdir_np(&actions, "/");
	if (sys == 0)
		sys = posix_spawn(
			pid, path, &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return sys == 0 ? 0 : err_sys(err, ERR_RUNTIME, sys, "%s", path);
}

/* Read until the end. Returns: 0, -ETIMEDOUT, -E2BIG, or another negative errno. */
static int read_all(struct buf *out, int fd, int64_t until_ms)
{
	for (;;) {
		int64_t left_ms = until_ms - clock_now_ms();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int n = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -ETIMEDOUT : -errno;
		char part[PART_BYTES];
		ssize_t got = read(fd, part, sizeof part);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? 0 : -errno;
		int r = buf_append(out, part, (size_t)got);
		if (r < 0)
			return r;
	}
}

/* Wait for the program; kill it if @r is negative, or when the time is over. */
static int reap(pid_t pid, int r, int64_t until_ms, int *status)
{
	for (;;) {
		if (r < 0 || clock_now_ms() >= until_ms) {
			(void)kill(-pid, SIGKILL);
			while (waitpid(pid, status, 0) < 0 && errno == EINTR)
				;
			return r < 0 ? r : -ETIMEDOUT;
		}
		pid_t got = waitpid(pid, status, WNOHANG);
		if (got == pid)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		(void)poll(NULL, 0, PAUSE_MS);
	}
}

int package_ask(struct buf *out, const char *const *argv, struct err *err)
{
	char path[PATH_MAX];
	int ends[2], status = 0;
	pid_t pid;
	if (!find(argv[0], path))
		return err_set(err, ERR_NOT_FOUND, "no program %s", argv[0]);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, ERR_INTERNAL, errno, "pipe");
	cleanup_fd int in = ends[0], from = ends[1];
	int r = start(&pid, path, argv, from, err);
	if (r < 0)
		return r;
	fd_close(&from);
	int64_t until_ms = clock_now_ms() + LIMIT_MS;
	r = reap(pid, read_all(out, in, until_ms), until_ms, &status);
	if (r == -ETIMEDOUT)
		return err_set(
			err, ERR_RUNTIME, "%s did not answer within %d s", path, LIMIT_MS / 1000);
	if (r == -E2BIG)
		return err_set(err, ERR_RUNTIME, "%s answered with more than %zu bytes", path,
			out->max_bytes);
	if (r < 0)
		return err_sys(err, ERR_RUNTIME, -r, "%s", path);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, ERR_RUNTIME, "%s failed", path);
	return 0;
}
