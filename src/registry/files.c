/*
 * Files of a workspace, listed and read from outside the box.
 *
 * A program in the box may replace any part of a path by a symbolic link at any time. So paths are
 * opened relative to the workspace's directory, and no link in them is followed
 * (sys_open_beneath()). Only regular files and directories are read. Long reads are done by a
 * thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "base/work.h"
#include "registry/files.h"
#include "registry/session_table.h"
#include "registry/put_file.h"
#include "sandbox/syscalls.h"
#include "session/box/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READ_MAX = 16 << 20,
	VOLUME_FILES_MAX = 1000,
	VOLUMES_DEEP = 4,
	OPEN_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
};

/* A list of files that is being built. It may contain at most VOLUME_FILES_MAX files that are in
 * volumes. */
struct file_listing {
	int top_fd;
	json_t *rows, *dirs;
	size_t room; /* how many more files in volumes the list may contain */
	bool is_cut; /* files are missing in the list, for example because they are too many */
};

static int workspace_of(struct registry *r, const char *session, struct err *err)
{
	const struct entry *e = registry_find(r, session, err);
	if (!e)
		return -1;
	int fd = e->session ? session_workspace_fd(e->session) : -1;
	if (fd < 0)
		err_fail(err, ERR_BUSY, "run a step first, or ask again",
			"the session has no box yet");
	return fd;
}

static json_t *path_json(const char *above, const char *name)
{
	cleanup_buf struct buf path = BUF_INIT(3 * 2 * 4096);
	if (utf8_repair(&path, above, strlen(above), NULL) < 0 ||
		(*above && buf_add(&path, "/") < 0) ||
		utf8_repair(&path, name, strlen(name), NULL) < 0)
		return NULL;
	return json_stringn(buf_str(&path), path.bytes);
}

static void add_file(
	struct file_listing *l, const char *above, const struct workspace_file *f, bool is_volume)
{
	json_t *path = path_json(above, f->path);
	json_t *row = path ? json_pack("{s:o, s:I, s:s, s:I}", "path", path, "size",
				     (json_int_t)f->size_bytes, "mime", workspace_mime(f->path),
				     "modified_ms", (json_int_t)(f->changed_ns / 1000000))
			   : NULL;
	if (row && is_volume)
		json_put_bool(row, "volume", true);
	(void)json_array_append_new(l->rows, row);
}

static void add_one(struct file_listing *l, const char *path, const struct stat *st, bool is_volume)
{
	const struct workspace_file file = {.path = (char *)(uintptr_t)path,
		.size_bytes = (uint64_t)st->st_size,
		.changed_ns = st->st_ctim.tv_sec * 1000000000LL + st->st_ctim.tv_nsec};
	add_file(l, "", &file, is_volume);
}

static void add_volume(struct file_listing *l, const char *path, int depth);

static void add_inside(struct file_listing *l, const char *path, const struct workspace *inside,
	bool is_volume, int depth)
{
	l->is_cut = l->is_cut || inside->is_cut;
	for (size_t i = 0; i < inside->n_files; i++) {
		const struct workspace_file *f = &inside->files[i];
		cleanup_buf struct buf whole = BUF_INIT(2 * 4096);
		if (f->kind == WORKSPACE_FILE)
			add_file(l, path, f, is_volume);
		else if (f->kind == WORKSPACE_MOUNT &&
			buf_addf(&whole, "%s%s%s", path, *path ? "/" : "", f->path) == 0)
			add_volume(l, buf_str(&whole), depth + 1);
	}
}

/* Add the files of a volume, which is a file or a directory at @path in the workspace. @depth is
 * 1 for a volume that is directly in the listed directory, 2 for a volume in that volume, and so
 * on. A volume deeper than VOLUMES_DEEP is left out, and the list is marked as cut. */
static void add_volume(struct file_listing *l, const char *path, int depth)
{
	struct workspace inside;
	struct stat st;
	struct err ignored;
	cleanup_fd int fd = sys_open_beneath(l->top_fd, path, OPEN_FLAGS, 0);
	if (fd < 0 || fstat(fd, &st) < 0 || l->room == 0 || depth > VOLUMES_DEEP) {
		l->is_cut = true;
		return;
	}
	if (S_ISREG(st.st_mode)) {
		l->room--;
		add_one(l, path, &st, true);
	}
	if (!S_ISDIR(st.st_mode) || workspace_scan_some(&inside, fd, l->room, &ignored) < 0)
		return;
	l->room -= inside.n_files;
	add_inside(l, path, &inside, true, depth);
	workspace_done(&inside);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(
		((const struct workspace_file *)a)->path, ((const struct workspace_file *)b)->path);
}

