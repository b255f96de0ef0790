/* SPDX-License-Identifier: Apache-2.0 */
#include "entry.h"

#include "answer.h"
#include "attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000, MS_PER_S = 1000, OWNER_BYTES = 64, MODE_BITS = 07777 };

/* ---- owners ---- */

/* The last owner that was looked up: the files of a directory mostly have the same one. */
struct owner {
	bool is_known;
	unsigned id;
	char name[OWNER_BYTES];
};

/* The libraries that would find users elsewhere than in these files cannot be linked statically. */
static void find_user(struct owner *owner)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *at;
	while (file && (at = fgetpwent(file)))
		if (at->pw_uid == owner->id) {
			snprintf(owner->name, sizeof owner->name, "%s", at->pw_name);
			break;
		}
	if (file)
		(void)fclose(file);
}

static void find_group(struct owner *owner)
{
	FILE *file = fopen("/etc/group", "re");
	const struct group *at;
	while (file && (at = fgetgrent(file)))
		if (at->gr_gid == owner->id) {
			snprintf(owner->name, sizeof owner->name, "%s", at->gr_name);
			break;
		}
	if (file)
		(void)fclose(file);
}

static const char *name_of(struct owner *last, unsigned id, void (*find)(struct owner *owner))
{
	if (last->is_known && last->id == id)
		return last->name;
	last->is_known = true;
	last->id = id;
	snprintf(last->name, sizeof last->name, "%u", id);
	find(last);
	return last->name;
}

/* ---- entries ---- */

static const char *type_of(mode_t mode)
{
	return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "directory" : "other";
}

static void put(json_t *entry, const char *key, json_t *value)
{
	(void)json_object_set_new(entry, key, value);
}

/* Set what is special about a link. @at: a path to it. */
static void put_link(json_t *entry, const char *at, const struct stat *st, bool *is_inexact)
{
	char place[PATH_MAX], raw[PATH_MAX];
	struct stat target;
	const char *leads_to = realpath(at, place);
	bool is_broken = !leads_to || stat(at, &target) < 0;
	if (is_broken) {
		ssize_t n = readlink(at, raw, sizeof raw - 1);
		raw[MAX(n, 0)] = '\0';
		leads_to = raw;
	}
	put(entry, "type", json_string(is_broken ? "link" : type_of(target.st_mode)));
	put(entry, "mode", json_integer((is_broken ? st->st_mode : target.st_mode) & MODE_BITS));
	put(entry, "link", answer_text(leads_to, is_inexact));
	put(entry, "link_mode", json_integer(st->st_mode & MODE_BITS));
}

json_t *entry_make(int dir, const char *name, const char *path, struct stat *st, struct err *err)
{
	static struct owner user, group;
	char at[PATH_MAX];
	bool is_inexact = false;
	const char *slash = strrchr(path, '/');
	if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0) {
		(void)answer_fail(err, errno, path);
		return NULL;
	}
	if (dir == AT_FDCWD)
		snprintf(at, sizeof at, "%s", name);
	else
		snprintf(at, sizeof at, "/proc/self/fd/%d/%s", dir, name);
	int64_t ms = st->st_mtim.tv_sec * (int64_t)MS_PER_S + st->st_mtim.tv_nsec / NS_PER_MS;
	json_t *entry = json_object();
	put(entry, "name", answer_text(slash && slash[1] ? slash + 1 : path, &is_inexact));
	put(entry, "path", answer_text(path, &is_inexact));
	put(entry, "size", json_integer(st->st_size));
	if (S_ISLNK(st->st_mode)) {
		put_link(entry, at, st, &is_inexact);
	} else {
		put(entry, "type", json_string(type_of(st->st_mode)));
		put(entry, "mode", json_integer(st->st_mode & MODE_BITS));
		if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) {
			json_t *attributes = attributes_read(at);
			if (attributes)
				put(entry, "attributes", attributes);
		}
	}
	put(entry, "owner", answer_text(name_of(&user, st->st_uid, find_user), &is_inexact));
	put(entry, "group", answer_text(name_of(&group, st->st_gid, find_group), &is_inexact));
	put(entry, "uid", json_integer(st->st_uid));
	put(entry, "gid", json_integer(st->st_gid));
	put(entry, "modified_ms", json_integer(MAX(ms, 0)));
	put(entry, "modified_ns", json_integer(st->st_mtim.tv_nsec % NS_PER_MS));
	if (is_inexact)
		put(entry, "inexact", json_true());
	return entry;
}

json_t *entry_at(const char *path, struct err *err)
{
	struct stat st;
	return entry_make(AT_FDCWD, path, path, &st, err);
}

bool entry_is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}
