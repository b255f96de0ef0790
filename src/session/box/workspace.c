/*
 * Lists the files of a workspace, and compares two lists.
 *
 * The walk opens each directory relative to its parent, follows no link, and stays on the file
 * system. To limit open descriptors, it does not descend below a depth of WORKSPACE_DESCENT_MAX; a
 * second pass reads the deeper directories, each from the top by its path. The walk stops after
 * WORKSPACE_FILES_MAX entries and then sets is_cut, because the list is not complete.
 *
 * The result is sorted by path, so two lists are compared as in a merge sort. A file has changed if
 * its inode, its size, or the time of its inode's last change differs. No program can set that
 * time, so no content needs to be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/box/workspace.h"

#include "base/buf.h"
#include "base/fd.h"
#include "sandbox/syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>

struct walk {
	struct workspace *out;
	dev_t dev;	 /* device of the workspace; files of another device are in a volume */
	struct buf path; /* path of the directory that is being read, with a trailing slash */
	size_t room, max_files, paths_bytes;
	bool is_full;
};

void workspace_done(struct workspace *w)
{
	for (size_t i = 0; i < w->n_files; i++)
		free(w->files[i].path);
	free(w->files);
	*w = (struct workspace){0};
}

static enum workspace_kind kind_of(const struct walk *w, const struct stat *st)
{
	if (st->st_dev != w->dev)
		return WORKSPACE_MOUNT;
	if (S_ISREG(st->st_mode))
		return WORKSPACE_FILE;
	if (S_ISDIR(st->st_mode))
		return WORKSPACE_DIR;
	return S_ISLNK(st->st_mode) ? WORKSPACE_LINK : WORKSPACE_OTHER;
}

static int add_file(struct walk *w, const char *name, const struct stat *st)
{
	struct workspace *out = w->out;
	size_t bytes = w->path.bytes + strlen(name) + 1;
	if (out->n_files == w->max_files || w->paths_bytes + bytes > WORKSPACE_PATHS_BYTES) {
		out->is_cut = w->is_full = true;
		return 0;
	}
	w->paths_bytes += bytes;
	if (out->n_files == w->room) {
		size_t room = w->room ? w->room * 2 : 16;
		struct workspace_file *files = realloc(out->files, room * sizeof *files);
		if (!files)
			return -ENOMEM;
		out->files = files;
		w->room = room;
	}
	char *path;
	if (asprintf(&path, "%s%s", buf_str(&w->path), name) < 0)
		return -ENOMEM;
	out->files[out->n_files++] = (struct workspace_file){
		.path = path,
		.kind = kind_of(w, st),
		.size_bytes = (uint64_t)st->st_size,
		.changed_ns = st->st_ctim.tv_sec * 1000000000LL + st->st_ctim.tv_nsec,
		.modified = st->st_mtim,
		.ino = st->st_ino,
		.mode = st->st_mode & 07777,
		.is_linked = S_ISREG(st->st_mode) && st->st_nlink > 1,
	};
	return 0;
}

static int walk_dir(struct walk *w, int dir_fd, int depth);

