/*
 * Find the installation of an interpreter on the host, and bind what a box needs of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/installation.h"
#include "runtime/start.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 16 };

void runtime_cut_last_part(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

int runtime_absolute_path(const char *path, char out[PATH_MAX], struct err *err)
{
	char whole[2 * PATH_MAX];
	char here[PATH_MAX] = "";
	size_t at = 0;
	if (path[0] != '/' && !getcwd(here, sizeof here))
		return err_sys(err, ERR_IO, errno, "current directory");
	snprintf(whole, sizeof whole, "%s/%s", here, path);
	for (const char *p = whole; *p;) {
		p += strspn(p, "/");
		size_t n = strcspn(p, "/");
		bool is_up = n == 2 && p[0] == '.' && p[1] == '.';
		if (is_up)
			while (at > 0 && out[--at] != '/')
				;
		else if (n > 0 && !(n == 1 && p[0] == '.')) {
			if (at + n + 2 > PATH_MAX)
				return err_set(err, ERR_LIMIT, "path is too long: %.100s…", path);
			out[at++] = '/';
			memcpy(out + at, p, n);
			at += n;
		}
		p += n;
	}
	out[at] = '\0';
	return 0;
}

static int no_installation(const struct runtime_kind *kind, const char *path, struct err *err)
{
	return err_fail(err, ERR_RUNTIME, kind->hint, "%s belongs to no installation of %s", path,
		kind->language);
}

bool runtime_is_installation(const struct runtime_kind *kind, const char *prefix)
{
	char pattern[PATH_MAX + 64];
	bool found = false;
	for (size_t i = 0; prefix[0] && !found && i < ARRAY_LEN(kind->signs); i++) {
		glob_t matches = {0};
		if (!kind->signs[i])
			continue;
		snprintf(pattern, sizeof pattern, "%s/%s", prefix, kind->signs[i]);
		found = glob(pattern, GLOB_NOSORT, NULL, &matches) == 0;
		globfree(&matches);
	}
	return found;
}

int runtime_bind_prefix(struct runtime_start *out, const char *prefix, struct err *err)
{
	int r = runtime_bind(out, prefix, NULL, err);
	char *real = r < 0 ? NULL : realpath(prefix, NULL);
	if (real && strcmp(real, prefix) != 0)
		r = runtime_bind(out, real, NULL, err);
	free(real);
	return r;
}

int runtime_bind_installation(const struct runtime_kind *kind, struct runtime_start *out,
	char executable[PATH_MAX], struct err *err)
{
	char at[PATH_MAX], target[PATH_MAX], prefix[PATH_MAX], next[2 * PATH_MAX];
	bool is_seen = false;
	snprintf(at, sizeof at, "%s", executable);
	for (int i = 0; i < LINKS_MAX; i++) {
		snprintf(prefix, sizeof prefix, "%s", at);
		runtime_cut_last_part(prefix);
		ssize_t n = readlink(at, target, sizeof target - 1);
		snprintf(next, sizeof next, "%s/%.*s", target[0] == '/' ? "" : prefix,
			(int)MAX(n, 0), target);
		runtime_cut_last_part(prefix);
		int r = runtime_is_in_box(at) ? 0
			: runtime_is_installation(kind, prefix)
			? runtime_bind_prefix(out, prefix, err)
			: 1;
		if (r < 0)
			return r;
		if (r == 0 && !is_seen) {
			snprintf(executable, PATH_MAX, "%s", at);
			is_seen = true;
		}
		r = n < 0 ? 0 : runtime_absolute_path(next, at, err);
		if (n < 0 || r < 0)
			return is_seen || r < 0 ? r : no_installation(kind, executable, err);
	}
	return no_installation(kind, executable, err);
}

int runtime_not_found(const struct runtime_kind *kind, const char *path, struct err *err)
{
	return err_fail(err, ERR_RUNTIME, kind->missing, "no %s at %s", kind->language, path);
}

/* Explain why an existing path cannot be used: a dangling link, or a directory that this user may
 * not enter. */
static int fail_find(const struct runtime_kind *kind, const char *path, int error, struct err *err)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof target - 1);
	(void)runtime_not_found(kind, path, err);
	if (n > 0)
		err_set(err, ERR_RUNTIME, "no %s at %s, which leads to %.*s: %s", kind->language,
			path, (int)n, target, strerror(error));
	else if (error == EACCES)
		err_set(err, ERR_RUNTIME, "no %s at %s: %s", kind->language, path, strerror(error));
	if (error == EACCES)
		return err_hint(err,
			"this user may not read and run it; name one that is open to it: --python PATH");
	return err_hint(err, "%s", kind->missing);
}

/* A name without a slash that does not exist here is looked up in PATH, as in a shell. */
static bool find_in_path(const char *name, char out[PATH_MAX])
{
	const char *at = getenv("PATH");
	if (!at || strchr(name, '/') || access(name, F_OK) == 0)
		return false;
	for (;; at++) {
		size_t bytes = strcspn(at, ":");
		int n = snprintf(out, PATH_MAX, "%.*s/%s", (int)bytes, at, name);
		if (at[0] == '/' && n < PATH_MAX && access(out, X_OK) == 0)
			return true;
		at += bytes;
		if (!*at)
			return false;
	}
}

int runtime_find(
	const struct runtime_kind *kind, const char *asked, char out[PATH_MAX], struct err *err)
{
	struct stat st;
	if (!asked) {
		for (size_t i = 0; kind->usual[i]; i++)
			if (access(kind->usual[i], X_OK) == 0)
				return runtime_absolute_path(kind->usual[i], out, err);
		return runtime_not_found(kind, kind->usual[0], err);
	}
	int r = find_in_path(asked, out) ? 0 : runtime_absolute_path(asked, out, err);
	if (r < 0)
		return r;
	if (stat(out, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (strlen(out) + strlen(kind->executable) + 2 > PATH_MAX)
			return runtime_not_found(kind, out, err);
		strcat(strcat(out, "/"), kind->executable);
	}
	if (stat(out, &st) < 0)
		return fail_find(kind, out, errno, err);
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return runtime_not_found(kind, out, err);
	return access(out, X_OK) < 0 ? fail_find(kind, out, errno, err) : 0;
}

int runtime_name_in_image(
	const struct runtime_request *req, const char *usual, char out[PATH_MAX], struct err *err)
{
	int n = snprintf(out, PATH_MAX, "%s", req->interpreter ? req->interpreter : usual);
	return n < PATH_MAX ? 0 : err_set(err, ERR_LIMIT, "path is too long: %.100s…", out);
}
