/*
 * How programs that a program starts inherit the settings of the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "still.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENV_MAX = 1024 };

/*
 * Return @envp with the settings added, built in @room and @text. Both are on the caller's stack,
 * because between vfork() and exec the memory belongs to the parent. If @envp lacks LD_PRELOAD, it
 * is added too, so that clearing the environment does not remove this library. An LD_PRELOAD that
 * is already in @envp stays as it is.
 */
static char *const *with_orders(
	char *const envp[], char *room[ENV_MAX + 3], char text[STILL_TEXT_BYTES])
{
	bool has_orders = false, has_preload = false;
	size_t n = 0;
	if (!still_has_time())
		return envp;
	still_write_orders(text);
	for (; envp && envp[n]; n++) {
		if (n == ENV_MAX)
			return envp;
		room[n] = envp[n];
		has_preload |= strncmp(envp[n], STILL_PRELOAD, sizeof STILL_PRELOAD - 1) == 0;
		if (strncmp(envp[n], STILL_VARIABLE, sizeof STILL_VARIABLE - 1) == 0) {
			room[n] = text;
			has_orders = true;
		}
	}
	if (!has_orders)
		room[n++] = text;
	if (!has_preload)
		room[n++] = still_preload();
	room[n] = NULL;
	return room;
}

#define WITH_ORDERS(envp) with_orders(envp, (char * [ENV_MAX + 3]){0}, (char[STILL_TEXT_BYTES]){0})

STAND_IN int execve(const char *path, char *const argv[], char *const envp[])
{
	return REAL(execve)(path, argv, WITH_ORDERS(envp));
}

STAND_IN int execv(const char *path, char *const argv[])
{
	return REAL(execve)(path, argv, WITH_ORDERS(environ));
}

STAND_IN int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return REAL(execvpe)(file, argv, WITH_ORDERS(envp));
}

STAND_IN int execvp(const char *file, char *const argv[])
{
	return REAL(execvpe)(file, argv, WITH_ORDERS(environ));
}

STAND_IN int fexecve(int fd, char *const argv[], char *const envp[])
{
	return REAL(fexecve)(fd, argv, WITH_ORDERS(envp));
}

STAND_IN int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	return REAL(execveat)(dir, path, argv, WITH_ORDERS(envp), flags);
}

STAND_IN int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return REAL(posix_spawn)(pid, path, actions, attr, argv, WITH_ORDERS(envp));
}

STAND_IN int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return REAL(posix_spawnp)(pid, file, actions, attr, argv, WITH_ORDERS(envp));
}

/* system() and popen() pass environ on, so update our variable in it. */
STAND_IN int system(const char *command)
{
	still_renew_orders();
	return REAL(system)(command);
}

STAND_IN FILE *popen(const char *command, const char *mode)
{
	still_renew_orders();
	return REAL(popen)(command, mode);
}