/* Read directory @i of the list. Its path is @path, relative to the directory @at_fd. */
static int walk_below(struct walk *w, int at_fd, const char *path, size_t i, int depth)
{
	int fd = sys_open_below(at_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* The directory cannot be opened if it was replaced, if its mode forbids reading it, or
	 * (EXDEV) if it is a volume on the same file system. */
	if (fd < 0) {
		if (errno == EXDEV)
			w->out->files[i].kind = WORKSPACE_MOUNT;
		return 0;
	}
	size_t before = w->path.bytes;
	int r = buf_addf(&w->path, "%s/", path);
	if (r == 0) {
		r = walk_dir(w, fd, depth); /* closes fd */
	} else {
		w->out->is_cut = true;
		r = r == -E2BIG ? 0 : r;
		(void)close(fd);
	}
	buf_cut(&w->path, before);
	return r;
}

static int walk_entry(struct walk *w, int dir_fd, const char *name, int depth)
{
	struct stat st;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return 0; /* the file was removed after readdir() */
	int r = add_file(w, name, &st);
	if (r < 0 || w->is_full || !S_ISDIR(st.st_mode) || st.st_dev != w->dev)
		return r;
	/* Directories below this depth are read by the second pass in scan(). */
	return depth == WORKSPACE_DESCENT_MAX
		? 0
		: walk_below(w, dir_fd, name, w->out->n_files - 1, depth + 1);
}

/* Read the directory @dir_fd and close it. The recursion is limited to WORKSPACE_DESCENT_MAX. */
static int walk_dir(struct walk *w, int dir_fd, int depth)
{
	struct dirent *entry;
	int r = 0;
	DIR *dir = fdopendir(dir_fd);
	if (!dir) {
		(void)close(dir_fd);
		return -ENOMEM;
	}
	while (r == 0 && !w->is_full && (entry = readdir(dir)))
		r = walk_entry(w, dirfd(dir), entry->d_name, depth);
	(void)closedir(dir);
	return r;
}

unsigned workspace_depth(const char *path)
{
	unsigned n = 0;
	for (const char *at = path; (at = strchr(at, '/')); at++)
		n++;
	return n;
}

static bool ends_descent(const struct workspace_file *f)
{
	return f->kind == WORKSPACE_DIR &&
		workspace_depth(f->path) % (WORKSPACE_DESCENT_MAX + 1) == WORKSPACE_DESCENT_MAX;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(
		((const struct workspace_file *)a)->path, ((const struct workspace_file *)b)->path);
}

static uint64_t files_in_use(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) < 0 ? 0 : fs.f_files - MIN(fs.f_ffree, fs.f_files);
}

static int scan(struct workspace *out, int fd, size_t max_files, bool is_flat, struct err *err)
{
	struct stat st;
	struct workspace found = {0};
	struct walk w = {.out = &found, .path = BUF_INIT(PATH_MAX), .max_files = max_files};
	int dir_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || fstat(dir_fd, &st) < 0)
		return err_sys(err, ERR_IO, errno, "read the workspace");
	w.dev = st.st_dev;
	found.mode = st.st_mode;
	found.n_used = files_in_use(dir_fd);
	int r = walk_dir(&w, dir_fd, is_flat ? WORKSPACE_DESCENT_MAX : 0);
	for (size_t i = 0; r == 0 && !is_flat && i < found.n_files && !w.is_full; i++)
		if (ends_descent(&found.files[i]))
			r = walk_below(&w, fd, found.files[i].path, i, 0);
	buf_done(&w.path);
	if (r < 0) {
		workspace_done(&found);
		return err_sys(err, ERR_NO_MEMORY, -r, "list the workspace");
	}
	if (found.n_files > 0)
		qsort(found.files, found.n_files, sizeof *found.files, by_path);
	*out = found;
	return 0;
}

int workspace_scan(struct workspace *out, int fd, struct err *err)
{
	return scan(out, fd, WORKSPACE_FILES_MAX, false, err);
}

int workspace_scan_some(struct workspace *out, int fd, size_t max_files, struct err *err)
{
	return scan(out, fd, max_files, false, err);
}

int workspace_scan_level(struct workspace *out, int fd, struct err *err)
{
	return scan(out, fd, WORKSPACE_FILES_MAX, true, err);
}

static int by_inode(const void *a, const void *b)
{
	const struct workspace_file *one = *(const struct workspace_file *const *)a;
	const struct workspace_file *two = *(const struct workspace_file *const *)b;
	return (one->ino > two->ino) - (one->ino < two->ino);
}

