/* cgroup hosts and leaves on this machine, where that may be: its v1, real limits, real kills.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/cgroup.h"
#include "sandbox/cgroup_file.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct limits some = {
	.value = {[LIMIT_memory_bytes] = 64 << 20, [LIMIT_cpu_milli] = 500, [LIMIT_pids] = 10}};

static bool real_v1(struct cgroup_host *host)
{
	cgroup_host_open(host, "", CGROUP_V1);
	if (host->kind == CGROUP_V1 && host->base[CGROUP_MEMORY][0] && host->base[CGROUP_PIDS][0] &&
		host->base[CGROUP_CPU][0] && host->base[CGROUP_CPUACCT][0])
		return true;
	t_skip("no cgroup v1 with memory, pids, cpu and cpuacct that we may use");
	return false;
}

/* Fork a child that joins @leaf, runs @run and exits with what it returns. */
static pid_t in_leaf(const struct cgroup_leaf *leaf, int (*run)(void))
{
	int fds[CGROUP_JOIN_FDS];
	int n = cgroup_leaf_join_fds(leaf, fds);
	CHECK(n > 0);
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < n; i++)
			if (fd_write_all(fds[i], "0", 1) < 0)
				_exit(99);
		_exit(run());
	}
	for (int i = 0; i < n; i++)
		(void)close(fds[i]);
	return pid;
}

static int status_of(pid_t pid)
{
	int status = -1;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return status;
}

/* Other wardens of this host may be sweeping: to them we are one. */
static void leaf_name(char out[CGROUP_NAME_BYTES], const char *what)
{
	CHECK_INT(prctl(PR_SET_NAME, "retort-warden"), 0);
	snprintf(out, CGROUP_NAME_BYTES, "retort-%d-%s", getpid(), what);
}

/* None of the leaf's directories is there. */
static void check_gone(const struct cgroup_host *host, const char *name)
{
	for (size_t c = 0; c < CGROUP_CONTROLLER_END_; c++) {
		char dir[1024];
		if (!host->base[c][0])
			continue;
		snprintf(dir, sizeof dir, "%s/%s", host->base[c], name);
		CHECK(access(dir, F_OK) < 0 && errno == ENOENT);
	}
}

static int allocate_200_mb(void)
{
	size_t bytes = 200 << 20;
	char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return 1;
	memset(data, 1, bytes);
	return 0;
}

TEST(real_v1_memory)
{
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	struct box_usage usage = {0};
	char name[CGROUP_NAME_BYTES];
	if (!real_v1(&host))
		return;
	leaf_name(name, "memory");
	if (!CHECK_INT(cgroup_leaf_open(&leaf, &host, name, &some, by, &err), 0))
		return;
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_CGROUP_V1);
	int status = status_of(in_leaf(&leaf, allocate_200_mb));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK(usage.n_oom_kills >= 1);
	CHECK(usage.memory_peak_bytes > 32 << 20 && usage.memory_peak_bytes <= 64 << 20);
	CHECK_INT(usage.n_pids, 0);
	cgroup_leaf_close(&leaf);
	check_gone(&host, name);
}

/* Returns: how many children could be there at once. */
static int fork_20(void)
{
	int n = 0;
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			(void)usleep(300000);
			_exit(0);
		}
		n += pid > 0;
	}
	return n;
}

TEST(real_v1_pids)
{
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	struct box_usage usage = {0};
	char name[CGROUP_NAME_BYTES];
	if (!real_v1(&host))
		return;
	leaf_name(name, "pids");
	if (!CHECK_INT(cgroup_leaf_open(&leaf, &host, name, &some, by, &err), 0))
		return;
	CHECK_INT(by[LIMIT_pids], LIMIT_BY_CGROUP_V1);
	/* 10 and one for init, which here is the one that forks. */
	int status = status_of(in_leaf(&leaf, fork_20));
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 10);
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.n_pids, 10);
	/* They still sleep: closing kills them and waits until they are gone. */
	cgroup_leaf_close(&leaf);
	check_gone(&host, name);
}

/* Returns: CPU milliseconds that this process got in 400 ms, in units of 4. */
static int burn(void)
{
	struct timespec start, now, cpu;
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	do
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 400);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (int)(cpu.tv_nsec / 4000000);
}

