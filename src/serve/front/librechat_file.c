/* Routes of the front "librechat" for files: store them, list them, give them back, remove them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/row/param.h"
#include "base/ascii.h"
#include "base/base64.h"
#include "base/buf.h"
#include "serve/front/inside.h"
#include "serve/front/librechat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define TOO_LARGE "File size limit exceeded"
#define GONE	  "The file may have expired or does not exist"

enum { FLAG_BYTES = 8, TIME_BYTES = 40, HEADER_BYTES = 4 << 10 };

/* ---- POST /upload and /upload/batch: the request ---- */

/* A form that is being read, and its field at hand. */
struct upload {
	json_t *rows; /* of libre_save(), with "filename" */
	struct buf data;
	json_t *filename; /* NULL: the field is not a file */
	bool is_flag;	  /* the field is "read_only" */
	bool is_read_only, is_over_limit;
};

static json_t *new_row(const struct upload *u)
{
	const char *name = json_string_value(u->filename);
	json_t *row = json_need(json_object());
	json_put_shared(row, "filename", u->filename);
	json_put_shared(row, "name", u->filename);
	const char *wrong = libre_wrong_name(name, strlen(name));
	if (buf_error(&u->data) < 0) {
		json_put_text(row, "error", TOO_LARGE);
		json_put_int(row, "code", ERR_LIMIT);
	} else if (wrong) {
		json_put_new(row, "error", json_need(json_sprintf("The file name %s", wrong)));
		json_put_int(row, "code", ERR_USAGE);
	}
	return row;
}

/* The field at hand is whole. */
static void end_field(struct upload *u)
{
	if (u->is_flag)
		u->is_read_only = strcasecmp(buf_str(&u->data), "true") == 0;
	if (!u->filename)
		return;
	json_t *row = new_row(u);
	size_t n = base64_bytes(u->data.bytes);
	char *text = json_object_get(row, "error") ? NULL : malloc(n + 1);
	if (text) {
		base64_encode(text, buf_str(&u->data), u->data.bytes);
		json_put_new(row, "content", json_stringn_nocheck(text, n));
		json_put_text(row, "encoding", "base64");
		free(text);
	}
	json_add_new(u->rows, row);
	json_decref(take_ptr(u->filename));
}

static bool on_piece(void *arg, const struct http_piece *piece)
{
	struct upload *u = arg;
	if (piece->offset == 0) {
		end_field(u);
		if (piece->filename && json_array_size(u->rows) >= LIBRE_FILES_MAX) {
			u->is_over_limit = true;
			return false;
		}
		u->is_flag = !piece->filename && strcmp(piece->name, "read_only") == 0;
		buf_done(&u->data);
		u->data = (struct buf)BUF_INIT(piece->filename ? LIBRE_FILE_BYTES : FLAG_BYTES);
		if (piece->filename)
			u->filename = json_new_text(piece->filename, strlen(piece->filename));
	}
	/* Too long: buf_error() says so afterwards. */
	if (u->filename || u->is_flag)
		(void)buf_append(&u->data, piece->data, piece->bytes);
	return true;
}

static void start_saving(struct front_call *c, const struct upload *u, bool is_batch)
{
	char id[LIBRE_ID_BYTES];
	json_t *row;
	size_t i;
	libre_make_storage(id);
	c->kept = json_need(json_pack("{s:s, s:O, s:i, s:b, s:b}", "storage", id, "save", u->rows,
		"then", LIBRE_UPLOADED, "is_batch", is_batch, "is_over_limit", u->is_over_limit));
	json_array_foreach(u->rows, i, row)
	{
		libre_make_file(id, u->is_read_only);
		json_put_text(row, "id", id);
	}
	libre_save(c);
}

static void start_upload(struct front_call *c, bool is_batch)
{
	struct upload u = {.rows = json_need(json_array()), .data = BUF_INIT(FLAG_BYTES)};
	struct err err;
	int r = http_read_form(c->x, on_piece, &u, &err);
	if (!u.is_over_limit)
		end_field(&u);
	if (r < 0)
		libre_refuse(c, 400, err.msg);
	else if (json_array_size(u.rows) == 0)
		libre_refuse(c, 400, "No files provided");
	else
		start_saving(c, &u, is_batch);
	json_decref(u.filename);
	json_decref(u.rows);
	buf_done(&u.data);
}

