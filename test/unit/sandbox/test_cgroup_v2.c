/* cgroup hosts and leaves of v2, in trees made of plain files. SPDX-License-Identifier: Apache-2.0
 */
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
#include <sys/xattr.h>
#include <unistd.h>

static void put_pids(struct tree *t, const char *path, pid_t extra)
{
	char text[64];
	int n = snprintf(text, sizeof text, "%d\n%d\n", getppid(), getpid());
	if (extra)
		snprintf(text + n, sizeof text - (size_t)n, "%d\n", extra);
	tree_put(t, path, text);
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
	snprintf(line, sizeof line, "0::%s\n", own);
	tree_put(t, "/proc/self/cgroup", line);
	tree_put(t, "/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2_MOUNT);
	tree_put(t, V2 "/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
	tree_put(t, V2 "/cgroup.subtree_control", "");
	tree_put(t, V2 "/cgroup.procs", "1\n");
}

static void put_v2_group(struct tree *t, const char *path, const char *control)
{
	static const char *const files[] = {
		"cgroup.controllers", "cgroup.subtree_control", "cgroup.procs", "cgroup.type"};
	const char *const texts[] = {"cpu memory pids\n", control, "", "domain\n"};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char file[600];
		snprintf(file, sizeof file, V2 "%s/%s", path, files[i]);
		tree_put(t, file, texts[i]);
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
	snprintf(probe, sizeof probe, V2 "/user.slice/app.slice/retort-%d-probe", getpid());
	CHECK(!tree_has(&t, probe));
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
	CHECK(!tree_has(&t, V2 "/a/retort-7-1/cpu.max"));
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
	CHECK_STR(tree_get(&t, V2 "/a/retort-7-1/memory.max"), "67108864");
	CHECK_STR(tree_get(&t, V2 "/a/retort-7-1/memory.swap.max"), "0");
	CHECK_STR(tree_get(&t, V2 "/a/retort-7-1/pids.max"), "11");
	CHECK_STR(tree_get(&t, V2 "/a/retort-7-1/cpu.max"), "50000 100000");
	CHECK(!tree_has(&t, V2 "/a/retort-7-1/memory.oom.group"));
	CHECK_INT(by[LIMIT_cpu_milli], LIMIT_BY_CGROUP_V2);
	CHECK_INT(cgroup_leaf_join_fds(&leaf, fds), 1);
	struct stat st;
	CHECK(fstat(fds[0], &st) == 0 && S_ISDIR(st.st_mode));
	CHECK(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	(void)close(fds[0]);
	cgroup_leaf_close(&leaf);
	CHECK(!tree_has(&t, V2 "/a/retort-7-1"));
	cgroup_leaf_close(&leaf);
}

struct move_run {
	int dir, result;
};

static void run_move(void *arg)
{
	struct move_run *run = arg;
	run->result = cgroup_leaf_move(run->dir, 4711);
}

/* How a branch comes into its leaf: moved from outside; who furnishes it follows. */
TEST(v2_a_branch_is_moved)
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
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-2", &some, by, &err), 0);
	CHECK_INT(cgroup_leaf_join_fds(&leaf, fds), 1);
	CHECK_INT(cgroup_leaf_move(fds[0], 4711), -ENOENT);
	tree_put(&t, V2 "/a/retort-7-2/cgroup.procs", "");
	int procs = cgroup_leaf_move(fds[0], 4711);
	CHECK(procs >= 0 && fcntl(procs, F_GETFD) & FD_CLOEXEC);
	CHECK_STR(tree_get(&t, V2 "/a/retort-7-2/cgroup.procs"), "4711");
	CHECK_INT(pwrite(procs, "0", 1, 0), 1);
	CHECK_STR(tree_get(&t, V2 "/a/retort-7-2/cgroup.procs"), "0711");
	CHECK_STR(tree_get(&t, V2 "/a/cgroup.procs"), "");
	(void)close(procs);
	struct move_run refused = {.dir = fds[0]};
	tree_no_writes(run_move, &refused);
	CHECK_INT(refused.result, -EFBIG);
	(void)close(fds[0]);
	cgroup_leaf_close(&leaf);
	CHECK(!tree_has(&t, V2 "/a/retort-7-2"));
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
	tree_put(&t, V2 "/a/retort-7-1/memory.current", "4096\n");
	tree_put(&t, V2 "/a/retort-7-1/memory.events",
		"low 0\noom 3\noom_kill 2\noom_group_kill 9\n");
	tree_put(&t, V2 "/a/retort-7-1/cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
	tree_put(&t, V2 "/a/retort-7-1/pids.current", "3\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), 0);
	CHECK_INT(usage.memory_bytes, 4096);
	CHECK_INT(usage.memory_peak_bytes, 5);
	CHECK_INT(usage.n_oom_kills, 2);
	CHECK_INT(usage.cpu_us, 1234);
	CHECK_INT(usage.n_pids, 3);
	tree_put(&t, V2 "/a/retort-7-1/memory.peak", "8192\n");
	tree_put(&t, V2 "/a/retort-7-1/pids.current", "99999999999999999999999\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), -ERANGE);
	CHECK_INT(usage.memory_peak_bytes, 5);
	tree_put(&t, V2 "/a/retort-7-1/pids.current", "soon\n");
	CHECK_INT(cgroup_leaf_usage(&leaf, &usage), -EINVAL);
	tree_put(&t, V2 "/a/retort-7-1/pids.current", "3\n");
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
	tree_put(&t, V2 "/user.slice/session-2.scope/cgroup.procs", "0\n");
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_STR(tree_get(&t, V2 "/user.slice/session-2.scope/cgroup.subtree_control"), "");
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
	CHECK_STR(tree_get(&t, V2 "/cgroup.subtree_control"), "+memory +pids\n+cpu\n");
	snprintf(engine, sizeof engine, V2 "/retort-engine-%d", getpid());
	CHECK(!tree_has(&t, engine));
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
	CHECK_STR(tree_get(&t, V2 "/box.scope/cgroup.subtree_control"), "+memory +pids\n+cpu\n");
	snprintf(procs, sizeof procs, V2 "/box.scope/retort-engine-%d/cgroup.procs", getpid());
	snprintf(want, sizeof want, "%d\n%d\n", getppid(), getpid());
	CHECK_STR(tree_get(&t, procs), want);
}

static const char *hold_of(const char *base)
{
	static char path[600];
	struct stat st;
	CHECK_INT(stat("/proc/self/ns/pid", &st), 0);
	snprintf(path, sizeof path, V2 "%s/retort-hold-%d.%ju/cgroup.subtree_control", base,
		getpid(), (uintmax_t)st.st_ino);
	return path;
}

#define USERS "/user@1000.service/app.slice"

/* The limits of a unit bind its boxes: leaves do not go beside it where they can be in it. */
TEST(v2_delegated_group_comes_before_those_above)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v2(&t, USERS "/retort.service");
	put_v2_group(&t, USERS, "cpu memory pids\n");
	put_v2_group(&t, USERS "/retort.service", "");
	put_pids(&t, V2 USERS "/retort.service/cgroup.procs", 0);
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 USERS "/retort.service");
	CHECK_STR(base_of(&host, CGROUP_CPU), V2 USERS "/retort.service");
	/* With others in it, it is the one above. */
	put_pids(&t, V2 USERS "/retort.service/cgroup.procs", 1);
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 USERS);
	/* Also without cpu: then nobody gave it to us. */
	put_pids(&t, V2 USERS "/retort.service/cgroup.procs", 0);
	tree_put(&t, V2 USERS "/retort.service/cgroup.controllers", "memory pids\n");
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 USERS);
}

TEST(v2_mark_of_delegation)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v2(&t, "/system.slice/a.service");
	put_v2_group(&t, "/system.slice", "cpu memory pids\n");
	put_v2_group(&t, "/system.slice/a.service", "");
	put_pids(&t, V2 "/system.slice/a.service/cgroup.procs", 0);
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 "/system.slice");
	const char *own = tree_path(&t, V2 "/system.slice/a.service");
	if (setxattr(own, "user.delegate", "1", 1, 0) < 0) {
		t_skip("no extended attributes for temporary files");
		return;
	}
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 "/system.slice/a.service");
}

