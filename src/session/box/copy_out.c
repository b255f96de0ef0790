/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/copy_out.h"

#include "base/fd.h"
#include "base/num.h"
#include "sandbox/syscalls.h"
#include "sandbox/wire.h"
#include "session/box/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

struct copied_file {
	dev_t dev; /* identity of the file in the workspace */
	ino_t ino;
	dev_t out_dev; /* identity of the file's copy on the host */
	ino_t out_ino;
	char *path;
};

void copy_out_done(struct copy_out *c)
{
	for (size_t i = 0; i < c->n_copied; i++)
		free(c->copied[i].path);
	free(c->copied);
	c->copied = NULL;
	c->n_copied = c->room = 0;
}

static const struct copied_file *find_copied(const struct copy_out *c, const struct stat *st)
{
	for (size_t i = 0; st->st_nlink > 1 && i < c->n_copied; i++)
		if (c->copied[i].ino == st->st_ino && c->copied[i].dev == st->st_dev)
			return &c->copied[i];
	return NULL;
}

/*
 * Remember the copy of a file that has several names, so that its other names can be linked to the
 * copy. If memory is lacking, the copy is not remembered, and the file is copied again for each of
 * its other names.
 */
static void note_copied(
	struct copy_out *c, const char *path, const struct stat *from, const struct stat *out)
{
	if (c->n_copied == c->room) {
		size_t room = c->room ? c->room * 2 : 16;
		struct copied_file *copied = realloc(c->copied, room * sizeof *copied);
		if (!copied)
			return;
		c->copied = copied;
		c->room = room;
	}
	char *copy = strdup(path);
	if (copy)
		c->copied[c->n_copied++] = (struct copied_file){.dev = from->st_dev,
			.ino = from->st_ino,
			.out_dev = out->st_dev,
			.out_ino = out->st_ino,
			.path = copy};
}

/* Make the missing parent directories of @path below @dir_fd. *@name becomes the last component
 * of @path. Returns: a descriptor of the last directory, or negative errno. */
static int make_parents(int dir_fd, const char *path, const char **name)
{
	cleanup_fd int at = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char part[NAME_MAX + 1];
		size_t n = (size_t)(slash - path);
		if (n >= sizeof part)
			return -ENAMETOOLONG;
		memcpy(part, path, n);
		part[n] = '\0';
		if (mkdirat(at, part, 0777) < 0 && errno != EEXIST)
			return -errno;
		int next = sys_open_beneath(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		if (next < 0)
			return -errno;
		fd_close(&at);
		at = next;
	}
	*name = path;
	return at < 0 ? -errno : fd_take(&at);
}

static int copy_range(int from, int to, off_t at, off_t end)
{
	if (lseek(to, at, SEEK_SET) < 0)
		return -errno;
	while (at < end) {
		ssize_t n = sendfile(to, from, &at, (size_t)MIN(end - at, (off_t)1 << 24));
		if (n == 0)
			return 0; /* another process has shortened the file */
		if (n < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Copy the data but keep the holes. A sparse file takes little space in the box, but written in
 * full it could fill the host's disk. */
static int copy_bytes(int from, int to, off_t size)
{
	int r = ftruncate(to, size) < 0 ? -errno : 0;
	for (off_t at = 0; r == 0 && at < size;) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		off_t hole = lseek(from, data, SEEK_HOLE);
		at = hole < 0 ? size : hole;
		r = copy_range(from, to, data, at);
	}
	return r;
}

static int out_failed(int sys, const char *path, struct err *err)
{
	enum err_code code = sys == ENOSPC || sys == EDQUOT ? ERR_NO_SPACE : ERR_IO;
	return err_sys(err, code, sys, "copy %s out", path);
}

/* Make @name in @dir a hard link to the copy of @first. Returns: 0 or negative errno, which is
 * -ESTALE if another process has replaced the copy. */
static int link_copy(
	const struct copy_out *c, const struct copied_file *first, int dir, const char *name)
{
	struct stat st;
	const char *first_name = first->path;
	cleanup_fd int first_dir = make_parents(c->out_fd, first->path, &first_name);
	if (first_dir < 0)
		return first_dir;
	if (linkat(first_dir, first_name, dir, name, 0) < 0)
		return -errno;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == first->out_ino &&
		st.st_dev == first->out_dev)
		return 0;
	(void)unlinkat(dir, name, 0);
	return -ESTALE;
}

static int make_copy(int from, const struct stat *st, int dir, const char *name, struct stat *out)
{
	cleanup_fd int to = openat(
		dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (to < 0)
		return -errno;
	int r = copy_bytes(from, to, st->st_size);
	if (r == 0 && (st->st_mode & S_IXUSR))
		(void)fchmod(to, 0755);
	return r == 0 && fstat(to, out) < 0 ? -errno : r;
}

/* Add the size of @path to `again_bytes`. The file has several names and was already copied
 * under one of them, but a hard link to that copy cannot be made, so @path becomes a further
 * copy. Errors: ERR_LIMIT if the sum would exceed `again_bytes_max`. */
static int count_again(struct copy_out *c, const struct stat *st, const char *path, struct err *err)
{
	uint64_t bytes = MIN((uint64_t)st->st_size, (uint64_t)st->st_blocks * 512);
	if (bytes > c->again_bytes_max - MIN(c->again_bytes, c->again_bytes_max))
		return err_fail(err, ERR_LIMIT,
			"choose a directory on a file system that has hard links",
			"copy %s out: copies of hard-linked files are over %s", path,
			num_format_bytes(c->again_bytes_max).text);
	c->again_bytes += bytes;
	return 0;
}

static int copy_to(struct copy_out *c, int from, const char *path, struct err *err)
{
	struct stat st, out;
	const char *name = path;
	char temporary[64];
	uint64_t random;
	if (fstat(from, &st) < 0)
		return err_sys(err, ERR_ACCESS, errno, "read %s in the workspace", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_ACCESS, "%s in the workspace is not a regular file", path);
	cleanup_fd int dir = make_parents(c->out_fd, path, &name);
	if (dir < 0)
		return out_failed(-dir, path, err);
	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		return out_failed(errno, path, err);
	/* A box may be able to write to this directory, so the temporary name is one that no
	 * program can guess. */
	snprintf(temporary, sizeof temporary, ".retort-%016llx.part", (unsigned long long)random);
	const struct copied_file *first = find_copied(c, &st);
	int r = first ? link_copy(c, first, dir, temporary) : -ENOENT;
	if (r < 0) {
		if (first && count_again(c, &st, path, err) < 0)
			return -err_errno(ERR_LIMIT);
		r = make_copy(from, &st, dir, temporary, &out);
		if (r == 0 && !first && st.st_nlink > 1)
			note_copied(c, path, &st, &out);
	}
	if (r == 0 && renameat(dir, temporary, dir, name) < 0)
		r = -errno;
	/* If both names are links to the same file, rename() does nothing, and the temporary
	 * name remains. */
	(void)unlinkat(dir, temporary, 0);
	return r < 0 ? out_failed(-r, path, err) : 0;
}

int copy_out_file(struct copy_out *c, const char *path, struct err *err)
{
	cleanup_fd int from =
		sys_open_beneath(c->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (from < 0)
		return err_sys(err, ERR_ACCESS, errno, "read %s in the workspace", path);
	if (workspace_depth(path) > WIRE_DIRS_MAX)
		return err_set(err, ERR_ACCESS, "copy out: more than %d directories deep: %s",
			WIRE_DIRS_MAX, path);
	return copy_to(c, from, path, err);
}
