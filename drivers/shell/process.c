/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "process.h"

#include "base/attr.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The resource limits, with the option letter of `ulimit` and the unit that `ulimit` counts in. */
static const struct {
	int resource;
	char letter;
	rlim_t unit;
} limits[] = {{RLIMIT_CORE, 'c', 1024}, {RLIMIT_DATA, 'd', 1024}, {RLIMIT_NICE, 'e', 1},
	{RLIMIT_FSIZE, 'f', 1024}, {RLIMIT_SIGPENDING, 'i', 1}, {RLIMIT_MEMLOCK, 'l', 1024},
	{RLIMIT_RSS, 'm', 1024}, {RLIMIT_NOFILE, 'n', 1}, {RLIMIT_MSGQUEUE, 'q', 1},
	{RLIMIT_RTPRIO, 'r', 1}, {RLIMIT_STACK, 's', 1024}, {RLIMIT_CPU, 't', 1},
	{RLIMIT_NPROC, 'u', 1}, {RLIMIT_AS, 'v', 1024}, {RLIMIT_LOCKS, 'x', 1},
	{RLIMIT_RTTIME, 'R', 1}};

void process_look(struct process *out, pid_t pid)
{
	static const char gone[] = " (deleted)";
	char path[64], target[PATH_MAX];
	*out = (struct process){0};
	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	for (const struct dirent *e; dir && (e = readdir(dir));)
		out->n_descriptors += e->d_name[0] != '.';
	if (dir)
		(void)closedir(dir);
	snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
	ssize_t n = readlink(path, target, sizeof target);
	const ssize_t end = sizeof gone - 1;
	out->is_homeless = n > end && memcmp(target + n - end, gone, (size_t)end) == 0;
}

static int add(struct buf *out, char kind, char letter, rlim_t value, rlim_t unit)
{
	if (value == RLIM_INFINITY)
		return buf_addf(out, "builtin ulimit -%c%c unlimited\n", kind, letter);
	return buf_addf(out, "builtin ulimit -%c%c %llu\n", kind, letter,
		(unsigned long long)(value / unit));
}

int process_limits(struct buf *out, pid_t pid)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(limits); i++) {
		struct rlimit own, theirs;
		if (prlimit(0, limits[i].resource, NULL, &own) < 0 ||
			prlimit(pid, limits[i].resource, NULL, &theirs) < 0)
			continue;
		if (theirs.rlim_cur != own.rlim_cur)
			r = add(out, 'S', limits[i].letter, theirs.rlim_cur, limits[i].unit);
		if (r == 0 && theirs.rlim_max != own.rlim_max)
			r = add(out, 'H', limits[i].letter, theirs.rlim_max, limits[i].unit);
	}
	return r;
}
