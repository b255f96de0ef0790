/* Files that come in forms, and archives, of the front "open-terminal".
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/openterminal/inside.h"

#include "base/base64.h"
#include "base/id.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256, ARCHIVE_PATHS_MAX = 1000, ID_BYTES = 20, OUT_BYTES = 64 };

/* ---- uploads ---- */

/* The file of a form. */
struct ot_form {
	struct buf content;
	char name[NAME_BYTES];
	bool is_found;
};

static bool on_piece(void *arg, const struct http_piece *piece)
{
	struct ot_form *f = arg;
	if (strcmp(piece->name, "file") != 0 || !piece->filename)
		return true;
	if (piece->offset == 0) {
		const char *slash = strrchr(piece->filename, '/');
		if (f->is_found)
			return false;
		f->is_found = true;
		snprintf(f->name, sizeof f->name, "%s", slash ? slash + 1 : piece->filename);
	}
	return buf_append(&f->content, piece->data, piece->bytes) == 0;
}

static void on_uploaded(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200,
			json_pack("{s:O, s:O}", "path", json_object_get(c->kept, "path"), "size",
				json_object_get(result, "size")));
	else if (err->code == ERR_ACCESS)
		ot_refuse(c, 403, "%s", err->msg);
	else if (err->code == ERR_QUOTA || err->code == ERR_BUSY || err->code == ERR_GONE)
		front_fail(c, err);
	else
		ot_refuse(c, 400, "%s", err->msg);
}

/* Return the path of the file below @directory. Returns: NULL if its name is not one. */
static json_t *path_of(const struct ot_form *f, const char *directory)
{
	char path[OT_PATH_BYTES];
	const char *name = f->name[0] ? f->name : "upload";
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strlen(name) >= NAME_BYTES - 1 ||
		!ot_clean_path(name, strlen(name), directory, path))
		return NULL;
	return json_string(path);
}

static void upload(struct front_call *c)
{
	char directory[OT_PATH_BYTES];
	cleanup_buf struct buf text = BUF_INIT(base64_bytes(OT_FILE_BYTES));
	struct ot_form form = {.content = BUF_INIT(OT_FILE_BYTES)};
	struct err err;
	json_t *path = NULL, *params = ot_params(c);
	ot_at_home(c);
	if (!ot_query_path(c, "directory", NULL, directory)) {
		/* it was answered */
	} else if (http_read_form(c->x, on_piece, &form, &err) < 0) {
		ot_refuse(c, 400, "%s", err.msg);
	} else if (!form.is_found) {
		ot_invalid(c, "body", "file", "Field required");
	} else if (!(path = path_of(&form, directory))) {
		ot_invalid(c, "body", "file", "the name of the file is not valid");
	} else if (buf_error(&form.content) < 0 ||
		base64_write(&text, buf_str(&form.content), form.content.bytes) < 0) {
		ot_refuse(c, 413, "the file is over %d MiB", OT_FILE_BYTES >> 20);
	} else {
		json_put_shared(params, "path", path);
		json_put_shared(c->kept, "path", path);
		json_put_text(params, "encoding", "base64");
		json_put_textn(params, "content", buf_str(&text), text.bytes);
		front_operate(c, "path.write", json_incref(params), on_uploaded);
	}
	json_decref(path);
	json_decref(params);
	buf_done(&form.content);
}

void ot_start_upload(struct front_call *c)
{
	ot_enter(c, upload);
}

/* ---- archives ---- */

/* Write the header Content-Disposition. A name with other characters than these would need an
 * encoding. */
static void set_name(struct front_call *c, const char *name)
{
	char text[NAME_BYTES + 64], clean[NAME_BYTES];
	size_t n = 0;
	for (; name[n] && n + 1 < sizeof clean; n++) {
		unsigned char byte = (unsigned char)name[n];
		clean[n] = (char)(byte < ' ' || byte > '~' || byte == '"' || byte == '\\' ? '_'
											  : byte);
	}
	clean[n] = '\0';
	snprintf(text, sizeof text, "attachment; filename=\"%s.zip\"", clean);
	(void)http_set_header(c->x, "Content-Disposition", text);
}

static void on_archived(struct front_call *c, const json_t *answer, const struct err *err)
{
	char path[OT_PATH_BYTES];
	const char *missing = json_get_text(answer, "missing");
	snprintf(path, sizeof path, "%s", json_get_text(answer, "path"));
	if (!answer) {
		front_fail(c, err);
	} else if (missing[0]) {
		ot_refuse(c, 404, "Path not found: %s", missing);
	} else if (!path[0]) {
		ot_refuse(c, 400, "%s", json_get_text(answer, "error"));
	} else {
		set_name(c, json_get_text(answer, "name"));
		ot_send(c, path, true);
	}
}

static void archive(struct front_call *c)
{
	const json_t *paths = json_object_get(c->body, "paths");
	char path[OT_PATH_BYTES], id[ID_BYTES], out[OUT_BYTES];
	json_t *all, *one;
	size_t i;
	ot_at_home(c);
	if (!json_is_array(paths) || json_array_size(paths) > ARCHIVE_PATHS_MAX) {
		ot_invalid(c, "body", "paths",
			paths ? "Input should be a list of up to 1000 paths" : "Field required");
		return;
	}
	if (json_array_size(paths) == 0) {
		ot_refuse(c, 400, "No paths provided");
		return;
	}
	all = json_need(json_array());
	json_array_foreach(paths, i, one)
	{
		if (!ot_clean_path(json_string_value(one), json_string_length(one),
			    json_get_text(c->kept, "cwd"), path)) {
			json_decref(all);
			ot_invalid(c, "body", "paths", "Input should be a list of paths");
			return;
		}
		json_add_text(all, path);
	}
	id_make(id, sizeof id, "");
	snprintf(out, sizeof out, "/tmp/.retort-archive-%s.zip", id);
	json_put_text(c->kept, "out", out);
	ot_run_tool(c, json_pack("{s:s, s:o, s:s}", "op", "zip", "paths", all, "out", out),
		on_archived);
}

void ot_start_archive(struct front_call *c)
{
	ot_enter(c, archive);
}
