/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "shared.h"

#include "nameless.h"

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

enum { MAPPINGS_MAX = 4096 };

struct mapping {
	uintptr_t start, end;
	off_t offset;
	int prot;
	bool is_memory;		 /* there was never a file */
	bool is_kept, has_holes; /* in a guard */
	dev_t dev;
	ino_t ino;
	char *path; /* NULL: it has no name */
	int fd;	    /* of the same file, when that has no name; -1: none */
	int copy;   /* in a branch: the copy of it that was made for this mapping; -1: none */
};

static struct mapping *found;
static size_t n_found;

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool shared_is_own_path(const char *path)
{
	return is_below(path, "/home/user") || is_below(path, "/tmp") || is_below(path, "/dev/shm");
}

/* ---- in the process that is to be branched ---- */

static void forget(void)
{
	for (size_t i = 0; i < n_found; i++)
		free(found[i].path);
	free(found);
	found = NULL;
	n_found = 0;
}

/* A descriptor of the file, or -1. */
static int find_fd(dev_t dev, ino_t ino)
{
	struct stat st;
	int fd = -1;
	DIR *dir = opendir("/proc/self/fd");
	for (struct dirent *entry; fd < 0 && dir && (entry = readdir(dir));) {
		int n = atoi(entry->d_name);
		if (entry->d_name[0] != '.' && fstat(n, &st) == 0 && st.st_dev == dev &&
			st.st_ino == ino)
			fd = n;
	}
	if (dir)
		(void)closedir(dir);
	return fd;
}

/* The kernel writes a line feed as "\012". */
static void unescape(char *path)
{
	for (char *at = path; (at = strstr(at, "\\012")); at++) {
		*at = '\n';
		memmove(at + 1, at + 4, strlen(at + 4) + 1);
	}
}

/* Does the file still have the name? What is mapped from a name that is not the box's own stays. */
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
	if (n_found == MAPPINGS_MAX)
		return -E2BIG;
	if (is_own && is_named(m, path)) {
		m->path = strdup(path);
		if (!m->path)
			return -ENOMEM;
	} else {
		m->is_memory =
			strncmp(path, "/dev/zero ", 10) == 0 || strncmp(path, "/SYSV", 5) == 0;
		m->fd = m->is_memory ? -1 : find_fd(m->dev, m->ino);
	}
	struct mapping *more = realloc(found, (n_found + 1) * sizeof *found);
	if (!more) {
		free(m->path);
		return -ENOMEM;
	}
	found = more;
	found[n_found++] = *m;
	return 0;
}

/* Source: proc_pid_maps(5): "start-end rwxs offset major:minor inode   path", in hexadecimal. */
static int take_line(char *line)
{
	struct mapping m = {.fd = -1, .copy = -1};
	unsigned long long offset, inode;
	unsigned major_no, minor_no;
	char mode[5];
	int at = 0;
	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %llx %x:%x %llu %n", &m.start, &m.end, mode,
		    &offset, &major_no, &minor_no, &inode, &at) != 7 ||
		mode[3] != 's' || line[at] != '/')
		return 0;
	m.prot = (mode[0] == 'r' ? PROT_READ : 0) | (mode[1] == 'w' ? PROT_WRITE : 0) |
		(mode[2] == 'x' ? PROT_EXEC : 0);
	m.offset = (off_t)offset;
	m.dev = makedev(major_no, minor_no);
	m.ino = inode;
	line[strcspn(line, "\n")] = '\0';
	unescape(line + at);
	return add(&m, line + at);
}

static int read_all(void)
{
	char *line = NULL;
	size_t bytes = 0;
	int r = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return -errno;
	while (r == 0 && getline(&line, &bytes, maps) > 0)
		r = take_line(line);
	free(line);
	(void)fclose(maps);
	return r;
}

/* As the kernel has it from 6.11 on. Source: include/uapi/linux/fs.h */
struct query {
	uint64_t size, flags, address;
	uint64_t start, end, mode, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_bytes, build_id_bytes;
	uint64_t name_at, build_id_at;
};
enum { QUERY_READ = 1, QUERY_WRITE = 2, QUERY_EXECUTE = 4, QUERY_SHARED = 8, QUERY_NEXT = 16 };

/* What comes at @address or behind it. Returns: 0, or negative errno: ENOENT at the end. */
static int ask(int maps, uint64_t address, struct query *q, char name[PATH_MAX])
{
	*q = (struct query){.size = sizeof *q,
		.flags = QUERY_SHARED | QUERY_NEXT,
		.address = address,
		.name_bytes = PATH_MAX,
		.name_at = (uintptr_t)name};
	return ioctl(maps, _IOWR('f', 17, struct query), q) < 0 ? -errno : 0;
}

static int take_answer(const struct query *q, const char *name)
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
	return q->name_bytes > 0 && name[0] == '/' ? add(&m, name) : 0;
}

/* Only the shared ones: to write all down takes half a millisecond in a process with pandas. */
static int ask_all(void)
{
	char name[PATH_MAX];
	struct query q = {0};
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int r = maps < 0 ? -errno : ask(maps, 0, &q, name);
	while (r == 0) {
		r = take_answer(&q, name);
		if (r == 0)
			r = ask(maps, q.end, &q, name);
	}
	if (maps >= 0)
		(void)close(maps);
	return r == -ENOENT ? 0 : r;
}

int shared_find(void)
{
	forget();
	int r = ask_all();
	if (r == 0 || r == -E2BIG)
		return r;
	forget();
	return read_all();
}

