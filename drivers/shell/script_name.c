/* SPDX-License-Identifier: Apache-2.0 */
#include "script_name.h"

#include "base/attr.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_plain(const char *path)
{
	for (const char *at = path; *at; at++) {
		size_t n = strcspn(at, "/");
		if (n == 0 || n > NAME_MAX || (n <= 2 && strncmp(at, "..", n) == 0))
			return false;
		at += n - (at[n] == '\0');
	}
	return path[0] && path[strlen(path) - 1] != '/' && strlen(path) < PATH_MAX / 2;
}

static int make_parents(const struct script_name *name)
{
	char path[PATH_MAX + sizeof name->dir];
	int n = snprintf(path, sizeof path, "%s/%s", name->dir, name->path);
	for (char *at = path + strlen(name->dir) + 1; n > 0 && (at = strchr(at, '/')); at++) {
		*at = '\0';
		int r = mkdir(path, 0700);
		*at = '/';
		if (r < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int script_name_make(struct script_name *out, const char *path, int fd)
{
	static const char *const places[] = {"/dev/shm/.retort-XXXXXX", "/tmp/.retort-XXXXXX"};
	char link[PATH_MAX + sizeof out->dir], target[64];
	const char *last = strrchr(path, '/');
	path = is_plain(path) ? path : last && is_plain(last + 1) ? last + 1 : "script";
	snprintf(out->path, sizeof out->path, "%s%s", path[0] == '-' ? "./" : "", path);
	snprintf(target, sizeof target, "/proc/%d/fd/%d", (int)getpid(), fd);
	int r = -EIO;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		snprintf(out->dir, sizeof out->dir, "%s", places[i]);
		if (!mkdtemp(out->dir)) {
			r = -errno;
			continue;
		}
		snprintf(link, sizeof link, "%s/%s", out->dir, out->path);
		r = make_parents(out);
		r = r == 0 && symlink(target, link) < 0 ? -errno : r;
		if (r == 0)
			return 0;
		script_name_remove(out);
	}
	return r;
}

void script_name_remove(const struct script_name *name)
{
	char path[PATH_MAX + sizeof name->dir];
	snprintf(path, sizeof path, "%s/%s", name->dir, name->path);
	(void)unlink(path);
	for (char *slash; strlen(path) > strlen(name->dir) && (slash = strrchr(path, '/'));) {
		*slash = '\0';
		(void)rmdir(path);
	}
}
