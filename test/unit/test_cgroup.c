/* cgroup hosts and leaves: in trees made of plain files, and in this machine's v1 where that may
 * be. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "sandbox/cgroup.h"
#include "sandbox/cgroup_file.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A directory that stands for "/". */
struct tree {
	char root[64];
};

static struct tree tree_new(void)
{
	struct tree t = {"/tmp/test-cgroup-XXXXXX"};
	CHECK(mkdtemp(t.root) != NULL);
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
	(void)nftw(t->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
#define TREE cleanup(tree_done) struct tree

static void put_bytes(struct tree *t, const char *path, const char *text, size_t bytes)
{
	char full[1024];
	(void)snprintf(full, sizeof full, "%s%s", t->root, path);
	for (char *at = full + strlen(t->root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(full, 0755);
		*at = '/';
	}
	cleanup_fd int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	CHECK_INT(fd_write_all(fd, text, bytes), 0);
}

static void put(struct tree *t, const char *path, const char *text)
{
	put_bytes(t, path, text, strlen(text));
}

static bool has(struct tree *t, const char *path)
{
	char full[1024];
	(void)snprintf(full, sizeof full, "%s%s", t->root, path);
	return access(full, F_OK) == 0;
}

/* What a file holds; one answer at a time. */
static const char *get(struct tree *t, const char *path)
{
	static char text[4096];
	char full[1024];
	(void)snprintf(full, sizeof full, "%s%s", t->root, path);
	if (cgroup_file_read(AT_FDCWD, full, text, sizeof text) < 0)
		return NULL;
	return text;
}

static void put_pids(struct tree *t, const char *path, pid_t extra)
{
	char text[64];
	int n = snprintf(text, sizeof text, "%d\n%d\n", getppid(), getpid());
	if (extra)
		(void)snprintf(text + n, sizeof text - (size_t)n, "%d\n", extra);
	put(t, path, text);
}

/* The base of a row, without the tree's root. */
static const char *base_of(const struct cgroup_host *host, enum cgroup_controller row)
{
	return host->base[row][0] ? host->base[row] + strlen(host->root) : "";
}

static const struct limits some = {
	.value = {[LIMIT_memory_bytes] = 64 << 20, [LIMIT_cpu_milli] = 500, [LIMIT_pids] = 10}};

#define V2_MOUNT "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V2	 "/sys/fs/cgroup"

static void put_v2(struct tree *t, const char *own)
{
	char line[600];
	(void)snprintf(line, sizeof line, "0::%s\n", own);
	put(t, "/proc/self/cgroup", line);
	put(t, "/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2_MOUNT);
	put(t, V2 "/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
	put(t, V2 "/cgroup.subtree_control", "");
	put(t, V2 "/cgroup.procs", "1\n");
}

static void put_v2_group(struct tree *t, const char *path, const char *control)
{
	static const char *const files[] = {
		"cgroup.controllers", "cgroup.subtree_control", "cgroup.procs", "cgroup.type"};
	const char *const texts[] = {"cpu memory pids\n", control, "", "domain\n"};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char file[600];
		(void)snprintf(file, sizeof file, V2 "%s/%s", path, files[i]);
		put(t, file, texts[i]);
	}
}

TEST(v2_delegated_parent_is_found)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v2(&t, "/user.slice/app.slice/retort.scope");
	put_v2_group(&t, "/user.slice", "memory pids\n");
	put_v2_group(&t, "/user.slice/app.slice", "cpu memory pids\n");
	put_v2_group(&t, "/user.slice/app.slice/retort.scope", "");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V2);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 "/user.slice/app.slice");
	CHECK_STR(base_of(&host, CGROUP_CPU), V2 "/user.slice/app.slice");
	CHECK_STR(host.why, "");
	char probe[128];
	(void)snprintf(probe, sizeof probe, V2 "/user.slice/app.slice/retort-%d-probe", getpid());
	CHECK(!has(&t, probe));
}

TEST(v2_without_cpu_says_so)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {
		[LIMIT_cpu_milli] = LIMIT_BY_ENGINE, [LIMIT_disk_bytes] = LIMIT_BY_MOUNT};
	put_v2(&t, "/a");
	put_v2_group(&t, "/a", "memory pids\n");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V2);
	CHECK_HAS(host.why, "cpu: not enabled");
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_CGROUP_V2);
	CHECK_INT(by[LIMIT_pids], LIMIT_BY_CGROUP_V2);
	CHECK_INT(by[LIMIT_cpu_milli], LIMIT_BY_NONE);
	CHECK_INT(by[LIMIT_disk_bytes], LIMIT_BY_MOUNT);
	CHECK(!has(&t, V2 "/a/retort-7-1/cpu.max"));
	cgroup_leaf_close(&leaf);
}

