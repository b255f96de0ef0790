/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/init/file.h"

#include "base/fd.h"
#include "sandbox/syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 20, REMOVE_DEPTH_MAX = 100 };

static const char *const roots[INIT_FILE_ROOT_END_] = {
	[INIT_FILE_HOME] = "/home/user", [INIT_FILE_TMP] = "/tmp", [INIT_FILE_SHM] = "/dev/shm"};

static bool is_plain(const char *path)
{
	bool is_empty = !*path;
	while (*path) {
		size_t n = strcspn(path, "/");
		if (n == 0 || n > NAME_MAX || (n == 1 && path[0] == '.') ||
			(n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += n;
		if (*path == '/' && !*++path)
			return false;
	}
	return !is_empty;
}

/*
 * Split the request's text into path and target. Returns: whether the path is plain and relative:
 * "a/b", but not "/a" or "a/../b". The path ".", which is the root itself, is valid only for
 * INIT_FILE_MODE.
 */
static bool is_valid(const struct init_request *req, const char **path, const char **target)
{
	const char *end = memchr(req->text, '\0', req->text_bytes);
	if (!end || end == req->text || req->text[0] == '/' ||
		req->text[req->text_bytes - 1] != '\0')
		return false;
	*path = req->text;
	*target = end + 1 < req->text + req->text_bytes ? end + 1 : "";
	if (req->act == INIT_FILE_MODE && strcmp(*path, ".") == 0)
		return true;
	bool has_source = req->act == INIT_FILE_MOVE || req->act == INIT_FILE_NAME;
	return is_plain(*path) && (!has_source || is_plain(*target));
}

/* Change the mode of an O_PATH descriptor. fchmod() refuses such a descriptor, but its path in
 * /proc works. */
static int set_mode(int fd, mode_t mode)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return chmod(path, mode) < 0 ? -errno : 0;
}

/* Give the owner access to a directory whose mode forbids it. The engine sets the right mode
 * afterwards. */
static void make_usable(int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		(void)set_mode(fd, (st.st_mode & 0777) | S_IRWXU);
}

/* Open the directory that contains @path, one component at a time and without following a link. If
 * @is_made, missing directories are made. *@name becomes the last component. */
static int open_parent(const char *root, const char *path, bool is_made, const char **name)
{
	cleanup_fd int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char part[NAME_MAX + 1] = "";
		memcpy(part, path, (size_t)(slash - path));
		if (is_made && mkdirat(at, part, 0755) < 0 && errno != EEXIST)
			return -errno;
		int next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int sys = errno;
		fd_close(&at);
		if (next < 0)
			return -sys;
		at = next;
		make_usable(at);
	}
	*name = path;
	return at < 0 ? -errno : fd_take(&at);
}

static int remove_one(int dir, const char *name)
{
	int r = unlinkat(dir, name, 0);
	if (r < 0 && (errno == EISDIR || errno == EPERM))
		r = unlinkat(dir, name, AT_REMOVEDIR);
	return r < 0 ? -errno : 0;
}

static DIR *open_dir(int dir, const char *name)
{
	cleanup_fd int at = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return NULL;
	make_usable(at);
	cleanup_fd int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	if (list)
		(void)fd_take(&fd);
	return list;
}

/*
 * Remove a file, or a directory tree that is at most REMOVE_DEPTH_MAX deep. A directory is emptied
 * only if removing it fails with ENOTEMPTY. So volumes keep their content: removing a mount point
 * fails with EBUSY.
 */
static int remove_tree(int dir, const char *name, int depth)
{
	struct dirent *entry;
	int r = remove_one(dir, name);
	if ((r != -ENOTEMPTY && r != -EEXIST) || depth == REMOVE_DEPTH_MAX)
		return r;
	DIR *list = open_dir(dir, name);
	if (!list)
		return -errno;
	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)remove_tree(dirfd(list), entry->d_name, depth + 1);
	(void)closedir(list);
	return remove_one(dir, name);
}

static int change_mode(int dir, const char *name, mode_t mode)
{
	/* Use @dir itself: if the directory lacks search permission, "." in it cannot be opened. */
	if (strcmp(name, ".") == 0)
		return set_mode(dir, mode);
	struct stat st;
	cleanup_fd int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return -EINVAL;
	/* Do not set a mode that is right already. The file may have more bits (setgid), which
	 * chmod() would clear and we may not set again. */
	return (st.st_mode & 01777) == mode ? 0 : set_mode(fd, mode);
}