void libre_start_upload(struct front_call *c)
{
	start_upload(c, false);
}

void libre_start_batch(struct front_call *c)
{
	start_upload(c, true);
}

/* ---- POST /upload and /upload/batch: the answer ---- */

static json_t *uploaded(const json_t *row)
{
	return json_pack("{s:O, s:O}", "filename", json_object_get(row, "filename"), "fileId",
		json_object_get(row, "id"));
}

/* Clients of different ages read the id of the storage session by different names. */
static json_t *upload_answer(const struct front_call *c, const char *message, json_t *files)
{
	const json_t *storage = json_object_get(c->kept, "storage");
	return json_pack("{s:s, s:O, s:O, s:o}", "message", message, "storage_session_id", storage,
		"session_id", storage, "files", files);
}

static void answer_batch(struct front_call *c)
{
	const json_t *rows = json_object_get(c->kept, "save"), *row;
	json_t *files = json_need(json_array());
	size_t i, n = json_array_size(rows);
	int n_failed = 0;
	json_array_foreach(rows, i, row)
	{
		const json_t *error = json_object_get(row, "error");
		json_t *file = error ? json_pack("{s:s, s:O, s:O}", "status", "error", "filename",
					       json_object_get(row, "filename"), "error", error)
				     : uploaded(row);
		if (!error)
			json_put_text(file, "status", "success");
		n_failed += error ? 1 : 0;
		json_add_new(files, file);
	}
	json_t *body = upload_answer(c,
		n_failed == 0		    ? "success"
			: n_failed < (int)n ? "partial_success"
					    : "error",
		files);
	json_put_int(body, "succeeded", (int)n - n_failed);
	json_put_int(body, "failed", n_failed);
	if (json_get_bool(c->kept, "is_over_limit")) {
		json_put_bool(body, "filesLimitReached", true);
		json_put_int(body, "maxFiles", LIBRE_FILES_MAX);
	}
	front_answer(c, n_failed < (int)n ? 200 : 400, body);
}

void libre_uploaded(struct front_call *c)
{
	const json_t *rows = json_object_get(c->kept, "save"), *row;
	json_t *files;
	size_t i;
	struct err err;
	if (json_get_bool(c->kept, "is_batch")) {
		answer_batch(c);
		return;
	}
	if (json_get_bool(c->kept, "is_over_limit")) {
		libre_refuse(c, 400, "Too many files");
		return;
	}
	json_array_foreach(rows, i, row) if (json_object_get(row, "error"))
	{
		(void)err_set(&err, (enum err_code)json_get_int(row, "code"), "%.200s",
			json_get_text(row, "error"));
		front_fail(c, &err);
		return;
	}
	files = json_need(json_array());
	json_array_foreach(rows, i, row) json_add_new(files, uploaded(row));
	front_answer(c, 200, upload_answer(c, "success", files));
}

/* ---- a file as the routes tell of it ---- */

