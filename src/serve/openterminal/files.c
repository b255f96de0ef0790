/* Files of the front "open-terminal": each request becomes operations `path.*`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/openterminal/inside.h"

#include "base/base64.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Start an operation on one path. */
static void operate(struct front_call *c, const char *operation, const char *path,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	json_t *params = ot_params(c);
	json_put_text(params, "path", path);
	front_operate(c, operation, params, answered);
}

/* Answer that there is no such file, or why the operation has failed. */
static void fail(struct front_call *c, const struct err *err, const char *missing)
{
	if (err->code == ERR_NOT_FOUND || (missing && err->code == ERR_USAGE))
		ot_refuse(c, 404, "%s", missing ? missing : "Path not found");
	else if (err->code == ERR_USAGE || err->code == ERR_NO_SPACE || err->code == ERR_IO)
		ot_refuse(c, 400, "%s", err->msg);
	else
		front_fail(c, err);
}

/* ---- the working directory of a chat ---- */

static void on_cwd(struct front_call *c)
{
	front_answer(c, 200,
		json_pack("{s:O, s:s, s:{s:s, s:s}}", "cwd", json_object_get(c->kept, "cwd"),
			"home", OT_HOME, "root", "path", OT_HOME, "label", "Home"));
}

void ot_start_cwd(struct front_call *c)
{
	ot_enter(c, on_cwd);
}

static void on_cwd_found(struct front_call *c, const json_t *result, const struct err *err)
{
	const struct ot_box *b = ot_find(c);
	const char *chat = json_get_text(c->kept, "chat");
	bool is_directory = strcmp(json_get_text(result, "type"), "directory") == 0;
	if (!is_directory || !b) {
		if (result || err->code == ERR_NOT_FOUND)
			ot_refuse(c, 404, "Directory not found");
		else
			front_fail(c, err);
		return;
	}
	if (chat[0]) {
		if (json_object_size(b->chats) >= OT_CHATS_MAX)
			(void)json_object_clear(b->chats);
		json_put_shared(b->chats, chat, json_object_get(result, "path"));
	}
	front_answer(c, 200, json_pack("{s:O}", "cwd", json_object_get(result, "path")));
}

static void set_cwd(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	ot_at_home(c);
	if (ot_body_path(c, "path", path))
		operate(c, "path.stat", path, on_cwd_found);
}

void ot_start_set_cwd(struct front_call *c)
{
	ot_enter(c, set_cwd);
}

/* ---- listing ---- */

/* May the user write there? What a box has of the host is read-only. */
static bool is_writable(const char *path)
{
	static const char *const places[] = {OT_HOME, "/tmp", "/dev/shm"};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		size_t n = strlen(places[i]);
		if (strncmp(path, places[i], n) == 0 && (path[n] == '/' || path[n] == '\0'))
			return true;
	}
	return false;
}

/* Describe an entry of a directory. Returns: NULL: it is left out. */
static json_t *entry_json(const json_t *entry)
{
	const char *type = json_get_text(entry, "type");
	bool is_directory = strcmp(type, "directory") == 0;
	if (strcmp(type, "link") == 0 || json_get_bool(entry, "inexact"))
		return NULL;
	return json_pack("{s:O, s:s, s:O, s:f, s:b}", "name", json_object_get(entry, "name"),
		"type", is_directory ? "directory" : "file", "size", json_object_get(entry, "size"),
		"modified", (double)json_get_int(entry, "modified_ms") / 1000, "writable",
		is_writable(json_get_text(entry, "path")));
}

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	const char *path = json_get_text(c->kept, "path");
	json_t *all = json_need(json_array()), *entry;
	size_t i;
	if (!result) {
		json_decref(all);
		fail(c, err, "Directory not found");
		return;
	}
	json_array_foreach(json_object_get(result, "entries"), i, entry)
		json_add_new(all, entry_json(entry));
	front_answer(c, 200,
		json_pack("{s:s, s:b, s:o}", "dir", path, "writable", is_writable(path), "entries",
			all));
}

static void list(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	if (!ot_query_path(c, "directory", ".", path))
		return;
	json_put_text(c->kept, "path", path);
	operate(c, "path.list", path, on_listed);
}

void ot_start_list(struct front_call *c)
{
	ot_enter(c, list);
}

/* ---- reading ---- */

static void answer_bytes(struct front_call *c, const char *type, const struct buf *content)
{
	struct http_exchange *x = front_take(c);
	char *copy = x ? malloc(content->bytes + 1) : NULL;
	if (copy)
		memcpy(copy, buf_str(content), content->bytes);
	if (x)
		http_answer_long(x, 200, type, copy, content->bytes);
}

static void on_read(struct front_call *c, const struct buf *content, const struct err *err)
{
	const char *path = json_get_text(c->kept, "path"), *type = ot_type(path);
	if (!content) {
		fail(c, err, "File not found");
		return;
	}
	const char *text = buf_str(content);
	if (!utf8_is_valid(text, content->bytes)) {
		if (strncmp(type, "image/", 6) == 0)
			answer_bytes(c, type, content);
		else
			ot_refuse(c, 415, "Unsupported binary file type: %s (%zu bytes)", type,
				content->bytes);
		return;
	}
	struct ot_lines lines = ot_find_lines(text, content->bytes,
		(size_t)json_get_int(c->kept, "first"), (size_t)json_get_int(c->kept, "last"));
	front_answer(c, 200,
		json_pack("{s:s, s:I, s:o}", "path", path, "total_lines", (json_int_t)lines.n,
			"content",
			json_need(json_stringn(text + lines.begin, lines.end - lines.begin))));
}

