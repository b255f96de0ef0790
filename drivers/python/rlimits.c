/*
 * Raise resource limits that a program has lowered for itself. Between steps, when no code of the
 * program runs, the driver uses the soft limits with which it was started, as far as the hard
 * limits allow it: a checkpoint or a branch may need more than the program's own limits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ext.h"
#include "rlimits.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

/*
 * ROOM_FILES: how many descriptors must be free for a branch: one for each descriptor of a BRANCH
 * frame, and one for each that init opens. The guard's socket is not counted.
 */
enum { ROOM_FILES = 10, BAR_BYTES = 120 };

/*
 * Minimum limits for a branch. The twelve processes are init, the branch, the session that
 * continues as another branch, and some for the code that these run.
 */
static const struct {
	int resource;
	rlim_t least;
	const char *name;
} needs[] = {{RLIMIT_NPROC, 12, "processes"}, {RLIMIT_STACK, 256 << 10, "stack"},
	{RLIMIT_AS, 16 << 20, "memory"}, {RLIMIT_DATA, 1 << 20, "data"}};

static struct {
	int resource;
	bool is_known, is_raised;
	/*
	 * @first is the soft limit at the driver's start, @theirs the soft limit that the program
	 * has set.
	 */
	rlim_t first, theirs;
} limits[] = {{.resource = RLIMIT_NOFILE}, {.resource = RLIMIT_NPROC}, {.resource = RLIMIT_AS},
	{.resource = RLIMIT_DATA}, {.resource = RLIMIT_STACK}, {.resource = RLIMIT_FSIZE},
	{.resource = RLIMIT_SIGPENDING}, {.resource = RLIMIT_MEMLOCK}};

static rlim_t least(rlim_t a, rlim_t b)
{
	return a < b ? a : b;
}

PyObject *widen(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit now;
		rlim_t wanted;

		if (getrlimit(limits[i].resource, &now) < 0)
			continue;
		if (!limits[i].is_known)
			limits[i].first = now.rlim_cur;
		limits[i].is_known = true;
		wanted = least(limits[i].first, now.rlim_max);
		if (now.rlim_cur >= wanted)
			continue;
		limits[i].theirs = now.rlim_cur;
		now.rlim_cur = wanted;
		limits[i].is_raised = setrlimit(limits[i].resource, &now) == 0;
	}
	Py_RETURN_NONE;
}

PyObject *narrow(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit now;

		if (!limits[i].is_raised || getrlimit(limits[i].resource, &now) < 0)
			continue;
		now.rlim_cur = least(limits[i].theirs, now.rlim_max);
		limits[i].is_raised = setrlimit(limits[i].resource, &now) < 0;
	}
	Py_RETURN_NONE;
}

static long count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long n = dir ? -3 : 0; /* do not count ".", ".." and the descriptor of @dir */

	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return dir ? n : -1;
}

static rlim_t limit_of(int resource)
{
	struct rlimit now;

	return getrlimit(resource, &now) < 0 ? RLIM_INFINITY : now.rlim_cur;
}

PyObject *limit_files(PyObject *self, PyObject *args)
{
	rlim_t files = limit_of(RLIMIT_NOFILE);

	(void)self;
	(void)args;
	return PyLong_FromUnsignedLongLong(files);
}

PyObject *barred(PyObject *self, PyObject *args)
{
	rlim_t files = limit_of(RLIMIT_NOFILE);
	long n = count_files();
	char text[BAR_BYTES] = "";

	(void)self;
	(void)args;
	if (n < 0 || files < (rlim_t)n + ROOM_FILES)
		snprintf(text, sizeof(text),
			"the program has no room for more open files: its limit is %llu",
			(unsigned long long)files);
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]) && !text[0]; i++) {
		rlim_t now = limit_of(needs[i].resource);

		if (now < needs[i].least)
			snprintf(text, sizeof(text),
				"the program has lowered its limit of %s to %llu", needs[i].name,
				(unsigned long long)now);
	}
	return PyUnicode_FromString(text);
}