TEST(v2_leaf_has_limits_and_goes)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	int fds[CGROUP_JOIN_FDS];
	put_v2(&t, "/a");
	put_v2_group(&t, "/a", "cpu memory pids\n");
	cgroup_host_open(&host, t.root, CGROUP_V2);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	CHECK_STR(get(&t, V2 "/a/retort-7-1/memory.max"), "67108864");
	CHECK_STR(get(&t, V2 "/a/retort-7-1/memory.swap.max"), "0");
	CHECK_STR(get(&t, V2 "/a/retort-7-1/pids.max"), "11");
	CHECK_STR(get(&t, V2 "/a/retort-7-1/cpu.max"), "50000 100000");
	CHECK(!has(&t, V2 "/a/retort-7-1/memory.oom.group"));
	CHECK_INT(by[LIMIT_cpu_milli], LIMIT_BY_CGROUP_V2);
	CHECK_INT(cgroup_leaf_join_fds(&leaf, fds), 1);
	struct stat st;
	CHECK(fstat(fds[0], &st) == 0 && S_ISDIR(st.st_mode));
	CHECK(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	(void)close(fds[0]);
	cgroup_leaf_close(&leaf);
	CHECK(!has(&t, V2 "/a/retort-7-1"));
	cgroup_leaf_close(&leaf);
}

TEST(v2_usage)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_] = {0};
	struct box_usage usage = {.memory_peak_bytes = 5};
	put_v2(&t, "/a");
	put_v2_group(&t, "/a", "memory pids\n");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), -ENOENT);
	CHECK_INT(usage.memory_bytes, 0);
	put(&t, V2 "/a/retort-7-1/memory.current", "4096\n");
	put(&t, V2 "/a/retort-7-1/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 9\n");
	put(&t, V2 "/a/retort-7-1/cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
	put(&t, V2 "/a/retort-7-1/pids.current", "3\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.memory_bytes, 4096);
	CHECK_INT(usage.memory_peak_bytes, 5);
	CHECK_INT(usage.n_oom_kills, 2);
	CHECK_INT(usage.cpu_us, 1234);
	CHECK_INT(usage.n_pids, 3);
	put(&t, V2 "/a/retort-7-1/memory.peak", "8192\n");
	put(&t, V2 "/a/retort-7-1/pids.current", "99999999999999999999999\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), -ERANGE);
	CHECK_INT(usage.memory_peak_bytes, 5);
	put(&t, V2 "/a/retort-7-1/pids.current", "soon\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), -EINVAL);
	put(&t, V2 "/a/retort-7-1/pids.current", "3\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.memory_peak_bytes, 8192);
	cgroup_leaf_close(&leaf);
}

TEST(v2_not_delegated_says_what_to_do)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v2(&t, "/user.slice/session-2.scope");
	put_v2_group(&t, "/user.slice", "");
	put_v2_group(&t, "/user.slice/session-2.scope", "");
	put_pids(&t, V2 "/user.slice/session-2.scope/cgroup.procs", 1);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_HAS(host.why, "systemd-run --user --scope -p Delegate=yes retort");
	CHECK_HAS(host.why, "session-2.scope");
	CHECK_STR(host.base[CGROUP_MEMORY], "");
	/* A process of another pid namespace shows as 0. */
	put(&t, V2 "/user.slice/session-2.scope/cgroup.procs", "0\n");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_STR(get(&t, V2 "/user.slice/session-2.scope/cgroup.subtree_control"), "");
}

TEST(v2_root_cgroup_needs_no_move)
{
	TREE t = tree_new();
	struct cgroup_host host;
	char engine[128];
	put_v2(&t, "/");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V2);
	CHECK_STR(base_of(&host, CGROUP_PIDS), V2);
	CHECK_STR(get(&t, V2 "/cgroup.subtree_control"), "+memory +pids\n+cpu\n");
	(void)snprintf(engine, sizeof engine, V2 "/retort-engine-%d", getpid());
	CHECK(!has(&t, engine));
}

TEST(v2_own_process_only_moves_aside)
{
	TREE t = tree_new();
	struct cgroup_host host;
	char procs[128], want[64];
	put_v2(&t, "/box.scope");
	put_v2_group(&t, "/box.scope", "");
	put_pids(&t, V2 "/box.scope/cgroup.procs", 0);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V2);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 "/box.scope");
	CHECK_STR(get(&t, V2 "/box.scope/cgroup.subtree_control"), "+memory +pids\n+cpu\n");
	(void)snprintf(
		procs, sizeof procs, V2 "/box.scope/retort-engine-%d/cgroup.procs", getpid());
	(void)snprintf(want, sizeof want, "%d\n%d\n", getppid(), getpid());
	CHECK_STR(get(&t, procs), want);
}

