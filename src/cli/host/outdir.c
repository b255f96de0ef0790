/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/outdir.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOLE_BYTES = 4096 };

int outdir_open(const char *path, struct err *err)
{
	int fd = -1;
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && faccessat(fd, ".", W_OK, 0) == 0)
		return fd;
	int r = err_sys(err, ERR_ACCESS, errno, "--out %s", path);
	fd_close(&fd);
	return err_hint(err, "choose a directory that you may write to"), r;
}

static int refuse(const char *path, int sys, struct err *err)
{
	enum err_code code = sys == ENOSPC || sys == EDQUOT ? ERR_NO_SPACE
		: sys == EIO				    ? ERR_IO
							    : ERR_ACCESS;
	int r = err_sys(err, code, sys, "write %.150s", path);
	return err_hint(err, "choose another --out"), r;
}

/* Open the directory that contains the last component of @path. Missing directories are created.
 * @name: set to the last component, within @path. Returns: a descriptor, or negative errno. */
static int open_parent(int dir_fd, char *path, char **name)
{
	cleanup_fd int at = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	char *part = path;
	for (char *slash; at >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
		*slash = '\0';
		if (strcmp(part, "..") == 0 || part[0] == '\0')
			return -EXDEV;
		(void)mkdirat(at, part, 0777);
		int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int sys = errno;
		fd_close(&at);
		if (next < 0)
			return -sys;
		at = next;
	}
	if (strcmp(part, "..") == 0 || strcmp(part, ".") == 0 || part[0] == '\0')
		return -EXDEV;
	*name = part;
	return at < 0 ? -errno : take_fd(at);
}

/* Rename a file. If @is_new, do not replace an existing file. If the file system cannot refuse
 * that during the rename, check before the rename whether @to exists. */
