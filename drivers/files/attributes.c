/* SPDX-License-Identifier: Apache-2.0 */
#include "attributes.h"

#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

enum {
	NAME_BYTES = 251,
	LIST_BYTES = 64 << 10,
	VALUE_BYTES = 4 << 10,
	ALL_BYTES = 16 << 10,
	MANY = 64
};

static const char own[] = "user.";
enum { OWN_BYTES = sizeof own - 1 };

static bool is_own(const char *name)
{
	return strncmp(name, own, OWN_BYTES) == 0 && name[OWN_BYTES];
}

json_t *attributes_read(const char *path)
{
	static char list[LIST_BYTES], value[VALUE_BYTES + 1];
	json_t *all = NULL;
	bool is_inexact = false;
	size_t bytes = 0;
	ssize_t n = llistxattr(path, list, sizeof list);
	for (const char *name = list; n > 0 && name < list + n; name += strlen(name) + 1) {
		ssize_t got = is_own(name) ? lgetxattr(path, name, value, VALUE_BYTES) : -1;
		if (got < 0 || json_object_size(all) == MANY)
			continue;
		bytes += strlen(name) + (size_t)got;
		if (bytes > ALL_BYTES)
			break;
		value[got] = '\0';
		json_t *key = answer_text(name + OWN_BYTES, &is_inexact);
		all = all ? all : json_object();
		if (key)
			(void)json_object_set_new(
				all, json_string_value(key), answer_text(value, &is_inexact));
		json_decref(key);
	}
	return all;
}

static bool is_given(char *const *given, const char *name)
{
	for (; given[0]; given += 2)
		if (strcmp(given[0], name) == 0)
			return true;
	return false;
}

static int set_one(int fd, const char *prefix, char *const *pair, const char *path, struct err *err)
{
	char name[OWN_BYTES + NAME_BYTES];
	int n = snprintf(name, sizeof name, "%s%s%s", own, prefix, pair[0]);
	if (n < 0 || (size_t)n >= sizeof name)
		return err_fail(err, ERR_USAGE, "with the prefix, a name has at most 250 bytes",
			"%.150s: the name of an attribute is too long", path);
	if (fsetxattr(fd, name, pair[1], strlen(pair[1]), 0) == 0)
		return 0;
	if (errno == EOPNOTSUPP)
		return err_fail(err, ERR_USAGE, "the workspace may have them",
			"%.150s: its file system has no extended attributes", path);
	if (errno == E2BIG || errno == ERANGE || errno == ENOSPC)
		return err_fail(err, ERR_LIMIT, "put it into a file",
			"%.150s: the attributes are too long", path);
	return answer_fail(err, errno, path);
}

int attributes_set(
	int fd, const char *prefix, char *const *given, const char *path, struct err *err)
{
	static char list[LIST_BYTES];
	size_t prefix_bytes = strlen(prefix);
	ssize_t n = flistxattr(fd, list, sizeof list);
	int r = 0;
	for (const char *name = list; n > 0 && name < list + n; name += strlen(name) + 1) {
		const char *rest = name + OWN_BYTES;
		if (is_own(name) && strncmp(rest, prefix, prefix_bytes) == 0 &&
			!is_given(given, rest + prefix_bytes) && fremovexattr(fd, name) < 0)
			r = answer_fail(err, errno, path);
	}
	for (; r == 0 && given[0]; given += 2)
		r = set_one(fd, prefix, given, path, err);
	return r;
}

void attributes_copy(int from_fd, int to_fd)
{
	static char list[LIST_BYTES], value[LIST_BYTES];
	ssize_t n = flistxattr(from_fd, list, sizeof list);
	for (const char *name = list; n > 0 && name < list + n; name += strlen(name) + 1) {
		ssize_t got = is_own(name) ? fgetxattr(from_fd, name, value, sizeof value) : -1;
		if (got >= 0)
			(void)fsetxattr(to_fd, name, value, (size_t)got, 0);
	}
}
