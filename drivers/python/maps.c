/*
 * The file mappings of a process, from /proc/PID/maps.
 *
 * Before a process is cloned, its shared mappings and its writable private mappings must be known.
 * The text of /proc/PID/maps lists every mapping, and for a process with many libraries it takes
 * the kernel half a millisecond to write. From Linux 6.11 on, an ioctl on the same file
 * (PROCMAP_QUERY) finds the next mapping with given properties, so that only a few must be queried
 * (maps_ask()). On older kernels the ioctl fails with ENOTTY, and the text must be parsed
 * (maps_read()). maps_find() tries the ioctl first.
 *
 * The result is a list that a guard or branch inherits with the memory. It is built before the
 * clone, because the copy must not allocate memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Replace each "\012" in a path by a line feed, which the kernel has escaped in this way. */
static void unescape(char *path)
{
	for (char *at = path; (at = strstr(at, "\\012")); at++) {
		*at = '\n';
		memmove(at + 1, at + 4, strlen(at + 4) + 1);
	}
}

/*
 * Parse a line of /proc/PID/maps, "start-end rwxs offset major:minor inode path". All numbers but
 * the inode are hexadecimal. Call @take if the mapping is of @kind. Source: proc_pid_maps(5).
 */
static int take_line(char *line, enum maps_kind kind, take_fn *take)
{
	struct mapping m = {.fd = -1, .copy = -1};
	unsigned long long offset, inode;
	unsigned major_no, minor_no;
	char mode[5];
	int at = 0;
	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %llx %x:%x %llu %n", &m.start, &m.end, mode,
		    &offset, &major_no, &minor_no, &inode, &at) != 7 ||
		line[at] != '/' ||
		(kind == MAPS_SHARED ? mode[3] != 's' : mode[3] != 'p' || mode[1] != 'w'))
		return 0;
	m.prot = (mode[0] == 'r' ? PROT_READ : 0) | (mode[1] == 'w' ? PROT_WRITE : 0) |
		(mode[2] == 'x' ? PROT_EXEC : 0);
	m.offset = (off_t)offset;
	m.dev = makedev(major_no, minor_no);
	m.ino = inode;
	line[strcspn(line, "\n")] = '\0';
	unescape(line + at);
	return take(&m, line + at);
}

int maps_read(const char *path, enum maps_kind kind, take_fn *take)
{
	char *line = NULL;
	size_t bytes = 0;
	int r = 0;
	FILE *maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (r == 0 && getline(&line, &bytes, maps) > 0)
		r = take_line(line, kind, take);
	free(line);
	(void)fclose(maps);
	return r;
}

/* Argument of PROCMAP_QUERY, an ioctl since Linux 6.11. Source: include/uapi/linux/fs.h */
struct query {
	uint64_t size, flags, address;
	uint64_t start, end, mode, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_bytes, build_id_bytes;
	uint64_t name_at, build_id_at;
};
enum {
	QUERY_READ = 1,
	QUERY_WRITE = 2,
	QUERY_EXECUTE = 4,
	QUERY_SHARED = 8,
	QUERY_NEXT = 16,
	QUERY_FILE = 32
};

/*
 * Query the first mapping that ends above @address and has the properties in @wanted. Returns: 0;
 * -ENOENT if there is no such mapping; or another negative errno.
 */
static int ask(int maps, uint64_t address, uint64_t wanted, struct query *q, char name[PATH_MAX])
{
	*q = (struct query){.size = sizeof *q,
		.flags = wanted | QUERY_NEXT,
		.address = address,
		.name_bytes = PATH_MAX,
		.name_at = (uintptr_t)name};
	return ioctl(maps, _IOWR('f', 17, struct query), q) < 0 ? -errno : 0;
}

static int take_answer(const struct query *q, const char *name, take_fn *take)
{
	struct mapping m = {.start = q->start,
		.end = q->end,
		.offset = (off_t)q->offset,
		.prot = (q->mode & QUERY_READ ? PROT_READ : 0) |
			(q->mode & QUERY_WRITE ? PROT_WRITE : 0) |
			(q->mode & QUERY_EXECUTE ? PROT_EXEC : 0),
		.dev = makedev(q->dev_major, q->dev_minor),
		.ino = q->inode,
		.fd = -1,
		.copy = -1};
	return q->name_bytes > 0 && name[0] == '/' ? take(&m, name) : 0;
}

/*
 * Query only the mappings of @kind, because the text with all mappings takes half a millisecond in
 * a process that has loaded pandas.
 */
int maps_ask(const char *path, enum maps_kind kind, take_fn *take)
{
	char name[PATH_MAX];
	const uint64_t wanted = kind == MAPS_SHARED ? QUERY_SHARED : QUERY_WRITE | QUERY_FILE;
	struct query q = {0};
	int maps = open(path, O_RDONLY | O_CLOEXEC);
	int r = maps < 0 ? -errno : ask(maps, 0, wanted, &q, name);
	while (r == 0) {
		if (kind == MAPS_SHARED || !(q.mode & QUERY_SHARED))
			r = take_answer(&q, name, take);
		if (r == 0)
			r = ask(maps, q.end, wanted, &q, name);
	}
	if (maps >= 0)
		(void)close(maps);
	return r == -ENOENT ? 0 : r;
}

/* ---- lists ---- */

void maps_forget(struct mapping_list *found)
{
	if (found->n == 0)
		return;
	for (size_t i = 0; i < found->n; i++)
		free(found->list[i].path);
	free(found->list);
	*found = (struct mapping_list){0};
}

int maps_append(struct mapping_list *found, const struct mapping *m)
{
	bool is_full = found->n == MAPPINGS_MAX;
	struct mapping *more =
		is_full ? NULL : realloc(found->list, (found->n + 1) * sizeof *found->list);
	if (!more) {
		free(m->path);
		return is_full ? -E2BIG : -ENOMEM;
	}
	found->list = more;
	found->list[found->n++] = *m;
	return 0;
}

int maps_find(struct mapping_list *found, enum maps_kind kind, take_fn *take)
{
	static const char maps[] = "/proc/self/maps";
	maps_forget(found);
	int r = maps_ask(maps, kind, take);
	if (r == 0 || r == -E2BIG)
		return r;
	maps_forget(found);
	return maps_read(maps, kind, take);
}
