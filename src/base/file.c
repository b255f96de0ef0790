/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/fd.h"
#include "base/id.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10, ASIDE_BYTES = 32 };

enum err_code file_code(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
		return ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
	case ELOOP:
		return ERR_ACCESS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return ERR_NO_SPACE;
	case ENOMEM:
		return ERR_NO_MEMORY;
	default:
		return ERR_IO;
	}
}

/*
 * Reserve room for the next read: READ_BYTES, or less near the buffer's maximum.
 * Returns: NULL if the buffer is full (then *@bytes is 0), or if memory is exhausted.
 */
static char *find_room(struct buf *out, size_t *bytes)
{
	*bytes = MIN((size_t)READ_BYTES, out->max_bytes - out->bytes);
	return *bytes > 0 ? buf_reserve(out, *bytes) : NULL;
}

int file_read_fd(struct buf *out, int fd)
{
	for (;;) {
		char one;
		size_t bytes;
		char *at = find_room(out, &bytes);
		if (!at && bytes > 0)
			return -ENOMEM;
		/* When the buffer is full, read one byte to see whether the file ends here. */
		ssize_t n = read(fd, at ? at : &one, at ? bytes : 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (!at)
			return -E2BIG;
		buf_grown(out, (size_t)n);
	}
}

int file_read(struct buf *out, const char *path)
{
	cleanup_fd int fd = fd_open_regular(path);
	return fd < 0 ? fd : file_read_fd(out, fd);
}

int file_load(struct buf *out, const char *path, const char *what, struct err *err)
{
	int r = file_read(out, path);
	if (r == -EINVAL)
		return err_set(err, ERR_USAGE, "%s %.150s: not a regular file", what, path);
	if (r == -E2BIG)
		return err_set(err, ERR_LIMIT, "%s %.150s: over %s", what, path,
			num_format_bytes(out->max_bytes).text);
	return r < 0 ? err_sys(err, file_code(-r), -r, "%s %.150s", what, path) : 0;
}

static int make_dir(const char *path, mode_t mode)
{
	struct stat st;
	int sys = mkdir(path, mode) < 0 ? errno : 0;
	/* On a read-only file system mkdir(2) may fail with EROFS although the directory exists. */
	return sys && sys != EEXIST && stat(path, &st) < 0 ? -sys : 0;
}

int file_make_dirs(const char *path, mode_t mode, mode_t parents)
{
	char part[PATH_MAX];
	size_t bytes = strlen(path);
	if (bytes == 0 || bytes >= sizeof part)
		return bytes == 0 ? -ENOENT : -ENAMETOOLONG;
	memcpy(part, path, bytes + 1);
	for (char *at = part + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		int r = make_dir(part, parents);
		*at = '/';
		if (r < 0)
			return r;
	}
	return make_dir(part, mode);
}

static int write_aside(
	int dir, const char *aside, const void *data, size_t bytes, mode_t mode, unsigned flags)
{
	cleanup_fd int fd =
		openat(dir, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	int r = fd < 0 ? -errno : fd_write_all(fd, data, bytes);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (r == 0 && (flags & FILE_PUT_SYNC) && fsync(fd) < 0)
		r = -errno;
	if (r < 0 && fd >= 0)
		unlinkat(dir, aside, 0);
	return r;
}

int file_put(int dir, const char *name, const void *data, size_t bytes, mode_t mode, unsigned flags)
{
	char aside[ASIDE_BYTES];
	id_make(aside, sizeof aside, ".retort-");
	int r = write_aside(dir, aside, data, bytes, mode, flags);
	if (r < 0)
		return r;
	if (flags & FILE_PUT_NEW) /* link(2) never replaces a file */
		r = linkat(dir, aside, dir, name, 0) < 0 ? -errno : 0;
	else
		r = renameat(dir, aside, dir, name) < 0 ? -errno : 0;
	/* Remove the temporary name. It still exists after link(2), after a failure, and if both
	 * names were links to one file, because rename(2) then does nothing. */
	unlinkat(dir, aside, 0);
	if (r == 0 && (flags & FILE_PUT_SYNC))
		fsync(dir);
	return r;
}