/* Run @run with no byte allowed into any file, as a write the kernel refuses. */
static void with_no_writes(void (*run)(void *arg), void *arg)
{
	struct rlimit old, none;
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	(void)fflush(stdout);
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &none), 0);
	run(arg);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
}

struct host_run {
	struct cgroup_host host;
	const char *root;
};

static void run_host_open(void *arg)
{
	struct host_run *run = arg;
	cgroup_host_open(&run->host, run->root, -1);
}

TEST(v2_refused_move_is_undone)
{
	TREE t = tree_new();
	struct host_run run = {.root = t.root};
	char engine[128];
	put_v2(&t, "/box.scope");
	put_v2_group(&t, "/box.scope", "");
	put_pids(&t, V2 "/box.scope/cgroup.procs", 0);
	with_no_writes(run_host_open, &run);
	CHECK_INT(run.host.kind, CGROUP_NONE);
	CHECK_HAS(run.host.why, "File too large");
	(void)snprintf(engine, sizeof engine, V2 "/box.scope/retort-engine-%d", getpid());
	CHECK(!has(&t, engine));
}

TEST(v2_refused_controllers_move_back)
{
	TREE t = tree_new();
	struct cgroup_host host;
	char path[128], want[128];
	put_v2(&t, "/box.scope");
	put(&t, V2 "/box.scope/cgroup.controllers", "memory pids\n");
	put(&t, V2 "/box.scope/cgroup.type", "domain\n");
	put(&t, V2 "/box.scope/cgroup.subtree_control/x", "");
	put_pids(&t, V2 "/box.scope/cgroup.procs", 0);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_HAS(host.why, "Is a directory");
	(void)snprintf(path, sizeof path, V2 "/box.scope/retort-engine-%d", getpid());
	CHECK(!has(&t, path));
	(void)snprintf(
		want, sizeof want, "%d\n%d\n%d\n%d\n", getppid(), getpid(), getppid(), getpid());
	CHECK_STR(get(&t, V2 "/box.scope/cgroup.procs"), want);
}

TEST(v2_outside_of_the_namespace)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v2(&t, "/../other");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_HAS(host.why, "not in the cgroup2 mount");
}

#define V1_LINE(id, name)                                                                          \
	id " 31 0:30 / /sys/fs/cgroup/" name " rw,relatime - cgroup cgroup rw," name "\n"
