/*
 * Separates shared mappings (MAP_SHARED files, anonymous shared memory, System V segments) in
 * branches and guards from those of the original process.
 *
 * A clone shares such memory with the original instead of copying it on write, but must not see the
 * original's writes. Branches and guards solve this in different ways.
 *
 * A branch replaces each mapping before any Python code runs (shared_renew()): a file with a name
 * is mapped again, from the file of the same path in the branch's own workspace; a file without a
 * name is copied once, and all its mappings and descriptors use that copy; anonymous memory is
 * copied into a new shared mapping. The new mapping has the same address.
 *
 * A guard keeps the mapping, because other processes of the box may use it as well, and saves its
 * content (shared_keep(), at most SHARED_KEPT_MAX bytes for all). A resumed guard writes the
 * content back, page by page and only where it differs (shared_put_back()). So all processes of the
 * box see the old content again. Files that only other processes have mapped are mapped by the
 * guard for this purpose. mincore() tells which pages exist, so that sparse memory is neither
 * counted nor filled.
 *
 * Pages are copied through a pipe, because the file may have become shorter than the mapping.
 * read() and write() then fail with EFAULT, while a memory access would raise SIGBUS.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "own_path.h"
#include "shared.h"

#include "maps.h"
#include "anon_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { OTHERS_MAX = 64, PROC_PATH_BYTES = 64 };

static struct mapping_list found;

/* ---- before the clone ---- */

int shared_fd_of(const struct mapping *m)
{
	struct stat st;
	int fd = -1;
	DIR *dir = opendir("/proc/self/fd");
	for (struct dirent *entry; fd < 0 && dir && (entry = readdir(dir));) {
		int n = atoi(entry->d_name);
		if (entry->d_name[0] != '.' && fstat(n, &st) == 0 && st.st_dev == m->dev &&
			st.st_ino == m->ino)
			fd = n;
	}
	if (dir)
		(void)closedir(dir);
	return fd;
}

/*
 * Return whether the list has a mapping of the same file that covers @m. The content of @m is then
 * already saved through that mapping.
 */
static bool is_found(const struct mapping *m)
{
	for (size_t i = 0; i < found.n; i++)
		if (found.list[i].dev == m->dev && found.list[i].ino == m->ino &&
			(found.list[i].prot & PROT_WRITE) &&
			(m->is_memory || !m->path ||
				(found.list[i].offset == 0 &&
					found.list[i].end - found.list[i].start >=
						m->end - m->start)))
			return true;
	return false;
}

/* Return whether the path still leads to the mapped file. */
static bool is_named(const struct mapping *m, const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_ino == m->ino;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);
	return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static int add(struct mapping *m, const char *path)
{
	bool is_own = own_path_is_separate(path);
	if (!is_own && !ends_with(path, " (deleted)"))
		return 0;
	if (is_own && is_named(m, path)) {
		m->path = strdup(path);
		if (!m->path)
			return -ENOMEM;
	} else {
		m->is_memory =
			strncmp(path, "/dev/zero ", 10) == 0 || strncmp(path, "/SYSV", 5) == 0;
		m->fd = m->is_memory ? -1 : shared_fd_of(m);
	}
	return maps_append(&found, m);
}

/*
 * List a mapping that another process has and can write to. If its file has a name, the guard will
 * map and save the whole file. Of other memory, only the size is reported.
 */
static int add_others(struct mapping *m, const char *path)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	bool is_own = own_path_is_separate(path);
	if (!(m->prot & PROT_WRITE) || (!is_own && !ends_with(path, " (deleted)")))
		return 0;
	m->is_others = true;
	if (is_own && stat(path, &st) == 0 && st.st_ino == m->ino) {
		if (!S_ISREG(st.st_mode) || st.st_size == 0 || own_path_is_volume(path))
			return 0;
		m->start = 0;
		m->end = ((uintptr_t)st.st_size + page - 1) / page * page;
		m->offset = 0;
		m->path = is_found(m) ? NULL : strdup(path);
		return m->path ? maps_append(&found, m) : 0;
	}
	return is_found(m) || shared_fd_of(m) >= 0 ? 0 : maps_append(&found, m);
}

int shared_find(void)
{
	return maps_find(&found, MAPS_SHARED, add);
}

/*
 * List the mappings of process @pid. It is no error if the process has ended, or may not be
 * inspected (such as init).
 */