static int move(int dir, const char *from, const char *to, bool is_new)
{
	struct stat st;
	int r = renameat2(dir, from, dir, to, is_new ? RENAME_NOREPLACE : 0) < 0 ? -errno : 0;
	if (!is_new || r != -EINVAL)
		return r;
	if (fstatat(dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(dir, from, dir, to) < 0 ? -errno : 0;
}

/* The name of a temporary file in the directory of the target. */
struct temporary {
	char name[64];
};

static struct temporary make_temporary(int dir)
{
	struct temporary t;
	snprintf(t.name, sizeof t.name, ".retort-%ld.part", (long)getpid());
	(void)unlinkat(dir, t.name, 0);
	return t;
}

static int write_with_holes(int to, const char *data, size_t bytes)
{
	static const char zeros[HOLE_BYTES];
	int r = ftruncate(to, (off_t)bytes) < 0 ? -errno : 0;
	for (size_t at = 0, end; r == 0 && at < bytes; at = end) {
		for (end = at; end < bytes; end += HOLE_BYTES)
			if (memcmp(data + end, zeros, MIN(bytes - end, sizeof zeros)) == 0)
				break;
		end = MIN(end, bytes);
		if (end > at) {
			if (lseek(to, (off_t)at, SEEK_SET) < 0)
				return -errno;
			r = fd_write_all(to, data + at, end - at);
		} else {
			end = MIN(at + HOLE_BYTES, bytes);
		}
	}
	return r;
}

/* Write a file under a temporary name, then rename it to @name with move(). If @name is a
 * regular file already, the new file gets its mode. @file: filled with the identity of the new
 * file; may be NULL. */
static int put(int dir, const char *name, const void *data, size_t bytes, bool is_new,
	struct outdir_file *file)
{
	struct stat st;
	const struct temporary temporary = make_temporary(dir);
	cleanup_fd int to = openat(
		dir, temporary.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	int r = to < 0 ? -errno : 0;
	if (r == 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		r = fchmod(to, st.st_mode & 0777) < 0 ? -errno : 0;
	if (r == 0)
		r = write_with_holes(to, data, bytes);
	if (r == 0 && file && (r = fstat(to, &st) < 0 ? -errno : 0) == 0)
		*file = (struct outdir_file){st.st_dev, st.st_ino};
	if (r == 0)
		r = move(dir, temporary.name, name, is_new);
	if (r < 0 && to >= 0)
		(void)unlinkat(dir, temporary.name, 0);
	return r;
}

int outdir_put(int dir_fd, const char *path, const void *data, size_t bytes,
	struct outdir_file *file, struct err *err)
{
	char copy[PATH_MAX], *name = copy;
	if (strlen(path) >= sizeof copy)
		return refuse(path, ENAMETOOLONG, err);
	strcpy(copy, path);
	cleanup_fd int dir = open_parent(dir_fd, copy, &name);
	int r = dir < 0 ? dir : put(dir, name, data, bytes, false, file);
	return r < 0 ? refuse(path, -r, err) : 0;
}

int outdir_link(int dir_fd, const char *first, const struct outdir_file *file, const char *path)
{
	char copy[PATH_MAX], first_copy[PATH_MAX], *name = copy, *first_name = first_copy;
	struct stat st;
	if (strlen(path) >= sizeof copy || strlen(first) >= sizeof first_copy)
		return -ENAMETOOLONG;
	strcpy(copy, path);
	strcpy(first_copy, first);
	cleanup_fd int dir = open_parent(dir_fd, copy, &name);
	cleanup_fd int first_dir = open_parent(dir_fd, first_copy, &first_name);
	if (dir < 0 || first_dir < 0)
		return MIN(dir, first_dir);
	const struct temporary temporary = make_temporary(dir);
	int r = linkat(first_dir, first_name, dir, temporary.name, 0) < 0 ? -errno : 0;
	if (r == 0 && fstatat(dir, temporary.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0 && (st.st_ino != file->ino || st.st_dev != file->dev))
		r = -ESTALE;
	if (r == 0 && renameat(dir, temporary.name, dir, name) < 0)
		r = -errno;
	/* If the temporary name and @path are links to the same file, rename(2) succeeds but
	 * does nothing. So remove the temporary name even after success. */
	(void)unlinkat(dir, temporary.name, 0);
	return r;
}

/* Open the directory that contains the last component of @path, and set *@name to this
 * component. Returns: a descriptor, or negative errno. */
static int open_place(char path[PATH_MAX], const char **name)
{
	char *slash = strrchr(path, '/');
	*name = slash ? slash + 1 : path;
	const char *dir = !slash ? "." : slash == path ? "/" : path;
	if (slash)
		*slash = '\0';
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int outdir_put_at(const char *path, const void *data, size_t bytes, struct err *err)
{
	char place[PATH_MAX];
	const char *name;
	struct stat st;
	int r;
	if (strlen(path) >= sizeof place)
		return refuse(path, ENAMETOOLONG, err);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		cleanup_fd int to = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		r = to < 0 ? -errno : fd_write_all(to, data, bytes);
		return r < 0 ? refuse(path, -r, err) : 0;
	}
	if (!realpath(path, place))
		strcpy(place, path);
	cleanup_fd int dir = open_place(place, &name);
	r = dir < 0 ? dir : put(dir, name, data, bytes, false, NULL);
	return r < 0 ? refuse(path, -r, err) : 0;
}

int outdir_put_new(const char *path, const void *data, size_t bytes, struct err *err)
{
	char place[PATH_MAX];
	const char *name;
	if (strlen(path) >= sizeof place)
		return refuse(path, ENAMETOOLONG, err);
	strcpy(place, path);
	cleanup_fd int dir = open_place(place, &name);
	int r = dir < 0 ? dir : put(dir, name, data, bytes, true, NULL);
	if (r == -EEXIST)
		(void)err_set(err, ERR_ACCESS, "%.150s is there already", path);
	else if (r < 0)
		(void)refuse(path, -r, err);
	return r;
}