TEST(v2_second_warden_finds_the_room_of_the_first)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v2(&t, USERS "/a.scope/retort-engine-77");
	put_v2_group(&t, USERS "/a.scope", "cpu memory pids\n");
	put_v2_group(&t, USERS "/a.scope/retort-engine-77", "");
	put_pids(&t, V2 USERS "/a.scope/retort-engine-77/cgroup.procs", 0);
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 USERS "/a.scope");
	cgroup_host_close(&host);
	CHECK_STR(tree_get(&t, V2 USERS "/a.scope/cgroup.subtree_control"), "cpu memory pids\n");
}

/* systemd would disable what no unit of the slice asks for, and running boxes had no limit. */
TEST(v2_controllers_are_held_while_there_are_boxes)
{
	TREE t = tree_new();
	struct cgroup_host host;
	put_v2(&t, "/a.slice/b.scope");
	put_v2_group(&t, "/a.slice", "cpu memory pids\n");
	put_v2_group(&t, "/a.slice/b.scope", "");
	cgroup_host_look(&host, t.root);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 "/a.slice");
	CHECK(!tree_has(&t, hold_of("/a.slice")));
	cgroup_host_close(&host);
	cgroup_host_open(&host, t.root, -1);
	CHECK_STR(base_of(&host, CGROUP_MEMORY), V2 "/a.slice");
	CHECK_STR(tree_get(&t, hold_of("/a.slice")), "+memory +pids +cpu\n");
	cgroup_host_close(&host);
	CHECK(!tree_has(&t, hold_of("/a.slice")));
	CHECK_STR(tree_get(&t, V2 "/a.slice/cgroup.subtree_control"), "cpu memory pids\n");
}

