/*
 * Putting the entries of a layer into a directory, as overlays want them.
 *
 * Theory of operation. The archive is hostile. Each path is split into the directory and the last
 * name. The directory is opened as if the tree were the root of a file system (resolve.h), so links
 * of the layer lead where they would lead in the image, and never out of the tree. What is missing
 * of it is made. All else happens by the last name below this descriptor, and follows no link.
 * Modes and times are set by descriptors of what was opened: the process has no call that sets them
 * by path (lock.h), so a symbolic link keeps the time at which it is made. Entries mostly come
 * directory by directory, so the last directory is kept open until something is removed, which
 * might have been a part of its path.
 *
 * A layer says that a file of the layers below is removed by an empty file ".wh.NAME", and that
 * nothing below a directory is to be seen by ".wh..wh..opq" in it. For overlays these are a
 * character device 0:0 of that name, which everybody may make, and the attribute
 * user.overlay.opaque. A directory that replaces a file or a removed directory is opaque.
 *
 * Owners and extended attributes are not kept, nor are set-id bits: a box has one user. Its owner
 * may read and write every file, since an engine without privileges could not show it otherwise.
 *
 * Source: OCI image specification, layer.md; the kernel's filesystems/overlayfs.rst.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/process/tree.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/utf8.h"
#include "image/process/duplicate.h"
#include "image/process/resolve.h"
#include "layer/layer_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SHOWN_BYTES = 100 };
/* How many names paths may lead through: for the whole archive, and more for each entry. */
enum { STEPS = 1 << 20, ENTRY_STEPS = 32 };
enum { DIR_NAMES_BYTES = 400 << 20 };

static const char removed[] = ".wh.", opaque[] = ".wh..wh..opq", special[] = ".wh..wh.";

/* A directory whose time is set at the end, since making its entries changes it. */
struct dated {
	char *path;
	struct timespec time;
};

struct tree {
	struct resolver resolver;
	uint64_t max_bytes, max_entries;
	struct unpack_counts counts;
	/* The directory of the last entry; dir_fd is -1 if there is none. O_PATH. Something has
	 * been removed since it was opened, so the path may lead elsewhere: is_stale. */
	char dir[PATH_MAX];
	int dir_fd;
	bool is_stale;
	/* The file that is being written, or -1. */
	int file_fd;
	uint64_t file_bytes;
	struct timespec file_time;
	struct dated *dirs;
	size_t n_dirs, room, dir_bytes;
};

/* Where an entry goes: the last name of its path, and the directory that has it, which belongs to
 * the tree. */
struct place {
	int dir;
	const char *name;
};

int tree_open(struct tree **out, int fd, const struct unpack_request *request, struct err *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return err_set(err, ERR_NO_MEMORY, "no memory for a layer");
	(*out)->resolver = (struct resolver){.root = fd, .steps = STEPS, .arg = *out};
	(*out)->dir_fd = (*out)->file_fd = -1;
	(*out)->max_bytes = request->max_bytes;
	(*out)->max_entries = request->max_entries;
	return 0;
}

void tree_close(struct tree *t)
{
	if (!t)
		return;
	fd_close(&t->dir_fd);
	fd_close(&t->file_fd);
	for (size_t i = 0; i < t->n_dirs; i++)
		free(t->dirs[i].path);
	free(t->dirs);
	free(t);
}

struct unpack_counts tree_counts(const struct tree *t)
{
	return t->counts;
}

/* ---- errors ---- */

/* A path of the archive, so that it can be shown. */
struct shown {
	char text[4 * SHOWN_BYTES + 8];
};

static struct shown show(const char *path)
{
	struct shown out = {.text = ""};
	cleanup_buf struct buf b = BUF_INIT(sizeof out.text - 1);
	size_t bytes = strlen(path), n = utf8_cut(path, bytes, SHOWN_BYTES);
	while (n > 0 && (buf_clear(&b), utf8_escape_terminal(&b, path, n, UTF8_ONE_LINE)) < 0)
		n = utf8_cut(path, bytes, n / 2);
	snprintf(out.text, sizeof out.text, "%.200s%s", buf_str(&b), n < bytes ? "…" : "");
	return out;
}

