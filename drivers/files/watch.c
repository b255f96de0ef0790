/*
 * Watching a directory with inotify, and with `recursive` every directory in it.
 *
 * A directory that appears later is watched from then on, and then scanned: what is in it already
 * is reported as created. A file that is made between the two is found by the scan and also has an
 * event. So each name that a scan has found is noted until all events are read which the kernel had
 * then, and the event of a noted name is left out. A name that is removed is forgotten, so the
 * event of a file that is made again under it is reported.
 *
 * A directory that is moved away is no longer watched; if it was moved within the tree, the event
 * of its new name has it watched and scanned again.
 *
 * Events about a directory itself repeat what is reported by the directory above it. Only those of
 * the requested directory, which has none above it, are reported: its name is ".".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "answer.h"
#include "entry.h"
#include "files.h"
#include "watch_table.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
	EVENTS = IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_DELETE | IN_DELETE_SELF | IN_MOVED_FROM |
		IN_MOVE_SELF | IN_ATTRIB,
	BUFFER_BYTES = 64 << 10
};

struct watching {
	const char *root;
	bool is_recursive, has_entries;
	int fd;
	struct watch_table table;
	bool has_noted;
};

/* ---- what is written ---- */

static const char *type_of(uint32_t mask)
{
	if (mask & (IN_CREATE | IN_MOVED_TO))
		return "create";
	if (mask & IN_MODIFY)
		return "write";
	if (mask & (IN_DELETE | IN_DELETE_SELF))
		return "remove";
	return mask & (IN_MOVED_FROM | IN_MOVE_SELF) ? "rename" : "chmod";
}

/* Join two parts of a path, of which one may be empty. A path that is too long becomes empty. */
static void join(char out[PATH_MAX], const char *above, const char *name)
{
	bool has_slash = above[0] && name[0] && strcmp(above, "/") != 0;
	int n = snprintf(out, PATH_MAX, "%s%s%s", above, has_slash ? "/" : "", name);
	if (n < 0 || n >= PATH_MAX)
		out[0] = '\0';
}

/* Report that @path, relative to the root, has changed. */
static int report(struct watching *w, uint32_t mask, const char *path, struct err *err)
{
	char whole[PATH_MAX];
	struct err gone;
	bool is_inexact = false,
	     is_there = mask & (IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB);
	json_t *event = json_pack("{s:s, s:s, s:o*}", "event", "change", "type", type_of(mask),
		"name", answer_text(path[0] ? path : ".", &is_inexact));
	if (w->has_entries && is_there) {
		join(whole, w->root, path);
		json_t *entry = whole[0] ? entry_at(whole, &gone) : NULL;
		if (entry)
			(void)json_object_set_new(event, "entry", entry);
	}
	return answer_line(STDOUT_FILENO, event, err);
}

static int report_word(const char *word, struct err *err)
{
	return answer_line(STDOUT_FILENO, json_pack("{s:s}", "event", word), err);
}

/* ---- which directories are watched ---- */

static int fail_many(const char *path, int sys, struct err *err)
{
	if (sys == ENOSPC)
		return err_fail(err, ERR_LIMIT,
			"watch a smaller part, or raise "
			"fs.inotify.max_user_watches on the host",
			"%.150s: the host's limit of watched directories is reached", path);
	return err_fail(err, ERR_LIMIT, "watch a smaller part of it",
		"%.150s: more than %d directories", path, WATCHES_MAX);
}

/* Watch one directory. Returns: its number; 0 if it cannot be watched, because it is gone or not
 * readable; negative errno. */
static int watch_one(struct watching *w, const char *whole, const char *path, struct err *err)
{
	uint32_t mask = EVENTS | IN_ONLYDIR | (path[0] ? IN_DONT_FOLLOW : 0);
	int number = inotify_add_watch(w->fd, whole, mask);
	if (number < 0 && errno == ENOSPC)
		return fail_many(w->root, ENOSPC, err);
	if (number < 0)
		return path[0] ? 0 : answer_fail(err, errno, whole);
	int r = watch_put(&w->table, number, path);
	if (r == -E2BIG)
		return fail_many(w->root, 0, err);
	if (r < 0)
		return err_set(err, ERR_LIMIT, "no memory in the box for watches");
	return number;
}

