/* cgroup hosts and leaves of v1, of none and of malformed files, in trees made of plain files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/cgroup.h"
#include "sandbox/cgroup_file.h"

#include "base/fd.h"
#include "t.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The base of a row, without the tree's root. */
static const char *base_of(const struct cgroup_host *host, enum cgroup_controller row)
{
	return host->base[row][0] ? host->base[row] + strlen(host->root) : "";
}

static const struct limits some = {
	.value = {[LIMIT_memory_bytes] = 64 << 20, [LIMIT_cpu_milli] = 500, [LIMIT_pids] = 10}};

#define V1_LINE(id, name)                                                                          \
	id " 31 0:30 / /sys/fs/cgroup/" name " rw,relatime - cgroup cgroup rw," name "\n"
#define V1 "/sys/fs/cgroup"

static void put_v1_dirs(struct tree *t)
{
	tree_put(t, V1 "/memory/m/tasks", "");
	tree_put(t, V1 "/pids/p/tasks", "");
	tree_put(t, V1 "/cpu,cpuacct/c/tasks", "");
}

static void put_v1(struct tree *t)
{
	tree_put(t, "/proc/self/cgroup",
		"9:name=systemd:/\n5:pids:/p\n4:memory:/m\n2:cpu,cpuacct:/c\n0::/\n");
	tree_put(t, "/proc/self/mountinfo",
		V1_LINE("32", "memory") V1_LINE("33", "pids") V1_LINE("34", "cpu,cpuacct"));
	put_v1_dirs(t);
}

