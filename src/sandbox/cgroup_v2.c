/*
 * cgroup v2: one hierarchy for all controllers. A cgroup that enables controllers for its children
 * must not contain processes itself; only the root cgroup may. So the parent of the leaves must be
 * a cgroup that we can empty, or an ancestor that has no processes of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/cgroup_ops.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define WHAT_TO_DO "run `systemd-run --user --scope -p Delegate=yes retort …`"

static void text_cpu_max(const struct limits *limits, char *out, size_t room)
{
	snprintf(out, room, "%" PRIu64 " %d", cgroup_quota_us(limits), CGROUP_PERIOD_US);
}

static const struct cgroup_setting settings[] = {
	{CGROUP_MEMORY, "memory.max", cgroup_text_memory, LIMIT_memory_bytes, CGROUP_MUST},
	{CGROUP_MEMORY, "memory.swap.max", cgroup_text_zero, LIMIT_END_, CGROUP_MAY},
	{CGROUP_PIDS, "pids.max", cgroup_text_pids, LIMIT_pids, CGROUP_MUST},
	{CGROUP_CPU, "cpu.max", text_cpu_max, LIMIT_cpu_milli, CGROUP_MUST},
};

#define FIELD(name) offsetof(struct box_usage, name)
static const struct cgroup_reading readings[] = {
	{CGROUP_MEMORY, "memory.current", NULL, FIELD(memory_bytes), 1, false},
	{CGROUP_MEMORY, "memory.peak", NULL, FIELD(memory_peak_bytes), 1, true},
	{CGROUP_MEMORY, "memory.events", "oom_kill", FIELD(n_oom_kills), 1, true},
	{CGROUP_CPUACCT, "cpu.stat", "usage_usec", FIELD(cpu_us), 1, false},
	{CGROUP_PIDS, "pids.current", NULL, FIELD(n_pids), 1, false},
};

/* Return whether the list of words in @dir/@file contains "memory" and "pids", which every leaf
 * needs. *@has_cpu tells whether it contains "cpu". */
static bool has_controllers(const char *dir, const char *file, bool *has_cpu)
{
	char path[CGROUP_FILE_BYTES], text[CGROUP_FILE_BYTES];
	if (cgroup_file_path(path, sizeof path, "%s/%s", dir, file) < 0 ||
		cgroup_file_read(AT_FDCWD, path, text, sizeof text) < 0)
		return false;
	*has_cpu = cgroup_file_has_word(text, "cpu", " \n");
	return cgroup_file_has_word(text, "memory", " \n") &&
		cgroup_file_has_word(text, "pids", " \n");
}

static bool has_file(const char *dir, const char *file, int mode)
{
	char path[CGROUP_FILE_BYTES];
	return cgroup_file_path(path, sizeof path, "%s/%s", dir, file) == 0 &&
		access(path, mode) == 0;
}

static int hold_path(char out[CGROUP_PATH_BYTES], const char *dir)
{
	return cgroup_file_path(out, CGROUP_PATH_BYTES, "%s/retort-hold-%d.%" PRIu64, dir,
		(int)getpid(), cgroup_own_namespace());
}

static int switch_controllers(
	const struct cgroup_host *host, const char *dir, char sign, bool has_cpu)
{
	char text[32];
	snprintf(text, sizeof text, "%cmemory %cpids%s\n", sign, sign,
		!has_cpu	      ? ""
			: sign == '+' ? " +cpu"
				      : " -cpu");
	return cgroup_write(host, dir, "cgroup.subtree_control", text);
}

/*
 * Make a cgroup "retort-hold-PID.NAMESPACE" in @dir, and enable the controllers for the children of
 * the new cgroup. The new cgroup keeps the controllers enabled in @dir: the kernel refuses to
 * disable a controller in a cgroup while a child of this cgroup has it enabled.
 * Without the new cgroup, systemd could disable a controller in @dir. If @dir is a slice, systemd
 * does so when no unit of the slice asks for the controller, even if other cgroups in the slice use
 * it.
 */
static int hold(const struct cgroup_host *host, const char *dir, bool has_cpu)
{
	char path[CGROUP_PATH_BYTES];
	int r = hold_path(path, dir);
	if (r == 0)
		r = cgroup_file_mkdir(path, cgroup_is_fake(host));
	if (r < 0)
		return r;
	r = switch_controllers(host, path, '+', has_cpu);
	if (r < 0)
		(void)cgroup_file_rmdir(path, cgroup_is_fake(host));
	return r;
}

/* Make @dir the parent of the leaves. Returns: 1, or negative errno. */
static int take_base(struct cgroup_host *host, const char *dir, bool has_cpu)
{
	int r = host->is_looking ? 0 : hold(host, dir, has_cpu);
	if (r < 0)
		return r;
	for (size_t c = 0; c < CGROUP_CONTROLLER_END_; c++)
		if (c != CGROUP_CPU || has_cpu)
			(void)cgroup_file_path(host->base[c], sizeof host->base[c], "%s", dir);
	host->why[0] = '\0';
	if (!has_cpu)
		cgroup_why(host, "cgroup v2 cpu: not enabled in %s", dir);
	return 1;
}