int workspace_measure(const struct workspace *w, struct workspace_size *out, struct err *err)
{
	size_t n = 0;
	const struct workspace_file **linked = NULL;
	*out = (struct workspace_size){0};
	for (size_t i = 0; i < w->n_files; i++) {
		const struct workspace_file *f = &w->files[i];
		out->n_dirs =
			MAX(out->n_dirs, workspace_depth(f->path) + (f->kind == WORKSPACE_DIR));
		n += f->is_linked;
	}
	if (n < 2)
		return 0;
	linked = calloc(n, sizeof *linked);
	if (!linked)
		return err_set(err, ERR_NO_MEMORY, "no memory for a list of links");
	n = 0;
	for (size_t i = 0; i < w->n_files; i++)
		if (w->files[i].is_linked)
			linked[n++] = &w->files[i];
	qsort(linked, n, sizeof *linked, by_inode);
	for (size_t i = 1; i < n; i++)
		out->again_bytes +=
			linked[i]->ino == linked[i - 1]->ino ? linked[i]->size_bytes : 0;
	free(linked);
	return 0;
}

/* Return whether the file @f is a mount point. workspace_compare() omits mount points, because
 * the program did not make them, and the files below them are not in the workspace. */
static bool is_mount_point(const struct workspace_file *f)
{
	return f->kind == WORKSPACE_MOUNT;
}

/* Return whether the file is unchanged between the two lists. A directory is never reported as
 * changed, but the files in it are. */
static bool is_same(const struct workspace_file *old, const struct workspace_file *new)
{
	if (old->kind == WORKSPACE_DIR && new->kind == WORKSPACE_DIR)
		return true;
	return old->ino == new->ino && old->changed_ns == new->changed_ns &&
		old->size_bytes == new->size_bytes && old->kind == new->kind;
}

static const struct workspace_file *file_at(const struct workspace *w, size_t i)
{
	return i < w->n_files ? &w->files[i] : NULL;
}

void workspace_compare(const struct workspace *before, const struct workspace *after,
	workspace_change_fn *change, void *arg)
{
	size_t b = 0, a = 0;
	const struct workspace_file *old = file_at(before, 0), *new = file_at(after, 0);
	while (old || new) {
		int order = !old ? 1 : !new ? -1 : strcmp(old->path, new->path);
		if (order < 0 && !is_mount_point(old))
			change(arg, WORKSPACE_DELETED, old);
		if (order > 0 && !is_mount_point(new))
			change(arg, WORKSPACE_CREATED, new);
		if (order == 0 && !is_same(old, new) && !is_mount_point(old) &&
			!is_mount_point(new))
			change(arg, WORKSPACE_MODIFIED, new);
		b += order <= 0;
		a += order >= 0;
		old = file_at(before, b);
		new = file_at(after, a);
	}
}

const char *workspace_mime(const char *path)
{
	static const struct {
		const char *ending, *mime;
	} rows[] = {
		{"csv", "text/csv"},
		{"tsv", "text/tab-separated-values"},
		{"txt", "text/plain"},
		{"log", "text/plain"},
		{"md", "text/markdown"},
		{"html", "text/html"},
		{"htm", "text/html"},
		{"css", "text/css"},
		{"js", "text/javascript"},
		{"json", "application/json"},
		{"jsonl", "application/jsonl"},
		{"xml", "application/xml"},
		{"yaml", "application/yaml"},
		{"yml", "application/yaml"},
		{"toml", "application/toml"},
		{"py", "text/x-python"},
		{"sql", "application/sql"},
		{"sh", "application/x-sh"},
		{"png", "image/png"},
		{"jpg", "image/jpeg"},
		{"jpeg", "image/jpeg"},
		{"gif", "image/gif"},
		{"svg", "image/svg+xml"},
		{"webp", "image/webp"},
		{"pdf", "application/pdf"},
		{"zip", "application/zip"},
		{"gz", "application/gzip"},
		{"tar", "application/x-tar"},
		{"sqlite", "application/vnd.sqlite3"},
		{"db", "application/vnd.sqlite3"},
		{"parquet", "application/vnd.apache.parquet"},
		{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		{"npy", "application/x-npy"},
		{"mp3", "audio/mpeg"},
		{"wav", "audio/wav"},
		{"mp4", "video/mp4"},
	};
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');
	for (size_t i = 0; dot && i < ARRAY_LEN(rows); i++)
		if (strcasecmp(dot + 1, rows[i].ending) == 0)
			return rows[i].mime;
	return "application/octet-stream";
}