static json_t *iso_time(int64_t ms)
{
	char day[TIME_BYTES], text[2 * TIME_BYTES];
	struct tm tm;
	time_t s = (time_t)(ms / 1000);
	if (!gmtime_r(&s, &tm) || strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return json_null();
	snprintf(text, sizeof text, "%s.%03dZ", day, (int)(ms % 1000));
	return json_string(text);
}

/* Make the name of an object of the original's store, "STORAGE/FILE.txt", of a row of file.list. */
static json_t *object_name(const json_t *row)
{
	char file[LIBRE_ID_BYTES];
	const char *path = json_get_text(row, "path"), *name = libre_split(path, file);
	const char *last = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	const char *ending = strrchr(last, '.');
	return json_sprintf(
		"%.*s%s", 2 * LIBRE_ID_BYTES - 1, path, ending && ending > last ? ending : "");
}

/* Add the members that all descriptions of a file have. */
static json_t *describe(const json_t *row)
{
	int64_t ms = json_get_int(row, "modified_ms"), bytes = json_get_int(row, "size");
	return json_pack("{s:I, s:o, s:o}", "size", (json_int_t)bytes, "lastModified", iso_time(ms),
		"etag",
		json_sprintf("%llx-%llx", (unsigned long long)ms, (unsigned long long)bytes));
}

static json_t *summary(const json_t *row)
{
	json_t *out = describe(row);
	json_put_new(out, "name", object_name(row));
	return out;
}

static json_t *full(const json_t *row)
{
	char file[LIBRE_ID_BYTES];
	const char *name = libre_split(json_get_text(row, "path"), file);
	const json_t *type = json_object_get(row, "mime");
	json_t *out = summary(row);
	json_put_new(out, "metadata",
		json_pack("{s:O, s:o, s:s, s:s}", "content-type", type, "original-filename",
			json_new_text(name, strlen(name)), "original-filename-encoded", "none",
			"read-only", libre_is_read_only(file) ? "true" : "false"));
	json_put_new(out, "versionId", json_null());
	json_put_shared(out, "contentType", type);
	return out;
}

static json_t *normalized(const json_t *row)
{
	char file[LIBRE_ID_BYTES];
	const char *path = json_get_text(row, "path"), *name = libre_split(path, file);
	json_t *out = json_pack("{s:s, s:o, s:o, s:I, s:O, s:o}", "id", file, "name",
		json_new_text(name, strlen(name)), "storage_session_id",
		json_new_text(path, LIBRE_ID_BYTES - 1), "size",
		(json_int_t)json_get_int(row, "size"), "contentType", json_object_get(row, "mime"),
		"lastModified", iso_time(json_get_int(row, "modified_ms")));
	if (libre_is_read_only(file))
		json_put_bool(out, "read_only", true);
	return out;
}

static const struct detail {
	const char *name;
	json_t *(*describe)(const json_t *row);
} details[] = {
	{"simple", object_name}, {"summary", summary}, {"full", full}, {"normalized", normalized}};

/* ---- the other routes ---- */

/* The ids in a path; an id that is missing, or too long to be one, is "". */
struct ids {
	char storage[LIBRE_ID_BYTES + 1], file[LIBRE_ID_BYTES + 1];
};

static const char *take_id(char out[LIBRE_ID_BYTES + 1], const char *at)
{
	size_t n = strcspn(at, "/?");
	if (n <= LIBRE_ID_BYTES)
		snprintf(out, LIBRE_ID_BYTES + 1, "%.*s", (int)n, at);
	return at + n;
}

/* Read the ids in "…@directory STORAGE @middle FILE?…"; @middle NULL: there is no file. Returns:
 * false if the path is another; the call is then over. */
static bool read_ids(
	struct front_call *c, struct ids *ids, const char *directory, const char *middle)
{
	const char *target = http_target(c->x), *at = strstr(target, directory);
	*ids = (struct ids){.storage = ""};
	at = at ? take_id(ids->storage, at + strlen(directory)) : "";
	if (middle && strncmp(at, middle, strlen(middle)) == 0)
		at = take_id(ids->file, at + strlen(middle));
	if (*at && *at != '?') {
		front_nothing(c);
		return false;
	}
	if (libre_is_id(ids->storage) && (!middle || libre_is_id(ids->file)))
		return true;
	libre_refuse(c, 400, "Bad request");
	return false;
}

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	const char *wanted = param_text(c->kept, "detail", details[0].name);
	const struct detail *detail = details;
	json_t *files = json_need(json_array()), *row;
	size_t i;
	for (i = 0; i < ARRAY_LEN(details); i++)
		if (strcmp(details[i].name, wanted) == 0)
			detail = &details[i];
	json_array_foreach(json_object_get(result, "files"), i, row)
		json_add_new(files, detail->describe(row));
	if (result) {
		front_answer(c, 200, files);
		return;
	}
	json_decref(files);
	if (err->code == ERR_NOT_FOUND)
		libre_refuse(c, 403, "Unauthorized");
	else
		front_fail(c, err);
}