/*
 * Search upwards, from @own to the mount point @top, for the first cgroup that meets three
 * conditions:
 * - It has the controllers enabled.
 * - We may make a child in it.
 * - We may write its cgroup.procs. The kernel demands this right when a process is moved from one
 *   cgroup below it to another, for example from @own to a leaf.
 * Make this cgroup the parent of the leaves.
 * Returns: as take_base(), or -EPERM if no cgroup meets the conditions.
 */
static int find_delegated(struct cgroup_host *host, const char *own, const char *top)
{
	char dir[CGROUP_PATH_BYTES];
	bool has_cpu;
	int r = cgroup_file_path(dir, sizeof dir, "%s", own);
	for (size_t n_top = strlen(top); r == 0;) {
		if (has_controllers(dir, "cgroup.subtree_control", &has_cpu) &&
			has_file(dir, "cgroup.procs", W_OK) && cgroup_probe(dir) == 0)
			return take_base(host, dir, has_cpu);
		char *slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < n_top || strlen(dir) <= n_top)
			break;
		*slash = '\0';
	}
	return -EPERM;
}

/* Collect the pids in @own: this process and its parent, which we may move. Returns: how many, or
 * -EPERM when other processes are there. */
static int list_movable(const char *own, pid_t pids[2])
{
	struct cgroup_lines lines;
	char path[CGROUP_FILE_BYTES];
	int n = 0;
	if (cgroup_file_path(path, sizeof path, "%s/cgroup.procs", own) < 0 ||
		cgroup_lines_open(&lines, path) < 0)
		return -EPERM;
	for (char *line; n >= 0 && (line = cgroup_lines_next(&lines));) {
		uint64_t pid = 0;
		bool is_ours = cgroup_file_number(line, NULL, &pid) == 0 &&
			(pid == (uint64_t)getpid() || pid == (uint64_t)getppid());
		if (is_ours && n < 2)
			pids[n++] = (pid_t)pid;
		else
			n = -EPERM;
	}
	cgroup_lines_close(&lines);
	return n;
}

static int move_all(struct cgroup_host *host, const char *dir, const pid_t *pids, int n)
{
	int worst = 0;
	for (int i = 0; i < n; i++) {
		char text[24];
		snprintf(text, sizeof text, "%d\n", pids[i]);
		int r = cgroup_write(host, dir, "cgroup.procs", text);
		worst = r < 0 ? r : worst;
	}
	return worst;
}

/* Enable the controllers for @dir's children. The kernel refuses cpu when real-time processes
 * exist, so cpu is enabled by a write of its own. Returns: as take_base(). */
static int enable(struct cgroup_host *host, const char *dir)
{
	int r = cgroup_write(host, dir, "cgroup.subtree_control", "+memory +pids\n");
	if (r < 0)
		return r;
	bool has_cpu = cgroup_write(host, dir, "cgroup.subtree_control", "+cpu\n") == 0;
	return take_base(host, dir, has_cpu);
}

/*
 * Move the processes of our own cgroup to a child of it: the kernel lets a cgroup enable
 * controllers for its children only if it contains no processes itself.
 * Returns: as take_base(), or -EPERM if other processes than ours are there.
 */
static int make_room(struct cgroup_host *host, const char *own)
{
	char leaf[CGROUP_PATH_BYTES];
	pid_t pids[2];
	int n = list_movable(own, pids);
	if (n <= 0)
		return -EPERM;
	int r = cgroup_file_path(leaf, sizeof leaf, "%s/retort-engine-%d", own, getpid());
	if (r < 0)
		return r;
	r = cgroup_file_mkdir(leaf, cgroup_is_fake(host));
	if (r < 0)
		return r;
	r = move_all(host, leaf, pids, n);
	if (r == 0)
		r = enable(host, own);
	if (r < 0) {
		(void)switch_controllers(host, own, '-', true);
		(void)move_all(host, own, pids, n);
		(void)cgroup_file_rmdir(leaf, cgroup_is_fake(host));
	}
	host->has_moved = r > 0;
	return r;
}

/* Return whether @own is the root cgroup. Only the root cgroup lacks cgroup.type, and only it may
 * contain processes beside its children. */
static bool is_top(const char *own)
{
	return !has_file(own, "cgroup.type", F_OK);
}

/* Return whether @own is a "retort-engine-PID", which another engine has made for its processes. */
static bool is_engine(const char *own)
{
	static const char prefix[] = "/retort-engine-";
	const char *slash = strrchr(own, '/');
	return slash && strncmp(slash, prefix, sizeof prefix - 1) == 0;
}

/*
 * Return whether systemd delegated @own to us.
 * systemd marks a cgroup that it delegates with an extended attribute. But a user manager of
 * systemd may be unable to set the attribute, because a name that begins with "trusted." needs
 * privileges. So a cgroup below a user manager also counts as delegated if the cpu controller is
 * available in it (@has_cpu): a user manager enables the cpu controller in hardly any cgroup that
 * is not delegated.
 */
