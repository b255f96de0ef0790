/*
 * Lists files that a step changed and that cannot be restored.
 *
 * Volumes are not saved, since they may be of any size. But the kernel records the time when an
 * inode was changed, and no program can set that time. So after a failed step, the files that were
 * changed since its start can at least be listed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/box/lost_files.h"

#include "base/fd.h"
#include "base/utf8.h"
#include "sandbox/syscalls.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char home[] = "/home/user/";

int64_t lost_files_now_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void lost_files_add(json_t **list, const char *prefix, const char *path)
{
	cleanup_buf struct buf text = BUF_INIT(6 * PATH_MAX);
	if (!*list)
		*list = json_array();
	if (utf8_repair(&text, prefix, strlen(prefix), NULL) == 0 &&
		utf8_repair(&text, path, strlen(path), NULL) == 0)
		(void)json_array_append_new(*list, json_stringn(buf_str(&text), text.bytes));
}

struct name_list {
	json_t **list;
	const char *prefix;
};

static void name_change(void *arg, enum workspace_change change, const struct workspace_file *file)
{
	const struct name_list *n = arg;
	if (change != WORKSPACE_CREATED)
		lost_files_add(n->list, n->prefix, file->path);
}

void lost_files_compare(json_t **list, const char *prefix, const struct workspace *then,
	const struct workspace *now)
{
	workspace_compare(then, now, name_change, &(struct name_list){list, prefix});
}

/* ---- changes in volumes ---- */

struct look {
	json_t **list;
	int64_t since_ns;
	struct workspace files;
	char prefix[WIRE_PATH_BYTES + 1]; /* path of the volume, with a trailing slash */
};

static bool is_changed(const struct look *l, const struct workspace_file *f)
{
	return f->changed_ns >= l->since_ns && f->kind != WORKSPACE_MOUNT;
}

static void tell_changes(struct look *l)
{
	for (size_t i = 0; i < l->files.n_files; i++) {
		const struct workspace_file *f = &l->files.files[i];
		if (is_changed(l, f))
			lost_files_add(l->list, l->prefix, f->path);
	}
}

/* Open the volume @bind by its path in the box. Returns: a descriptor; -1 if it cannot be
 * opened, or if the program has put something else in its place. */
static int open_volume(const struct warden_bind *bind, int workspace_fd, struct stat *st)
{
	cleanup_fd int root = openat(workspace_fd, "../..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd = root < 0 ? -1
				     : sys_open_beneath(root, bind->dst + 1,
					       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	bool is_it =
		fd >= 0 && fstat(fd, st) == 0 && st->st_dev == bind->dev && st->st_ino == bind->ino;
	return is_it ? fd_take(&fd) : -1;
}

static int64_t changed_ns(const struct stat *st)
{
	return st->st_ctim.tv_sec * 1000000000LL + st->st_ctim.tv_nsec;
}

static void look_at(struct look *l, const struct warden_bind *bind, int workspace_fd)
{
	struct stat st;
	struct err err;
	bool is_below = strncmp(bind->dst, home, sizeof home - 1) == 0;
	const char *name = bind->dst + (is_below ? sizeof home - 1 : 0);
	cleanup_fd int fd = workspace_fd < 0 ? -1 : open_volume(bind, workspace_fd, &st);
	bool is_dir = fd >= 0 && S_ISDIR(st.st_mode);
	if (fd < 0 || (is_dir && workspace_scan(&l->files, fd, &err) < 0)) {
		lost_files_add(l->list, name, "");
		return;
	}
	snprintf(l->prefix, sizeof l->prefix, "%s/", name);
	tell_changes(l);
	if (l->files.is_cut || changed_ns(&st) >= l->since_ns)
		lost_files_add(l->list, name, "");
	workspace_done(&l->files);
}

/* Return the directory in the list that has the entry @f, or NULL: it is in the list's own. */
static const struct workspace_file *parent_of(
	const struct workspace *w, const struct workspace_file *f)
{
	const char *path = f->path, *slash = strrchr(path, '/');
	size_t bytes = slash ? (size_t)(slash - path) : 0;
	while (slash && f-- > w->files)
		if (strncmp(f->path, path, bytes) == 0 && f->path[bytes] == '\0')
			return f;
	return NULL;
}

/*
 * Return whether an entry of what the box has changed of its image was changed since. All marks of
 * deleted files are one file with many names. So a mark is changed only if its directory is, too;
 * then all that was ever deleted in this directory counts as deleted since.
 */
static bool is_changed_in_system(
	const struct look *l, const struct workspace_file *f, int64_t top_ns)
{
	if (f->kind != WORKSPACE_OTHER)
		return is_changed(l, f);
	const struct workspace_file *dir = parent_of(&l->files, f);
	return is_changed(l, f) && (dir ? dir->changed_ns : top_ns) >= l->since_ns;
}

/* The box has changed files of its image. They are not restored, unless the session changes to
 * another box. */
static void look_at_system(struct look *l, const struct box *box)
{
	struct err err;
	struct stat st, workspace, at;
	cleanup_fd int root = openat(box->workspace_fd, "../..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* A program that moves the mounts of its box has files restored in other places. */
	bool is_moved = root < 0 || fstat(box->workspace_fd, &workspace) < 0 ||
		fstatat(root, "home/user", &at, AT_SYMLINK_NOFOLLOW) < 0 ||
		workspace.st_dev != at.st_dev || workspace.st_ino != at.st_ino;
	if (is_moved)
		lost_files_add(l->list, "", ".");
	if (is_moved || box->changes_fd < 0 || fstat(box->changes_fd, &st) < 0 ||
		workspace_scan(&l->files, box->changes_fd, &err) < 0) {
		lost_files_add(l->list, "/", "");
		return;
	}
	if (l->files.is_cut || changed_ns(&st) >= l->since_ns)
		lost_files_add(l->list, "/", "");
	for (size_t i = 0; i < l->files.n_files; i++)
		if (is_changed_in_system(l, &l->files.files[i], changed_ns(&st)))
			lost_files_add(l->list, "/", l->files.files[i].path);
	workspace_done(&l->files);
}

void lost_files_volumes(
	json_t **list, const struct order_checked *order, const struct box *box, int64_t since_ns)
{
	struct look l = {.list = list, .since_ns = since_ns};
	for (size_t i = 0; i < order->n_binds; i++)
		if (order->binds[i].kind == BIND_VOLUME_RW)
			look_at(&l, &order->binds[i], box ? box->workspace_fd : -1);
	/* In a branch, all files of the system are as old as the branch. */
	l.since_ns = box ? MAX(since_ns, box->made_ns) : since_ns;
	if (order->has_image && box)
		look_at_system(&l, box);
}

static void name_action(void *arg, const struct shadow_action *action)
{
	if (action->act != SHADOW_TIME)
		lost_files_add(arg, "", action->path);
}

void lost_files_workspace(json_t **list, const struct shadow *then, int fd)
{
	struct workspace now;
	struct err err;
	if (!then || fd < 0 || workspace_scan(&now, fd, &err) < 0) {
		lost_files_add(list, "", ".");
		return;
	}
	if (now.is_cut || shadow_files(then)->is_cut)
		lost_files_add(list, "", ".");
	shadow_diff(then, &now, name_action, list);
	workspace_done(&now);
}