/* Complete a list that was cut off: add all files directly in the directory @fd that are not in
 * @seen. Also add the names of its subdirectories, so that the client can list them one by one. */
static void add_level(struct file_listing *l, const char *path, int fd,
	const struct workspace *seen, bool is_volume)
{
	struct workspace level;
	struct err ignored;
	if (workspace_scan_level(&level, fd, &ignored) < 0)
		return;
	l->dirs = json_array();
	for (size_t i = 0; i < level.n_files; i++) {
		const struct workspace_file *f = &level.files[i];
		struct stat st;
		bool is_dir = f->kind == WORKSPACE_DIR ||
			(f->kind == WORKSPACE_MOUNT &&
				fstatat(fd, f->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				S_ISDIR(st.st_mode));
		if (is_dir)
			(void)json_array_append_new(l->dirs, path_json(path, f->path));
		else if (f->kind == WORKSPACE_FILE && seen->is_cut &&
			!bsearch(f, seen->files, seen->n_files, sizeof *f, by_path))
			add_file(l, path, f, is_volume);
	}
	workspace_done(&level);
}

static json_t *list_dir(
	struct file_listing *l, const char *path, int fd, bool is_volume, struct err *err)
{
	struct workspace inside;
	if (workspace_scan(&inside, fd, err) < 0)
		return NULL;
	l->rows = json_array();
	add_inside(l, path, &inside, is_volume, 0);
	if (l->is_cut)
		add_level(l, path, fd, &inside, is_volume);
	workspace_done(&inside);
	json_t *out = json_pack("{s:o, s:o*}", "files", l->rows, "directories", l->dirs);
	if (*path)
		(void)json_object_set_new(out, "path", path_json("", path));
	if (l->is_cut)
		json_put_bool(out, "truncated", true);
	return out;
}

/* Return whether @path is the workspace itself, such as "", "." or "/home/user/". */
static bool is_top(const char *path)
{
	static const char home[] = "/home/user";
	size_t n = sizeof home - 1;
	if (strncmp(path, home, n) == 0 && (!path[n] || path[n] == '/'))
		path += n;
	else if (*path == '/')
		return false;
	for (; *path; path++)
		if (*path != '/' && (*path != '.' || (path[1] && path[1] != '/')))
			return false;
	return true;
}

static int fail_open(const char *path, int error, struct err *err)
{
	if (error == ELOOP)
		return err_fail(err, ERR_ACCESS,
			"links are not followed: name the directory itself",
			"list %s: the path is, or leads through, a symbolic link", path);
	bool is_missing = error == ENOENT || error == ENOTDIR;
	int r = err_sys(err, is_missing ? ERR_NOT_FOUND : ERR_ACCESS, error, "list %s", path);
	return is_missing ? err_hint(err, "`file.list` without a path lists all files") : r;
}

json_t *registry_file_list(
	struct registry *r, const char *session, const char *path, struct err *err)
{
	char clean[WIRE_PATH_BYTES];
	struct stat st;
	int top_fd = workspace_of(r, session, err);
	struct file_listing l = {.top_fd = top_fd, .room = VOLUME_FILES_MAX};
	if (top_fd < 0)
		return NULL;
	if (is_top(path))
		return list_dir(&l, "", top_fd, false, err);
	if (put_file_clean_path(path, clean, err) < 0)
		return NULL;
	cleanup_fd int fd = sys_open_beneath(top_fd, clean, OPEN_FLAGS, 0);
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)fail_open(clean, errno, err);
		return NULL;
	}
	cleanup_fd int same_fd = sys_open_below(top_fd, clean, OPEN_FLAGS);
	bool is_volume = same_fd < 0 && errno == EXDEV;
	if (S_ISDIR(st.st_mode))
		return list_dir(&l, clean, fd, is_volume, err);
	if (!S_ISREG(st.st_mode)) {
		err_set(err, ERR_ACCESS, "%s is neither a file nor a directory", clean);
		return NULL;
	}
	l.rows = json_array();
	add_one(&l, clean, &st, is_volume);
	return json_pack("{s:o}", "files", l.rows);
}