TEST(v1_all_controllers)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	int fds[CGROUP_JOIN_FDS];
	put_v1(&t);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V1);
	CHECK_STR(host.why, "");
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	CHECK_STR(tree_get(&t, V1 "/memory/m/retort-7-1/memory.limit_in_bytes"), "67108864");
	CHECK_STR(tree_get(&t, V1 "/memory/m/retort-7-1/memory.memsw.limit_in_bytes"), "67108864");
	CHECK_STR(tree_get(&t, V1 "/pids/p/retort-7-1/pids.max"), "11");
	CHECK_STR(tree_get(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpu.cfs_period_us"), "100000");
	CHECK_STR(tree_get(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpu.cfs_quota_us"), "50000");
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_CGROUP_V1);
	CHECK_INT(by[LIMIT_cpu_milli], LIMIT_BY_CGROUP_V1);
	CHECK_INT(by[LIMIT_pids], LIMIT_BY_CGROUP_V1);
	/* cpu and cpuacct are one hierarchy, to be joined once. */
	CHECK_INT(cgroup_leaf_join_fds(&leaf, fds), 3);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(fd_write_all(fds[i], "0", 1), 0);
		(void)close(fds[i]);
	}
	CHECK_STR(tree_get(&t, V1 "/cpu,cpuacct/c/retort-7-1/tasks"), "0");
	cgroup_leaf_close(&leaf);
	CHECK(!tree_has(&t, V1 "/memory/m/retort-7-1"));
	CHECK(!tree_has(&t, V1 "/pids/p/retort-7-1"));
	CHECK(!tree_has(&t, V1 "/cpu,cpuacct/c/retort-7-1"));
}

TEST(v1_usage)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	struct box_usage usage = {0};
	put_v1(&t);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	tree_put(&t, V1 "/memory/m/retort-7-1/memory.usage_in_bytes", "4096\n");
	tree_put(&t, V1 "/memory/m/retort-7-1/memory.max_usage_in_bytes", "8192\n");
	tree_put(&t, V1 "/memory/m/retort-7-1/memory.oom_control",
		"oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	tree_put(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpuacct.usage", "7000123\n");
	tree_put(&t, V1 "/pids/p/retort-7-1/pids.current", "2\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.memory_bytes, 4096);
	CHECK_INT(usage.memory_peak_bytes, 8192);
	CHECK_INT(usage.n_oom_kills, 4);
	CHECK_INT(usage.cpu_us, 7000);
	CHECK_INT(usage.n_pids, 2);
	cgroup_leaf_close(&leaf);
}

TEST(books_without_the_leaf)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	struct cgroup_books books = {.kind = CGROUP_V1};
	struct box_usage usage = {.cpu_us = 5};
	put_v1(&t);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	CHECK_INT(cgroup_leaf_books(&leaf, books.fds), 0); /* not all of them are there */
	tree_put(&t, V1 "/memory/m/retort-7-1/memory.usage_in_bytes", "4096\n");
	tree_put(&t, V1 "/memory/m/retort-7-1/memory.max_usage_in_bytes", "8192\n");
	tree_put(&t, V1 "/memory/m/retort-7-1/memory.oom_control", "under_oom 0\noom_kill 4\n");
	tree_put(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpuacct.usage", "7000123\n");
	tree_put(&t, V1 "/pids/p/retort-7-1/pids.current", "2\n");
	CHECK_INT(cgroup_leaf_books(&leaf, books.fds), cgroup_books_count(CGROUP_V1));
	CHECK_INT(cgroup_books_read(&books, &usage), 0);
	CHECK_INT(usage.memory_bytes, 4096);
	CHECK_INT(usage.memory_peak_bytes, 8192);
	CHECK_INT(usage.n_oom_kills, 4);
	CHECK_INT(usage.cpu_us, 7000);
	CHECK_INT(usage.n_pids, 2);
	/* A file is read anew each time, and one that makes no sense changes nothing. */
	tree_put(&t, V1 "/pids/p/retort-7-1/pids.current", "3\n");
	CHECK_INT(cgroup_books_read(&books, &usage), 0);
	CHECK_INT(usage.n_pids, 3);
	tree_put(&t, V1 "/memory/m/retort-7-1/memory.usage_in_bytes", "5\n");
	tree_put(&t, V1 "/pids/p/retort-7-1/pids.current", "many\n");
	CHECK(cgroup_books_read(&books, &usage) < 0);
	CHECK_INT(usage.memory_bytes, 4096);
	cgroup_books_close(&books);
	CHECK_INT(books.kind, CGROUP_NONE);
	cgroup_leaf_close(&leaf);
}

TEST(v1_memory_missing)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {[LIMIT_memory_bytes] = LIMIT_BY_ENGINE};
	struct box_usage usage = {.memory_bytes = 11};
	put_v1(&t);
	tree_put(&t, "/proc/self/mountinfo", V1_LINE("33", "pids") V1_LINE("34", "cpu,cpuacct"));
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V1);
	CHECK_HAS(host.why, "memory: not mounted");
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_NONE);
	CHECK_INT(by[LIMIT_pids], LIMIT_BY_CGROUP_V1);
	tree_put(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpuacct.usage", "7000123\n");
	tree_put(&t, V1 "/pids/p/retort-7-1/pids.current", "2\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.memory_bytes, 11);
	CHECK_INT(usage.n_pids, 2);
	cgroup_leaf_close(&leaf);
}

TEST(v1_mount_shows_a_part)
{
	TREE t = tree_new();
	struct cgroup_host host;
	tree_put(&t, "/proc/self/cgroup",
		"4:memory:/docker/ab c/in\n5:pids:/docker/ab c\n3:cpu:/docker/ab cd\n1:cpuacct:/x\n");
	tree_put(&t, "/proc/self/mountinfo",
		"1 2 0:1 /docker/ab\\040c /mnt/the\\040mem rw - cgroup cgroup rw,memory\n"
		"1 2 0:1 /docker/ab\\040c /mnt/pids rw - cgroup cgroup rw,pids\n"
		"1 2 0:1 /docker/ab\\040c /mnt/cpu rw - cgroup cgroup rw,cpu\n"
		"1 2 0:1 /../.. /mnt/cpuacct rw - cgroup cgroup rw,cpuacct\n");
	tree_put(&t, "/mnt/the mem/in/tasks", "");
	tree_put(&t, "/mnt/pids/tasks", "");
	tree_put(&t, "/mnt/cpu/d/tasks", "");
	tree_put(&t, "/mnt/cpud/tasks", "");
	tree_put(&t, "/mnt/cpuacct/x/tasks", "");
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), "/mnt/the mem/in");
	CHECK_STR(base_of(&host, CGROUP_PIDS), "/mnt/pids");
	CHECK_STR(base_of(&host, CGROUP_CPU), "");
	CHECK_STR(base_of(&host, CGROUP_CPUACCT), "");
	CHECK_HAS(host.why, "cpu: our own cgroup is not in the mount");
}

