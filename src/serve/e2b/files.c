/*
 * The service filesystem.Filesystem of the front "e2b": files of a sandbox, without their contents.
 *
 * Each request becomes an operation `path.*`. Watches are in watch.c.
 *
 * Source: e2b-dev/infra, packages/envd/spec/filesystem/filesystem.proto, and its services.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/files.h"

#include "api/call/path_message.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define HOME "/home/user"

enum { DEPTH_MAX = 64, MS_PER_S = 1000, NS_PER_MS = 1000000, PERMISSIONS_BYTES = 16 };
enum { MODE_PLAIN = 0777, MODE_USER = 04000, MODE_GROUP = 02000, MODE_STICKY = 01000 };

bool e2b_is_user(const char *name)
{
	return !name[0] || strcmp(name, "user") == 0;
}

/* ---- entries ---- */

json_t *e2b_metadata_json(const json_t *entry)
{
	const size_t skip = strlen(E2B_METADATA_PREFIX);
	json_t *attributes = json_object_get(entry, "attributes"), *value, *out = NULL;
	const char *key;
	json_object_foreach(attributes, key, value)
	{
		if (strncmp(key, E2B_METADATA_PREFIX, skip) != 0)
			continue;
		out = out ? out : json_need(json_object());
		json_put_shared(out, key + skip, value);
	}
	return out;
}

/* Write the permissions as Go does. Source: io/fs, FileMode.String(). */
static void write_permissions(char out[PERMISSIONS_BYTES], char kind, unsigned mode)
{
	static const char letters[] = "rwxrwxrwx";
	size_t n = 0;
	if (kind)
		out[n++] = kind;
	if (mode & MODE_USER)
		out[n++] = 'u';
	if (mode & MODE_GROUP)
		out[n++] = 'g';
	if (mode & MODE_STICKY)
		out[n++] = 't';
	if (n == 0)
		out[n++] = '-';
	for (unsigned i = 0; letters[i]; i++)
		out[n++] = mode & (0400U >> i) ? letters[i] : '-';
	out[n] = '\0';
}

/* Write a time as messages of Connect have it: with 0, 3, 6 or 9 digits of the second. */
static void put_time(json_t *out, const json_t *entry)
{
	int64_t ms = json_get_int(entry, "modified_ms"), ns = json_get_int(entry, "modified_ns");
	time_t seconds = (time_t)(ms / MS_PER_S);
	struct tm at;
	char date[32] = "", rest[12] = "", text[64];
	ns += ms % MS_PER_S * NS_PER_MS;
	if (!gmtime_r(&seconds, &at))
		return;
	(void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &at);
	if (ns > 0)
		snprintf(rest, sizeof rest, ".%09u", (unsigned)ns);
	for (size_t n = strlen(rest); n > 4 && strcmp(rest + n - 3, "000") == 0; n -= 3)
		rest[n - 3] = '\0';
	snprintf(text, sizeof text, "%s%sZ", date, rest);
	json_put_text(out, "modifiedTime", text);
}

json_t *e2b_entry_json(const json_t *entry)
{
	const char *type = json_get_text(entry, "type");
	bool is_directory = strcmp(type, "directory") == 0, is_file = strcmp(type, "file") == 0;
	bool is_link = json_object_get(entry, "link") != NULL;
	unsigned mode = (unsigned)json_get_int(entry, "mode");
	unsigned own = is_link ? (unsigned)json_get_int(entry, "link_mode") : mode;
	char size[24], permissions[PERMISSIONS_BYTES];
	json_t *out = json_need(json_object());
	snprintf(size, sizeof size, "%lld", (long long)json_get_int(entry, "size"));
	write_permissions(permissions, is_link ? 'L' : is_directory ? 'd' : '\0', own);
	json_put_shared(out, "name", json_object_get(entry, "name"));
	json_put_text(out, "type",
		is_file		       ? "FILE_TYPE_FILE"
			: is_directory ? "FILE_TYPE_DIRECTORY"
				       : "FILE_TYPE_UNSPECIFIED");
	json_put_shared(out, "path", json_object_get(entry, "path"));
	json_put_text(out, "size", size);
	json_put_int(out, "mode", mode & MODE_PLAIN);
	json_put_text(out, "permissions", permissions);
	json_put_shared(out, "owner", json_object_get(entry, "owner"));
	json_put_shared(out, "group", json_object_get(entry, "group"));
	put_time(out, entry);
	json_put_shared(out, "symlinkTarget", json_object_get(entry, "link"));
	json_put_new(out, "metadata", e2b_metadata_json(entry));
	return out;
}

/* ---- errors ---- */

bool e2b_is_there(struct front_call *c, const struct err *err)
{
	const char *id = json_get_text(c->kept, "sandbox");
	const struct e2b_sandbox *s = e2b_find(c->state->own, id);
	bool is_there = s && s->phase == E2B_RUNNING;
	if (is_there && err->code != ERR_GONE && err->code != ERR_BOX)
		return true;
	e2b_answer_lost(c, id);
	return false;
}

const char *e2b_path_word(const struct err *err)
{
	if (err->code == ERR_USAGE && strstr(err->msg, "levels of symbolic links"))
		return "failed_precondition";
	return e2b_rpc_word(err->code);
}

/* Answer that an operation has failed. @missing: what is told if there is no file, with the path.
 */
