/*
 * The files of the front "jupyter". Kernels have workspaces of their own, so the root directory
 * lists the caller's kernels: "ID/data.csv" is the file data.csv of the kernel ID. Without a kernel
 * there are no files, and there is no place to put one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/server.h"

#include "api/text/json.h"
#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- models ---- */

/* Make the model of a file or directory. @content: taken; NULL: null. */
static json_t *model(const char *path, const char *type, json_t *content, const char *format)
{
	const char *slash = strrchr(path, '/');
	json_t *m = json_need(json_pack("{s:s, s:b, s:s, s:n, s:n}", "type", type, "writable", 1,
		"last_modified", "1970-01-01T00:00:00Z", "mimetype", "size"));
	json_put_text(m, "path", path);
	json_put_text(m, "name", slash ? slash + 1 : path);
	json_put_text(m, "created", "1970-01-01T00:00:00Z");
	json_put_new(m, "content", content ? content : json_null());
	json_put_new(m, "format", content ? json_string(format) : json_null());
	return m;
}

static void put_time(json_t *m, int64_t ms)
{
	char date[SERVER_DATE_BYTES];
	struct tm parts;
	time_t seconds = (time_t)(ms / 1000);
	if (!gmtime_r(&seconds, &parts))
		return;
	(void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
	json_put_text(m, "last_modified", date);
	json_put_text(m, "created", date);
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), n_suffix = strlen(suffix);
	return n >= n_suffix && strcmp(path + n - n_suffix, suffix) == 0;
}

static const char *type_of(const char *path)
{
	return has_suffix(path, ".ipynb") ? "notebook" : "file";
}

/* ---- directories ---- */

static void answer_root(struct front_call *c)
{
	json_t *all = json_need(json_array());
	for (const struct server_kernel *k = server_of(c)->kernels; k; k = k->next)
		if (server_find_kernel(c, k->id, strlen(k->id)) == k)
			json_add_new(all, model(k->id, "directory", NULL, NULL));
	front_answer(c, 200, model("", "directory", all, "json"));
}

/* Add the entry of the directory @dir that @file is, or is in. @seen: those that were added. */
static void add_entry(json_t *all, json_t *seen, const char *dir, size_t skip, const json_t *file)
{
	char path[2 * SERVER_PATH_BYTES];
	const char *name = json_get_text(file, "path");
	if (strlen(name) <= skip)
		return;
	name += skip;
	size_t n = strcspn(name, "/");
	int bytes =
		snprintf(path, sizeof path, "%s/%.*s", dir, (int)MIN(n, SERVER_PATH_BYTES), name);
	if (n == 0 || bytes >= (int)sizeof path || json_object_get(seen, path))
		return;
	json_put_bool(seen, path, true);
	json_t *m = model(path, name[n] ? "directory" : type_of(path), NULL, NULL);
	if (!name[n]) {
		json_put_shared(m, "size", json_object_get(file, "size"));
		json_put_shared(m, "mimetype", json_object_get(file, "mime"));
		put_time(m, json_get_int(file, "modified_ms"));
	}
	json_add_new(all, m);
}

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	const char *dir = json_get_text(c->kept, "path"), *sub = json_get_text(c->kept, "sub");
	const json_t *file;
	size_t i;
	if (!result) {
		front_fail(c, err);
		return;
	}
	/* Directories are known by the files in them. */
	if (sub[0] && json_array_size(json_object_get(result, "files")) == 0) {
		server_refuse(c, 404, "No such file or directory");
		return;
	}
	json_t *all = json_need(json_array());
	cleanup_json json_t *seen = json_need(json_object());
	json_array_foreach(json_object_get(result, "files"), i, file)
		add_entry(all, seen, dir, sub[0] ? strlen(sub) + 1 : 0, file);
	front_answer(c, 200, model(dir, "directory", all, "json"));
}

static json_t *params_of(const struct front_call *c)
{
	return json_need(json_pack("{s:O, s:O}", "session", json_object_get(c->kept, "session"),
		"path", json_object_get(c->kept, "sub")));
}

/* ---- reading a file ---- */