TEST(v1_second_mount_of_a_controller)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v1(&t);
	tree_put(&t, "/proc/self/mountinfo",
		"1 2 0:1 /elsewhere /mnt/a rw - cgroup cgroup rw,memory\n"
		"1 2 0:1 / /mnt/gone rw - cgroup cgroup rw,memory\n" V1_LINE("32", "memory"));
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V1 "/memory/m");
}

TEST(hybrid_is_v1)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v1(&t);
	tree_put(&t, "/proc/self/mountinfo",
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" V1_LINE(
			"32", "memory") V1_LINE("33", "pids"));
	tree_put(&t, V1 "/unified/cgroup.controllers", "");
	tree_put(&t, V1 "/unified/cgroup.subtree_control", "");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V1);
	cgroup_host_open(&host, t.root, CGROUP_V2);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_HAS(host.why, "no memory and pids controllers");
	CHECK_STR(tree_get(&t, V1 "/unified/cgroup.subtree_control"), "");
}

TEST(none)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {[LIMIT_pids] = LIMIT_BY_RLIMIT};
	struct box_usage usage = {.cpu_us = 5};
	int fds[CGROUP_JOIN_FDS];
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK(host.why[0] != '\0');
	put_v1(&t);
	cgroup_host_open(&host, t.root, CGROUP_NONE);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	CHECK_INT(by[LIMIT_pids], LIMIT_BY_NONE);
	CHECK_INT(cgroup_leaf_join_fds(&leaf, fds), 0);
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.cpu_us, 5);
	cgroup_host_sweep(&host);
	cgroup_leaf_close(&leaf);
	leaf = (struct cgroup_leaf){0};
	cgroup_leaf_close(&leaf);
}

TEST(malformed_files)
{
	static const char *const bad[] = {"", "\n\n\n", "4:memory",
		"4:memory:", "::::", "0:::", "4:memory:m\n5:pids:\n", "4:memory:/m", "\\777\\0\\",
		" - ", " - cgroup\n", "1 2 0:1 / /mnt rw - cgroup\n",
		"1 2 0:1 / /mnt rw - cgroup cgroup\n", "1 2 - cgroup cgroup rw,memory\n",
		"1 2 0:1 / - cgroup cgroup rw,memory\n",
		"1 2 0:1 m m rw - cgroup cgroup rw,memory\n",
		"1 2 0:1  /mnt - cgroup2 cgroup2 rw\n",
		"1 2 0:1 \\057\\05 \\0 rw - cgroup cgroup rw,memory\n",
		"1 2 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"};
	TREE t = tree_new();
	struct cgroup_host host;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		put_v1(&t);
		tree_put(&t, "/proc/self/cgroup", bad[i]);
		cgroup_host_open(&host, t.root, -1);
		CHECK_INT(host.kind, CGROUP_NONE);
		put_v1(&t);
		tree_put(&t, "/proc/self/mountinfo", bad[i]);
		cgroup_host_open(&host, t.root, -1);
		CHECK_INT(host.kind, CGROUP_NONE);
	}
	tree_put_bytes(&t, "/proc/self/mountinfo", "1 2\0\0 0:1 - cgroup\n\0", 20);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
}

