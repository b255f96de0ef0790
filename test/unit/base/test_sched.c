/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/sched.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>

enum { IS_BRIEF = 1, IS_NICE = 2, IS_USUAL = 4 };

static struct sched_turns turns(void)
{
	struct sched_turns t = {0};
	(void)syscall(SYS_sched_getattr, 0, &t, sizeof t, 0);
	return t;
}

static int end_of(pid_t pid)
{
	int status = 0;
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What a process of niceness @nice is after it has asked for it, and what it starts. */
static int told(int nice)
{
	pid_t pid = fork();
	if (pid > 0)
		return end_of(pid);
	(void)setpriority(PRIO_PROCESS, 0, nice);
	uint64_t usual = turns().turn_ns;
	sched_be_brief();
	struct sched_turns t = turns();
	pid_t child = fork();
	if (child == 0)
		_exit(turns().turn_ns == usual && turns().nice == nice ? IS_USUAL : 0);
	_exit((t.turn_ns == SCHED_TURN_NS ? IS_BRIEF : 0) | (t.nice == nice ? IS_NICE : 0) |
		end_of(child));
}

static bool has_turns(void)
{
	struct utsname is;
	int major = 0, minor = 0;
	return uname(&is) == 0 && sscanf(is.release, "%d.%d", &major, &minor) == 2 &&
		(major > 6 || (major == 6 && minor >= 12));
}

TEST(sched_turns)
{
	const int brief = has_turns() ? IS_BRIEF : 0;
	CHECK_INT(told(0), brief | IS_NICE | IS_USUAL);
	CHECK_INT(told(7), brief | IS_NICE | IS_USUAL);
}
