/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent/agent_context.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_BYTES_MAX = 63 };

/* Return the length of NAME in an item NAME=FILE; 0 if the item does not begin with a valid name
 * and "=". */
static int name_bytes(const char *item)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t bytes = strspn(item, more);
	bool is_name = strspn(item, letters) > 0 && bytes <= NAME_BYTES_MAX && item[bytes] == '=';
	return is_name ? (int)bytes : 0;
}

static int find_file(const char *file, char path[PATH_MAX], struct err *err)
{
	struct stat st;
	if (strcmp(file, "-") == 0)
		return err_fail(err, ERR_USAGE,
			"piped input is appended to the task; for --context, save it to a file first",
			"--context -: standard input is not a file");
	if (!realpath(file, path) || stat(path, &st) < 0)
		return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS, errno,
			"--context %.150s", file);
	if (S_ISREG(st.st_mode))
		return 0;
	return err_fail(err, ERR_USAGE, "give a directory as a volume: -v DIR:DIR",
		"--context %.150s: not a regular file", file);
}

static bool has(const json_t *rows, const char *name)
{
	size_t i;
	json_t *row;
	json_array_foreach(rows, i, row) if (strcmp(json_string_value(json_object_get(row, "name")),
						     name) == 0) return true;
	return false;
}

static int add(const char *item, json_t *volumes, json_t *rows, struct err *err)
{
	char name[NAME_BYTES_MAX + 1] = "context", path[PATH_MAX];
	char place[sizeof AGENT_CONTEXT_DIR + sizeof name];
	int bytes = name_bytes(item);
	if (bytes > 0)
		snprintf(name, sizeof name, "%.*s", bytes, item);
	int r = find_file(bytes > 0 ? item + bytes + 1 : item, path, err);
	if (r < 0)
		return r;
	if (has(rows, name))
		return err_fail(err, ERR_USAGE, "give each file a name: --context NAME=FILE",
			"--context %.150s: the name %s is used twice", item, name);
	snprintf(place, sizeof place, "%s%s", AGENT_CONTEXT_DIR, name);
	json_t *volume = json_pack("{s:s, s:s, s:s}", "src", path, "dst", place, "mode", "ro");
	json_t *row = json_pack("{s:s, s:s}", "name", name, "path", place);
	if (!volume) {
		json_decref(row);
		return err_set(err, ERR_USAGE, "--context: the file name is not UTF-8");
	}
	r = json_array_append_new(volumes, volume) | json_array_append_new(rows, row);
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "no memory for options") : 0;
}

int agent_context_add(const struct opt_list *items, json_t *create, json_t **out, struct err *err)
{
	json_t *rows = items->n > 0 ? json_array() : NULL;
	json_t *volumes = json_object_get(create, "volumes");
	for (size_t i = 0; i < items->n; i++)
		if (add(items->item[i], volumes, rows, err) < 0) {
			json_decref(rows);
			return -err_errno(err->code);
		}
	*out = rows;
	return 0;
}