/* ---- in a branch ---- */

static int map(const struct mapping *m, int fd)
{
	void *at = mmap((void *)m->start, m->end - m->start, m->prot, MAP_SHARED | MAP_FIXED, fd,
		m->offset);
	return at == MAP_FAILED ? -errno : 0;
}

/* Returns: 0, or negative errno: the file is not there, or not to be opened like this. */
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

/* Not by a file: the largest one may be smaller. */
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

/* What the mapping shows. The kernel reads it: behind the end of the file there is nothing. */
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

static int map_nameless(struct mapping *m)
{
	struct stat st;
	int to = shared_copy_of(m->dev, m->ino);
	if (to < 0) {
		bool is_open = m->fd >= 0 && fstat(m->fd, &st) == 0;
		to = m->copy = is_open ? nameless_copy(m->fd, st.st_size) : nameless_new();
		if (to < 0)
			return -ENOMEM;
	}
	int r = m->fd < 0 ? copy_shown(m, to) : 0;
	return r < 0 ? r : map(m, to);
}

int shared_renew(void)
{
	int r = 0;
	for (size_t i = 0; i < n_found && r == 0; i++) {
		struct mapping *m = &found[i];
		if (m->is_memory)
			r = map_memory(m);
		else if (!m->path || map_named(m) < 0)
			r = map_nameless(m);
	}
	return r;
}

int shared_copy_of(dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < n_found; i++)
		if (found[i].copy >= 0 && found[i].dev == dev && found[i].ino == ino)
			return found[i].copy;
	return -1;
}

bool shared_has(int fd)
{
	for (size_t i = 0; i < n_found; i++)
		if (found[i].copy == fd)
			return true;
	return false;
}

void shared_done(void)
{
	if (n_found == 0)
		return; /* and writes to nothing, which would be a page to copy */
	for (size_t i = 0; i < n_found; i++)
		if (found[i].copy >= 0)
			(void)close(found[i].copy);
	forget();
}

/* ---- in a guard ---- */

enum { VECTOR_PAGES = 4096, PIPE_BYTES = 4096 };

static struct {
	char *memory; /* the mappings one behind the other */
	size_t all_bytes;
	int pipe[2];
	uint64_t bytes, left_out;
} kept;
static unsigned char pages[VECTOR_PAGES], more[VECTOR_PAGES]; /* of mincore() */

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

/* A volume is another mount than the directory that it lies in. */
static bool is_volume(const char *path)
{
	static const char *const dirs[] = {"/home/user", "/tmp", "/dev/shm"};
	struct statx file, dir;
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		if (is_below(path, dirs[i]) && statx(AT_FDCWD, path, 0, STATX_MNT_ID, &file) == 0 &&
			statx(AT_FDCWD, dirs[i], 0, STATX_MNT_ID, &dir) == 0)
			return file.stx_mnt_id != dir.stx_mnt_id;
	return true;
}

/* Memory that may not be written now may be so in a moment; what was attached read-only never. In a
 * guard this changes its own mappings only. */
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

/* What has a descriptor but no name is kept by that. */
static bool is_kept_here(const struct mapping *m)
{
	return m->fd < 0 && (!m->path || !is_volume(m->path)) && make_writable(m);
}

/* May pages that are not in memory be taken for such as have never been written to? Else reading
 * them would make them. */
static bool tells_holes(const struct mapping *m)
{
	struct statfs fs;
	return m->is_memory || (m->path && statfs(m->path, &fs) == 0 && fs.f_type == TMPFS_MAGIC);
}

/* By the kernel: behind the end of a file there is no memory to touch. */
static void copy_run(char *to, char *from, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t at = 0; at < bytes;) {
		size_t n = bytes - at < PIPE_BYTES ? bytes - at : PIPE_BYTES;
		ssize_t written = write(kept.pipe[1], from + at, n);
		ssize_t got = written > 0 ? read(kept.pipe[0], to + at, (size_t)written) : written;
		if (written > 0 && got != written) { /* what is left of it is thrown away */
			char rest[PIPE_BYTES];
			(void)!read(kept.pipe[0], rest, (size_t)(written - (got > 0 ? got : 0)));
		}
		at += got > 0 ? (size_t)got : page - at % page;
	}
}

/* Which of the @n pages from @at on are to be copied: those in memory; or all, where that tells
 * nothing. */
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

/* Copy what look() finds. @shadow: what is kept of the mapping; NULL: only count. Returns: how many
 * bytes. */
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
				copy_run(mine, shadow + (mine - (char *)m->start), page);
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
	for (size_t i = 0; i < n_found; i++) {
		const struct mapping *m = &found[i];
		if (!m->is_kept)
			continue;
		(void)make_writable(m);
		(void)walk(m, kept.memory + base, is_back);
		make_as_before(m);
		base += m->end - m->start;
	}
}

void shared_keep(void)
{
	struct sysinfo info;
	bool has_swap = sysinfo(&info) < 0 || info.totalswap > 0;
	uint64_t wanted = 0;
	for (size_t i = 0; i < n_found; i++) {
		struct mapping *m = &found[i];
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

void shared_put_back(void)
{
	if (kept.memory) {
		walk_all(true);
		(void)munmap(kept.memory, kept.all_bytes);
		(void)close(kept.pipe[0]);
		(void)close(kept.pipe[1]);
	}
	memset(&kept, 0, sizeof kept);
}