/* A line longer than any is dropped, the next one still counts; after 4 MiB reading stops. */
TEST(huge_files)
{
	TREE t = tree_new();
	struct cgroup_host host;
	size_t bytes = CGROUP_LINES_MAX_BYTES + 4096;
	char *text = malloc(bytes + 1);
	if (!CHECK(text != NULL))
		return;
	put_v1(&t);
	for (size_t long_bytes = 4090; long_bytes < 12300;
		long_bytes += long_bytes == 4100 ? 8180 : 1) {
		memset(text, 'x', long_bytes);
		snprintf(text + long_bytes, 256, "\n%s", V1_LINE("32", "memory"));
		tree_put(&t, "/proc/self/mountinfo", text);
		cgroup_host_open(&host, t.root, -1);
		CHECK_STR(base_of(&host, CGROUP_MEMORY), V1 "/memory/m");
	}
	/* What follows in the buffer is still the same line. */
	memset(text, 'x', CGROUP_LINE_BYTES);
	snprintf(text + CGROUP_LINE_BYTES, 256, "%s%s", V1_LINE("32", "memory"),
		V1_LINE("33", "pids"));
	tree_put(&t, "/proc/self/mountinfo", text);
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), "");
	CHECK_STR(base_of(&host, CGROUP_PIDS), V1 "/pids/p");
	memset(text, '\n', bytes);
	snprintf(text + bytes - 256, 256, "%s", V1_LINE("32", "memory"));
	tree_put(&t, "/proc/self/mountinfo", text);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	memset(text, 'x', bytes);
	tree_put_bytes(&t, "/proc/self/cgroup", text, bytes);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	free(text);
}

TEST(long_paths_and_names)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf = {0};
	struct err err;
	enum limit_by by[LIMIT_END_] = {[LIMIT_pids] = LIMIT_BY_RLIMIT};
	char path[800], line[1000];
	memset(path, 'a', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	path[0] = '/';
	snprintf(line, sizeof line, "4:memory:%s\n5:pids:/p\n", path);
	put_v1(&t);
	tree_put(&t, "/proc/self/cgroup", line);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), "");
	CHECK_STR(base_of(&host, CGROUP_PIDS), V1 "/pids/p");
	path[CGROUP_NAME_BYTES] = '\0';
	const char *const names[] = {"", ".", "..", ".x", "a/b", "../p", path + 1, path};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		bool is_good = i == 6;
		int r = cgroup_leaf_open(&leaf, &host, names[i], &some, by, &err);
		CHECK_INT(r, is_good ? 0 : -EPERM);
		CHECK_INT(by[LIMIT_pids], is_good ? LIMIT_BY_CGROUP_V1 : LIMIT_BY_RLIMIT);
		CHECK(is_good == (leaf.host != NULL));
		cgroup_leaf_close(&leaf);
		by[LIMIT_pids] = LIMIT_BY_RLIMIT;
	}
	memset(path, 'a', sizeof path - 1);
	cgroup_host_open(&host, path, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_HAS(host.why, "too long");
}

struct leaf_run {
	const struct cgroup_host *host;
	struct cgroup_leaf leaf;
	enum limit_by by[LIMIT_END_];
	struct err err;
	int r;
};

static void run_leaf_open(void *arg)
{
	struct leaf_run *run = arg;
	run->r = cgroup_leaf_open(&run->leaf, run->host, "retort-7-1", &some, run->by, &run->err);
}

TEST(failing_write_leaves_nothing)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct leaf_run run = {.host = &host, .by = {[LIMIT_pids] = LIMIT_BY_RLIMIT}};
	put_v1(&t);
	cgroup_host_open(&host, t.root, -1);
	tree_no_writes(run_leaf_open, &run);
	CHECK_INT(run.r, -EFBIG);
	CHECK_INT(run.err.code, ERR_BOX);
	CHECK_HAS(run.err.msg, "memory.limit_in_bytes");
	CHECK_HAS(run.err.msg, "File too large");
	CHECK_INT(run.by[LIMIT_pids], LIMIT_BY_RLIMIT);
	CHECK(run.leaf.host == NULL);
	CHECK(!tree_has(&t, V1 "/memory/m/retort-7-1"));
	CHECK(!tree_has(&t, V1 "/pids/p/retort-7-1"));
	CHECK(!tree_has(&t, V1 "/cpu,cpuacct/c/retort-7-1"));
}