/* ---- reading the content of a file ---- */

/* A file whose content is being read and encoded, in a thread if the content is long. */
struct reading {
	struct work work;
	registry_done_fn *done;
	void *arg;
	char path[WIRE_PATH_BYTES];
	int fd;
	struct stat st;
	uint64_t offset;
	size_t room;
	json_t *content;
};

static json_t *content_json(
	const char *path, char *data, size_t bytes, const struct stat *st, uint64_t offset)
{
	bool is_text = utf8_is_valid(data, bytes);
	size_t room = base64_bytes(bytes);
	char *coded = is_text ? NULL : malloc(room + 1);
	if (coded)
		base64_encode(coded, data, bytes);
	json_t *content = is_text ? json_stringn_nocheck(data, bytes)
		: coded		  ? json_stringn_nocheck(coded, room)
				  : NULL;
	free(coded);
	json_t *out = content ? json_pack("{s:s, s:o, s:s, s:I, s:I}", "path", path, "content",
					content, "encoding", is_text ? "utf-8" : "base64", "size",
					(json_int_t)st->st_size, "offset", (json_int_t)offset)
			      : NULL;
	/* Files with the same "inode" are hard links of one file. A client that copies files out
	 * of the box links the copies in the same way. */
	if (out && st->st_nlink > 1)
		(void)json_object_set_new(out, "inode",
			json_sprintf("%llx-%llx", (unsigned long long)st->st_dev,
				(unsigned long long)st->st_ino));
	return out;
}

static void read_content(struct work *work)
{
	struct reading *f = container_of(work, struct reading, work);
	char *data = malloc(f->room + 1);
	ssize_t n = data ? pread(f->fd, data, f->room, (off_t)f->offset) : -1;
	if (n >= 0)
		f->content = content_json(f->path, data, (size_t)n, &f->st, f->offset);
	free(data);
}

static void give_content(struct work *work)
{
	struct reading *f = container_of(work, struct reading, work);
	struct err err;
	if (!f->content)
		err_set(&err, ERR_IO, "cannot read %s", f->path);
	f->done(f->arg, f->content, f->content ? NULL : &err);
	json_decref(f->content);
	fd_close(&f->fd);
	free(f);
}

/* Open the regular file @path, relative to @dir. Returns: a descriptor. Errors: ERR_NOT_FOUND,
 * ERR_ACCESS. */
static int open_file(int dir, const char *path, struct stat *st, struct err *err)
{
	cleanup_fd int fd =
		sys_open_beneath(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, st) < 0) {
		bool is_missing = errno == ENOENT;
		if (errno == ELOOP)
			return err_fail(err, ERR_ACCESS,
				"links are not followed: name the file itself",
				"read %s: the path is, or leads through, a symbolic link", path);
		int r = err_sys(
			err, is_missing ? ERR_NOT_FOUND : ERR_ACCESS, errno, "read %s", path);
		return is_missing ? err_hint(err, "`file.list` lists them") : r;
	}
	if (S_ISREG(st->st_mode))
		return take_fd(fd);
	int r = err_set(err, ERR_ACCESS, "%s is not a regular file", path);
	return S_ISDIR(st->st_mode) ? err_hint(err, "it is a directory: `file.list` lists it") : r;
}

void registry_file_read(
	struct registry *r, const struct registry_part *part, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct reading *f = xnew(struct reading);
	int fd = put_file_clean_path(part->path, f->path, &err);
	if (fd >= 0)
		fd = workspace_of(r, part->session, &err);
	if (fd >= 0)
		fd = open_file(fd, f->path, &f->st, &err);
	if (fd < 0) {
		done(arg, NULL, &err);
		free(f);
		return;
	}
	uint64_t room = MIN(part->limit ? part->limit : READ_MAX, (uint64_t)READ_MAX);
	f->done = done;
	f->arg = arg;
	f->fd = fd;
	f->offset = part->offset;
	f->room = (size_t)MIN(room, (uint64_t)f->st.st_size);
	work_begin(f->room > WORK_BYTES ? r->table->engine->loop : NULL, WORK_READ, &f->work,
		read_content, give_content);
}
