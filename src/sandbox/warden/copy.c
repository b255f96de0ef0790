/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/copy.h"

#include "base/fd.h"
#include "sandbox/cgroup_file.h"
#include "sandbox/syscalls.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { COPY_CHUNK_BYTES = 256 << 10, COPY_MODE = 01777, UPPER_MODE = 07777, XATTR_BYTES = 4096 };

struct copying {
	int from, to;
	unsigned depth;
	/* -1; or if @from has the changes of an overlay: a directory in which each file with
	 * several names is noted by its number */
	int links;
	struct err *err;
	int result;
};

static int failed(struct err *err, int sys, const char *what, const char *name)
{
	/* Some kernels list a name again if it was renamed while the directory is read. */
	if (sys == EEXIST)
		return 0;
	if (sys == ENOSPC || sys == EDQUOT) {
		err_sys(err, ERR_NO_SPACE, sys, "%s %.100s in the branch's workspace", what, name);
		err_hint(err,
			"the workspace does not fit into the branch's disk limit: raise it, "
			"or remove files first");
		return -sys;
	}
	return err_sys(err, ERR_IO, sys, "%s %.100s for the branch's workspace", what, name);
}

static int copy_range(int from, int to, off_t at, off_t end)
{
	static char data[COPY_CHUNK_BYTES];
	while (at < end) {
		ssize_t n = pread(from, data, (size_t)MIN(end - at, (off_t)sizeof data), at);
		if (n == 0)
			return 0; /* the file became shorter meanwhile */
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (ssize_t done = 0; done < n;) {
			ssize_t w = pwrite(to, data + done, (size_t)(n - done), at + done);
			if (w < 0 && errno == EINTR)
				continue;
			if (w < 0)
				return -errno;
			done += w;
		}
		at += n;
	}
	return 0;
}

/* Copy the data and keep holes. Reflinks are impossible, since source and target are never on one
 * file system. */
static int copy_data(int from, int to, off_t bytes)
{
	off_t at = 0;
	if (ftruncate(to, bytes) < 0)
		return -errno;
	while (at < bytes) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			return 0; /* the rest of the file is a hole */
		if (data < 0)
			data = at; /* this file system does not report holes, so copy everything */
		off_t hole = lseek(from, data, SEEK_HOLE);
		off_t end = hole < 0 ? bytes : MIN(hole, bytes);
		int r = copy_range(from, to, data, end);
		if (r < 0)
			return r;
		at = MAX(end, data + 1);
	}
	return 0;
}

static mode_t mode_of(const struct copying *c, const struct stat *st)
{
	return st->st_mode & (c->links >= 0 ? UPPER_MODE : COPY_MODE);
}

/*
 * Copy the attributes of a program and those of the overlay. Source: the kernel's
 * filesystems/overlayfs.rst. Returns: 0, or negative errno.
 */
static int copy_attributes(const struct copying *c, int from, int to)
{
	char names[XATTR_BYTES], value[XATTR_BYTES];
	ssize_t n = c->links < 0 || from < 0 ? 0 : flistxattr(from, names, sizeof names);
	for (const char *name = names; name < names + MAX(n, 0); name += strlen(name) + 1) {
		if (strncmp(name, "user.", 5) != 0)
			continue;
		ssize_t bytes = fgetxattr(from, name, value, sizeof value);
		if (bytes >= 0 && fsetxattr(to, name, value, (size_t)bytes, 0) < 0)
			return -errno;
	}
	return 0;
}

static void link_name(const struct stat *st, char out[32])
{
	snprintf(out, 32, "%llu", (unsigned long long)st->st_ino);
}

/* If a file with several names was copied under another of them, make this one a name of the copy.
 * Returns: 1 if so; 0 if it is to be copied; or negative errno. */
