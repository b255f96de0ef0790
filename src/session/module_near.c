/* SPDX-License-Identifier: Apache-2.0 */
#include "session/module_near.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "runtime/package.h"
#include "session/box/workspace.h"
#include "session/inside.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { NAME_BYTES = 256, VOLUMES_MAX = 8, VOLUME_FILES_MAX = 300, LIST_BYTES = 4096 };

struct missing {
	char name[NAME_BYTES];
	/* @name is the name of an SQL table, not of a file. The search then looks for the files
	 * NAME.csv and NAME.tsv, and for any database file, such as "x.sqlite". */
	bool is_table;
};

/* Read the name of what is missing: "a.csv" from "…: 'data/a.csv'" or "…, open '/x/a.csv'", or
 * "a" from "no such table: a". */
static bool read_message(const char *message, struct missing *out)
{
	static const char table[] = "no such table: ";
	const char *at = message, *end;
	*out = (struct missing){.is_table = strncmp(message, table, strlen(table)) == 0};
	if (out->is_table) {
		at += strlen(table);
		end = at + strcspn(at, " ("); /* SQLite's error code follows */
	} else {
		end = strrchr(message, '\'');
		for (at = end; at && at > message && at[-1] != '\''; at--)
			;
		if (!end || at == message)
			return false;
	}
	for (const char *slash; (slash = memchr(at, '/', (size_t)(end - at)));)
		at = slash + 1;
	if (end == at || end - at >= NAME_BYTES)
		return false;
	memcpy(out->name, at, (size_t)(end - at));
	return true;
}

static bool is_one_of(const char *ending, const char *const endings[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(ending, endings[i]) == 0)
			return true;
	return false;
}

static bool fits(const struct missing *m, const char *path)
{
	static const char *const tables[] = {".csv", ".tsv"},
				 *const databases[] = {".db", ".sqlite", ".sqlite3"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	if (!m->is_table)
		return strcmp(name, m->name) == 0;
	if (!dot)
		return false;
	bool is_same = (size_t)(dot - name) == strlen(m->name) &&
		strncasecmp(name, m->name, strlen(m->name)) == 0;
	return (is_same && is_one_of(dot, tables, ARRAY_LEN(tables))) ||
		(strcmp(name, "retort.db") != 0 && is_one_of(dot, databases, ARRAY_LEN(databases)));
}

/* Search the volume for the missing file. Open the volume by its path on the host, because the
 * box of a `retort run` has already ended. */
static bool find_in_volume(
	const struct missing *m, const struct warden_bind *volume, struct buf *out)
{
	static const char home[] = "/home/user/";
	const char *path = volume->dst + strlen(home);
	struct workspace inside;
	struct err ignored;
	if (strncmp(volume->dst, home, strlen(home)) != 0)
		return false;
	cleanup_fd int fd = open(volume->src, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fits(m, path) && buf_add(out, path) == 0;
	if (workspace_scan_some(&inside, fd, VOLUME_FILES_MAX, &ignored) < 0)
		return false;
	bool is_found = false;
	for (size_t i = 0; i < inside.n_files && !is_found; i++)
		is_found = inside.files[i].kind == WORKSPACE_FILE &&
			fits(m, inside.files[i].path) &&
			buf_addf(out, "%s/%s", path, inside.files[i].path) == 0;
	workspace_done(&inside);
	return is_found;
}

static bool find(const struct session *s, const struct missing *m, struct buf *out)
{
	const struct workspace *files = &s->before;
	const struct order_checked *order = s->order;
	int n_volumes = 0;
	bool is_found = false;
	for (size_t i = 0; i < files->n_files && !is_found; i++)
		is_found = files->files[i].kind == WORKSPACE_FILE &&
			fits(m, files->files[i].path) && buf_add(out, files->files[i].path) == 0;
	for (size_t i = 0; i < order->n_binds && !is_found; i++) {
		const struct warden_bind *b = &order->binds[i];
		bool is_volume = b->kind == BIND_VOLUME_RO || b->kind == BIND_VOLUME_RW;
		if (is_volume && n_volumes++ < VOLUMES_MAX)
			is_found = find_in_volume(m, b, out);
	}
	return is_found;
}

static bool is_about_a_file(const json_t *error, const char *message)
{
	const char *name = json_string_value(json_object_get(error, "name"));
	return (name && strcmp(name, "FileNotFoundError") == 0) || strstr(message, "ENOENT") ||
		strncmp(message, "no such table: ", 15) == 0;
}

/* Read NAME from "No module named 'NAME'". False for 'NAME.sub', since the package NAME exists
 * then. */
static bool read_module(const char *message, char out[NAME_BYTES])
{
	static const char begin[] = "No module named '";
	const char *at = strstr(message, begin);
	size_t bytes = at ? strcspn(at + strlen(begin), ".'") : 0;
	if (bytes == 0 || bytes >= NAME_BYTES || at[strlen(begin) + bytes] == '.')
		return false;
	memcpy(out, at + strlen(begin), bytes);
	out[bytes] = '\0';
	return true;
}

/* Search the packages of the session's interpreter for a name like the missing module's. With
 * --rootfs nothing is searched, because the packages are in that file system. */
static bool find_module(const struct session *s, const char *message, struct buf *out)
{
	const struct order_checked *order = s->order;
	cleanup_buf struct buf list = BUF_INIT(LIST_BYTES);
	char module[NAME_BYTES];
	for (size_t i = 0; i < order->n_binds; i++)
		if (order->binds[i].kind == BIND_IMAGE)
			return false;
	if (!read_module(message, module) ||
		package_list(order->starts[runtime_index(&runtime_python)].argv[0], &list) == 0)
		return false;
	const char *near = package_near(buf_str(&list), module);
	return near && buf_add(out, near) == 0;
}

static bool find_meant(const struct session *s, struct buf *out)
{
	const json_t *error = s->record.error;
	const char *name = json_string_value(json_object_get(error, "name"));
	const char *message = json_string_value(json_object_get(error, "message"));
	struct missing m;
	if (!message)
		return false;
	if (name && strcmp(name, "ModuleNotFoundError") == 0)
		return find_module(s, message, out);
	return is_about_a_file(error, message) && read_message(message, &m) && find(s, &m, out);
}

void module_near_tell(struct session *s)
{
	cleanup_buf struct buf meant = BUF_INIT(2 * 4096), shown = BUF_INIT(8 * 4096);
	if (!find_meant(s, &meant) || utf8_repair(&shown, buf_str(&meant), meant.bytes, NULL) < 0)
		return;
	/* Add "near" to a copy of the error. The step's name was computed from the original, and
	 * must not depend on which similar names exist. */
	json_t *error = json_copy(s->record.error);
	(void)json_object_set_new(error, "near", json_string(buf_str(&shown)));
	json_decref(s->record.error);
	s->record.error = error;
}
