/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/warden/copy.h"

#include "base/fd.h"
#include "sandbox/cgroup_file.h"
#include "sandbox/syscalls.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { COPY_CHUNK_BYTES = 256 << 10, COPY_MODE = 01777 };

struct copying {
	int from, to;
	unsigned depth;
	bool is_upper;
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

static int copy_file(const struct copying *c, const char *name, int from, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	cleanup_fd int to =
		openat(c->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return failed(c->err, errno, "create", name);
	int r = copy_data(from, to, st->st_size);
	if (r < 0)
		return failed(c->err, -r, "write", name);
	if (fchmod(to, st->st_mode & COPY_MODE) < 0 || futimens(to, times) < 0)
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

/* Copy the mark of a directory that hides what is below it in the layers. Returns: 0, or -1 with
 * errno. Source: the kernel's filesystems/overlayfs.rst. */
static int copy_opaque(int from, int to)
{
	static const char mark[] = "user.overlay.opaque";
	char value[2];
	ssize_t n = from < 0 ? 0 : fgetxattr(from, mark, value, sizeof value);
	return n > 0 ? fsetxattr(to, mark, value, (size_t)n, 0) : 0;
}

/* Copy a directory. @from is -1 for a mount point, whose content is not copied. */
static int copy_dir(const struct copying *c, const char *name, int from, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	if (mkdirat(c->to, name, 0700) < 0)
		return failed(c->err, errno, "make directory", name);
	cleanup_fd int to = openat(c->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return failed(c->err, errno, "open directory", name);
	struct copying below = {.from = from,
		.to = to,
		.depth = c->depth + 1,
		.is_upper = c->is_upper,
		.err = c->err};
	if (below.depth > WIRE_DIRS_MAX) {
		err_set(c->err, ERR_LIMIT, "the workspace is more than %d directories deep",
			WIRE_DIRS_MAX);
		/* from ENAMETOOLONG the engine knows that the files were not copied */
		c->err->sys = ENAMETOOLONG;
		return -err_errno(ERR_LIMIT);
	}
	if (c->is_upper && copy_opaque(from, to) < 0)
		return failed(c->err, errno, "mark directory", name);
	int r = from < 0 ? 0 : cgroup_file_each(from, ".", copy_entry, &below);
	if (r == -ENOENT)
		r = 0; /* the directory was removed meanwhile */
	if (r < 0 || below.result < 0)
		return below.result < 0 ? below.result : failed(c->err, -r, "read", name);
	if (fchmod(to, st->st_mode & COPY_MODE) < 0 || futimens(to, times) < 0)
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

static int copy_one(const struct copying *c, const char *name)
{
	struct stat st;
	if (fstatat(c->from, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return 0;
	if (S_ISLNK(st.st_mode))
		return copy_link(c, name, &st);
	if (S_ISFIFO(st.st_mode))
		return copy_fifo(c, name, &st);
	/* the mark of a file that is deleted */
	if (c->is_upper && S_ISCHR(st.st_mode) && st.st_rdev == 0)
		return mknodat(c->to, name, S_IFCHR, 0) < 0 ? failed(c->err, errno, "mark", name)
							    : 0;
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

int copy_tree(int from, int to, bool is_upper, struct err *err)
{
	struct copying c = {.from = from, .to = to, .is_upper = is_upper, .err = err};
	int r = cgroup_file_each(from, ".", copy_entry, &c);
	if (c.result < 0)
		return c.result;
	if (r < 0)
		return failed(err, -r, "read", "the workspace");
	struct stat st;
	if (fstat(from, &st) < 0 || fchmod(to, (st.st_mode & COPY_MODE) | S_IRWXU) < 0)
		return failed(err, errno, "set mode of", "the workspace");
	return 0;
}