static void on_read(struct front_call *c, const json_t *result, const struct err *err)
{
	const char *path = json_get_text(c->kept, "path"), *type = type_of(path);
	const char *wanted = c->x ? http_query(c->x, "content") : NULL;
	bool has_content = !wanted || strcmp(wanted, "0") != 0;
	bool is_text = strcmp(json_get_text(result, "encoding"), "utf-8") == 0;
	const json_t *content = json_object_get(result, "content");
	json_t *notebook = NULL;
	if (!result) {
		/* A directory cannot be read, but listed. */
		if (err->code == ERR_NOT_FOUND || err->code == ERR_ACCESS)
			front_operate(c, "file.list", params_of(c), on_listed);
		else
			front_fail(c, err);
		return;
	}
	if (is_text && strcmp(type, "notebook") == 0)
		notebook = json_loadb(
			json_string_value(content), json_string_length(content), 0, NULL);
	type = notebook ? "notebook" : "file";
	json_t *m = model(path, type,
		!has_content	   ? NULL
			: notebook ? json_incref(notebook)
				   : json_incref(json_unconst(content)),
		notebook	  ? "json"
			: is_text ? "text"
				  : "base64");
	json_decref(notebook);
	json_put_text(m, "mimetype", is_text ? "text/plain" : "application/octet-stream");
	json_put_shared(m, "size", json_object_get(result, "size"));
	front_answer(c, 200, m);
}

/* Read "/api/contents/ID/PATH" into c->kept: path, session, sub. Returns: false if the request was
 * answered. */
static bool read_place(struct front_call *c)
{
	char path[SERVER_PATH_BYTES];
	bool is_well = server_read_path(c, "/api/contents/", path);
	size_t n = strcspn(path, "/");
	const struct server_kernel *k = is_well ? server_find_kernel(c, path, n) : NULL;
	if (!k) {
		server_refuse(c, 404,
			"files are in the workspaces of kernels: /api/contents/ID-OF-A-KERNEL/PATH");
		return false;
	}
	json_decref(c->kept);
	c->kept = json_need(json_pack("{s:s, s:s, s:s}", "path", path, "session", k->session, "sub",
		path + n + (path[n] == '/')));
	return true;
}

void server_start_contents(struct front_call *c)
{
	char path[SERVER_PATH_BYTES];
	if (server_read_path(c, "/api/contents/", path) && !path[0]) {
		answer_root(c);
		return;
	}
	if (!read_place(c))
		return;
	const char *type = c->x ? http_query(c->x, "type") : NULL;
	bool is_dir = !json_get_text(c->kept, "sub")[0] || (type && strcmp(type, "directory") == 0);
	front_operate(
		c, is_dir ? "file.list" : "file.read", params_of(c), is_dir ? on_listed : on_read);
}

/* ---- writing and removing ---- */

static void on_written(struct front_call *c, const json_t *result, const struct err *err)
{
	const char *path = json_get_text(c->kept, "path");
	if (result)
		front_answer(c, 201, model(path, type_of(path), NULL, NULL));
	else
		front_fail(c, err);
}

void server_start_contents_put(struct front_call *c)
{
	const json_t *content = json_object_get(c->body, "content");
	const char *format = json_get_text(c->body, "format");
	char *text = NULL;
	if (!read_place(c))
		return;
	if (strcmp(json_get_text(c->body, "type"), "directory") == 0 || !content) {
		server_refuse(c, 400, "only files can be written: content is missing");
		return;
	}
	json_t *params = params_of(c);
	if (json_is_string(content)) {
		json_put_shared(params, "content", content);
		if (strcmp(format, "base64") == 0)
			json_put_text(params, "encoding", "base64");
	} else if ((text = json_text(content, JSON_INDENT(1))) != NULL) {
		json_put_text(params, "content", text);
	}
	free(text);
	front_operate(c, "file.write", params, on_written);
}

static void on_removed(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer_empty(c);
	else
		front_fail(c, err);
}

void server_start_contents_end(struct front_call *c)
{
	if (!read_place(c))
		return;
	json_t *params = params_of(c);
	json_put_bool(params, "recursive", true);
	front_operate(c, "file.remove", params, on_removed);
}