#define V1 "/sys/fs/cgroup"

static void put_v1_dirs(struct tree *t)
{
	put(t, V1 "/memory/m/tasks", "");
	put(t, V1 "/pids/p/tasks", "");
	put(t, V1 "/cpu,cpuacct/c/tasks", "");
}

static void put_v1(struct tree *t)
{
	put(t, "/proc/self/cgroup",
		"9:name=systemd:/\n5:pids:/p\n4:memory:/m\n2:cpu,cpuacct:/c\n0::/\n");
	put(t, "/proc/self/mountinfo",
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
	CHECK_STR(get(&t, V1 "/memory/m/retort-7-1/memory.limit_in_bytes"), "67108864");
	CHECK_STR(get(&t, V1 "/memory/m/retort-7-1/memory.memsw.limit_in_bytes"), "67108864");
	CHECK_STR(get(&t, V1 "/pids/p/retort-7-1/pids.max"), "11");
	CHECK_STR(get(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpu.cfs_period_us"), "100000");
	CHECK_STR(get(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpu.cfs_quota_us"), "50000");
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_CGROUP_V1);
	CHECK_INT(by[LIMIT_cpu_milli], LIMIT_BY_CGROUP_V1);
	CHECK_INT(by[LIMIT_pids], LIMIT_BY_CGROUP_V1);
	/* cpu and cpuacct are one hierarchy, to be joined once. */
	CHECK_INT(cgroup_leaf_join_fds(&leaf, fds), 3);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(fd_write_all(fds[i], "0", 1), 0);
		(void)close(fds[i]);
	}
	CHECK_STR(get(&t, V1 "/cpu,cpuacct/c/retort-7-1/tasks"), "0");
	cgroup_leaf_close(&leaf);
	CHECK(!has(&t, V1 "/memory/m/retort-7-1"));
	CHECK(!has(&t, V1 "/pids/p/retort-7-1"));
	CHECK(!has(&t, V1 "/cpu,cpuacct/c/retort-7-1"));
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
	put(&t, V1 "/memory/m/retort-7-1/memory.usage_in_bytes", "4096\n");
	put(&t, V1 "/memory/m/retort-7-1/memory.max_usage_in_bytes", "8192\n");
	put(&t, V1 "/memory/m/retort-7-1/memory.oom_control",
		"oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	put(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpuacct.usage", "7000123\n");
	put(&t, V1 "/pids/p/retort-7-1/pids.current", "2\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.memory_bytes, 4096);
	CHECK_INT(usage.memory_peak_bytes, 8192);
	CHECK_INT(usage.n_oom_kills, 4);
	CHECK_INT(usage.cpu_us, 7000);
	CHECK_INT(usage.n_pids, 2);
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
	put(&t, "/proc/self/mountinfo", V1_LINE("33", "pids") V1_LINE("34", "cpu,cpuacct"));
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V1);
	CHECK_HAS(host.why, "memory: not mounted");
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &some, by, &err), 0);
	CHECK_INT(by[LIMIT_memory_bytes], LIMIT_BY_NONE);
	CHECK_INT(by[LIMIT_pids], LIMIT_BY_CGROUP_V1);
	put(&t, V1 "/cpu,cpuacct/c/retort-7-1/cpuacct.usage", "7000123\n");
	put(&t, V1 "/pids/p/retort-7-1/pids.current", "2\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.memory_bytes, 11);
	CHECK_INT(usage.n_pids, 2);
	cgroup_leaf_close(&leaf);
}

TEST(v1_mount_shows_a_part)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put(&t, "/proc/self/cgroup",
		"4:memory:/docker/ab c/in\n5:pids:/docker/ab c\n3:cpu:/docker/ab cd\n1:cpuacct:/x\n");
	put(&t, "/proc/self/mountinfo",
		"1 2 0:1 /docker/ab\\040c /mnt/the\\040mem rw - cgroup cgroup rw,memory\n"
		"1 2 0:1 /docker/ab\\040c /mnt/pids rw - cgroup cgroup rw,pids\n"
		"1 2 0:1 /docker/ab\\040c /mnt/cpu rw - cgroup cgroup rw,cpu\n"
		"1 2 0:1 /../.. /mnt/cpuacct rw - cgroup cgroup rw,cpuacct\n");
	put(&t, "/mnt/the mem/in/tasks", "");
	put(&t, "/mnt/pids/tasks", "");
	put(&t, "/mnt/cpu/d/tasks", "");
	put(&t, "/mnt/cpud/tasks", "");
	put(&t, "/mnt/cpuacct/x/tasks", "");
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
	put(&t, "/proc/self/mountinfo",
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
	put(&t, "/proc/self/mountinfo",
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" V1_LINE(
			"32", "memory") V1_LINE("33", "pids"));
	put(&t, V1 "/unified/cgroup.controllers", "");
	put(&t, V1 "/unified/cgroup.subtree_control", "");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_V1);
	cgroup_host_open(&host, t.root, CGROUP_V2);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_HAS(host.why, "no memory and pids controllers");
	CHECK_STR(get(&t, V1 "/unified/cgroup.subtree_control"), "");
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
		put(&t, "/proc/self/cgroup", bad[i]);
		cgroup_host_open(&host, t.root, -1);
		CHECK_INT(host.kind, CGROUP_NONE);
		put_v1(&t);
		put(&t, "/proc/self/mountinfo", bad[i]);
		cgroup_host_open(&host, t.root, -1);
		CHECK_INT(host.kind, CGROUP_NONE);
	}
	put_bytes(&t, "/proc/self/mountinfo", "1 2\0\0 0:1 - cgroup\n\0", 20);
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
		(void)snprintf(text + long_bytes, 256, "\n%s", V1_LINE("32", "memory"));
		put(&t, "/proc/self/mountinfo", text);
		cgroup_host_open(&host, t.root, -1);
		CHECK_STR(base_of(&host, CGROUP_MEMORY), V1 "/memory/m");
	}
	/* What follows in the buffer is still the same line. */
	memset(text, 'x', CGROUP_LINE_BYTES);
	(void)snprintf(text + CGROUP_LINE_BYTES, 256, "%s%s", V1_LINE("32", "memory"),
		V1_LINE("33", "pids"));
	put(&t, "/proc/self/mountinfo", text);
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), "");
	CHECK_STR(base_of(&host, CGROUP_PIDS), V1 "/pids/p");
	memset(text, '\n', bytes);
	(void)snprintf(text + bytes - 256, 256, "%s", V1_LINE("32", "memory"));
	put(&t, "/proc/self/mountinfo", text);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	memset(text, 'x', bytes);
	put_bytes(&t, "/proc/self/cgroup", text, bytes);
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
	(void)snprintf(line, sizeof line, "4:memory:%s\n5:pids:/p\n", path);
	put_v1(&t);
	put(&t, "/proc/self/cgroup", line);
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
	with_no_writes(run_leaf_open, &run);
	CHECK_INT(run.r, -EFBIG);
	CHECK_INT(run.err.code, ERR_BOX);
	CHECK_HAS(run.err.msg, "memory.limit_in_bytes");
	CHECK_HAS(run.err.msg, "File too large");
	CHECK_INT(run.by[LIMIT_pids], LIMIT_BY_RLIMIT);
	CHECK(run.leaf.host == NULL);
	CHECK(!has(&t, V1 "/memory/m/retort-7-1"));
	CHECK(!has(&t, V1 "/pids/p/retort-7-1"));
	CHECK(!has(&t, V1 "/cpu,cpuacct/c/retort-7-1"));
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
	CHECK(!has(&t, V1 "/memory/m/retort-7-1"));
	CHECK(!has(&t, V1 "/pids/p/retort-7-1"));
	/* A leaf of that name that is in use (here: holds a directory) is an error and stays. */
	put_v1(&t);
	put(&t, V1 "/pids/p/retort-7-1/sub/x", "");
	run_leaf_open(&run);
	CHECK_INT(run.r, -ENOTEMPTY);
	CHECK(has(&t, V1 "/pids/p/retort-7-1/sub/x"));
	CHECK(!has(&t, V1 "/memory/m/retort-7-1"));
}