TEST(real_v1_cpu)
{
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	struct limits fifth = some;
	struct box_usage usage = {0};
	char name[CGROUP_NAME_BYTES];
	if (!real_v1(&host))
		return;
	fifth.value[LIMIT_cpu_milli] = 200;
	leaf_name(name, "cpu");
	if (!CHECK_INT(cgroup_leaf_open(&leaf, &host, name, &fifth, by, &err), 0))
		return;
	CHECK_INT(by[LIMIT_cpu_milli], LIMIT_BY_CGROUP_V1);
	int status = status_of(in_leaf(&leaf, burn));
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) * 4 < 250);
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK(usage.cpu_us > 0 && usage.cpu_us < 250000);
	cgroup_leaf_close(&leaf);
	check_gone(&host, name);
}

TEST(real_v1_cpu_quota_above_the_parents)
{
	struct cgroup_host host, inner;
	struct cgroup_leaf parent, leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	struct limits more = some;
	char name[CGROUP_NAME_BYTES];
	if (!real_v1(&host))
		return;
	leaf_name(name, "parent");
	if (!CHECK_INT(cgroup_leaf_open(&parent, &host, name, &some, by, &err), 0))
		return;
	inner = host;
	for (size_t c = 0; c < CGROUP_CONTROLLER_END_; c++)
		(void)cgroup_file_path(
			inner.base[c], sizeof inner.base[c], "%s/%s", host.base[c], name);
	more.value[LIMIT_cpu_milli] = 900;
	CHECK_INT(cgroup_leaf_open(&leaf, &inner, "retort-1-1", &more, by, &err), 0);
	CHECK_INT(by[LIMIT_cpu_milli], LIMIT_BY_NONE);
	CHECK_INT(by[LIMIT_pids], LIMIT_BY_CGROUP_V1);
	cgroup_leaf_close(&leaf);
	cgroup_leaf_close(&parent);
	check_gone(&host, name);
}

TEST(real_v1_sweep)
{
	struct cgroup_host host;
	struct cgroup_leaf leaf, mine;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	char name[CGROUP_NAME_BYTES], dead[CGROUP_NAME_BYTES];
	if (!real_v1(&host))
		return;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	(void)status_of(pid);
	snprintf(dead, sizeof dead, "retort-%d-1", pid);
	leaf_name(name, "sweep");
	CHECK_INT(cgroup_leaf_open(&mine, &host, name, &some, by, &err), 0);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, dead, &some, by, &err), 0);
	/* In use: it stays, and nobody is killed. */
	pid = in_leaf(&leaf, fork_20);
	(void)usleep(50000);
	cgroup_host_sweep(&host);
	CHECK(WIFEXITED(status_of(pid)));
	(void)usleep(600000);
	cgroup_host_sweep(&host);
	check_gone(&host, dead);
	struct box_usage usage = {0};
	CHECK_INT(cgroup_leaf_usage(&mine, &usage), 0);
	cgroup_leaf_close(&mine);
	check_gone(&host, name);
}

/* clone3 into @dir_fd. Returns: the child's pid, 0 in the child. */
static pid_t clone_into(int dir_fd)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)dir_fd};
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* Without controllers there are still join, CPU time and kill. */
TEST(real_v2_join_and_kill)
{
	struct cgroup_host host = {.kind = CGROUP_V2};
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	struct box_usage usage = {0};
	int fds[CGROUP_JOIN_FDS];
	char *base = host.base[CGROUP_CPUACCT], name[CGROUP_NAME_BYTES];
	snprintf(base, CGROUP_PATH_BYTES, "/sys/fs/cgroup/unified");
	leaf_name(name, "v2");
	if (access(base, W_OK) < 0 || cgroup_leaf_open(&leaf, &host, name, &some, by, &err) < 0) {
		t_skip("no cgroup2 at /sys/fs/cgroup/unified that we may use");
		return;
	}
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_NONE);
	CHECK_INT(cgroup_leaf_join_fds(&leaf, fds), 1);
	(void)fflush(stdout);
	pid_t pid = clone_into(fds[0]);
	for (volatile int spin = 1; pid == 0 && spin;)
		;
	(void)close(fds[0]);
	CHECK(pid > 0);
	/* On a busy machine the child gets a CPU late. */
	for (int i = 0; i < 600 && usage.cpu_us <= 50000; i++) {
		(void)usleep(50000);
		CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	}
	CHECK(usage.cpu_us > 50000);
	cgroup_leaf_close(&leaf);
	int status = status_of(pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	snprintf(name + strlen(name), 2, "x");
	/* A kernel file that is not there is an error, and the leaf does not stay. */
	snprintf(host.base[CGROUP_MEMORY], CGROUP_PATH_BYTES, "/sys/fs/cgroup/unified");
	CHECK(cgroup_leaf_open(&leaf, &host, name, &some, by, &err) < 0);
	CHECK_HAS(err.msg, "memory.max");
	check_gone(&host, name);
	leaf_name(name, "v2");
	check_gone(&host, name);
}
