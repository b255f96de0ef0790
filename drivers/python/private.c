/*
 * Preserves private file mappings (MAP_PRIVATE) that a program has written to, such as arrays that
 * numpy loads with mmap_mode "c".
 *
 * A written page of such a mapping belongs to the process, but only while the file is long enough.
 * When the file is truncated, the kernel drops all pages of the mapping beyond the new end,
 * including the written ones. So a step that opens the file with "w" would destroy data of the
 * guard, which is the checkpoint before the step.
 *
 * /proc/self/pagemap tells which pages the process has written: they are present or swapped and
 * not backed by a file. A guard copies each run of such pages into anonymous memory, and moves the
 * copy with mremap() to the address of the original. There may not be room for all copies. So the
 * guard counts the written bytes, and counts them again when it is resumed: what is missing then
 * was lost.
 *
 * Pages that were not written still come from the file. After the engine has restored the file, its
 * name belongs to a new inode, and private_put_back() maps these pages from that inode.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "own_path.h"
#include "private.h"

#include "maps.h"
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES = 512 };

static struct mapping_list found;

void private_done(void)
{
	maps_forget(&found);
}

/*
 * Return whether a program of the box may be able to truncate the file: the file is in a directory
 * that each box has for itself, or has been deleted. Other files belong to the system and are
 * read-only, or are in volumes, whose changes the engine reports.
 */
static bool may_be_cut(const char *path)
{
	return own_path_is_dir(path) || strstr(path, " (deleted)");
}

static int add(struct mapping *m, const char *path)
{
	struct stat st;
	if (!may_be_cut(path))
		return 0;
	if (shared_is_put_back(path, &st) && st.st_ino == m->ino)
		m->path = strdup(path);
	return maps_append(&found, m);
}

int private_find(void)
{
	return maps_find(&found, MAPS_COPIES, add);
}

/* ---- written and unwritten pages ---- */

/*
 * A function to call for each run of adjacent pages: either the program has written all of them
 * (@is_own), or none.
 */
typedef void run_fn(struct mapping *m, uintptr_t start, uintptr_t end, bool is_own, void *arg);

/*
 * Return whether the process has written the page with this pagemap entry. Source:
 * Documentation/admin-guide/mm/pagemap.rst
 */
static bool is_own_page(uint64_t entry)
{
	const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62,
		       file = UINT64_C(1) << 61;
	return (entry & (present | swapped)) && !(entry & file);
}

static void for_runs(struct mapping *m, int pagemap, run_fn *fn, void *arg)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	static uint64_t entries[ENTRIES];
	uintptr_t from = m->start, at = from;
	bool is_own = false;
	while (at < m->end) {
		ssize_t n = pread(
			pagemap, entries, sizeof entries, (off_t)(at / page * sizeof *entries));
		if (n < (ssize_t)sizeof *entries)
			break;
		for (size_t i = 0; i < (size_t)n / sizeof *entries && at < m->end; i++) {
			bool is = is_own_page(entries[i]);
			if (is != is_own && at > from) {
				fn(m, from, at, is_own, arg);
				from = at;
			}
			is_own = is;
			at += page;
		}
	}
	if (at > from)
		fn(m, from, at, is_own, arg);
}

/* Open /proc/self/pagemap if any mapping is listed. Returns: a file descriptor, or -1. */
static int open_pages(void)
{
	return found.n == 0 ? -1 : open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

/* Replace the pages by an anonymous copy at the same address. Returns: whether that succeeded. */
static bool make_own(const struct mapping *m, uintptr_t start, size_t bytes)
{
	void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return false;
	memcpy(copy, (const void *)start, bytes);
	if (mprotect(copy, bytes, m->prot) == 0 &&
		mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) !=
			MAP_FAILED)
		return true;
	(void)munmap(copy, bytes);
	return false;
}

static void keep(struct mapping *m, uintptr_t start, uintptr_t end, bool is_own, void *arg)
{
	uint64_t *room = arg;
	size_t bytes = end - start;
	if (!is_own)
		return;
	m->own_bytes += bytes;
	if (bytes <= *room && (m->prot & PROT_READ) && make_own(m, start, bytes))
		*room -= bytes;
}

void private_keep(uint64_t room)
{
	int pagemap = open_pages();
	for (size_t i = 0; i < found.n && pagemap >= 0; i++)
		for_runs(&found.list[i], pagemap, keep, &room);
	if (pagemap >= 0)
		(void)close(pagemap);
}

/* ---- in a resumed guard ---- */

static void count(struct mapping *m, uintptr_t start, uintptr_t end, bool is_own, void *arg)
{
	(void)arg;
	if (is_own)
		m->own_bytes -= MIN(end - start, m->own_bytes);
}

static void map_file(struct mapping *m, uintptr_t start, uintptr_t end, bool is_own, void *arg)
{
	const int *fd = arg;
	if (!is_own && m->is_renewed)
		m->is_renewed = mmap((void *)start, end - start, m->prot, MAP_PRIVATE | MAP_FIXED,
					*fd, m->offset + (off_t)(start - m->start)) != MAP_FAILED;
}

/*
 * Return whether the file still covers the whole mapping. If it is shorter, pages that the program
 * has already seen would be missing.
 */
static bool is_whole(const struct mapping *m, const struct stat *st)
{
	const off_t page = (off_t)sysconf(_SC_PAGESIZE);
	return S_ISREG(st->st_mode) && st->st_size + page > m->offset + (off_t)(m->end - m->start);
}

/*
 * If the mapping's name now belongs to another file, map the unwritten pages from that file.
 * Returns: whether the mapping stays on a file that has lost its name.
 */
static bool is_astray(struct mapping *m, int pagemap)
{
	struct stat st;
	if (!m->path)
		return false;
	/*
	 * The file has lost its name. It is counted here only if no descriptor is open on it,
	 * because otherwise handoff.c counts it.
	 */
	if (lstat(m->path, &st) < 0)
		return (errno == ENOENT || errno == ENOTDIR) && shared_fd_of(m) < 0;
	if (st.st_ino == m->ino)
		return false;
	int fd = is_whole(m, &st) ? open(m->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
				  : -1;
	m->is_renewed = fd >= 0;
	if (fd >= 0)
		for_runs(m, pagemap, map_file, &fd);
	if (fd >= 0)
		(void)close(fd);
	return !m->is_renewed;
}

int private_put_back(uint64_t *gone_bytes)
{
	int n_astray = 0, pagemap = open_pages();
	for (size_t i = 0; i < found.n && pagemap >= 0; i++) {
		for_runs(&found.list[i], pagemap, count, NULL);
		*gone_bytes += found.list[i].own_bytes;
		n_astray += is_astray(&found.list[i], pagemap);
	}
	if (pagemap >= 0)
		(void)close(pagemap);
	return n_astray;
}