static bool is_directory(int dir, const struct dirent *at)
{
	struct stat st;
	if (at->d_type != DT_UNKNOWN)
		return at->d_type == DT_DIR;
	return fstatat(dir, at->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int watch_tree(struct watching *w, const char *path, bool is_later, struct err *err);

/* Report what a directory that appeared has in it, if @is_later, and watch the directories in it.
 */
static int scan(struct watching *w, int number, const char *whole, const char *path, bool is_later,
	struct err *err)
{
	DIR *dir = opendir(whole);
	char *below = malloc(PATH_MAX);
	const struct dirent *at;
	int r = 0;
	while (r == 0 && dir && below && (at = readdir(dir))) {
		if (strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0)
			continue;
		join(below, path, at->d_name);
		struct watch *watch = watch_find(&w->table, number);
		if (!below[0])
			continue;
		if (is_later && watch && watch_note(watch, at->d_name) == 0)
			w->has_noted = true;
		if (is_later)
			r = report(w, IN_CREATE, below, err);
		if (r == 0 && is_directory(dirfd(dir), at))
			r = watch_tree(w, below, is_later, err);
	}
	free(below);
	if (dir)
		(void)closedir(dir);
	return r;
}

static int watch_tree(struct watching *w, const char *path, bool is_later, struct err *err)
{
	char *whole = malloc(PATH_MAX);
	if (!whole)
		return err_set(err, ERR_LIMIT, "no memory in the box for watches");
	join(whole, w->root, path);
	int r = whole[0] ? watch_one(w, whole, path, err) : 0;
	if (r > 0 && w->is_recursive)
		r = scan(w, r, whole, path, is_later, err);
	free(whole);
	return MIN(r, 0);
}

/* ---- events ---- */

static void drop(void *arg, int number)
{
	const struct watching *w = arg;
	(void)inotify_rm_watch(w->fd, number);
}

static int on_event(struct watching *w, const struct inotify_event *event, struct err *err)
{
	char path[PATH_MAX];
	struct watch *watch = watch_find(&w->table, event->wd);
	const char *name = event->len > 0 ? event->name : "";
	bool is_new = event->mask & (IN_CREATE | IN_MOVED_TO);
	if (event->mask & IN_Q_OVERFLOW)
		return report_word("missed", err);
	if (watch && (event->mask & IN_IGNORED))
		watch_remove(&w->table, watch);
	if (!watch || (event->mask & (IN_IGNORED | IN_UNMOUNT)))
		return 0;
	if (!name[0] && watch->path[0])
		return 0; /* the directory above it reports this */
	join(path, watch->path, name);
	bool is_noted = (event->mask & (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM)) &&
		watch_take(watch, name);
	bool is_directory = w->is_recursive && name[0] && (event->mask & IN_ISDIR);
	if (is_directory && (event->mask & IN_MOVED_FROM))
		watch_remove_below(&w->table, path, drop, w);
	if (is_noted && is_new)
		return 0; /* the scan has reported it */
	int r = report(w, event->mask, path, err);
	return r == 0 && is_directory && is_new ? watch_tree(w, path, true, err) : r;
}

/* Return whether the kernel has more events now. */
static bool has_more(const struct watching *w)
{
	struct pollfd at = {.fd = w->fd, .events = POLLIN};
	return poll(&at, 1, 0) > 0;
}

static int read_events(struct watching *w, struct err *err)
{
	static alignas(struct inotify_event) char buffer[BUFFER_BYTES];
	ssize_t n = read(w->fd, buffer, sizeof buffer);
	if (n < 0 && errno != EINTR)
		return err_sys(err, ERR_IO, errno, "read events of files");
	int r = 0;
	for (ssize_t at = 0; r == 0 && at < n;) {
		const struct inotify_event *event = (const void *)(buffer + at);
		r = on_event(w, event, err);
		at += (ssize_t)(sizeof *event + event->len);
	}
	if (r == 0 && w->has_noted && !has_more(w)) {
		watch_settle(&w->table);
		w->has_noted = false;
	}
	return r;
}

int files_watch(const char *path, bool is_recursive, bool has_entries, struct err *err)
{
	struct watching w = {.root = path,
		.is_recursive = is_recursive,
		.has_entries = has_entries,
		.fd = inotify_init1(IN_CLOEXEC)};
	struct stat st;
	if (w.fd < 0)
		return err_fail_sys(err, ERR_LIMIT, errno,
			"the host's limit is fs.inotify.max_user_instances", "watch files");
	if (stat(path, &st) < 0)
		return answer_fail(err, errno, path);
	if (!S_ISDIR(st.st_mode))
		return err_fail(err, ERR_USAGE, "watch the directory that it is in",
			"%.180s: not a directory", path);
	int r = watch_tree(&w, "", false, err);
	if (r == 0)
		r = report_word("watching", err);
	while (r == 0)
		r = read_events(&w, err);
	return r;
}
