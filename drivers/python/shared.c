/*
 * Separates shared mappings (MAP_SHARED files, anonymous shared memory, System V segments) in
 * branches and guards from those of the original process.
 *
 * A clone shares such memory with the original instead of copying it on write. A clone and its
 * original must not see each other's writes. Branches and guards solve this differently.
 *
 * A branch replaces each mapping before any Python code runs (shared_renew()): a file with a name
 * is mapped again, from the file of the same path in the branch's own workspace; a file without a
 * name is copied once, and all its mappings and descriptors use that copy; anonymous memory is
 * copied into a new shared mapping. The new mapping has the same address.
 *
 * A guard keeps the mapping, because other processes of the box may use it as well, and saves its
 * content (shared_keep(), at most SHARED_KEPT_MAX bytes for all). A resumed guard writes the
 * content back, page by page and only where it differs (shared_put_back()). This restores what
 * processes of the box see through the mapping. Mappings that only other processes have are
 * mapped by the guard for this purpose. mincore() tells which pages exist, so that sparse memory
 * is neither counted nor filled.
 *
 * Pages are copied through a pipe: where the file has become shorter than the mapping, read() and
 * write() fail with EFAULT, while a memory access would be a SIGBUS.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
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

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool shared_is_own_path(const char *path)
{
	return is_below(path, "/home/user") || is_below(path, "/tmp") || is_below(path, "/dev/shm");
}

/*
 * Is @path in a volume, which is a mount of its own in one of these directories? A file that was
 * just removed is not: multiprocessing's resource trackers remove segments that they take for
 * leaked.
 */
static bool is_volume(const char *path)
{
	static const char *const dirs[] = {"/home/user", "/tmp", "/dev/shm"};
	struct statx file, dir;
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		if (!is_below(path, dirs[i]))
			continue;
		if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &file) < 0)
			return errno != ENOENT;
		return statx(AT_FDCWD, dirs[i], 0, STATX_MNT_ID, &dir) < 0 ||
			file.stx_mnt_id != dir.stx_mnt_id;
	}
	return true;
}

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
 * Does the list have a mapping of the same file that covers @m, so that its content is saved
 * already?
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

/* Does the path still lead to the mapped file? */
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
	bool is_own = shared_is_own_path(path);
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
 * List a mapping of another process that this process can write to. A guard maps the whole file if
 * it has a name, to save it; of other memory only the size is reported.
 */
static int add_others(struct mapping *m, const char *path)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	bool is_own = shared_is_own_path(path);
	if (!(m->prot & PROT_WRITE) || (!is_own && !ends_with(path, " (deleted)")))
		return 0;
	m->is_others = true;
	if (is_own && stat(path, &st) == 0 && st.st_ino == m->ino) {
		if (!S_ISREG(st.st_mode) || st.st_size == 0 || is_volume(path))
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
 * List the mappings of process @pid. A process that has ended meanwhile, or that may not be
 * inspected (such as init), has none.
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
 * Map the file of the same path in the branch's workspace. Returns: 0, or negative errno if the
 * file is missing or cannot be opened for this access.
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

/* Replace shared memory by an anonymous copy. A file would be subject to the file size limit. */
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
 * Copy the visible content of the mapping to a file. write() reads the memory, because an access
 * beyond the end of the mapped file would be a SIGBUS.
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
	char *memory; /* copies of all saved mappings, in order */
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
 * Make the mapping writable in this process, if possible. Memory that is read-only now may become
 * writable later, but a segment that is attached read-only may not.
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
	return is_below(path, "/home/user") && lstat(path, st) == 0 && !is_volume(path);
}

/*
 * Is the mapping to be saved here? If a file without a name has a descriptor, handoff.c saves it
 * through that.
 */
static bool is_kept_here(const struct mapping *m)
{
	return m->fd < 0 && (!m->path || !is_volume(m->path)) && make_writable(m);
}

/*
 * Does a page that is not resident prove that it was never written? Reading such a page would only
 * create it.
 */
static bool tells_holes(const struct mapping *m)
{
	struct statfs fs;
	return m->is_memory || (m->path && statfs(m->path, &fs) == 0 && fs.f_type == TMPFS_MAGIC);
}

/* Copy by system calls, which fail beyond the end of the mapped file. */
static void copy_run(char *to, char *from, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t at = 0; at < bytes;) {
		size_t n = bytes - at < PIPE_BYTES ? bytes - at : PIPE_BYTES;
		ssize_t written = write(kept.pipe[1], from + at, n);
		ssize_t got = written > 0 ? read(kept.pipe[0], to + at, (size_t)written) : written;
		/* discard the rest in the pipe, which could not be written to @to */
		if (written > 0 && got != written) {
			char rest[PIPE_BYTES];
			(void)!read(kept.pipe[0], rest, (size_t)(written - (got > 0 ? got : 0)));
		}
		at += got > 0 ? (size_t)got : page - at % page;
	}
}

/*
 * Set pages[] for @n pages from @at: 1 if the page is resident, now or in the saved copy. All are
 * set if mincore() cannot tell.
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

/* Write a page only if it differs: a write would change the file's time. */
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
 * Copy the pages that look() selects, from the mapping to @shadow, its saved copy, or back
 * (@is_back). @shadow NULL: only count. Returns: the bytes of those pages.
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

/* Map a file of another process into the guard. If that fails, report it as left out. */
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
 * Map the file that has the name now. Returns: whether the mapping stays on a file that lost its
 * name. A file shorter than the mapping is not mapped, since access would be a SIGBUS.
 */
static bool is_astray(const struct mapping *m)
{
	const off_t page = (off_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	if (m->is_others || !m->path || !is_below(m->path, "/home/user") || is_volume(m->path))
		return false;
	if (lstat(m->path, &st) < 0) /* handoff.c counts it if a descriptor is open */
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