static int fail(struct err *err, const char *path)
{
	int sys = errno;
	return err_sys(err, file_code(sys), sys, "unpack %s", show(path).text);
}

static int refuse(struct err *err, const char *path, const char *why)
{
	return err_set(err, ERR_USAGE, "the archive has %s, %s", show(path).text, why);
}

/* ---- directories ---- */

/* Return the path without slashes at both ends, and without "." as its first component. *@bytes:
 * its length. NULL: it has an empty component, "." or "..". */
static const char *clean(const char *path, size_t *bytes)
{
	while (path[0] == '/' || (path[0] == '.' && (path[1] == '/' || path[1] == '\0')))
		path++;
	*bytes = strlen(path);
	while (*bytes > 0 && path[*bytes - 1] == '/')
		--*bytes;
	for (const char *at = path, *end = path + *bytes; at < end;) {
		size_t n = MIN(strcspn(at, "/"), (size_t)(end - at));
		if (n == 2 && memcmp(at, "..", 2) == 0)
			return NULL;
		at += n + 1;
	}
	return path;
}

static unsigned depth_of(const char *path)
{
	unsigned n = 0;
	for (; *path; path++)
		n += *path == '/';
	return n;
}

static bool is_mark(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

static int open_below(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Set an attribute of a directory that overlays obey. */
static int set_attribute(int dir, const char *name, const char *attribute, const char *value)
{
	cleanup_fd int fd = open_below(dir, name);
	return fd < 0 ? -1 : fsetxattr(fd, attribute, value, strlen(value), 0);
}

static int hide_below(int dir, const char *name)
{
	return set_attribute(dir, name, "user.overlay.opaque", "y");
}

/* Remove what is in the directory @fd, which is closed. The tree is not deep. Returns: 0, or -1
 * with errno. */
static int clear(int fd)
{
	DIR *list = fdopendir(fd);
	const struct dirent *entry;
	int r = list ? 0 : -1, sys = errno;
	if (!list)
		(void)close(fd);
	while (r == 0 && (entry = readdir(list))) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		int below = open_below(dirfd(list), name);
		r = below < 0 ? 0 : clear(below);
		r = r == 0 ? unlinkat(dirfd(list), name, below < 0 ? 0 : AT_REMOVEDIR) : r;
		sys = errno;
	}
	if (list)
		(void)closedir(list);
	errno = sys;
	return r;
}

/* Remove what has this name. Returns: 0, or -1 with errno. */
static int remove_at(struct tree *t, struct place at)
{
	int fd = open_below(at.dir, at.name);
	t->is_stale = true;
	if (fd < 0)
		return unlinkat(at.dir, at.name, 0);
	return clear(fd) < 0 ? -1 : unlinkat(at.dir, at.name, AT_REMOVEDIR);
}

/* Make a directory that an entry is in, and that the archive has not described before. */
static int make_missing(void *arg, int dir, const char *name)
{
	struct tree *t = arg;
	struct stat st;
	struct place at = {.dir = dir, .name = name};
	bool is_there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (is_there && !is_mark(&st))
		return -ENOTDIR;
	if (t->counts.entries++ >= t->max_entries)
		return -E2BIG;
	if ((is_there && remove_at(t, at) < 0) || mkdirat(dir, name, 0755) < 0 ||
		(is_there && hide_below(dir, name) < 0))
		return -errno;
	return 0;
}

static int too_many(const struct tree *t, struct err *err)
{
	return err_set(err, ERR_LIMIT, "the archive has more than %llu files",
		(unsigned long long)t->max_entries);
}

/* Open a directory of the tree. @may_make: make what is missing of it. Returns: fd or negative
 * errno. */
static int open_dir(
	struct tree *t, const char *dir, bool may_make, const char *path, struct err *err)
{
	t->resolver.make = may_make ? make_missing : NULL;
	int fd = resolve_dir(&t->resolver, dir);
	if (fd >= 0)
		return fd;
	if (fd == -ENOTDIR)
		return refuse(err, path, "which is below something that is no directory");
	if (fd == -ENAMETOOLONG)
		return refuse(err, path, "which is too deep");
	if (fd == -ELOOP)
		return refuse(err, path, "which leads through too many links");
	if (fd == -E2BIG && t->counts.entries > t->max_entries)
		return too_many(t, err);
	if (fd == -E2BIG)
		return err_set(err, ERR_LIMIT, "the archive has too many long paths and links");
	errno = -fd;
	return fail(err, path);
}

/* Find the place of a path, which clean() has taken to pieces. */
static int find(struct tree *t, const char *path, size_t bytes, bool may_make, struct place *out,
	struct err *err)
{
	char dir[PATH_MAX];
	const char *name = memrchr(path, '/', bytes);
	size_t n = name ? (size_t)(name - path) : 0;
	name = name ? name + 1 : path;
	snprintf(dir, sizeof dir, "%.*s", (int)n, path);
	if (t->dir_fd < 0 || t->is_stale || strcmp(dir, t->dir) != 0) {
		fd_close(&t->dir_fd);
		int fd = open_dir(t, dir, may_make, path, err);
		if (fd < 0)
			return fd;
		t->dir_fd = fd;
		t->is_stale = false;
		memcpy(t->dir, dir, n + 1);
	}
	*out = (struct place){.dir = t->dir_fd, .name = name};
	return 0;
}

/* ---- marks of removal ---- */

/* Hide what the layers below have of this name. The directory may be in this layer only; with the
 * second attribute, the kernel does not list the mark even so. */
static int mark(struct place at, const char *path, struct err *err)
{
	if (mknodat(at.dir, at.name, S_IFCHR, makedev(0, 0)) == 0)
		return set_attribute(at.dir, ".", "user.overlay.origin", "") < 0 ? fail(err, path)
										 : 0;
	int r = fail(err, path);
	return r == -EPERM ? err_hint(err,
				     "the file system cannot mark removed files: keep the state "
				     "on another one, with --state")
			   : r;
}

static int hide(struct place at, const char *path, struct err *err)
{
	struct stat st;
	const char *name = at.name + sizeof removed - 1;
	if (strcmp(at.name, opaque) == 0)
		return hide_below(at.dir, ".") < 0 ? fail(err, path) : 0;
	if (strncmp(at.name, special, sizeof special - 1) == 0)
		return 0; /* of a file system that is older than overlays */
	if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return refuse(err, path, "which is no mark of a removed file");
	/* What the layer itself has of this name stays. */
	if (fstatat(at.dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return !S_ISDIR(st.st_mode) || hide_below(at.dir, name) == 0 ? 0 : fail(err, path);
	return errno == ENOENT ? mark((struct place){.dir = at.dir, .name = name}, path, err)
			       : fail(err, path);
}

/* ---- entries ---- */

static int close_file(struct tree *t, struct err *err)
{
	if (t->file_fd < 0)
		return 0;
	const struct timespec times[] = {t->file_time, t->file_time};
	int r = futimens(t->file_fd, times) < 0 ? fail(err, "the time of a file") : 0;
	fd_close(&t->file_fd);
	return r;
}

static int note_dir(
	struct tree *t, const char *path, size_t bytes, struct timespec time, struct err *err)
{
	t->dir_bytes += bytes + 1;
	if (t->dir_bytes > DIR_NAMES_BYTES)
		return err_set(err, ERR_LIMIT, "the archive has more than %d MiB of names",
			DIR_NAMES_BYTES >> 20);
	if (t->n_dirs == t->room) {
		size_t room = 2 * t->room + 64;
		struct dated *more = reallocarray(t->dirs, room, sizeof *more);
		if (!more)
			return err_set(err, ERR_NO_MEMORY, "no memory for a layer");
		t->dirs = more;
		t->room = room;
	}
	char *copy = strndup(path, bytes);
	if (!copy)
		return err_set(err, ERR_NO_MEMORY, "no memory for a layer");
	t->dirs[t->n_dirs++] = (struct dated){.path = copy, .time = time};
	return 0;
}

static int add_dir(struct tree *t, struct place at, const struct tree_entry *e, struct err *err)
{
	struct stat st;
	mode_t mode = (e->mode & 01777) | 0700;
	bool is_there = fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	bool is_dir = is_there && S_ISDIR(st.st_mode);
	if (is_there && !is_dir && remove_at(t, at) < 0)
		return fail(err, e->path);
	if (!is_dir && mkdirat(at.dir, at.name, 0700) < 0)
		return fail(err, e->path);
	/* What was there, a file or a mark, has hidden what the layers below have of this name. */
	if (is_there && !is_dir && hide_below(at.dir, at.name) < 0)
		return fail(err, e->path);
	cleanup_fd int fd = open_below(at.dir, at.name);
	return fd < 0 || fchmod(fd, mode) < 0 ? fail(err, e->path) : 0;
}

/* Make room for a file of @bytes. */
static int count_bytes(struct tree *t, uint64_t bytes, struct err *err)
{
	if (bytes <= t->max_bytes && t->counts.bytes <= t->max_bytes - bytes) {
		t->counts.bytes += bytes;
		return 0;
	}
	return err_set(err, ERR_LIMIT, "the archive has more than %llu MiB of files",
		(unsigned long long)(t->max_bytes >> 20));
}

static int add_file(struct tree *t, struct place at, const struct tree_entry *e, struct err *err)
{
	int r = count_bytes(t, e->bytes, err);
	if (r < 0)
		return r;
	t->file_fd = openat(at.dir, at.name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
		(e->mode & 01777) | 0600);
	if (t->file_fd < 0 || (e->bytes > 0 && ftruncate(t->file_fd, (off_t)e->bytes) < 0))
		return fail(err, e->path);
	t->file_bytes = e->bytes;
	t->file_time = e->time;
	return 0;
}

/* Make a hard link to @name in @dir. Landlock before its ABI 2 refuses all between directories, and
 * then a copy is made. */
static int make_link(struct tree *t, int dir, const char *name, struct place at,
	const struct tree_entry *e, struct err *err)
{
	struct stat st;
	if (linkat(dir, name, at.dir, at.name, 0) == 0)
		return 0;
	if (errno != EXDEV || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(err, e->path);
	int r = count_bytes(t, (uint64_t)st.st_size, err);
	if (r < 0)
		return r;
	errno = -duplicate(dir, name, at.dir, at.name);
	return errno ? fail(err, e->path) : 0;
}

static int add_hard_link(
	struct tree *t, struct place at, const struct tree_entry *e, struct err *err)
{
	char dir[PATH_MAX];
	struct stat to, st;
	size_t bytes = 0;
	const char *target = clean(e->target, &bytes);
	if (!target || bytes == 0 || bytes >= PATH_MAX)
		return refuse(err, e->path, "a link to what no layer may have");
	const char *name = memrchr(target, '/', bytes);
	snprintf(dir, sizeof dir, "%.*s", name ? (int)(name - target) : 1, name ? target : ".");
	name = name ? name + 1 : target;
	t->resolver.make = NULL;
	cleanup_fd int fd = resolve_dir(&t->resolver, dir);
	char *copy = strndup(name, bytes - (size_t)(name - target));
	int bad = !copy || fd < 0 || fstatat(fd, copy, &to, AT_SYMLINK_NOFOLLOW) < 0;
	bool is_fit = !bad && (S_ISREG(to.st_mode) || S_ISLNK(to.st_mode));
	int r = 0;
	if (!is_fit)
		r = refuse(err, e->path, "a link to a file that is not in the layer");
	else if (fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_ino == to.st_ino && st.st_dev == to.st_dev)
		r = 0; /* to itself */
	else if (remove_at(t, at) < 0 && errno != ENOENT)
		r = fail(err, e->path);
	else
		r = make_link(t, fd, copy, at, e, err);
	free(copy);
	return r;
}

static int add_fifo(struct place at, const struct tree_entry *e, struct err *err)
{
	const struct timespec times[] = {e->time, e->time};
	if (mkfifoat(at.dir, at.name, (e->mode & 01777) | 0600) < 0)
		return fail(err, e->path);
	cleanup_fd int fd = openat(at.dir, at.name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || futimens(fd, times) < 0 ? fail(err, e->path) : 0;
}

static int add_other(struct tree *t, struct place at, const struct tree_entry *e, struct err *err)
{
	struct stat st;
	bool is_there = fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (is_there && remove_at(t, at) < 0)
		return fail(err, e->path);
	switch (e->kind) {
	case TREE_FILE:
		return add_file(t, at, e, err);
	case TREE_LINK:
		return symlinkat(e->target, at.dir, at.name) < 0 ? fail(err, e->path) : 0;
	case TREE_FIFO:
		return add_fifo(at, e, err);
	case TREE_DIR:
	case TREE_HARD_LINK:
	case TREE_OTHER:
		break;
	}
	/* In the image it is a device, and never the file that a layer below has of this name. */
	t->counts.left_out++;
	return mark(at, e->path, err);
}

static int check(const struct tree *t, const struct tree_entry *e, const char *path, size_t bytes,
	struct err *err)
{
	if (t->counts.entries > t->max_entries)
		return too_many(t, err);
	if (!path)
		return refuse(err, e->path, "which leads out of it");
	if (bytes >= PATH_MAX || depth_of(path) >= LAYER_DEPTH_MAX)
		return refuse(err, e->path, "which is too deep");
	if ((e->kind == TREE_LINK || e->kind == TREE_HARD_LINK) && (!e->target || !e->target[0]))
		return refuse(err, e->path, "a link to nothing");
	return 0;
}

int tree_add(struct tree *t, const struct tree_entry *e, struct err *err)
{
	struct tree_entry entry = *e;
	size_t bytes = 0;
	char name[NAME_MAX + 1];
	const char *path = clean(e->path, &bytes);
	t->counts.entries++;
	t->resolver.steps += ENTRY_STEPS;
	int r = close_file(t, err);
	r = r < 0 ? r : check(t, e, path, bytes, err);
	if (r < 0)
		return r;
	if (bytes == 0) /* the root of the tree */
		return e->kind == TREE_DIR ? note_dir(t, "", 0, e->time, err) : 0;
	struct place at;
	r = find(t, path, bytes, true, &at, err);
	if (r < 0)
		return r;
	size_t name_bytes = bytes - (size_t)(at.name - path);
	if (name_bytes > NAME_MAX)
		return refuse(err, e->path, "whose name is too long");
	memcpy(name, at.name, name_bytes);
	name[name_bytes] = '\0';
	at.name = name;
	entry.path = path;
	if (strcmp(name, ".") == 0 && e->kind != TREE_DIR)
		return refuse(err, e->path, "which names a directory");
	if (strncmp(name, removed, sizeof removed - 1) == 0)
		return hide(at, path, err);
	if (e->kind == TREE_HARD_LINK)
		return add_hard_link(t, at, &entry, err);
	if (e->kind != TREE_DIR)
		return add_other(t, at, &entry, err);
	r = add_dir(t, at, &entry, err);
	return r < 0 ? r : note_dir(t, path, bytes, e->time, err);
}

int tree_write(struct tree *t, const void *data, size_t bytes, uint64_t at, struct err *err)
{
	if (t->file_fd < 0)
		return 0; /* of an entry without contents */
	if (at > t->file_bytes || bytes > t->file_bytes - at)
		return err_set(
			err, ERR_USAGE, "the archive has a file that is longer than it says");
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(
			t->file_fd, (const char *)data + done, bytes - done, (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return fail(err, "a file");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int tree_finish(struct tree *t, struct err *err)
{
	int r = close_file(t, err);
	for (size_t i = 0; r == 0 && i < t->n_dirs; i++) {
		const struct dated *dir = &t->dirs[i];
		const struct timespec times[] = {dir->time, dir->time};
		struct place at = {.dir = t->resolver.root, .name = "."};
		struct err gone;
		/* Something else may stand where the directory was. */
		if (dir->path[0] && find(t, dir->path, strlen(dir->path), false, &at, &gone) < 0)
			continue;
		cleanup_fd int fd = open_below(at.dir, at.name);
		if (fd >= 0 && futimens(fd, times) < 0)
			r = fail(err, dir->path);
	}
	return r;
}