static void fail(struct front_call *c, const struct err *err, const char *missing)
{
	const char *path = json_get_text(c->kept, "path");
	if (!e2b_is_there(c, err))
		return;
	if (err->code == ERR_NOT_FOUND)
		e2b_rpc_refuse(
			c, "not_found", "%s %.180s: no such file or directory", missing, path);
	else
		e2b_rpc_refuse(c, e2b_path_word(err), "%s%s%s", err->msg, err->hint[0] ? ": " : "",
			err->hint);
}

/* ---- the operations ---- */

/* Return a path of the request; "" is the default directory. Returns: NULL, and the request was
 * answered, if it is no text. */
static const char *read_path(struct front_call *c, const char *name)
{
	const json_t *value = json_object_get(c->body, name);
	if (!value || json_is_null(value))
		return HOME;
	if (!json_is_string(value)) {
		e2b_rpc_refuse(c, "invalid_argument", "%s is not a text", name);
		return NULL;
	}
	return json_string_length(value) > 0 ? json_string_value(value) : HOME;
}

/* Return the parameters of an operation with the path of the request, and keep what answers need.
 * Returns: NULL, and the request was answered, if the path is no text. */
static json_t *path_params(struct front_call *c, const struct e2b_sandbox *s, const char *name)
{
	char path[PATH_BYTES + 1];
	struct err err;
	const char *given = read_path(c, name);
	if (!given)
		return NULL;
	if (path_clean(given, path, &err) < 0) {
		e2b_rpc_fail(c, &err);
		return NULL;
	}
	c->kept = json_need(json_pack("{s:s, s:s}", "sandbox", s->id, "path", path));
	return json_need(json_pack("{s:s, s:s}", "session", s->id, name, path));
}

static void answer_entry(struct front_call *c, const json_t *entry)
{
	front_answer(c, 200, json_pack("{s:o}", "entry", e2b_entry_json(entry)));
}

static void on_stat(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		answer_entry(c, result);
	else
		fail(c, err, "file not found: lstat");
}

static void start_stat(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *params = path_params(c, s, "path");
	if (params)
		front_operate(c, "path.stat", params, on_stat);
}

static void on_made(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *entry = json_object_get(result, "entry");
	if (json_get_bool(result, "is_new"))
		answer_entry(c, entry);
	else if (result)
		e2b_rpc_refuse(c, "already_exists", "directory already exists: %.200s",
			json_get_text(entry, "path"));
	else
		fail(c, err, "path not found: mkdir");
}

static void start_make(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *params = path_params(c, s, "path");
	if (params)
		front_operate(c, "path.make", params, on_made);
}

static void on_moved(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		answer_entry(c, result);
	else
		fail(c, err, "source file not found: rename");
}

static void start_move(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *params = path_params(c, s, "source");
	const char *to = params ? read_path(c, "destination") : NULL;
	if (!to) {
		json_decref(params);
		return;
	}
	json_put_text(params, "destination", to);
	front_operate(c, "path.move", params, on_moved);
}

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	json_t *entry, *all;
	size_t i;
	if (!result) {
		fail(c, err, "path not found: lstat");
		return;
	}
	if (json_get_bool(result, "truncated")) {
		e2b_rpc_refuse(c, "resource_exhausted",
			"%.180s has too many entries to list: list a part of it, or with a smaller "
			"depth",
			json_get_text(c->kept, "path"));
		return;
	}
	all = json_need(json_array());
	json_array_foreach(json_object_get(result, "entries"), i, entry)
		json_add_new(all, e2b_entry_json(entry));
	front_answer(c, 200, json_pack("{s:o}", "entries", all));
}

static void start_list(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *params = path_params(c, s, "path");
	if (!params)
		return;
	json_int_t depth = json_get_int(c->body, "depth");
	json_put_int(params, "depth", MIN(MAX(depth, 1), DEPTH_MAX));
	front_operate(c, "path.list", params, on_listed);
}

static void on_removed(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200, json_object());
	else
		fail(c, err, "remove");
}

static void start_remove(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *params = path_params(c, s, "path");
	if (!params)
		return;
	json_put_bool(params, "missing_ok", true);
	front_operate(c, "path.remove", params, on_removed);
}

/* ---- the procedures ---- */

static const struct e2b_procedure procedures[] = {
	{"Stat", false, start_stat},
	{"MakeDir", false, start_make},
	{"Move", false, start_move},
	{"ListDir", false, start_list},
	{"Remove", false, start_remove},
	{"WatchDir", true, e2b_start_watch_dir},
	{"CreateWatcher", false, e2b_start_create_watcher},
	{"GetWatcherEvents", false, e2b_start_watcher_events},
	{"RemoveWatcher", false, e2b_start_remove_watcher},
};

/* Check the user whom the request names. Returns: false, and the request was answered, if it is
 * another than a sandbox has. */
static bool check_user(struct front_call *c)
{
	char name[64];
	(void)e2b_rpc_user(c, name);
	if (e2b_is_user(name))
		return true;
	e2b_rpc_refuse(c, "unauthenticated", E2B_NO_USER, name);
	return false;
}

void e2b_start_filesystem(struct front_call *c)
{
	const struct e2b_procedure *found;
	struct e2b_sandbox *s = e2b_enter_procedure(
		c, "/filesystem.Filesystem/", procedures, ARRAY_LEN(procedures), &found);
	if (s && check_user(c))
		found->start(c, s);
}
