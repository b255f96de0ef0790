/*
 * A driver without an interpreter, for tests of the sandbox: does in a box what its channel says,
 * one message at a time, and answers each with one message. SPDX-License-Identifier: Apache-2.0
 */
#include "base/fd.h"
#include "branch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHANNEL = 3, TEXT_BYTES = 32 << 10 };
enum { BRANCH_CLONE_FLAGS = 0x7c02c111 };

static char reply[TEXT_BYTES];
static volatile sig_atomic_t n_usr1;

/* An empty message would be the end. */
static void say(const char *text)
{
	text = *text ? text : "\n";
	if (fd_send(CHANNEL, text, strlen(text), NULL, 0) < 0)
		_exit(1);
}

static void on_usr1(int sig)
{
	(void)sig;
	n_usr1++;
}

static long ms_now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* P answers on its channel, C2 on the new one. */
static void do_branch(const int *fds, size_t n_fds)
{
	struct branch_fds b;
	struct branch_report report = {0};
	int r = branch_fds_parse(&b, fds, n_fds);
	if (r == 0)
		r = branch_clone(&b);
	if (r == 0) {
		const int keep[] = {CHANNEL};
		r = branch_settle(&b, CHANNEL, keep, 0, &report);
		snprintf(reply, sizeof reply, "ready %d %d reopened %u lost %u", r, getpid(),
			report.n_reopened, report.n_sockets + report.n_pipes + report.n_others);
		say(reply);
		if (r < 0)
			_exit(1);
		return;
	}
	branch_fds_close(&b);
	snprintf(reply, sizeof reply, "branched %d", r);
	say(reply);
}

static void do_shell(const char *command)
{
	FILE *f = popen(command, "r");
	size_t n = f ? fread(reply, 1, sizeof reply - 1, f) : 0;
	reply[n] = '\0';
	if (f)
		(void)pclose(f);
	say(reply);
}

/* What a process would try that wants new namespaces. Returns: how many calls did not fail EPERM.
 */
static unsigned long try_namespaces(void)
{
	static const unsigned long flags[] = {BRANCH_CLONE_FLAGS,
		BRANCH_CLONE_FLAGS & ~(unsigned long)CLONE_NEWNET, CLONE_NEWUSER | SIGCHLD,
		CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, BRANCH_CLONE_FLAGS | 1ul << 40};
	unsigned long n = 0;
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		static char stack[16 << 10];
		long r = syscall(SYS_clone, flags[i],
			flags[i] & CLONE_VM ? stack + sizeof stack : NULL, NULL, NULL, NULL);
		if (r == 0)
			_exit(0);
		n += r > 0 || errno != EPERM;
		if (flags[i] == BRANCH_CLONE_FLAGS)
			continue;
		r = syscall(SYS_unshare, flags[i]);
		n += r == 0 || errno != EPERM;
	}
	return n;
}

struct spinning {
	unsigned long n_won, n_tried;
};
static struct spinning *spinning; /* shared with children */