static int look_at(pid_t pid)
{
	char maps[PROC_PATH_BYTES];
	snprintf(maps, sizeof maps, "/proc/%d/maps", (int)pid);
	int r = maps_ask(maps, MAPS_SHARED, add_others);
	if (r == -ENOTTY)
		r = maps_read(maps, MAPS_SHARED, add_others);
	return r == -E2BIG || r == -ENOMEM ? r : 0;
}

static bool is_among(pid_t pid, const pid_t *pids, int n)
{
	for (int i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

int shared_find_others(const pid_t *guards, int n_guards)
{
	int n = 0, r = 0;
	DIR *dir = opendir("/proc");
	for (struct dirent *entry; r == 0 && dir && (entry = readdir(dir));) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		if (pid > 1 && pid != getpid() && !is_among(pid, guards, n_guards))
			r = n++ == OTHERS_MAX ? -E2BIG : look_at(pid);
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

/* ---- in a branch ---- */

static int map(const struct mapping *m, int fd)
{
	void *at = mmap((void *)m->start, m->end - m->start, m->prot, MAP_SHARED | MAP_FIXED, fd,
		m->offset);
	return at == MAP_FAILED ? -errno : 0;
}

/*
 * Map the file that has the same path in the branch's workspace. Returns: 0, or negative errno if
 * the file is missing or cannot be opened for this kind of access.
 */
static int map_named(const struct mapping *m)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = open(m->path, O_RDWR | flags);
	if (fd < 0 && !(m->prot & PROT_WRITE))
		fd = open(m->path, O_RDONLY | flags);
	if (fd < 0)
		return -errno;
	int r = map(m, fd);
	(void)close(fd);
	return r;
}

static void make_readable(const struct mapping *m)
{
	if (!(m->prot & PROT_READ))
		(void)mprotect((void *)m->start, m->end - m->start, PROT_READ);
}

/*
 * Replace shared memory by an anonymous copy. A copy in a file would fall under the file size
 * limit.
 */
static int map_memory(const struct mapping *m)
{
	const size_t bytes = m->end - m->start;
	void *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (own == MAP_FAILED)
		return -errno;
	make_readable(m);
	memcpy(own, (const void *)m->start, bytes);
	void *at = MAP_FAILED;
	if (mprotect(own, bytes, m->prot) == 0)
		at = mremap(own, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)m->start);
	return at == MAP_FAILED ? -errno : 0;
}

/*
 * Copy to a file what can be seen through the mapping. write() reads the memory, because an access
 * of this process beyond the end of the mapped file would raise SIGBUS.
 */
static int copy_shown(const struct mapping *m, int to)
{
	const size_t step = (size_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	off_t end = m->offset + (off_t)(m->end - m->start);
	if (fstat(to, &st) < 0 || (st.st_size < end && ftruncate(to, end) < 0))
		return -errno;
	make_readable(m);
	for (uintptr_t at = m->start; at < m->end; at += step)
		if (pwrite(to, (void *)at, step, m->offset + (off_t)(at - m->start)) < 0 &&
			errno != EFAULT)
			return -errno;
	return 0;
}

static int map_unlinked(struct mapping *m)
{
	struct stat st;
	int to = shared_copy_of(m->dev, m->ino);
	if (to < 0) {
		bool is_open = m->fd >= 0 && fstat(m->fd, &st) == 0;
		to = m->copy = is_open ? anon_file_copy(m->fd, st.st_size) : anon_file_new();
		if (to < 0)
			return -ENOMEM;
	}
	int r = m->fd < 0 ? copy_shown(m, to) : 0;
	return r < 0 ? r : map(m, to);
}

int shared_renew(void)
{
	int r = 0;
	for (size_t i = 0; i < found.n && r == 0; i++) {
		struct mapping *m = &found.list[i];
		if (m->is_memory)
			r = map_memory(m);
		else if (!m->path || map_named(m) < 0)
			r = map_unlinked(m);
	}
	return r;
}

int shared_copy_of(dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < found.n; i++)
		if (found.list[i].copy >= 0 && found.list[i].dev == dev && found.list[i].ino == ino)
			return found.list[i].copy;
	return -1;
}

bool shared_has(int fd)
{
	for (size_t i = 0; i < found.n; i++)
		if (found.list[i].copy == fd)
			return true;
	return false;
}

void shared_done(void)
{
	for (size_t i = 0; i < found.n; i++)
		if (found.list[i].copy >= 0)
			(void)close(found.list[i].copy);
	maps_forget(&found);
}

/* ---- in a guard ---- */

enum { VECTOR_PAGES = 4096, PIPE_BYTES = 4096, PAGE_BYTES_MAX = 1 << 16 };

static struct {
	char *memory; /* copies of all saved mappings, one after the other */
	size_t all_bytes;
	int pipe[2];
	uint64_t bytes, left_out;
} kept;
static unsigned char pages[VECTOR_PAGES], more[VECTOR_PAGES]; /* results of mincore() */

void shared_leave_out(uint64_t bytes)
{
	kept.left_out += bytes;
}

bool shared_take_room(uint64_t bytes)
{
	bool has_room = bytes <= SHARED_KEPT_MAX - kept.bytes;
	if (has_room)
		kept.bytes += bytes;
	else
		kept.left_out += bytes;
	return has_room;
}

uint64_t shared_left_out(void)
{
	return kept.left_out;
}

/*
 * Make the mapping writable in this process, if possible. Returns: whether it is. Memory that is
 * read-only now may become writable later, but a segment that is attached read-only may not.
 */
static bool make_writable(const struct mapping *m)
{
	return (m->prot & PROT_WRITE) ||
		(m->is_memory &&
			mprotect((void *)m->start, m->end - m->start, PROT_READ | PROT_WRITE) == 0);
}

static void make_as_before(const struct mapping *m)
{
	if (!(m->prot & PROT_WRITE))
		(void)mprotect((void *)m->start, m->end - m->start, m->prot);
}

bool shared_is_put_back(const char *path, struct stat *st)
{
	return own_path_is_below(path, "/home/user") && lstat(path, st) == 0 &&
		!own_path_is_volume(path);
}

/*
 * Return whether the mapping must be saved here. A file without a name but with a descriptor is
 * saved by handoff.c.
 */
static bool is_kept_here(const struct mapping *m)
{
	return m->fd < 0 && (!m->path || !own_path_is_volume(m->path)) && make_writable(m);
}

/*
 * Return whether a page that is not resident is known to be a hole, which was never written. Such
 * pages are not read, because reading a page would create it.
 */
static bool tells_holes(const struct mapping *m)
{
	struct statfs fs;
	return m->is_memory || (m->path && statfs(m->path, &fs) == 0 && fs.f_type == TMPFS_MAGIC);
}

/*
 * Copy pages by system calls. Beyond the end of the mapped file these fail, instead of raising
 * SIGBUS.
 */
static void copy_run(char *to, char *from, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t at = 0; at < bytes;) {
		size_t n = bytes - at < PIPE_BYTES ? bytes - at : PIPE_BYTES;
		ssize_t written = write(kept.pipe[1], from + at, n);
		ssize_t got = written > 0 ? read(kept.pipe[0], to + at, (size_t)written) : written;
		/* Discard what is left in the pipe, because it could not be written to @to. */
		if (written > 0 && got != written) {
			char rest[PIPE_BYTES];
			(void)!read(kept.pipe[0], rest, (size_t)(written - (got > 0 ? got : 0)));
		}
		at += got > 0 ? (size_t)got : page - at % page;
	}
}