static bool is_delegated(const char *own, bool has_cpu)
{
	static const char *const marks[] = {"trusted.delegate", "user.delegate"};
	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		char mark = 0;
		if (getxattr(own, marks[i], &mark, 1) == 1 && mark == '1')
			return true;
	}
	return has_cpu && strstr(own, "/user@");
}

/*
 * Choose the parent of the leaves.
 * If systemd delegated our own cgroup to us, our own cgroup is tried first, so that the limits of
 * its unit bind the boxes too.
 * If our own cgroup was not delegated, it is tried last, because using it would harm its unit:
 * - If the kernel kills a process of the unit for lack of memory, such as a process of a box,
 *   systemd stops the whole unit.
 * - After we have moved the unit's processes to a child cgroup, systemd cannot start another
 *   process in the unit.
 */
static int find_base(struct cgroup_host *host, const char *own, const char *top)
{
	bool has_cpu = false;
	bool can_divide = has_controllers(own, "cgroup.controllers", &has_cpu) &&
		!host->is_looking && !is_engine(own);
	int r = -EPERM;
	if (can_divide && !is_top(own) && is_delegated(own, has_cpu))
		r = make_room(host, own);
	if (r < 0)
		r = find_delegated(host, own, top);
	if (r > 0 || !can_divide)
		return r;
	if (!is_top(own))
		return make_room(host, own);
	r = cgroup_probe(own);
	return r < 0 ? r : enable(host, own);
}

static void v2_leave(struct cgroup_host *host)
{
	const char *base = host->base[CGROUP_MEMORY];
	char path[CGROUP_PATH_BYTES];
	pid_t pids[2];
	if (hold_path(path, base) == 0)
		(void)cgroup_file_rmdir(path, cgroup_is_fake(host));
	if (!host->has_moved ||
		cgroup_file_path(path, sizeof path, "%s/retort-engine-%d", base, getpid()) < 0)
		return;
	int n = list_movable(path, pids);
	/* The kernel refuses to disable controllers that another warden still uses. */
	if (n <= 0 || switch_controllers(host, base, '-', host->base[CGROUP_CPU][0]) < 0)
		return;
	(void)move_all(host, base, pids, n);
	(void)cgroup_file_rmdir(path, cgroup_is_fake(host));
}

static int try_mount(struct cgroup_host *host, const struct cgroup_mount *mount, const char *path)
{
	char top[CGROUP_PATH_BYTES], own[CGROUP_PATH_BYTES];
	bool has_cpu;
	int r = cgroup_mount_dir(top, host->root, mount, mount->root);
	if (r < 0 || !has_controllers(top, "cgroup.controllers", &has_cpu)) {
		cgroup_why(host, "the cgroup2 mount at %s has no memory and pids controllers",
			mount->point);
		return -ENOENT;
	}
	r = cgroup_mount_dir(own, host->root, mount, path);
	if (r < 0) {
		cgroup_why(host, "our own cgroup %s is not in the cgroup2 mount at %s", path,
			mount->point);
		return -EPERM;
	}
	r = find_base(host, own, top);
	if (r > 0)
		return r;
	cgroup_why(host, WHAT_TO_DO ": cgroup %s is not ours to divide%s%s", path,
		r == -EPERM ? "" : ": ", r == -EPERM ? "" : strerror(-r));
	return -EPERM;
}

static int v2_find(struct cgroup_host *host, const struct cgroup_self *self)
{
	struct cgroup_lines lines;
	struct cgroup_mount mount;
	int best = -ENOENT;
	if (!self->v2[0] || cgroup_mounts_open(&lines, host->root) < 0) {
		cgroup_why(host, "/proc/self says nothing of cgroup2");
		return best;
	}
	while (best < 0 && cgroup_mounts_next(&lines, &mount)) {
		int r = mount.is_v2 ? try_mount(host, &mount, self->v2) : -ENOENT;
		best = r != -ENOENT ? r : best;
	}
	cgroup_lines_close(&lines);
	if (best == -ENOENT && !host->why[0])
		cgroup_why(host, "no cgroup2 mount");
	return best;
}

static int v2_join_fds(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS])
{
	char path[CGROUP_FILE_BYTES];
	int r = cgroup_file_path(
		path, sizeof path, "%s/%s", leaf->host->base[CGROUP_CPUACCT], leaf->name);
	if (r < 0)
		return r;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fds[0] = fd;
	return 1;
}

int cgroup_leaf_move(int dir, pid_t pid)
{
	char text[16];
	cleanup_fd int fd = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int n = snprintf(text, sizeof text, "%d", (int)pid);
	ssize_t wrote = write(fd, text, (size_t)n);
	return wrote == n ? fd_take(&fd) : wrote < 0 ? -errno : -EIO;
}

const struct cgroup_ops cgroup_ops_v2 = {
	.by = LIMIT_BY_CGROUP_V2,
	.find = v2_find,
	.leave = v2_leave,
	.join_fds = v2_join_fds,
	.settings = settings,
	.n_settings = ARRAY_LEN(settings),
	.readings = readings,
	.n_readings = ARRAY_LEN(readings),
};