void libre_start_list(struct front_call *c)
{
	struct ids ids;
	const char *detail = http_query(c->x, "detail");
	c->kept = json_need(json_object());
	json_put_text(c->kept, "detail", detail);
	if (read_ids(c, &ids, "/v1/files/", NULL))
		libre_find(c, ids.storage, NULL, on_listed);
}

/* Return the file that was looked for. Returns: NULL if there is none; the call is then over. */
static const json_t *found(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *row = json_array_get(json_object_get(result, "files"), 0);
	if (row)
		return row;
	if (!result && err->code != ERR_NOT_FOUND)
		front_fail(c, err);
	else
		front_answer(c, 404,
			json_pack("{s:s, s:s}", "error", "File not found", "details", GONE));
	return NULL;
}

static void on_object(struct front_call *c, const json_t *result, const struct err *err)
{
	char file[LIBRE_ID_BYTES];
	const json_t *row = found(c, result, err);
	if (!row)
		return;
	const char *name = libre_split(json_get_text(row, "path"), file);
	json_t *body = summary(row);
	json_put_text(body, "originalFilename", name);
	json_put_shared(body, "contentType", json_object_get(row, "mime"));
	json_put_bool(body, "readOnly", libre_is_read_only(file));
	front_answer(c, 200, body);
}

void libre_start_object(struct front_call *c)
{
	struct ids ids;
	if (read_ids(c, &ids, "/v1/sessions/", "/objects/"))
		libre_find(c, ids.storage, ids.file, on_object);
}

/* Add the header with the name of the file, as encodeURIComponent() writes it. */
static void name_attachment(struct front_call *c, const char *name)
{
	cleanup_buf struct buf out = BUF_INIT(HEADER_BYTES);
	buf_add(&out, "attachment; filename*=UTF-8''");
	for (const char *at = name; *at; at++)
		if (ascii_is_name(*at) || strchr("-.!~*'()", *at))
			buf_append(&out, at, 1);
		else
			buf_addf(&out, "%%%02X", (unsigned)(unsigned char)*at);
	if (c->x)
		(void)http_set_header(c->x, "Content-Disposition", buf_str(&out));
}

static void on_read(struct front_call *c, const json_t *result, const struct err *err)
{
	char file[LIBRE_ID_BYTES];
	if (!result) {
		(void)found(c, NULL, err);
		return;
	}
	name_attachment(c, libre_split(json_get_text(result, "path"), file));
	if (c->x && libre_is_read_only(file))
		(void)http_set_header(c->x, "X-Read-Only", "true");
	front_answer_file(c, json_string_value(c->kept), result);
}

static void on_found(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *row = found(c, result, err);
	if (!row)
		return;
	c->kept = json_incref(json_object_get(row, "mime"));
	libre_operate(
		c, "file.read", json_get_text(row, "path"), json_need(json_object()), on_read);
}

void libre_start_download(struct front_call *c)
{
	struct ids ids;
	if (read_ids(c, &ids, "/v1/download/", "/"))
		libre_find(c, ids.storage, ids.file, on_found);
}

static void on_deleted(struct front_call *c, const json_t *result, const struct err *err)
{
	if (!result) {
		(void)found(c, NULL, err);
		return;
	}
	front_answer(c, 200,
		json_pack("{s:s, s:O, s:O}", "message", "File deleted successfully", "session_id",
			json_object_get(c->kept, "storage"), "fileId",
			json_object_get(c->kept, "file")));
}

void libre_start_delete(struct front_call *c)
{
	struct ids ids;
	char path[2 * LIBRE_ID_BYTES];
	if (!read_ids(c, &ids, "/v1/files/", "/"))
		return;
	c->kept = json_need(json_pack("{s:s, s:s}", "storage", ids.storage, "file", ids.file));
	snprintf(path, sizeof path, "%s/%s", ids.storage, ids.file);
	libre_operate(
		c, "file.remove", path, json_need(json_pack("{s:b}", "recursive", 1)), on_deleted);
}
