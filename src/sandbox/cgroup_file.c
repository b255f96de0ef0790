/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "sandbox/cgroup_file.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cgroup_file_path(char *out, size_t room, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(out, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < room)
		return 0;
	out[0] = '\0';
	return -ENAMETOOLONG;
}

ssize_t cgroup_file_read(int dir_fd, const char *path, char *out, size_t room)
{
	size_t got = 0;
	out[0] = '\0';
	cleanup_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (got < room - 1) {
		ssize_t n = read(fd, out + got, room - 1 - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			out[0] = '\0';
			return -errno;
		}
		if (n == 0)
			break;
		got += (size_t)n;
	}
	out[got] = '\0';
	return (ssize_t)got;
}

int cgroup_file_write(const char *path, const char *text, int flags)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
	if (fd < 0)
		return -errno;
	return fd_write_all(fd, text, strlen(text));
}

bool cgroup_file_has_word(const char *text, const char *word, const char *separators)
{
	size_t bytes = strlen(word);
	for (const char *at = text; *at;) {
		at += strspn(at, separators);
		size_t n = strcspn(at, separators);
		if (n == bytes && n > 0 && memcmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

static int parse_number(const char *at, uint64_t *value)
{
	uint64_t v = 0;
	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
			__builtin_add_overflow(v, digit, &v))
			return -ERANGE;
	}
	*value = v;
	return 0;
}

int cgroup_file_number(const char *text, const char *key, uint64_t *value)
{
	if (!key)
		return parse_number(text, value);
	size_t bytes = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, bytes) != 0)
			continue;
		const char *at = line + bytes;
		if (*at != ':' && *at != ' ' && *at != '\t')
			continue;
		at += *at == ':';
		return parse_number(at + strspn(at, " \t"), value);
	}
	return -ENOENT;
}

int cgroup_lines_open(struct cgroup_lines *lines, const char *path)
{
	lines->start = lines->end = lines->total_bytes = 0;
	lines->is_dropping = false;
	lines->fd = open(path, O_RDONLY | O_CLOEXEC);
	return lines->fd < 0 ? -errno : 0;
}

void cgroup_lines_close(struct cgroup_lines *lines)
{
	fd_close(&lines->fd);
}

/* Read more of the file into the buffer. A line that fills the whole buffer is dropped. Returns:
 * false at the end of the file. */
static bool fill(struct cgroup_lines *lines)
{
	if (lines->start == 0 && lines->end == sizeof lines->data) {
		lines->is_dropping = true;
		lines->end = 0;
	}
	memmove(lines->data, lines->data + lines->start, lines->end - lines->start);
	lines->end -= lines->start;
	lines->start = 0;
	if (lines->fd < 0 || lines->total_bytes >= CGROUP_LINES_MAX_BYTES)
		return false;
	ssize_t n;
	do
		n = read(lines->fd, lines->data + lines->end, sizeof lines->data - lines->end);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	lines->end += (size_t)n;
	lines->total_bytes += (size_t)n;
	return true;
}

char *cgroup_lines_next(struct cgroup_lines *lines)
{
	for (;;) {
		char *line = lines->data + lines->start;
		char *newline = memchr(line, '\n', lines->end - lines->start);
		if (!newline) {
			if (!fill(lines))
				return NULL;
			continue;
		}
		*newline = '\0';
		lines->start = (size_t)(newline - lines->data) + 1;
		if (!lines->is_dropping)
			return line;
		lines->is_dropping = false;
	}
}

int cgroup_file_each(int dir_fd, const char *path, cgroup_visit_fn *visit, void *arg)
{
	_Alignas(struct dirent64) char data[CGROUP_LINE_BYTES];
	cleanup_fd int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = getdents64(fd, (void *)data, sizeof data);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(data + at);
			at += entry->d_reclen;
			if (!visit(arg, entry->d_name))
				return 0;
		}
	}
}

int cgroup_file_mkdir(const char *path, bool is_fake)
{
	if (mkdir(path, 0755) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	int r = cgroup_file_rmdir(path, is_fake);
	if (r < 0)
		return r;
	return mkdir(path, 0755) < 0 ? -errno : 0;
}

static bool remove_fake_file(void *arg, const char *name)
{
	char path[CGROUP_FILE_BYTES];
	if (cgroup_file_path(path, sizeof path, "%s/%s", (const char *)arg, name) == 0)
		(void)unlink(path);
	return true;
}

int cgroup_file_rmdir(const char *path, bool is_fake)
{
	char dir[CGROUP_FILE_BYTES];
	if (is_fake && cgroup_file_path(dir, sizeof dir, "%s", path) == 0)
		(void)cgroup_file_each(AT_FDCWD, dir, remove_fake_file, dir);
	return rmdir(path) < 0 ? -errno : 0;
}
