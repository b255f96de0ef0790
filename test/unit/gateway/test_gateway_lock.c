/* What the gateway can still do after it has locked itself, and what it cannot.
 * SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/lock.h"

#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *do_nothing(void *arg)
{
	return arg;
}

static bool can_start_a_thread(void)
{
	pthread_t thread;
	return pthread_create(&thread, NULL, do_nothing, NULL) == 0 &&
		pthread_join(thread, NULL) == 0;
}

static bool can_look_up(void)
{
	struct addrinfo *list = NULL;
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	bool is_found = getaddrinfo("localhost", NULL, &hints, &list) == 0;
	if (list)
		freeaddrinfo(list);
	return is_found;
}

static bool can_connect(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	return bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0 &&
		getsockname(listener, (struct sockaddr *)&at, &bytes) == 0 &&
		connect(client, (struct sockaddr *)&at, sizeof at) == 0;
}

static bool can_execute(void)
{
	char name[] = "true", *argv[] = {name, NULL};
	(void)execve("/bin/true", argv, argv + 1);
	return false; /* if it could, the process would end with another status */
}

static bool can_open(const char *path)
{
	return open(path, O_RDONLY) >= 0;
}

static bool can_write(void)
{
	return open("/tmp", O_TMPFILE | O_WRONLY, 0600) >= 0 || open("/dev/null", O_WRONLY) >= 0;
}

static bool can_map(int protection, int later)
{
	void *at = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at != MAP_FAILED && (later == 0 || mprotect(at, 4096, later) == 0);
}

static bool has_landlock(void)
{
	return syscall(444 /* landlock_create_ruleset */, NULL, 0, 1) > 0;
}

/* Lock this process, try everything, and tell by the exit status what went wrong. */
static void try_all(int parent)
{
	size_t max_fds = 0;
	bool is_landlocked = has_landlock();
	struct rlimit files = {0};
	if (gateway_lock(NULL, &max_fds) < 0)
		_exit(1);
	const struct {
		bool is, should;
	} tries[] = {
		{can_start_a_thread(), true},						    /* 2 */
		{can_look_up(), true},							    /* 3 */
		{can_connect(), true},							    /* 4 */
		{socket(AF_UNIX, SOCK_STREAM, 0) >= 0, false},				    /* 5 */
		{socket(AF_NETLINK, SOCK_RAW, 0) >= 0, false},				    /* 6 */
		{socket(AF_PACKET, SOCK_RAW, 0) >= 0, false},				    /* 7 */
		{can_execute(), false},							    /* 8 */
		{fork() >= 0, false},							    /* 9 */
		{unshare(CLONE_NEWUSER) == 0, false},					    /* 10 */
		{kill(parent, 0) == 0, false},						    /* 11 */
		{ptrace(PTRACE_ATTACH, parent, NULL, NULL) == 0, false},		    /* 12 */
		{can_open("/etc/passwd"), true},					    /* 13 */
		{is_landlocked && can_open("/proc/self/status"), false},		    /* 14 */
		{is_landlocked && can_open("/"), false},				    /* 15 */
		{is_landlocked && can_write(), false},					    /* 16 */
		{can_map(PROT_READ | PROT_WRITE | PROT_EXEC, 0), false},		    /* 17 */
		{can_map(PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC), false},	    /* 18 */
		{can_map(PROT_READ | PROT_WRITE, 0), true},				    /* 19 */
		{getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= max_fds, true}, /* 20 */
		{prlimit(parent, RLIMIT_NOFILE, NULL, &files) == 0, false},		    /* 21 */
		{syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno != ENOSYS, false},		    /* 22 */
		{syscall(425 /* io_uring_setup */, 1, NULL) >= 0 || errno != ENOSYS,
			false},								  /* 23 */
		{syscall(SYS_keyctl, 0, 0, 0) >= 0 || errno != ENOSYS, false},		  /* 24 */
		{syscall(SYS_mount, "", "", "", 0, NULL) >= 0 || errno != ENOSYS, false}, /* 25 */
		{syscall(SYS_setuid, 0) == 0, false},					  /* 26 */
	};
	for (size_t i = 0; i < ARRAY_LEN(tries); i++)
		if (tries[i].is != tries[i].should)
			_exit((int)i + 2);
	_exit(0);
}

TEST(what_is_left_after_the_lock)
{
	int status, parent = getpid();
	pid_t pid = fork();
	if (pid == 0)
		try_all(parent);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0); /* 1: the lock; else the number in try_all() */
}
