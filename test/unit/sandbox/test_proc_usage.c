/* The books of a box without cgroups: made-up /proc trees, and our own. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE 1
#include "sandbox/proc_usage.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct tree {
	char root[64];
	int fd;
};

static struct tree tree_new(void)
{
	struct tree t = {.root = "/tmp/test-proc-XXXXXX"};
	CHECK(mkdtemp(t.root) != NULL);
	t.fd = open(t.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void tree_done(struct tree *t)
{
	fd_close(&t->fd);
	(void)nftw(t->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
#define TREE cleanup(tree_done) struct tree

static void put(struct tree *t, const char *pid, const char *file, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", t->root, pid);
	(void)mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/%s/%s", t->root, pid, file);
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	CHECK_INT(fd_write_all(fd, text, strlen(text)), 0);
}

/* A process with name @comm, times in ticks and anonymous memory. */
static void put_process(struct tree *t, const char *pid, const char *comm, const char *times,
	int n_threads, int anon_kib)
{
	char text[1024];
	snprintf(text, sizeof text,
		"%s (%s) S 1 1 1 0 -1 4194304 1 2 3 4 %s 20 0 %d 0 110691 3133440 413 1\n", pid,
		comm, times, n_threads);
	put(t, pid, "stat", text);
	snprintf(text, sizeof text,
		"Name:\tx\nNSpid:\t%s\nRssAnon:\t%8d kB\nRssFile:\t 999 kB\nVmSwap:\t  1 kB\n", pid,
		anon_kib);
	put(t, pid, "status", text);
}

static int read_usage(int fd, uint64_t memory_bytes, struct box_usage *usage)
{
	return proc_usage_read(fd, &(struct proc_bounds){memory_bytes, UINT64_MAX}, usage);
}