TEST(v2_own_group_is_left_as_it_was)
{
	TREE t = tree_new();
	struct cgroup_host host;
	char engine[128], want[128];
	put_v2(&t, "/box.scope");
	put_v2_group(&t, "/box.scope", "");
	put_pids(&t, V2 "/box.scope/cgroup.procs", 0);
	cgroup_host_look(&host, t.root);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_STR(tree_get(&t, V2 "/box.scope/cgroup.subtree_control"), "");
	cgroup_host_open(&host, t.root, -1);
	CHECK(tree_has(&t, hold_of("/box.scope")));
	cgroup_host_close(&host);
	CHECK(!tree_has(&t, hold_of("/box.scope")));
	CHECK_STR(tree_get(&t, V2 "/box.scope/cgroup.subtree_control"),
		"+memory +pids\n+cpu\n-memory -pids -cpu\n");
	snprintf(engine, sizeof engine, V2 "/box.scope/retort-engine-%d", getpid());
	CHECK(!tree_has(&t, engine));
	snprintf(want, sizeof want, "%d\n%d\n%d\n%d\n", getppid(), getpid(), getppid(), getpid());
	CHECK_STR(tree_get(&t, V2 "/box.scope/cgroup.procs"), want);
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
	tree_no_writes(run_host_open, &run);
	CHECK_INT(run.host.kind, CGROUP_NONE);
	CHECK_HAS(run.host.why, "File too large");
	snprintf(engine, sizeof engine, V2 "/box.scope/retort-engine-%d", getpid());
	CHECK(!tree_has(&t, engine));
}

TEST(v2_refused_controllers_move_back)
{
	TREE t = tree_new();
	struct cgroup_host host;
	char path[128], want[128];
	put_v2(&t, "/box.scope");
	tree_put(&t, V2 "/box.scope/cgroup.controllers", "memory pids\n");
	tree_put(&t, V2 "/box.scope/cgroup.type", "domain\n");
	tree_put(&t, V2 "/box.scope/cgroup.subtree_control/x", "");
	put_pids(&t, V2 "/box.scope/cgroup.procs", 0);
	cgroup_host_open(&host, t.root, -1);
	CHECK_INT(host.kind, CGROUP_NONE);
	CHECK_HAS(host.why, "Is a directory");
	snprintf(path, sizeof path, V2 "/box.scope/retort-engine-%d", getpid());
	CHECK(!tree_has(&t, path));
	snprintf(want, sizeof want, "%d\n%d\n%d\n%d\n", getppid(), getpid(), getppid(), getpid());
	CHECK_STR(tree_get(&t, V2 "/box.scope/cgroup.procs"), want);
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
	CHECK_STR(tree_get(&t, V2 "/retort-7-1/cpu.max"), "1000 100000");
	cgroup_leaf_close(&leaf);
	CHECK_INT(cgroup_leaf_open(&leaf, &host, "retort-7-1", &huge, by, &err), 0);
	CHECK_STR(tree_get(&t, V2 "/retort-7-1/cpu.max"), "10000000000 100000");
	CHECK_STR(tree_get(&t, V2 "/retort-7-1/pids.max"), "4194304");
	CHECK_STR(tree_get(&t, V2 "/retort-7-1/memory.max"), "18446744073709551615");
	cgroup_leaf_close(&leaf);
}