static int copy_all(int from, int to)
{
	for (;;) {
		ssize_t n = sendfile(to, from, NULL, COPY_BYTES);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* Make a new file with the name @name in the directory @dir. If an old file has this name, the
 * name is removed first. The content of the old file is not touched, since the old file may have
 * further names (hard links). */
static int open_anew(int dir, const char *name, mode_t mode)
{
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return -errno;
	int fd = openat(
		dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_CREAT | O_EXCL, mode);
	return fd < 0 ? -errno : fd;
}

/* Open the file @name for writing. An existing file keeps its inode, since a program may have
 * the file open. If the file cannot be opened, make a new file and set *@is_new. */
static int open_to_write(int dir, const char *name, mode_t mode, bool *is_new)
{
	int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	*is_new = fd < 0;
	return fd < 0 ? open_anew(dir, name, mode) : fd;
}

/* Replace the content of @to by that of @from. Space for the new content is reserved first, so
 * that the old content is kept if there is too little space. */
static int replace_content(int to, int from, mode_t mode)
{
	struct stat st, what;
	if (fstat(to, &st) < 0 || fstat(from, &what) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (what.st_size > 0 && fallocate(to, 0, 0, what.st_size) < 0 && errno != EOPNOTSUPP)
		return -errno;
	int r = copy_all(from, to);
	if (r == 0 && (ftruncate(to, lseek(to, 0, SEEK_CUR)) < 0 || fchmod(to, mode) < 0))
		r = -errno;
	return r;
}

static int write_file(int dir, const char *name, mode_t mode, int from, bool is_anew)
{
	bool is_new = is_anew;
	struct stat st;
	if ((mode & INIT_FILE_KEEP_MODE) && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(st.st_mode))
		mode = st.st_mode;
	mode &= 0777;
	cleanup_fd int to =
		is_anew ? open_anew(dir, name, mode) : open_to_write(dir, name, mode, &is_new);
	if (to < 0)
		return to;
	int r = replace_content(to, from, mode);
	if (r < 0 && is_new)
		(void)unlinkat(dir, name, 0);
	return r;
}

static int move(const char *root, const char *from_path, int dir, const char *name)
{
	const char *from_name = "";
	cleanup_fd int from = open_parent(root, from_path, false, &from_name);
	if (from < 0)
		return from;
	int r = sys_rename(from, from_name, dir, name, RENAME_NOREPLACE);
	if (r < 0 && errno == EEXIST)
		r = sys_rename(from, from_name, dir, name, RENAME_EXCHANGE);
	return r < 0 ? -errno : 0;
}

/*
 * Give the file at @from_path the additional name @name in the directory @dir. If @name exists
 * already, it is replaced.
 * The file first gets the temporary name `aside`. Then renameat() gives it the name @name in place
 * of `aside`. Only renameat() replaces the old file @name, so the old file is not lost if an
 * earlier operation fails.
 */
static int give_name(const char *root, const char *from_path, int dir, const char *name)
{
	static const char aside[] = ".retort-name";
	const char *from_name = "";
	cleanup_fd int from = open_parent(root, from_path, false, &from_name);
	if (from < 0)
		return from;
	if (linkat(from, from_name, dir, aside, 0) < 0)
		return -errno;
	int r = renameat(dir, aside, dir, name) < 0 ? -errno : 0;
	/* rename(2) does nothing if both names belong to one file; then `aside` still exists */
	(void)unlinkat(dir, aside, 0);
	return r;
}

static int change(const struct init_request *req, const char *root, int dir, const char *name,
	const char *target, int fd)
{
	int r = 0;
	switch ((enum init_file_act)req->act) {
	case INIT_FILE_REMOVE:
		return remove_tree(dir, name, 0);
	case INIT_FILE_UNLINK:
		r = unlinkat(dir, name, 0);
		break;
	case INIT_FILE_MODE:
		return change_mode(dir, name, req->mode & 01777);
	case INIT_FILE_DIR:
		r = mkdirat(dir, name, req->mode & 0777);
		break;
	case INIT_FILE_NAME:
		return give_name(root, target, dir, name);
	case INIT_FILE_MOVE:
		return move(root, target, dir, name);
	case INIT_FILE_LINK:
		r = symlinkat(target, dir, name);
		break;
	case INIT_FILE_WRITE:
	case INIT_FILE_ANEW:
		return write_file(dir, name, req->mode & 01777, fd, req->act == INIT_FILE_ANEW);
	case INIT_FILE_TIME:
		break;
	default:
		return -EINVAL;
	}
	return r < 0 ? -errno : 0;
}

int file_change(const struct init_request *req, int fd)
{
	return req->root < INIT_FILE_ROOT_END_ ? file_change_below(roots[req->root], req, fd)
					       : -EINVAL;
}

int file_change_below(const char *root, const struct init_request *req, int fd)
{
	const char *path, *target, *name = "";
	bool is_anew = req->act == INIT_FILE_ANEW;
	if (!is_valid(req, &path, &target) || (is_anew || req->act == INIT_FILE_WRITE) != (fd >= 0))
		return -EINVAL;
	bool is_made = req->act != INIT_FILE_REMOVE && req->act != INIT_FILE_UNLINK &&
		req->act != INIT_FILE_MODE && req->act != INIT_FILE_TIME;
	cleanup_fd int dir = open_parent(root, path, is_made, &name);
	if (dir < 0)
		return dir;
	int r = change(req, root, dir, name, target, fd);
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT}, {.tv_sec = req->modified_s, .tv_nsec = req->modified_ns}};
	if (r == 0 && req->is_timed && utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	return r;
}
