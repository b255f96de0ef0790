/*
 * The parent of a program that a client starts in the box.
 *
 * Init forks a minder for each program, and the minder forks the program. The minder is a
 * subreaper: a process whose parent ends becomes a child of the minder, not of init. So as long as
 * the minder lives, everything that the program has started descends from it, also a daemon. That
 * decides which processes a rollback leaves alone, which ones a limit of time ends, and whose CPU
 * time it is. Source: prctl(2), PR_SET_CHILD_SUBREAPER.
 *
 * The minder is init's code: like init it is not dumpable, so nothing in the box can look into it.
 * But unlike init it can be killed. Then init reports the end of the program in its place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/init/minder.h"

#include "base/fd.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

uint32_t minder_cpu_ms(const struct rusage *used)
{
	int64_t us = (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * INT64_C(1000000) +
		used->ru_utime.tv_usec + used->ru_stime.tv_usec;
	return (uint32_t)MIN(us / 1000, (int64_t)UINT32_MAX - 1);
}

int minder_adopt(void)
{
	(void)prctl(PR_SET_NAME, "retort-minder");
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Send the event, and wait while the socket is full. Without an engine nobody needs the event. */
static void send_event(const struct init_event *event)
{
	while (fd_send(WIRE_SOCK_FD, event, sizeof *event, NULL, 0) == -EAGAIN)
		(void)fd_wait(WIRE_SOCK_FD, POLLOUT);
}

void minder_run(uint64_t id, pid_t program)
{
	struct rusage used;
	int status, result = MINDER_FAILED;
	pid_t pid;
	while ((pid = wait4(-1, &status, 0, &used)) > 0 || errno == EINTR) {
		if (pid != program)
			continue;
		const struct init_event event = {.version = WIRE_VERSION,
			.kind = INIT_EXITED,
			.id = id,
			.status = status,
			.cpu_ms = minder_cpu_ms(&used)};
		send_event(&event);
		result = MINDER_TOLD;
	}
	_exit(result);
}