/*
 * Set pages[i] to 1 for each of the @n pages from @at that is resident in the mapping or in
 * @shadow, the mapping's saved copy. If mincore() cannot tell, set all of them to 1.
 */
static void look(const struct mapping *m, uintptr_t at, size_t n, const char *shadow)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (!m->has_holes || mincore((void *)at, n * page, pages) < 0)
		memset(pages, 1, n);
	else if (shadow &&
		mincore((void *)(uintptr_t)(shadow + (at - m->start)), n * page, more) == 0)
		for (size_t i = 0; i < n; i++)
			pages[i] |= more[i];
}

/* Write a page back only if it differs, because a write would change the file's time. */
static void put_back_page(char *mine, char *shadow, size_t bytes)
{
	static char now[PAGE_BYTES_MAX];
	if (bytes <= sizeof now) {
		now[0] = (char)~*shadow;
		copy_run(now, mine, bytes);
		if (memcmp(now, shadow, bytes) == 0)
			return;
	}
	copy_run(mine, shadow, bytes);
}

/*
 * Copy each page that look() selects. It is copied from the mapping to @shadow, the mapping's saved
 * copy; or back from @shadow to the mapping, if @is_back. If @shadow is NULL, the pages are only
 * counted. Returns: the size of the pages.
 */
static uint64_t walk(const struct mapping *m, char *shadow, bool is_back)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t bytes = 0;
	for (uintptr_t at = m->start; at < m->end;) {
		size_t n = (m->end - at) / page;
		n = n < VECTOR_PAGES ? n : VECTOR_PAGES;
		look(m, at, n, is_back ? shadow : NULL);
		for (size_t i = 0; i < n; i++) {
			char *mine = (char *)at + i * page;
			if (!(pages[i] & 1))
				continue;
			bytes += page;
			if (shadow && is_back)
				put_back_page(mine, shadow + (mine - (char *)m->start), page);
			else if (shadow)
				copy_run(shadow + (mine - (char *)m->start), mine, page);
		}
		at += n * page;
	}
	return bytes;
}

