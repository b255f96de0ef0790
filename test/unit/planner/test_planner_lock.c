/* What the planner's process can still do after it has locked itself, and what it cannot.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planner/process/lock.h"

#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool can_map(int protection, int later)
{
	void *at = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at != MAP_FAILED && (later == 0 || mprotect(at, 4096, later) == 0);
}

static bool can_allocate(void)
{
	char *volatile data = malloc(8 << 20);
	bool is_made = data != NULL;
	free(data);
	return is_made;
}

/* Return whether the call is one that the filter lets through to the kernel. */
static bool reaches_kernel(long call)
{
	errno = 0;
	(void)syscall(call, -1, 0, 0, 0, 0, 0);
	return errno != ENOSYS;
}

/* Lock this process, try everything, and tell by the exit status what went wrong. */
static void try_all(int parent, const int fds[2])
{
	char byte = 'x';
	if (planner_lock() < 0)
		_exit(1);
	const struct {
		bool is, should;
	} tries[] = {
		{can_allocate(), true},				   /* 2 */
		{send(fds[0], &byte, 1, MSG_NOSIGNAL) == 1, true}, /* 3 */
		{read(fds[1], &byte, 1) == 1, true},		   /* 4 */
		{can_map(PROT_READ | PROT_WRITE, 0) && can_map(PROT_READ | PROT_WRITE, PROT_READ),
			true},							 /* 5 */
		{can_map(PROT_READ | PROT_EXEC, 0), false},			 /* 6 */
		{can_map(PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC), false}, /* 7 */
		{open("/etc/passwd", O_RDONLY) >= 0, false},			 /* 8 */
		{socket(AF_UNIX, SOCK_STREAM, 0) >= 0, false},			 /* 9 */
		{socket(AF_INET, SOCK_STREAM, 0) >= 0, false},			 /* 10 */
		{fork() >= 0, false},						 /* 11 */
		{kill(parent, 0) == 0, false},					 /* 12 */
		{dup(fds[0]) >= 0, false},					 /* 13 */
		{prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, false},		 /* 14 */
		{reaches_kernel(SYS_execve), false},				 /* 15 */
		{reaches_kernel(SYS_ptrace), false},				 /* 16 */
		{reaches_kernel(SYS_connect), false},				 /* 17 */
		{reaches_kernel(SYS_bpf), false},				 /* 18 */
		{reaches_kernel(425 /* io_uring_setup */), false},		 /* 19 */
		{reaches_kernel(SYS_setuid), false},				 /* 20 */
	};
	for (size_t i = 0; i < ARRAY_LEN(tries); i++)
		if (tries[i].is != tries[i].should)
			_exit((int)i + 2);
	_exit(0);
}

TEST(what_is_left_after_the_lock)
{
	int status, parent = getpid(), fds[2];
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pid_t pid = fork();
	if (pid == 0)
		try_all(parent, fds);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0); /* 1: the lock; else the number in try_all() */
	close(fds[0]);
	close(fds[1]);
}
