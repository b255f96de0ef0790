/* cgroup v1: each controller has its own hierarchy, and any of them may be missing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/cgroup_ops.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void text_period(const struct limits *limits, char *out, size_t room)
{
	(void)limits;
	snprintf(out, room, "%d", CGROUP_PERIOD_US);
}

static void text_quota(const struct limits *limits, char *out, size_t room)
{
	snprintf(out, room, "%" PRIu64, cgroup_quota_us(limits));
}

/* The kernel refuses a memory.memsw limit below the one in memory.limit_in_bytes, so memsw comes
 * later. Kernels without memsw are kept from swapping by swappiness 0. */
static const struct cgroup_setting settings[] = {
	{CGROUP_MEMORY, "memory.limit_in_bytes", cgroup_text_memory, LIMIT_memory_bytes,
		CGROUP_MUST},
	{CGROUP_MEMORY, "memory.memsw.limit_in_bytes", cgroup_text_memory, LIMIT_END_, CGROUP_MAY},
	/* the kernel counts TCP buffers separately, so they need a limit of their own */
	{CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes", cgroup_text_memory, LIMIT_END_,
		CGROUP_MAY},
	{CGROUP_MEMORY, "memory.swappiness", cgroup_text_zero, LIMIT_END_, CGROUP_MAY},
	{CGROUP_PIDS, "pids.max", cgroup_text_pids, LIMIT_pids, CGROUP_MUST},
	{CGROUP_CPU, "cpu.cfs_period_us", text_period, LIMIT_END_, CGROUP_DEGRADE},
	{CGROUP_CPU, "cpu.cfs_quota_us", text_quota, LIMIT_cpu_milli, CGROUP_DEGRADE},
};

#define FIELD(name) offsetof(struct box_usage, name)
static const struct cgroup_reading readings[] = {
	{CGROUP_MEMORY, "memory.usage_in_bytes", NULL, FIELD(memory_bytes), 1, false},
	{CGROUP_MEMORY, "memory.max_usage_in_bytes", NULL, FIELD(memory_peak_bytes), 1, true},
	{CGROUP_MEMORY, "memory.oom_control", "oom_kill", FIELD(n_oom_kills), 1, true},
	{CGROUP_CPUACCT, "cpuacct.usage", NULL, FIELD(cpu_us), 1000, false},
	{CGROUP_PIDS, "pids.current", NULL, FIELD(n_pids), 1, false},
};

/*
 * Find our cgroup in the hierarchy of controller @c and store its directory in host->base.
 * Returns: 0; -ENOENT when the controller is not mounted; -EXDEV when its mount does not show our
 * cgroup; or another negative errno.
 */
static int find_controller(
	struct cgroup_host *host, const struct cgroup_self *self, enum cgroup_controller c)
{
	struct cgroup_lines lines;
	struct cgroup_mount mount;
	char dir[CGROUP_PATH_BYTES];
	int best = -ENOENT;
	int r = cgroup_mounts_open(&lines, host->root);
	if (r < 0)
		return r;
	while (cgroup_mounts_next(&lines, &mount)) {
		if (mount.is_v2 ||
			!cgroup_file_has_word(mount.options, cgroup_controller_names[c], ","))
			continue;
		r = self->v1[c][0] ? cgroup_mount_dir(dir, host->root, &mount, self->v1[c])
				   : -EXDEV;
		if (r == 0)
			r = cgroup_probe(dir);
		if (r == 0) {
			memcpy(host->base[c], dir, sizeof dir);
			best = 0;
			break;
		}
		best = r == -ENOENT ? -EXDEV : r;
	}
	cgroup_lines_close(&lines);
	return best;
}

static const char *reason(int r)
{
	switch (r) {
	case -ENOENT:
		return "not mounted";
	case -EXDEV:
		return "our own cgroup is not in the mount";
	default:
		return strerror(-r);
	}
}

static int v1_find(struct cgroup_host *host, const struct cgroup_self *self)
{
	int best = -ENOENT;
	for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLER_END_; c++) {
		int r = find_controller(host, self, c);
		if (r == 0) {
			best = 1;
			continue;
		}
		if (r != -ENOENT && best < 0)
			best = -EPERM;
		cgroup_why(host, "cgroup v1 %s: %s", cgroup_controller_names[c], reason(r));
	}
	return best;
}

static int v1_join_fds(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS])
{
	const struct cgroup_host *host = leaf->host;
	int n = 0;
	for (size_t c = 0; c < CGROUP_CONTROLLER_END_; c++) {
		char path[CGROUP_FILE_BYTES];
		if (!cgroup_is_first(host, c))
			continue;
		int fd = cgroup_file_path(
			path, sizeof path, "%s/%s/tasks", host->base[c], leaf->name);
		if (fd == 0) {
			int flags = cgroup_is_fake(host) ? O_CREAT | O_APPEND : 0;
			fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
			fd = fd < 0 ? -errno : fd;
		}
		if (fd < 0) {
			while (n > 0)
				fd_close(&fds[--n]);
			return fd;
		}
		fds[n++] = fd;
	}
	return n;
}

const struct cgroup_ops cgroup_ops_v1 = {
	.by = LIMIT_BY_CGROUP_V1,
	.find = v1_find,
	.join_fds = v1_join_fds,
	.settings = settings,
	.n_settings = ARRAY_LEN(settings),
	.readings = readings,
	.n_readings = ARRAY_LEN(readings),
};