static void *spin(void *arg)
{
	(void)arg;
	for (;;) {
		unsigned long n = try_namespaces();
		__atomic_add_fetch(&spinning->n_won, n, __ATOMIC_RELAXED);
		__atomic_add_fetch(&spinning->n_tried, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Children that try all the time, each with a thread beside it. */
static void do_spin(int n)
{
	spinning = mmap(
		NULL, sizeof *spinning, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < n; i++) {
		if (fork() != 0)
			continue;
		pthread_t thread;
		(void)pthread_create(&thread, NULL, spin, NULL);
		(void)spin(NULL);
	}
	say("spinning");
}

static void do_spun(void)
{
	snprintf(reply, sizeof reply, "won %lu tried %lu", spinning->n_won, spinning->n_tried);
	say(reply);
}

/* A guard as the driver makes one: a child of init. */
static void do_guard(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		for (;;)
			(void)pause();
	snprintf(reply, sizeof reply, "guard %d", pid);
	say(reply);
}

/* Answers when all of them are there. */
static void do_fork(const char *what)
{
	int ready[2] = {-1, -1};
	char byte = 0;
	(void)!pipe2(ready, O_CLOEXEC);
	pid_t pid = fork();
	if (pid == 0) {
		if (strcmp(what, "twice") == 0 && fork() > 0)
			_exit(0);
		(void)!write(ready[1], "", 1);
		for (;;)
			(void)pause();
	}
	(void)!read(ready[0], &byte, 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	snprintf(reply, sizeof reply, "forked %d", pid);
	say(reply);
}

/* Descriptors of every kind, to be looked at again in the branch. */
static struct {
	int file, gone, pipe, event, epoll, system, dir, stream;
} held;

static void do_hold(void)
{
	int pipes[2];
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77};
	held.file = open("/home/user/held", O_RDWR | O_CREAT | O_TRUNC, 0600);
	held.gone = open("/home/user/gone", O_RDWR | O_CREAT | O_TRUNC, 0600);
	(void)!write(held.file, "0123456789", 10);
	(void)!write(held.gone, "abcdefghij", 10);
	(void)lseek(held.file, 3, SEEK_SET);
	(void)lseek(held.gone, 4, SEEK_SET);
	(void)unlink("/home/user/gone");
	(void)!pipe2(pipes, O_CLOEXEC);
	held.pipe = pipes[0];
	held.event = eventfd(5, EFD_NONBLOCK);
	held.epoll = epoll_create1(EPOLL_CLOEXEC);
	(void)epoll_ctl(held.epoll, EPOLL_CTL_ADD, held.event, &event);
	held.system = open("/usr/bin/env", O_RDONLY);
	(void)lseek(held.system, 9, SEEK_SET);
	held.dir = open("/home/user", O_RDONLY | O_DIRECTORY);
	held.stream = dup(1);
	say("held");
}

static void do_held(const char *word)
{
	char file[8] = "", gone[8] = "";
	struct stat a, b, c, d;
	struct epoll_event event = {0};
	uint64_t count = 0;
	ssize_t n_pipe = -1;
	off_t system = lseek(held.system, 0, SEEK_CUR);
	(void)!read(held.file, file, 3);
	(void)!read(held.gone, gone, 3);
	if (strcmp(word, "branch") == 0)
		n_pipe = read(held.pipe, &count, 1);
	int n_events = epoll_wait(held.epoll, &event, 1, 0);
	(void)!read(held.event, &count, sizeof count);
	(void)!pwrite(held.file, word, 1, 0);
	(void)fstat(held.dir, &a);
	(void)stat("/home/user", &b);
	(void)fstat(held.stream, &c);
	(void)fstat(1, &d);
	snprintf(reply, sizeof reply,
		"file %s gone %s pipe %zd events %d %d count %d system %d dir %d stream %d", file,
		gone, n_pipe, n_events, (int)event.data.u64, (int)count, (int)system,
		a.st_dev == b.st_dev && a.st_ino == b.st_ino, c.st_ino == d.st_ino);
	say(reply);
}

int hostile(const char *what, const int *fds, size_t n_fds);
int hostile_goes_on(void);

static void serve(char *text, const int *fds, size_t n_fds)
{
	if (strcmp(text, "branch") == 0)
		do_branch(fds, n_fds);
	else if (strncmp(text, "hostile ", 8) == 0)
		(void)hostile(text + 8, fds, n_fds);
	else if (strncmp(text, "sh ", 3) == 0)
		do_shell(text + 3);
	else if (strncmp(text, "spin ", 5) == 0)
		do_spin(atoi(text + 5));
	else if (strcmp(text, "spun") == 0)
		do_spun();
	else if (strcmp(text, "try") == 0) {
		snprintf(reply, sizeof reply, "won %lu", try_namespaces());
		say(reply);
	} else if (strcmp(text, "guard") == 0)
		do_guard();
	else if (strncmp(text, "fork ", 5) == 0)
		do_fork(text + 5);
	else if (strncmp(text, "cd ", 3) == 0)
		say(chdir(text + 3) == 0 ? "there" : "no");
	else if (strcmp(text, "hold") == 0)
		do_hold();
	else if (strncmp(text, "held ", 5) == 0)
		do_held(text + 5);
	else if (strcmp(text, "exit") == 0)
		_exit(7);
	else if (strcmp(text, "usr1") == 0) {
		(void)raise(SIGUSR1);
		snprintf(reply, sizeof reply, "usr1 %d at %ld", (int)n_usr1, ms_now());
		say(reply);
	} else
		say("what?");
}

int main(int argc, char **argv)
{
	static char text[TEXT_BYTES];
	if (argc > 1 && strcmp(argv[1], "goes-on") == 0)
		return hostile_goes_on();
	(void)signal(SIGUSR1, on_usr1);
	for (;;) {
		int fds[FD_PASS_MAX];
		size_t n_fds = 0;
		ssize_t n = fd_recv(CHANNEL, text, sizeof text - 1, fds, FD_PASS_MAX, &n_fds);
		if (n == -EAGAIN && fd_wait(CHANNEL, POLLIN) == 0)
			continue;
		if (n <= 0)
			return 0;
		text[n] = '\0';
		serve(text, fds, n_fds);
	}
}