static void read_text(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	double first = 0, last = 0;
	if (!ot_query_path(c, "path", NULL, path) ||
		!ot_query_number(c, "start_line", 1, INT32_MAX, &first) ||
		!ot_query_number(c, "end_line", 1, INT32_MAX, &last))
		return;
	json_put_text(c->kept, "path", path);
	json_put_int(c->kept, "first", (int64_t)first);
	json_put_int(c->kept, "last", (int64_t)last);
	ot_read(c, path, on_read);
}

void ot_start_read(struct front_call *c)
{
	ot_enter(c, read_text);
}

static void on_display(struct front_call *c, const json_t *result, const struct err *err)
{
	bool is_file = strcmp(json_get_text(result, "type"), "file") == 0;
	if (!result && err->code != ERR_NOT_FOUND)
		front_fail(c, err);
	else
		front_answer(c, 200,
			json_pack("{s:O, s:b}", "path", json_object_get(c->kept, "path"), "exists",
				is_file));
}

static void display(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	if (!ot_query_path(c, "path", NULL, path))
		return;
	json_put_text(c->kept, "path", path);
	operate(c, "path.stat", path, on_display);
}

void ot_start_display(struct front_call *c)
{
	ot_enter(c, display);
}

static void view(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	ot_at_home(c);
	if (ot_query_path(c, "path", NULL, path))
		ot_send(c, path, false);
}

void ot_start_view(struct front_call *c)
{
	ot_enter(c, view);
}

static void serve(struct front_call *c)
{
	char rest[OT_PATH_BYTES], path[OT_PATH_BYTES];
	if (ot_read_rest(http_target(c->x), "/files/serve", rest) &&
		ot_clean_path(rest, strlen(rest), "/", path))
		ot_send(c, path, false);
	else
		ot_invalid(c, "path", "path", "Input should be a path of up to 4095 bytes");
}

void ot_start_serve(struct front_call *c)
{
	ot_enter(c, serve);
}

/* ---- writing ---- */

static void on_written(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200,
			json_pack("{s:O, s:O}", "path", json_object_get(c->kept, "path"), "size",
				json_object_get(result, "size")));
	else
		fail(c, err, NULL);
}

/* Write bytes to a file. */
static void write_file(struct front_call *c, const char *path, const char *data, size_t bytes)
{
	json_t *params = ot_params(c);
	cleanup_buf struct buf text = BUF_INIT(base64_bytes(OT_FILE_BYTES));
	bool is_text = utf8_is_valid(data, bytes);
	if (!is_text && base64_write(&text, data, bytes) == 0)
		json_put_text(params, "encoding", "base64");
	json_put_text(c->kept, "path", path);
	json_put_text(params, "path", path);
	json_put_textn(
		params, "content", is_text ? data : buf_str(&text), is_text ? bytes : text.bytes);
	front_operate(c, "path.write", params, on_written);
}

static void write_text(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	const json_t *content = json_object_get(c->body, "content");
	if (ot_body_path(c, "path", path) && ot_body_text(c, "content"))
		write_file(c, path, json_string_value(content), json_string_length(content));
}

void ot_start_write(struct front_call *c)
{
	ot_enter(c, write_text);
}

/* ---- replacing ---- */

/* Read one element of `replacements`. Returns: what is wrong; NULL: nothing. */
static const char *read_change(const json_t *given, struct ot_change *change)
{
	const json_t *target = json_object_get(given, "target");
	const json_t *replacement = json_object_get(given, "replacement");
	const json_t *first = json_object_get(given, "start_line");
	const json_t *last = json_object_get(given, "end_line");
	const json_t *any = json_object_get(given, "allow_multiple");
	if (!json_is_string(target) || !json_is_string(replacement))
		return "target and replacement should be strings";
	if ((first && !json_is_null(first) && json_integer_value(first) < 1) ||
		(last && !json_is_null(last) && json_integer_value(last) < 1))
		return "start_line and end_line should be whole numbers from 1";
	if (any && !json_is_boolean(any))
		return "allow_multiple should be a boolean";
	*change = (struct ot_change){.target = json_string_value(target),
		.target_bytes = json_string_length(target),
		.replacement = json_string_value(replacement),
		.replacement_bytes = json_string_length(replacement),
		.first = (size_t)json_integer_value(first),
		.last = (size_t)json_integer_value(last),
		.is_any_number = json_is_true(any)};
	return NULL;
}