TEST(limits_stay_in_the_kernels_range)
{
	TREE t = tree_new();
	struct cgroup_host host;
	struct cgroup_leaf leaf;
	struct err err;
	enum limit_by by[LIMIT_END_];
	const struct limits tiny = {.value = {[LIMIT_cpu_milli] = 1}};
	const struct limits huge = {.value = {[LIMIT_cpu_milli] = UINT64_MAX,
					    [LIMIT_pids] = UINT64_MAX,
					    [LIMIT_memory_bytes] = UINT64_MAX}};
	put_v2(&t, "/");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &tiny, by, &err), 0);
	CHECK_STR(get(&t, V2 "/retort-7-1/cpu.max"), "1000 100000");
	cgroup_leaf_close(&leaf);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &huge, by, &err), 0);
	CHECK_STR(get(&t, V2 "/retort-7-1/cpu.max"), "10000000000 100000");
	CHECK_STR(get(&t, V2 "/retort-7-1/pids.max"), "4194304");
	CHECK_STR(get(&t, V2 "/retort-7-1/memory.max"), "18446744073709551615");
	cgroup_leaf_close(&leaf);
}

TEST(sweep_removes_the_dead_only)
{
	static const char *const dead[] = {"retort-101-1", "retort-102-x", "retort-engine-101"};
	static const char *const kept[] = {"retort-103-1", "retort-engine-103", "retort-x-1",
		"retort-101", "retort-engine-101-1", "retort--1", "retort-0-1", "xretort-101-1",
		"retort-99999999999999999999-1", "other", "retort-104-1"};
	TREE t = tree_new();
	struct cgroup_host host;
	char path[128];
	put_v1(&t);
	put(&t, "/proc/102/comm", "bash\n");
	put(&t, "/proc/103/comm", "retort-warden\n");
	put(&t, "/proc/104/comm/unreadable", "");
	cgroup_host_open(&host, t.root, -1);
	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		(void)snprintf(path, sizeof path, V1 "/pids/p/%s/tasks", dead[i]);
		put(&t, path, "");
	}
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		(void)snprintf(path, sizeof path, V1 "/pids/p/%s/tasks", kept[i]);
		put(&t, path, "");
	}
	(void)snprintf(path, sizeof path, V1 "/pids/p/retort-%d-1/tasks", getpid());
	put(&t, path, "");
	cgroup_host_sweep(&host);
	CHECK(has(&t, path));
	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		(void)snprintf(path, sizeof path, V1 "/pids/p/%s", dead[i]);
		CHECK(!has(&t, path));
	}
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		(void)snprintf(path, sizeof path, V1 "/pids/p/%s", kept[i]);
		CHECK(has(&t, path));
	}
	CHECK(has(&t, V1 "/pids/p/tasks"));
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
	(void)snprintf(text, sizeof text, "0\n1\n%d\n-1\nx\n%d\n", getpid(), pid);
	put(&t, V1 "/pids/p/retort-7-1/busy/x", "");
	put(&t, V1 "/pids/p/cgroup.procs", "");
	put(&t, V1 "/pids/p/retort-7-1/cgroup.procs", text);
	char root[CGROUP_PATH_BYTES];
	memcpy(root, host.root, sizeof root);
	host.root[0] = '\0'; /* as on a real host: files stay */
	cgroup_leaf_close(&leaf);
	memcpy(host.root, root, sizeof root);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_STR(get(&t, V1 "/pids/p/retort-7-1/pids.max"), "01");
}
