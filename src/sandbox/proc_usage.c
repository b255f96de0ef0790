/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "sandbox/proc_usage.h"

#include "base/attr.h"
#include "base/clock.h"
#include "sandbox/cgroup_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* For how long proc_usage_read() reads smaps_rollup files. Reading one takes a lock that a
 * forking process holds even while it is not scheduled, so one file can take long. */
enum { SHARES_MS = 500 };

/* The most memory that the buffers of one socket hold. Each of the two directions takes at most
 * twice the greatest SO_SNDBUF or SO_RCVBUF. TCP stays within this, too. Source: socket(7),
 * net.core.wmem_max. */
enum { SOCKET_BYTES = 4 * 212992 };
enum { MAPS_LOOKS = 8, MAPS_TURN_MS = 20 };

struct totals {
	int proc_fd;
	/* Until this time, count for each process its proportional share of its pages. After
	 * this time (or if it is 0), count the memory that `status` reports. */
	int64_t shares_until_ms;
	uint64_t pids_max;
	int n_seen, n_processes;
	uint64_t memory_bytes, cpu_ticks, n_threads;
};

/* A search for anonymous shared memory in the mappings of every @stride-th process. Each search
 * begins at another process. */
struct looking {
	int proc_fd;
	uint64_t at, stride;
	bool has_found;
};

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t mul(uint64_t a, uint64_t b)
{
	uint64_t product;
	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static ssize_t read_entry(
	const struct totals *t, const char *pid, const char *file, char *out, size_t room)
{
	char path[64];
	int r = cgroup_file_path(path, sizeof path, "%s/%s", pid, file);
	return r < 0 ? r : cgroup_file_read(t->proc_fd, path, out, room);
}

/* Numbers of fields in `stat`, counted from the one after the process's name. The name may contain
 * anything and ends at the last ')'. */
enum { STAT_STATE = 0, STAT_PPID = 1, STAT_UTIME = 11, STAT_CSTIME = 14, STAT_THREADS = 17 };

static bool count_stat(struct totals *t, const char *text)
{
	const char *at = strrchr(text, ')');
	uint64_t ticks = 0, n_threads = 0, ppid = 0, value;
	char state = '\0';
	if (!at)
		return false;
	at++;
	for (int field = 0; field <= STAT_THREADS; field++) {
		at += strspn(at, " ");
		if (!*at)
			return false;
		if (field == STAT_STATE)
			state = *at;
		else if (cgroup_file_number(at, NULL, &value) == 0) {
			if (field == STAT_PPID)
				ppid = value;
			if (field >= STAT_UTIME && field <= STAT_CSTIME)
				ticks = add(ticks, value);
			if (field == STAT_THREADS)
				n_threads = value;
		}
		at += strcspn(at, " ");
	}
	t->cpu_ticks = add(t->cpu_ticks, ticks);
	/* A zombie has 0 threads but still uses up a pid. That is no fault of the program if only
	 * init, which has the pid 1, has not come to reap the zombie yet. */
	bool is_reaped_soon = state == 'Z' && ppid == 1;
	t->n_threads = add(t->n_threads, is_reaped_soon ? 0 : MAX(n_threads, UINT64_C(1)));
	return true;
}

/* Return whether the process is in a nested pid namespace. NSpid lists one pid for each namespace,
 * from this /proc's to the process's own. */
static bool is_nested(const char *status)
{
	const char *at = strstr(status, "\nNSpid:");
	if (!at)
		return false;
	at += strlen("\nNSpid:");
	at += strspn(at, " \t");
	at += strspn(at, "0123456789");
	at += strspn(at, " \t");
	return *at >= '0' && *at <= '9';
}

/* Return the sum, in bytes, of the three sizes that @text lists in KiB under @keys. */
static uint64_t kib_sum(const char *text, const char *const keys[3])
{
	uint64_t sum = 0;
	for (int i = 0; i < 3; i++) {
		uint64_t kib = 0;
		(void)cgroup_file_number(text, keys[i], &kib);
		sum = add(sum, kib);
	}
	return mul(sum, 1024);
}

static uint64_t tables_of(const char *status)
{
	uint64_t kib = 0;
	(void)cgroup_file_number(status, "VmPTE", &kib);
	return mul(kib, 1024);
}

static uint64_t memory_of(const struct totals *t, const char *pid, const char *status)
{
	static const char *const share[3] = {"Pss_Anon", "Pss_Shmem", "SwapPss"};
	static const char *const whole[3] = {"RssAnon", "RssShmem", "VmSwap"};
	char rollup[CGROUP_LINE_BYTES];
	if (t->shares_until_ms > clock_now_ms() &&
		read_entry(t, pid, "smaps_rollup", rollup, sizeof rollup) > 0 &&
		strstr(rollup, "\nPss_Anon:"))
		return add(kib_sum(rollup, share), tables_of(status));
	return add(kib_sum(status, whole), tables_of(status));
}

/* Add one process to the totals. A process that ends meanwhile is left out. */
static bool count_entry(void *arg, const char *name)
{
	struct totals *t = arg;
	char stat[CGROUP_LINE_BYTES], status[CGROUP_LINE_BYTES];
	if (!*name || name[strspn(name, "0123456789")] != '\0')
		return true;
	if (t->n_seen++ >= PROC_USAGE_ENTRIES_MAX)
		return false;
	if (read_entry(t, name, "stat", stat, sizeof stat) <= 0 ||
		read_entry(t, name, "status", status, sizeof status) <= 0 || is_nested(status) ||
		!count_stat(t, stat))
		return true;
	t->memory_bytes = add(t->memory_bytes, memory_of(t, name, status));
	t->n_processes++;
	return t->n_threads <= t->pids_max;
}

static int add_up(struct totals *t)
{
	return cgroup_file_each(t->proc_fd, ".", count_entry, t);
}

/*
 * Return whether a line of `maps` is anonymous shared memory. Such memory may hold more than is
 * counted. If one part of it was unmapped by munmap() and another is still mapped, the pages of the
 * unmapped part still exist, and the kernel does not report how many they are.
 */
static bool is_nameless_shared(const char *line)
{
	static const char name[] = " /dev/zero (deleted)";
	size_t n = strlen(line);
	const char *rights = strchr(line, ' ');
	return rights && strnlen(rights, 5) == 5 && rights[4] == 's' && n >= sizeof name &&
		strcmp(line + n - (sizeof name - 1), name) == 0;
}

static bool look_at(void *arg, const char *name)
{
	struct looking *l = arg;
	struct cgroup_lines maps;
	char path[64];
	const char *line = NULL;
	if (!*name || name[strspn(name, "0123456789")] != '\0' || l->at++ % l->stride != 0)
		return true;
	if (cgroup_file_path(path, sizeof path, "/proc/self/fd/%d/%s/maps", l->proc_fd, name) < 0)
		return true;
	int r = cgroup_lines_open(&maps, path);
	while (r == 0 && (line = cgroup_lines_next(&maps)) && !is_nameless_shared(line))
		;
	l->has_found |= line || (r == 0 && maps.total_bytes >= CGROUP_LINES_MAX_BYTES);
	if (r == 0)
		cgroup_lines_close(&maps);
	return !l->has_found;
}

uint64_t proc_kernel_bytes(int proc_fd)
{
	char text[CGROUP_LINE_BYTES];
	uint64_t kib = 0;
	if (cgroup_file_read(proc_fd, "meminfo", text, sizeof text) > 0)
		(void)cgroup_file_number(text, "SUnreclaim", &kib);
	return mul(kib, 1024);
}

/* Return whether the box may hold more memory than allowed in ways that are not counted: in socket
 * buffers, kernel objects or anonymous shared memory. */
static bool may_hold_more(int proc_fd, const struct proc_bounds *bounds, uint64_t n_processes)
{
	char text[CGROUP_LINE_BYTES];
	uint64_t n_sockets = 0;
	if (cgroup_file_read(proc_fd, "1/net/sockstat", text, sizeof text) > 0)
		(void)cgroup_file_number(text, "sockets: used", &n_sockets);
	if (mul(n_sockets, SOCKET_BYTES) > bounds->memory_bytes)
		return true;
	if (bounds->kernel_bytes > 0 &&
		proc_kernel_bytes(proc_fd) > add(bounds->kernel_bytes, bounds->memory_bytes))
		return true;
	struct looking l = {.proc_fd = proc_fd,
		.at = (uint64_t)clock_now_ms() / MAPS_TURN_MS,
		.stride = MAX(n_processes / MAPS_LOOKS, UINT64_C(1))};
	(void)cgroup_file_each(proc_fd, ".", look_at, &l);
	return l.has_found;
}

int proc_usage_read(int proc_fd, const struct proc_bounds *bounds, struct box_usage *usage)
{
	struct totals all = {.proc_fd = proc_fd, .pids_max = bounds->pids}, later = all;
	uint64_t hz = (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1L);
	int r = add_up(&all);
	if (r < 0)
		return r;
	uint64_t memory_bytes = all.memory_bytes, n_pids = all.n_threads;
	if (n_pids <= bounds->pids && memory_bytes > bounds->memory_bytes) {
		struct totals shares = later;
		shares.shares_until_ms = clock_now_ms() + SHARES_MS;
		r = add_up(&shares);
		memory_bytes = MIN(memory_bytes, shares.memory_bytes);
		if (r >= 0 && clock_now_ms() >= shares.shares_until_ms)
			r = add_up(&later);
		if (r < 0)
			return r;
		n_pids = MAX(shares.n_threads, later.n_threads);
	}
	if (n_pids > bounds->pids)
		memory_bytes = MIN(memory_bytes, bounds->memory_bytes);
	usage->memory_bytes = memory_bytes;
	usage->memory_peak_bytes = MAX(usage->memory_peak_bytes, memory_bytes);
	usage->cpu_us = MAX(usage->cpu_us, mul(all.cpu_ticks, 1000000) / hz);
	usage->n_pids = n_pids;
	usage->is_uncounted = may_hold_more(proc_fd, bounds, (uint64_t)all.n_processes);
	return all.n_processes;
}
