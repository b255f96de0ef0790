/*
 * Listing a directory: each directory's names are sorted, and a directory is followed by what is in
 * it. Links are not followed below the requested path. A directory that cannot be read is listed,
 * but nothing in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "answer.h"
#include "entry.h"
#include "files.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NAMES_MAX: names of a directory that are sorted. BYTES_MAX: of all lines, with some room for the
 * end below what the engine accepts. */
enum { ENTRIES_MAX = 10000, NAMES_MAX = 100000, BYTES_MAX = 15 << 20 };

struct listing {
	unsigned n;
	size_t bytes;
	bool is_truncated;
};

struct names {
	char **all;
	size_t n, room;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->all[i]);
	free(names->all);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(struct names *names, const char *name)
{
	if (names->n == names->room) {
		size_t room = names->room ? names->room * 2 : 64;
		char **all = realloc(names->all, room * sizeof *all);
		if (!all)
			return false;
		names->all = all;
		names->room = room;
	}
	names->all[names->n] = strdup(name);
	return names->all[names->n++] != NULL;
}

/* Read the names of the directory @fd. Returns: 0, or negative errno. */
static int read_names(struct names *names, int fd, struct listing *list)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *at;
	int r = 0;
	if (!dir) {
		r = -errno;
		fd_close(&own);
		return r;
	}
	errno = 0;
	while (r == 0 && (at = readdir(dir))) {
		if (strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0)
			continue;
		if (names->n == NAMES_MAX) {
			list->is_truncated = true;
			break;
		}
		if (!add_name(names, at->d_name)) {
			names->n -= names->n > 0 && !names->all[names->n - 1];
			r = -ENOMEM;
		}
	}
	(void)closedir(dir);
	if (names->n > 1)
		qsort(names->all, names->n, sizeof *names->all, compare);
	return r;
}

static int add_line(struct listing *list, json_t *entry, struct err *err)
{
	size_t bytes = json_dumpb(entry, NULL, 0, JSON_COMPACT) + 1;
	if (list->n == ENTRIES_MAX || list->bytes + bytes > BYTES_MAX) {
		list->is_truncated = true;
		json_decref(entry);
		return 0;
	}
	list->n++;
	list->bytes += bytes;
	int r = json_dumpf(entry, stdout, JSON_COMPACT);
	json_decref(entry);
	return r < 0 || putchar('\n') == EOF ? err_set(err, ERR_IO, "write the answer") : 0;
}

static int walk(struct listing *list, int fd, const char *path, unsigned depth, struct err *err)
{
	struct names names = {0};
	struct stat st;
	char *below = malloc(PATH_MAX + NAME_MAX + 2);
	int r = below ? read_names(&names, fd, list) : -ENOMEM;
	if (r == -ENOMEM)
		r = err_set(err, ERR_LIMIT, "%.150s: no memory in the box for its names", path);
	else if (r < 0)
		r = answer_fail(err, -r, path);
	for (size_t i = 0; r == 0 && i < names.n && !list->is_truncated; i++) {
		struct err gone;
		snprintf(
			below, PATH_MAX + NAME_MAX + 2, "%s/%s", path[1] ? path : "", names.all[i]);
		json_t *entry = entry_make(fd, names.all[i], below, &st, &gone);
		if (!entry)
			continue; /* it was removed in the meantime */
		r = add_line(list, entry, err);
		if (r < 0 || depth == 1 || !S_ISDIR(st.st_mode) || strlen(below) >= PATH_MAX)
			continue;
		cleanup_fd int next = openat(fd, names.all[i],
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (next >= 0)
			r = walk(list, next, below, depth - 1, err);
	}
	names_done(&names);
	free(below);
	return r;
}

int files_list(const char *path, unsigned depth, struct err *err)
{
	struct listing list = {0};
	struct stat st;
	if (stat(path, &st) < 0)
		return answer_fail(err, errno, path);
	if (!S_ISDIR(st.st_mode))
		return err_fail(err, ERR_USAGE, "`path.stat` describes a file",
			"%.180s: not a directory", path);
	cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return answer_fail(err, errno, path);
	int r = walk(&list, fd, path, depth, err);
	if (r < 0)
		return r;
	if (fflush(stdout) != 0)
		return err_set(err, ERR_IO, "write the answer");
	return answer_line(STDOUT_FILENO,
		json_pack("{s:b, s:b}", "end", 1, "truncated", (int)list.is_truncated), err);
}