static void walk_all(bool is_back)
{
	size_t base = 0;
	for (size_t i = 0; i < found.n; i++) {
		const struct mapping *m = &found.list[i];
		if (!m->is_kept)
			continue;
		(void)make_writable(m);
		(void)walk(m, kept.memory + base, is_back);
		make_as_before(m);
		base += m->end - m->start;
	}
}

/* In the guard, map a file that another process has mapped. If that fails, count it as left out. */
static void map_others(struct mapping *m)
{
	struct stat st;
	void *at = MAP_FAILED;
	const size_t bytes = m->end - m->start;
	int fd = m->path ? open(m->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == m->ino)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	if (at == MAP_FAILED)
		shared_leave_out(bytes);
	m->start = at == MAP_FAILED ? 0 : (uintptr_t)at;
	m->end = at == MAP_FAILED ? 0 : m->start + bytes;
}

void shared_keep(void)
{
	struct sysinfo info;
	bool has_swap = sysinfo(&info) < 0 || info.totalswap > 0;
	uint64_t wanted = 0;
	for (size_t i = 0; i < found.n; i++) {
		struct mapping *m = &found.list[i];
		if (m->is_others)
			map_others(m);
		m->has_holes = !has_swap && tells_holes(m);
		bool is_due = is_kept_here(m);
		uint64_t bytes = is_due ? walk(m, NULL, false) : 0;
		m->is_kept = is_due && shared_take_room(bytes);
		if (is_due)
			make_as_before(m);
		wanted += m->is_kept ? bytes : 0;
		kept.all_bytes += m->is_kept ? m->end - m->start : 0;
	}
	if (kept.all_bytes == 0)
		return;
	kept.memory = mmap(NULL, kept.all_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (kept.memory != MAP_FAILED && pipe2(kept.pipe, O_CLOEXEC) == 0) {
		walk_all(false);
		return;
	}
	if (kept.memory != MAP_FAILED)
		(void)munmap(kept.memory, kept.all_bytes);
	kept.memory = NULL;
	kept.left_out += wanted;
}

/*
 * If the mapping's name now belongs to another file, map that file. A file shorter than the mapping
 * is not mapped, because access would raise SIGBUS. Returns: whether the mapping stays on a file
 * that has lost its name.
 */
static bool is_astray(const struct mapping *m)
{
	const off_t page = (off_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	if (m->is_others || !m->path || !own_path_is_below(m->path, "/home/user") ||
		own_path_is_volume(m->path))
		return false;
	/*
	 * The file has lost its name. It is counted here only if no descriptor is open on it,
	 * because otherwise handoff.c counts it.
	 */
	if (lstat(m->path, &st) < 0)
		return (errno == ENOENT || errno == ENOTDIR) && shared_fd_of(m) < 0;
	return st.st_ino != m->ino &&
		(!S_ISREG(st.st_mode) ||
			st.st_size + page <= m->offset + (off_t)(m->end - m->start) ||
			map_named(m) < 0);
}

int shared_put_back(void)
{
	int n_astray = 0;
	for (size_t i = 0; i < found.n; i++)
		n_astray += is_astray(&found.list[i]);
	if (kept.memory) {
		walk_all(true);
		(void)munmap(kept.memory, kept.all_bytes);
		(void)close(kept.pipe[0]);
		(void)close(kept.pipe[1]);
	}
	for (size_t i = 0; i < found.n; i++)
		if (found.list[i].is_others && found.list[i].end > found.list[i].start)
			(void)munmap((void *)found.list[i].start,
				found.list[i].end - found.list[i].start);
	memset(&kept, 0, sizeof kept);
	return n_astray;
}