static void on_to_replace(struct front_call *c, const struct buf *content, const struct err *err)
{
	char path[OT_PATH_BYTES];
	cleanup_buf struct buf text = BUF_INIT(OT_FILE_BYTES);
	json_t *given;
	size_t i;
	snprintf(path, sizeof path, "%s", json_get_text(c->kept, "path"));
	if (!content) {
		fail(c, err, "File not found");
		return;
	}
	/* Each one reads the whole file, and nobody else is served meanwhile. */
	size_t n = json_array_size(json_object_get(c->body, "replacements"));
	if (n > 1 && content->bytes > OT_FILE_BYTES / n) {
		ot_refuse(c, 413, "%zu replacements in a file of %zu bytes: make fewer at a time",
			n, content->bytes);
		return;
	}
	(void)buf_append(&text, buf_str(content), content->bytes);
	json_array_foreach(json_object_get(c->body, "replacements"), i, given)
	{
		struct ot_change change;
		struct err wrong;
		(void)read_change(given, &change);
		if (ot_change(&text, &change, &wrong) < 0) {
			ot_refuse(c, 400, "%s", wrong.msg);
			return;
		}
	}
	write_file(c, path, buf_str(&text), text.bytes);
}

static void replace(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	const json_t *all = json_object_get(c->body, "replacements");
	struct ot_change change;
	json_t *given;
	size_t i;
	if (!ot_body_path(c, "path", path))
		return;
	if (!json_is_array(all)) {
		ot_invalid(c, "body", "replacements",
			all ? "Input should be a valid list" : "Field required");
		return;
	}
	json_array_foreach(all, i, given)
	{
		const char *wrong = read_change(given, &change);
		if (wrong) {
			ot_invalid(c, "body", "replacements", wrong);
			return;
		}
	}
	json_put_text(c->kept, "path", path);
	ot_read(c, path, on_to_replace);
}

void ot_start_replace(struct front_call *c)
{
	ot_enter(c, replace);
}

/* ---- directories, removing, moving ---- */

static void on_made(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200, json_pack("{s:O}", "path", json_object_get(c->kept, "path")));
	else
		fail(c, err, NULL);
}

static void make(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	ot_at_home(c);
	if (!ot_body_path(c, "path", path))
		return;
	json_put_text(c->kept, "path", path);
	operate(c, "path.make", path, on_made);
}

void ot_start_mkdir(struct front_call *c)
{
	ot_enter(c, make);
}

static void on_removed(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200,
			json_pack("{s:O, s:O}", "path", json_object_get(c->kept, "path"), "type",
				json_object_get(c->kept, "type")));
	else
		fail(c, err, NULL);
}

static void on_to_remove(struct front_call *c, const json_t *result, const struct err *err)
{
	char path[OT_PATH_BYTES];
	bool is_directory = strcmp(json_get_text(result, "type"), "directory") == 0 &&
		!json_object_get(result, "link");
	if (!result) {
		fail(c, err, NULL);
		return;
	}
	snprintf(path, sizeof path, "%s", json_get_text(c->kept, "path"));
	json_put_text(c->kept, "type", is_directory ? "directory" : "file");
	operate(c, "path.remove", path, on_removed);
}

static void remove_path(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	ot_at_home(c);
	if (!ot_query_path(c, "path", NULL, path))
		return;
	json_put_text(c->kept, "path", path);
	operate(c, "path.stat", path, on_to_remove);
}

void ot_start_delete(struct front_call *c)
{
	ot_enter(c, remove_path);
}

static void on_moved(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200,
			json_pack("{s:O, s:O}", "source", json_object_get(c->kept, "source"),
				"destination", json_object_get(c->kept, "destination")));
	else
		fail(c, err, NULL);
}

static void on_destination(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result) {
		ot_refuse(c, 409, "Destination already exists");
		return;
	}
	if (err->code != ERR_NOT_FOUND) {
		fail(c, err, NULL);
		return;
	}
	json_t *params = ot_params(c);
	json_put_shared(params, "source", json_object_get(c->kept, "source"));
	json_put_shared(params, "destination", json_object_get(c->kept, "destination"));
	front_operate(c, "path.move", params, on_moved);
}

static void on_parent(struct front_call *c, const json_t *result, const struct err *err)
{
	(void)err;
	if (strcmp(json_get_text(result, "type"), "directory") != 0)
		ot_refuse(c, 400, "Destination parent directory not found");
	else
		operate(c, "path.stat", json_get_text(c->kept, "destination"), on_destination);
}

static void on_source(struct front_call *c, const json_t *result, const struct err *err)
{
	char parent[OT_PATH_BYTES];
	if (!result) {
		fail(c, err, "Source path not found");
		return;
	}
	snprintf(parent, sizeof parent, "%s", json_get_text(c->kept, "destination"));
	char *end = strrchr(parent, '/');
	end[end == parent] = '\0';
	operate(c, "path.stat", parent, on_parent);
}

static void move(struct front_call *c)
{
	char source[OT_PATH_BYTES], destination[OT_PATH_BYTES];
	ot_at_home(c);
	if (!ot_body_path(c, "source", source) || !ot_body_path(c, "destination", destination))
		return;
	json_put_text(c->kept, "source", source);
	json_put_text(c->kept, "destination", destination);
	operate(c, "path.stat", source, on_source);
}

void ot_start_move(struct front_call *c)
{
	ot_enter(c, move);
}