static uint64_t us(uint64_t ticks)
{
	return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

TEST(sums_every_process)
{
	TREE t = tree_new();
	struct box_usage usage = {.n_oom_kills = 3};
	put_process(&t, "1", "init", "1 2 100 200", 1, 10);
	put_process(&t, "7", "python3", "10 20 0 0", 4, 1000);
	put_process(&t, "8", "sh", "1 1 30 40", 0, 0);
	put(&t, "self", "stat", "nothing");
	put(&t, "7x", "stat", "nothing");
	CHECK_INT(read_usage(t.fd, UINT64_MAX, &usage), 3);
	CHECK_INT(usage.cpu_us, us(303 + 30 + 72));
	CHECK_INT(usage.memory_bytes, (11 + 1001 + 1) * 1024);
	CHECK_INT(usage.memory_peak_bytes, usage.memory_bytes);
	CHECK_INT(usage.n_pids, 6);
	CHECK_INT(usage.n_oom_kills, 3);
	/* Twice with one descriptor, and the books never go down. */
	put_process(&t, "7", "python3", "0 0 0 0", 1, 10);
	CHECK_INT(read_usage(t.fd, UINT64_MAX, &usage), 3);
	CHECK_INT(usage.cpu_us, us(405));
	CHECK_INT(usage.memory_bytes, 23 * 1024);
	CHECK_INT(usage.memory_peak_bytes, 1013 * 1024);
}

TEST(hostile_names)
{
	static const char *const names[] = {") R 1 1 1 1 1 1 1 1 1 1 99 99 99 99 1 1 99 ", "(",
		")))", "a) b (c", "\n\nx) S 1\n", "", "9 (x) S"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		TREE t = tree_new();
		struct box_usage usage = {0};
		put_process(&t, "5", names[i], "1 2 3 4", 2, 10);
		CHECK_INT(read_usage(t.fd, UINT64_MAX, &usage), 1);
		CHECK_INT(usage.cpu_us, us(10));
		CHECK_INT(usage.n_pids, 2);
	}
}

/* A zombie uses up a pid of its parent's, which could reap it. Init reaps as soon as it can. */
TEST(zombies)
{
	TREE t = tree_new();
	struct box_usage usage = {0};
	static const char rest[] = "1 1 0 -1 4194304 1 2 3 4 1 2 3 4 20 0 0 0 110691 0 0 1\n";
	static const char *const parents[] = {"1", "5", "12"};
	put_process(&t, "1", "init", "0 0 0 0", 1, 0);
	put_process(&t, "5", ") Z 1 (", "1 2 3 4", 2, 0);
	for (int i = 0; i < 3; i++) {
		char pid[16], text[256];
		snprintf(pid, sizeof pid, "%d", 10 + i);
		snprintf(text, sizeof text, "%s (x) Z %s %s", pid, parents[i], rest);
		put(&t, pid, "stat", text);
		put(&t, pid, "status", "Name:\tx\nNSpid:\t10\n");
	}
	CHECK_INT(read_usage(t.fd, UINT64_MAX, &usage), 5);
	CHECK_INT(usage.n_pids, 1 + 2 + 0 + 1 + 1);
	CHECK_INT(usage.cpu_us, us(4 * 10));
}

TEST(malformed_files_are_left_out)
{
	static const char *const bad[] = {"", "5", "5 (x", "5 (x)", "5 (x) ", "5 (x) S 1 1 1",
		"5 (x) S 1 1 1 0 -1 4194304 1 2 3 4 1 2 3 4 20 0", ")", "\n"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		TREE t = tree_new();
		struct box_usage usage = {0};
		put_process(&t, "5", "x", "1 2 3 4", 2, 10);
		put(&t, "5", "stat", bad[i]);
		CHECK_INT(read_usage(t.fd, 0, &usage), 0);
		CHECK_INT(usage.cpu_us, 0);
	}
}

TEST(numbers_out_of_range)
{
	TREE t = tree_new();
	struct box_usage usage = {0};
	put_process(&t, "5", "x", "18446744073709551615 18446744073709551615 -5 x", -1, -7);
	put_process(&t, "6", "x", "99999999999999999999999 1 1 1", 1, 5);
	CHECK_INT(read_usage(t.fd, UINT64_MAX, &usage), 2);
	CHECK_INT(usage.cpu_us, UINT64_MAX / (uint64_t)sysconf(_SC_CLK_TCK));
	CHECK_INT(usage.n_pids, 2);
	CHECK_INT(usage.memory_bytes, 7 * 1024);
}

TEST(branches_are_not_counted)
{
	TREE t = tree_new();
	struct box_usage usage = {0};
	put_process(&t, "1", "init", "1 1 0 0", 1, 10);
	put_process(&t, "9", "branch", "50 50 0 0", 1, 1000);
	put(&t, "9", "status", "Name:\tx\nNSpid:\t9\t1\nRssAnon:\t 1000 kB\n");
	CHECK_INT(read_usage(t.fd, UINT64_MAX, &usage), 1);
	CHECK_INT(usage.cpu_us, us(2));
}

TEST(large_sums_are_refined)
{
	TREE t = tree_new();
	struct box_usage usage = {0};
	put_process(&t, "1", "guard", "0 0 0 0", 1, 999);
	put_process(&t, "2", "driver", "0 0 0 0", 1, 999);
	put_process(&t, "3", "unreadable", "0 0 0 0", 1, 99);
	put_process(&t, "4", "old-kernel", "0 0 0 0", 1, 9);
	const char *rollup = "1-2 ---p [rollup]\nRss: 1 kB\nPss: 9 kB\nPss_Anon:   500 kB\n"
			     "Swap: 8 kB\nSwapPss: 2 kB\n";
	put(&t, "1", "smaps_rollup", rollup);
	put(&t, "2", "smaps_rollup", rollup);
	put(&t, "4", "smaps_rollup", "1-2 ---p [rollup]\nRss: 1 kB\n");
	CHECK_INT(read_usage(t.fd, 1 << 20, &usage), 4);
	CHECK_INT(usage.memory_bytes, (502 + 502 + 100 + 10) * 1024);
	CHECK_INT(read_usage(t.fd, 4 << 20, &usage), 4);
	CHECK_INT(usage.memory_bytes, (1000 + 1000 + 100 + 10) * 1024);
}

TEST(bounded)
{
	TREE t = tree_new();
	struct box_usage usage = {0};
	for (int i = 1; i <= PROC_USAGE_ENTRIES_MAX + 50; i++) {
		char pid[16];
		snprintf(pid, sizeof pid, "%d", i);
		put_process(&t, pid, "x", "1 0 0 0", 1, 1);
	}
	CHECK_INT(read_usage(t.fd, 0, &usage), PROC_USAGE_ENTRIES_MAX);
	CHECK_INT(usage.cpu_us, us(PROC_USAGE_ENTRIES_MAX));
}

/* A fork bomb is told from its number: shares are not waited for, which it can make slow. */
TEST(too_many)
{
	TREE t = tree_new();
	struct box_usage usage = {0};
	const struct proc_bounds bounds = {.memory_bytes = 150 << 10, .pids = 5};
	for (int i = 1; i <= 9; i++) {
		char pid[16];
		snprintf(pid, sizeof pid, "%d", i);
		put_process(&t, pid, "x", "1 0 0 0", 1, 99);
		put(&t, pid, "smaps_rollup", "1-2 ---p [rollup]\nPss_Anon: 1 kB\n");
	}
	CHECK_INT(proc_usage_read(t.fd, &bounds, &usage), 6);
	CHECK_INT(usage.n_pids, 6);
	CHECK_INT(usage.memory_bytes, bounds.memory_bytes);
}

/* What the kernel of the host holds is in nobody's books: more of it by the limit is told. */
TEST(kernel_grew)
{
	TREE t = tree_new();
	struct box_usage usage = {0};
	struct proc_bounds bounds = {.memory_bytes = 50 << 10, .pids = 5};
	put_process(&t, "1", "x", "1 0 0 0", 1, 1);
	CHECK_INT(proc_kernel_bytes(t.fd), 0);
	put(&t, ".", "meminfo", "MemTotal: 9 kB\nSReclaimable: 8 kB\nSUnreclaim:   100 kB\n");
	CHECK_INT(proc_kernel_bytes(t.fd), 100 << 10);
	CHECK_INT(proc_usage_read(t.fd, &bounds, &usage), 1);
	CHECK(!usage.is_uncounted); /* nobody knows what there was before */
	bounds.kernel_bytes = 50 << 10;
	CHECK_INT(proc_usage_read(t.fd, &bounds, &usage), 1);
	CHECK(!usage.is_uncounted);
	bounds.kernel_bytes = 49 << 10;
	CHECK_INT(proc_usage_read(t.fd, &bounds, &usage), 1);
	CHECK(usage.is_uncounted);
}

TEST(no_directory)
{
	struct box_usage usage = {.cpu_us = 4};
	CHECK_INT(read_usage(-1, 0, &usage), -EBADF);
	CHECK_INT(usage.cpu_us, 4);
}

static uint64_t own_cpu_us(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void burn_ms(unsigned ms)
{
	while (own_cpu_us() < ms * UINT64_C(1000))
		;
}

/*
 * In a pid namespace of its own: a live child, a reaped one and a reaped grandchild of 100 ms each
 * are all seen, once; and 40 MB that two processes share count once when refined.
 */
static int in_namespace(void)
{
	enum { BYTES = 40 << 20, SLACK = 16 << 20 };
	struct box_usage usage = {0}, shared = {0}, before = {0};
	if (mount("proc", "/proc", "proc", 0, NULL) < 0)
		return 2;
	cleanup_fd int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* What a sanitizer takes is part of every process. */
	if (read_usage(fd, UINT64_MAX, &before) != 1)
		return 1;
	char *data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ready[2];
	if (data == MAP_FAILED || pipe(ready) < 0)
		return 3;
	memset(data, 1, BYTES);
	if (fork() == 0) {
		if (fork() == 0) {
			burn_ms(100);
			_exit(0);
		}
		(void)wait(NULL);
		burn_ms(100);
		(void)fd_write_all(ready[1], "x", 1);
		for (;;)
			(void)pause();
	}
	pid_t reaped = fork();
	if (reaped == 0) {
		burn_ms(100);
		_exit(0);
	}
	(void)waitpid(reaped, NULL, 0);
	char byte;
	(void)!read(ready[0], &byte, 1);
	if (read_usage(fd, UINT64_MAX, &usage) != 2 || usage.n_pids != 2)
		return 4;
	/* Three times 100 ms, and what the pages took here, which is little or much. */
	if (usage.cpu_us < 270000 || usage.cpu_us > own_cpu_us() + 390000)
		return 5;
	uint64_t once = before.memory_bytes + BYTES;
	if (usage.memory_bytes < 2 * BYTES || usage.memory_bytes > 2 * once + SLACK)
		return 6;
	if (read_usage(fd, BYTES, &shared) != 2 || shared.memory_bytes < BYTES ||
		shared.memory_bytes > once + SLACK)
		return 7;
	return 0;
}

TEST(real_namespace)
{
	int status = -1;
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 ||
			mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(77);
		pid_t init = fork();
		if (init == 0)
			_exit(in_namespace());
		(void)waitpid(init, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		t_skip("may not make a pid namespace");
	else
		CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}
