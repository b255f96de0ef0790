/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/copy.h"

#include "api/base64.h"
#include "base/utf8.h"
#include "cli/outdir.h"
#include "cli/program.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

enum { COPY_MAX_BYTES = 1 << 30, CHUNK_BYTES = 8 << 20, PUT_MAX_BYTES = 40 << 20 };

/* Append the content of a file.read. Returns: bytes, or negative errno. */
static ssize_t take_content(const json_t *result, struct buf *out, struct err *err)
{
	const json_t *content = json_object_get(result, "content");
	size_t before = out->bytes;
	const char *text = json_string_value(content);
	size_t bytes = json_string_length(content);
	if (!text)
		return err_set(err, ERR_PROTOCOL, "the engine sent no content");
	int r = strcmp(session_text(result, "encoding"), "base64") == 0
		? base64_read(out, text, bytes, err)
		: buf_append(out, text, bytes);
	if (r < 0)
		return err_set(err, ERR_LIMIT, "a file over %zu MiB", out->max_bytes >> 20);
	return (ssize_t)(out->bytes - before);
}

int copy_read(const struct copy_from *from, const char *path, struct buf *out, struct err *err)
{
	json_int_t size = 0, at = 0;
	do {
		json_t *result = NULL;
		json_t *params = json_pack("{s:s, s:s, s:I, s:i}", "session", from->session, "path",
			path, "offset", at, "limit", CHUNK_BYTES);
		int r = from->call(from->arg, "file.read", params, &result, err);
		ssize_t n = r < 0 ? r : take_content(result, out, err);
		size = json_integer_value(json_object_get(result, "size"));
		json_decref(result);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		at += n;
	} while (at < size);
	return 0;
}

int copy_one(const struct copy_from *from, const char *path, int out_fd, struct err *err)
{
	cleanup_buf struct buf data = BUF_INIT(COPY_MAX_BYTES);
	int r = copy_read(from, path, &data, err);
	return r < 0 ? r : outdir_put(out_fd, path, buf_str(&data), data.bytes, err);
}

static int copy_rows(const struct copy_from *from, const json_t *rows, int out_fd, struct err *err)
{
	struct err later;
	int first = 0;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		if (strcmp(session_text(row, "change"), "deleted") == 0)
			continue;
		int r = copy_one(from, session_text(row, "path"), out_fd, first < 0 ? &later : err);
		first = first < 0 ? first : r;
	}
	return first;
}

int copy_changed(const struct copy_from *from, const json_t *record, int out_fd, struct err *err)
{
	return copy_rows(from, json_object_get(record, "files"), out_fd, err);
}

int copy_all(const struct copy_from *from, int out_fd, struct err *err)
{
	json_t *list = NULL;
	json_t *params = json_pack("{s:s}", "session", from->session);
	int r = from->call(from->arg, "file.list", params, &list, err);
	if (r == 0)
		r = copy_rows(from, json_object_get(list, "files"), out_fd, err);
	json_decref(list);
	return r;
}

int copy_put(const struct copy_from *from, const char *file, const char *path, struct err *err)
{
	cleanup_buf struct buf data = BUF_INIT(PUT_MAX_BYTES);
	cleanup_buf struct buf text = BUF_INIT(PUT_MAX_BYTES * 2);
	const char *slash = strrchr(file, '/');
	const char *name = path ? path : slash ? slash + 1 : file;
	json_t *result = NULL;
	if (!utf8_is_valid(name, strlen(name)))
		return err_set(err, ERR_USAGE, "the name %.100s is not UTF-8", name);
	int r = program_read(file, &data, err);
	if (r < 0 && err->code == ERR_LIMIT)
		return err_set(err, ERR_LIMIT, "%s is over %d MiB", file, PUT_MAX_BYTES >> 20);
	if (r < 0 && (err->code == ERR_NOT_FOUND || err->code == ERR_USAGE))
		return err_hint(err, "name a file of this host");
	if (r == 0 && base64_write(&text, buf_str(&data), data.bytes) < 0)
		r = err_set(err, ERR_NO_MEMORY, "no memory for %s", file);
	if (r < 0)
		return r;
	json_t *params = json_pack("{s:s, s:s, s:s, s:s}", "session", from->session, "path", name,
		"content", buf_str(&text), "encoding", "base64");
	r = from->call(from->arg, "file.write", params, &result, err);
	json_decref(result);
	return r;
}