TEST(failing_mkdir_leaves_nothing)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct leaf_run run = {.host = &host};
	put_v1(&t);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(cgroup_file_rmdir(host.base[CGROUP_CPU], true), 0);
	run_leaf_open(&run);
	CHECK_INT(run.r, -ENOENT);
	CHECK_HAS(run.err.msg, "/cpu,cpuacct/c/retort-7-1");
	CHECK(!tree_has(&t, V1 "/memory/m/retort-7-1"));
	CHECK(!tree_has(&t, V1 "/pids/p/retort-7-1"));
	/* A leaf of that name that is in use (here: holds a directory) is an error and stays. */
	put_v1(&t);
	tree_put(&t, V1 "/pids/p/retort-7-1/sub/x", "");
	run_leaf_open(&run);
	CHECK_INT(run.r, -ENOTEMPTY);
	CHECK(tree_has(&t, V1 "/pids/p/retort-7-1/sub/x"));
	CHECK(!tree_has(&t, V1 "/memory/m/retort-7-1"));
}

TEST(sweep_removes_the_dead_only)
{
	static const char *const dead[] = {
		"retort-101-1", "retort-102-x", "retort-105-1", "retort-engine-101"};
	static const char *const kept[] = {"retort-103-1", "retort-engine-103", "retort-x-1",
		"retort-101", "retort-engine-101-1", "retort--1", "retort-0-1", "xretort-101-1",
		"retort-99999999999999999999-1", "other", "retort-104-1", "retort-101-1.4294967290",
		"retort-hold-101.4294967290", "retort-hold-101", "retort-hold-103.1"};
	TREE t = tree_new();
	struct cgroup_host host;
	char path[128];
	put_v1(&t);
	tree_put(&t, "/proc/102/stat", "102 (bash) S 1\n");
	tree_put(&t, "/proc/103/stat", "103 (retort-warden) S 1\n");
	tree_put(&t, "/proc/104/stat/unreadable", "");
	tree_put(&t, "/proc/105/stat", "105 (retort-warden) Z 1\n");
	cgroup_host_open(&host, t.root, -1);
	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		snprintf(path, sizeof path, V1 "/pids/p/%s/tasks", dead[i]);
		tree_put(&t, path, "");
	}
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		snprintf(path, sizeof path, V1 "/pids/p/%s/tasks", kept[i]);
		tree_put(&t, path, "");
	}
	struct stat st;
	CHECK_INT(stat("/proc/self/ns/pid", &st), 0);
	char held[128];
	snprintf(held, sizeof held, V1 "/pids/p/retort-hold-101.%ju/tasks", (uintmax_t)st.st_ino);
	tree_put(&t, held, "");
	snprintf(path, sizeof path, V1 "/pids/p/retort-%d-1/tasks", getpid());
	tree_put(&t, path, "");
	cgroup_host_sweep(&host);
	CHECK(tree_has(&t, path));
	CHECK(!tree_has(&t, held));
	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		snprintf(path, sizeof path, V1 "/pids/p/%s", dead[i]);
		CHECK(!tree_has(&t, path));
	}
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		snprintf(path, sizeof path, V1 "/pids/p/%s", kept[i]);
		CHECK(tree_has(&t, path));
	}
	CHECK(tree_has(&t, V1 "/pids/p/tasks"));
}

TEST(close_kills_what_is_listed)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_];
	char text[64];
	int status = 0;
	put_v1(&t);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			(void)pause();
	/* A plain file cannot show that its process is gone: a directory keeps the leaf busy. */
	snprintf(text, sizeof text, "0\n1\n%d\n-1\nx\n%d\n", getpid(), pid);
	tree_put(&t, V1 "/pids/p/retort-7-1/busy/x", "");
	tree_put(&t, V1 "/pids/p/cgroup.procs", "");
	tree_put(&t, V1 "/pids/p/retort-7-1/cgroup.procs", text);
	char root[CGROUP_PATH_BYTES];
	memcpy(root, host.root, sizeof root);
	host.root[0] = '\0'; /* as on a real host: files stay */
	cgroup_leaf_close(&leaf);
	memcpy(host.root, root, sizeof root);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_STR(tree_get(&t, V1 "/pids/p/retort-7-1/pids.max"), "01");
}
