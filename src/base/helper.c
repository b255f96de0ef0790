/* SPDX-License-Identifier: Apache-2.0 */
#include "base/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

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