static int copy_as_link(const struct copying *c, const char *name, const struct stat *st)
{
	char number[32];
	if (c->links < 0 || st->st_nlink < 2)
		return 0;
	link_name(st, number);
	if (linkat(c->links, number, c->to, name, 0) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

static int note_link(const struct copying *c, const char *name, const struct stat *st)
{
	char number[32];
	if (c->links < 0 || st->st_nlink < 2)
		return 0;
	link_name(st, number);
	return linkat(c->to, name, c->links, number, 0) < 0 ? -errno : 0;
}

static int copy_file(const struct copying *c, const char *name, int from, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	cleanup_fd int to =
		openat(c->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return failed(c->err, errno, "create", name);
	int r = copy_data(from, to, st->st_size);
	if (r == 0)
		r = copy_attributes(c, from, to);
	if (r == 0)
		r = note_link(c, name, st);
	if (r < 0)
		return failed(c->err, -r, "write", name);
	if (fchmod(to, mode_of(c, st)) < 0 || futimens(to, times) < 0)
		return failed(c->err, errno, "set mode and times of", name);
	return 0;
}

static int copy_link(const struct copying *c, const char *name, const struct stat *st)
{
	char target[PATH_MAX];
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	ssize_t n = readlinkat(c->from, name, target, sizeof target - 1);
	if (n < 0)
		return 0;
	target[n] = '\0';
	if (symlinkat(target, c->to, name) < 0)
		return failed(c->err, errno, "link", name);
	(void)utimensat(c->to, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static bool copy_entry(void *arg, const char *name);

/* Copy a directory. @from is -1 for a mount point, whose content is not copied. */
static int copy_dir(const struct copying *c, const char *name, int from, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	if (mkdirat(c->to, name, 0700) < 0)
		return failed(c->err, errno, "make directory", name);
	cleanup_fd int to = openat(c->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return failed(c->err, errno, "open directory", name);
	struct copying below = {
		.from = from, .to = to, .depth = c->depth + 1, .links = c->links, .err = c->err};
	if (below.depth > WIRE_DIRS_MAX) {
		err_set(c->err, ERR_LIMIT, "the workspace is more than %d directories deep",
			WIRE_DIRS_MAX);
		/* from ENAMETOOLONG the engine knows that the files were not copied */
		c->err->sys = ENAMETOOLONG;
		return -err_errno(ERR_LIMIT);
	}
	int bad = copy_attributes(c, from, to);
	if (bad < 0)
		return failed(c->err, -bad, "set attributes of", name);
	int r = from < 0 ? 0 : cgroup_file_each(from, ".", copy_entry, &below);
	if (r == -ENOENT)
		r = 0; /* the directory was removed meanwhile */
	if (r < 0 || below.result < 0)
		return below.result < 0 ? below.result : failed(c->err, -r, "read", name);
	if (fchmod(to, mode_of(c, st)) < 0 || futimens(to, times) < 0)
		return failed(c->err, errno, "set mode and times of", name);
	return 0;
}

/* Copy a file or directory. The entry may have been replaced since it was checked, so check the
 * open descriptor again. */
static int copy_opened(const struct copying *c, const char *name, bool is_dir)
{
	struct stat st;
	cleanup_fd int from = sys_open_below(c->from, name,
		O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC |
			(is_dir ? O_DIRECTORY : 0));
	if (from < 0 && errno == EXDEV) {
		st = (struct stat){.st_mode = is_dir ? 0755 : 0644};
		if (is_dir)
			return copy_dir(c, name, -1, &st);
		cleanup_fd int to =
			openat(c->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		return to < 0 ? failed(c->err, errno, "create", name) : 0;
	}
	if (from < 0 || fstat(from, &st) < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == ENXIO
			? 0
			: failed(c->err, errno, "open", name);
	if (S_ISDIR(st.st_mode) && is_dir)
		return copy_dir(c, name, from, &st);
	return S_ISREG(st.st_mode) ? copy_file(c, name, from, &st) : 0;
}

static int copy_fifo(const struct copying *c, const char *name, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	if (mkfifoat(c->to, name, st->st_mode & 0777) < 0)
		return failed(c->err, errno, "make fifo", name);
	(void)utimensat(c->to, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* Copy the mark of a file that is deleted. */
static int copy_mark(const struct copying *c, const char *name, const struct stat *st)
{
	int r = mknodat(c->to, name, S_IFCHR, 0) < 0 ? -errno : note_link(c, name, st);
	return r < 0 ? failed(c->err, -r, "mark", name) : 0;
}

static int copy_one(const struct copying *c, const char *name)
{
	struct stat st;
	if (fstatat(c->from, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return 0;
	if (S_ISLNK(st.st_mode))
		return copy_link(c, name, &st);
	if (S_ISFIFO(st.st_mode))
		return copy_fifo(c, name, &st);
	int r = S_ISDIR(st.st_mode) ? 0 : copy_as_link(c, name, &st);
	if (r != 0)
		return r < 0 ? failed(c->err, -r, "link", name) : 0;
	if (c->links >= 0 && S_ISCHR(st.st_mode) && st.st_rdev == 0)
		return copy_mark(c, name, &st);
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)
		? copy_opened(c, name, S_ISDIR(st.st_mode))
		: 0;
}

static bool copy_entry(void *arg, const char *name)
{
	struct copying *c = arg;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	c->result = copy_one(c, name);
	return c->result == 0;
}

int copy_tree(int from, int to, int links, struct err *err)
{
	struct copying c = {.from = from, .to = to, .links = links, .err = err};
	int r = cgroup_file_each(from, ".", copy_entry, &c);
	if (c.result < 0)
		return c.result;
	if (r < 0)
		return failed(err, -r, "read", "the workspace");
	struct stat st;
	if (fstat(from, &st) < 0 || fchmod(to, mode_of(&c, &st) | S_IRWXU) < 0)
		return failed(err, errno, "set mode of", "the workspace");
	return 0;
}
