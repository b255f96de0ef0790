/* Reading and writing the content of files. SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "attributes.h"
#include "entry.h"
#include "files.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 256 << 10, FILE_MODE = 0666, MODE_BITS = 07777 };

static char chunk[CHUNK_BYTES];

static int fail_kind(const char *path, struct err *err)
{
	if (entry_is_directory(path))
		return err_fail(err, ERR_USAGE, "`path.list` lists a directory",
			"%.180s: a directory", path);
	return err_fail(err, ERR_USAGE, "a program of the box can open it",
		"%.150s: no regular file, but a pipe, a socket or a device", path);
}

/* ---- read ---- */

static int send(int fd, int64_t offset, int64_t left, const char *path, struct err *err)
{
	while (left != 0) {
		size_t room = left < 0 ? sizeof chunk : (size_t)MIN(left, (int64_t)sizeof chunk);
		ssize_t n = pread(fd, chunk, room, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? answer_fail(err, errno, path) : 0;
		int r = fd_write_all(STDOUT_FILENO, chunk, (size_t)n);
		if (r < 0)
			return err_sys(err, ERR_IO, -r, "write the answer");
		offset += n;
		left -= left < 0 ? 0 : n;
	}
	return 0;
}

int files_read(const char *path, int64_t offset, int64_t limit, struct err *err)
{
	struct stat st;
	cleanup_fd int fd = fd_open_regular(path);
	if (fd == -EINVAL || fd == -ENXIO || fd == -EISDIR)
		return fail_kind(path, err);
	if (fd < 0)
		return answer_fail(err, -fd, path);
	json_t *entry = entry_at(path, err);
	if (!entry)
		return -1;
	if (fstat(fd, &st) < 0)
		st.st_size = 0;
	int r = answer_line(STDERR_FILENO,
		json_pack("{s:I, s:o}", "size", (json_int_t)st.st_size, "entry", entry), err);
	return r < 0 ? r : send(fd, offset, limit, path, err);
}

/* ---- write ---- */

/* Receive @left bytes from stdin. */
static int receive(int fd, int64_t left, const char *path, struct err *err)
{
	while (left > 0) {
		ssize_t n = read(STDIN_FILENO, chunk, (size_t)MIN(left, (int64_t)sizeof chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(
				err, ERR_IO, "%.150s: only a part of the content came", path);
		int r = fd_write_all(fd, chunk, (size_t)n);
		if (r < 0)
			return answer_fail(err, -r, path);
		left -= n;
	}
	return 0;
}

/* Reserve the space that the content needs, before the old content is given up. File systems that
 * cannot reserve space report a full disk when the content is written. */
static int reserve(int fd, const struct stat *st, const struct files_write *w, struct err *err)
{
	off_t from = w->is_append ? st->st_size : 0;
	if (w->bytes == 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, from, w->bytes) == 0 ||
		(errno != ENOSPC && errno != EDQUOT))
		return 0;
	int r = answer_fail(err, errno, w->path);
	(void)!ftruncate(fd, st->st_size); /* gives back what was reserved */
	return r;
}

static int open_for_write(const struct files_write *w, bool *is_new, struct err *err)
{
	const int flags =
		O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (w->is_append ? O_APPEND : 0);
	const char *path = w->path;
	int r = files_make_parents(path, err);
	if (r < 0)
		return r;
	int fd = open(path, flags | O_CREAT | O_EXCL, FILE_MODE);
	*is_new = fd >= 0;
	/* The file exists, or a link of this name does, possibly to a file that does not exist. */
	if (fd < 0 && errno == EEXIST)
		fd = open(path, flags | O_CREAT, FILE_MODE);
	if (fd < 0)
		return errno == EISDIR || errno == ENXIO ? fail_kind(path, err)
							 : answer_fail(err, errno, path);
	return fd;
}

static int fill(int fd, const struct files_write *w, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return answer_fail(err, errno, w->path);
	if (!S_ISREG(st.st_mode))
		return fail_kind(w->path, err);
	int r = reserve(fd, &st, w, err);
	if (r == 0 && !w->is_append && ftruncate(fd, 0) < 0)
		r = answer_fail(err, errno, w->path);
	if (r == 0)
		r = receive(fd, w->bytes, w->path, err);
	if (r == 0 && w->mode >= 0 && fchmod(fd, (mode_t)w->mode & MODE_BITS) < 0)
		r = answer_fail(err, errno, w->path);
	if (r == 0 && w->prefix)
		r = attributes_set(fd, w->prefix, w->attributes, w->path, err);
	return r;
}

int files_write(const struct files_write *w, struct err *err)
{
	bool is_new = false;
	cleanup_fd int fd = open_for_write(w, &is_new, err);
	if (fd < 0)
		return fd;
	int r = fill(fd, w, err);
	if (r < 0 && is_new)
		(void)unlink(w->path);
	return r < 0 ? r : files_stat(w->path, err);
}
