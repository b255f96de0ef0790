/* The tools read_file, write_file and list_files, and the URIs and MIME types of files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/text/observation.h"
#include "serve/mcp/job.h"
#include "serve/mcp/result.h"
#include "serve/mcp/tool_table.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_BYTES = 1 << 20,
	LIST_BYTES = TEXT_BYTES / 2,
	FILES_MAX = 200,
	READ_ROOM_BYTES = 32 << 20
};

static const char *argument(const struct mcp_job *job, const char *name, const char *fallback)
{
	return param_text(job->arguments, name, fallback);
}

static json_t *session_params(const struct mcp_job *job)
{
	return json_pack("{s:s}", "session", mcp_job_session(job));
}

const char *mcp_mime_of(const char *path, bool is_text)
{
	static const struct {
		const char *end, *mime;
	} rows[] = {{".png", "image/png"}, {".jpg", "image/jpeg"}, {".jpeg", "image/jpeg"},
		{".gif", "image/gif"}, {".webp", "image/webp"}, {".svg", "image/svg+xml"},
		{".csv", "text/csv"}, {".html", "text/html"}, {".json", "application/json"},
		{".md", "text/markdown"}, {".pdf", "application/pdf"}};
	size_t bytes = strlen(path);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].end);
		if (bytes >= n && strcasecmp(path + bytes - n, rows[i].end) == 0)
			return rows[i].mime;
	}
	return is_text ? "text/plain" : "application/octet-stream";
}

/* Return whether the MIME type is that of a bitmap image, which models can look at. */
static bool is_picture(const char *mime)
{
	return strncmp(mime, "image/", 6) == 0 && strcmp(mime, "image/svg+xml") != 0;
}

/* ---- the tool read_file ---- */

enum content { CONTENT_TEXT, CONTENT_LATIN, CONTENT_BINARY };

/* Return whether the data can be text in an encoding with one byte per character, that is,
 * whether it lacks control characters that texts do not have. */
static bool is_latin(const char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)data[i] < ' ' && !strchr("\t\n\v\f\r\033", data[i]))
			return false;
	return memchr(data, '\0', bytes) == NULL;
}

static void add_latin(struct buf *out, const char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)data[i];
		char two[] = {(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))};
		buf_append(out, c < 0x80 ? data + i : two, c < 0x80 ? 1 : sizeof two);
	}
}

/* Convert the content of a file to UTF-8 text in @out. The content may be a page of a long file,
 * so up to three bytes of incomplete characters are dropped at each end. Returns: the kind of
 * content. */
static enum content take_content(const json_t *file, struct buf *out)
{
	const json_t *content = json_object_get(file, "content");
	const char *data = json_string_value(content);
	size_t bytes = json_string_length(content);
	cleanup_buf struct buf raw = BUF_INIT(READ_ROOM_BYTES);
	struct err err;
	if (strcmp(param_text(file, "encoding", ""), "base64") != 0)
		return buf_append(out, data, bytes) == 0 ? CONTENT_TEXT : CONTENT_BINARY;
	if (base64_read(&raw, data, bytes, &err) < 0)
		return CONTENT_BINARY;
	const char *at = buf_str(&raw);
	size_t n = raw.bytes;
	for (int i = 0; i < UTF8_MAX_BYTES - 1 && n > 0 && ((unsigned char)*at & 0xc0) == 0x80;
		i++, n--)
		at++;
	for (int i = 0; i < UTF8_MAX_BYTES && n > 0; i++, n--)
		if (utf8_is_valid(at, n))
			return buf_append(out, at, n) == 0 ? CONTENT_TEXT : CONTENT_BINARY;
	if (!is_latin(buf_str(&raw), raw.bytes))
		return CONTENT_BINARY;
	add_latin(out, buf_str(&raw), raw.bytes);
	return CONTENT_LATIN;
}

static void give_part(struct mcp_job *job, const json_t *file)
{
	uint64_t offset = param_count(job->arguments, "offset", 0);
	uint64_t size = param_count(file, "size", 0);
	uint64_t limit = param_count(job->arguments, "limit", MCP_READ_BYTES);
	cleanup_buf struct buf out = BUF_INIT(READ_ROOM_BYTES);
	enum content is = take_content(file, &out);
	if (is == CONTENT_BINARY)
		buf_addf(&out, "[%s, %" PRIu64 " bytes: no text; read it with code]",
			mcp_mime_of(argument(job, "path", ""), false), size);
	if (is == CONTENT_LATIN)
		buf_add(&out, "\n[not UTF-8: shown as latin-1]");
	if (is != CONTENT_BINARY && offset + limit < size)
		buf_addf(&out, "\n[%" PRIu64 " of %" PRIu64 " bytes; more from offset %" PRIu64 "]",
			limit, size, offset + limit);
	mcp_job_give(job, mcp_result_text(buf_str(&out), out.bytes));
}

static void on_read(struct mcp_job *job, const json_t *file, const struct err *err)
{
	if (file)
		give_part(job, file);
	else
		mcp_job_refuse(job, err);
}

static void refuse_picture(struct mcp_job *job)
{
	struct err err;
	err_fail(&err, ERR_LIMIT, "draw it smaller", "path: the image is too large to be shown");
	mcp_job_refuse(job, &err);
}

static void on_picture(struct mcp_job *job, const json_t *file, const struct err *err)
{
	const char *path = argument(job, "path", "");
	json_t *content = json_object_get(file, "content");
	if (!file) {
		mcp_job_refuse(job, err);
		return;
	}
	bool is_whole = strcmp(param_text(file, "encoding", ""), "base64") == 0 &&
		json_string_length(content) <= OBSERVATION_IMAGE_BYTES;
	if (is_whole)
		mcp_job_give(job,
			json_pack("{s:[{s:s, s:O, s:s}]}", "content", "type", "image", "data",
				content, "mimeType", mcp_mime_of(path, false)));
	else
		refuse_picture(job);
}

void mcp_read_file(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (!job)
		return;
	json_t *params = session_params(job);
	const char *path = argument(job, "path", "");
	json_put_text(params, "path", path);
	if (is_picture(mcp_mime_of(path, false)) && !param_get(job->arguments, "offset")) {
		mcp_job_do(job, "file.read", params, on_picture);
		return;
	}
	json_put_int(params, "offset", param_count(job->arguments, "offset", 0));
	json_put_int(params, "limit", param_count(job->arguments, "limit", MCP_READ_BYTES));
	mcp_job_do(job, "file.read", params, on_read);
}

/* ---- the tool write_file ---- */

static void give_line(struct mcp_job *job, const char *what, const char *which)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	buf_addf(&out, "%s %s", what, which);
	mcp_job_give(job, mcp_result_text(buf_str(&out), out.bytes));
}

static void on_written(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (result)
		give_line(job, "written:", param_text(result, "path", ""));
	else
		mcp_job_refuse(job, err);
}

static json_t *write_params(const struct mcp_job *job)
{
	static const char *const names[] = {"path", "content", "encoding"};
	json_t *params = session_params(job);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const json_t *value = param_get(job->arguments, names[i]);
		if (value)
			json_put_shared(params, names[i], value);
	}
	return params;
}

static void write_it(struct mcp_job *job)
{
	mcp_job_do(job, "file.write", write_params(job), on_written);
}

static void on_first_write(struct mcp_job *job, const json_t *result, const struct err *err)
{
	/* Files may be written before any code runs, so the first file creates the session. */
	if (!result && err->code == ERR_NOT_FOUND)
		mcp_job_create(job, write_it);
	else
		on_written(job, result, err);
}

void mcp_write_file(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (job)
		mcp_job_do(job, "file.write", write_params(job), on_first_write);
}

/* ---- the tool list_files ---- */

static void add_path(struct buf *out, const char *path)
{
	(void)utf8_escape_terminal(out, path, strlen(path), UTF8_ONE_LINE);
}

static void add_file(struct buf *out, const json_t *file)
{
	add_path(out, param_text(file, "path", ""));
	buf_addf(out, " (%" PRIu64 " bytes%s)\n", param_count(file, "size", 0),
		param_flag(file, "volume") ? ", volume" : "");
}

/* Return the slash that ends the first component of @path below the listed directory. Returns: NULL
 * if the file is directly in that directory. */
static const char *slash_of(const json_t *result, const char *path)
{
	size_t above = strlen(param_text(result, "path", ""));
	return strchr(path + above + (above > 0), '/');
}

/* Return {subdirectory: number of files}, for the subdirectories of the listed directory. Files in
 * deeper directories are counted too. */
static json_t *count_directories(const json_t *result)
{
	json_t *dirs = json_object(), *row;
	size_t i;
	json_array_foreach(json_object_get(result, "directories"), i, row)(void)
		json_object_set_new(dirs, json_string_value(row), json_integer(0));
	json_array_foreach(json_object_get(result, "files"), i, row)
	{
		const char *path = param_text(row, "path", ""), *slash = slash_of(result, path);
		char name[PATH_MAX * 3];
		if (!slash || (size_t)(slash - path) >= sizeof name)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
		json_int_t n = json_integer_value(json_object_get(dirs, name));
		json_put_int(dirs, name, n + 1);
	}
	return dirs;
}

/* Return whether the list may grow. The number of files is not a sufficient limit, because paths
 * can be long. */
static bool has_room(const struct buf *out, size_t n_shown)
{
	return n_shown < FILES_MAX && out->bytes < LIST_BYTES;
}

static void add_left(struct buf *out, size_t n_left)
{
	if (n_left > 0)
		buf_addf(out, "… and %zu more here: list them with code\n", n_left);
}

/* List the files directly in the directory, and its subdirectories with their numbers of files. Use
 * this when a list of all files would be too long. */
static void add_level(struct buf *out, const json_t *result)
{
	bool is_cut = param_flag(result, "truncated");
	json_t *dirs = count_directories(result), *row;
	const json_t *files = json_object_get(result, "files");
	const char *name;
	size_t i, n_shown = 0, n_left = 0;
	json_object_foreach(dirs, name, row)
	{
		if (!has_room(out, n_shown)) {
			n_left++;
			continue;
		}
		n_shown++;
		add_path(out, name);
		buf_addf(out, "/ (directory, %" JSON_INTEGER_FORMAT " files%s)\n",
			json_integer_value(row), is_cut ? " or more" : "");
	}
	json_array_foreach(files, i, row)
	{
		if (slash_of(result, param_text(row, "path", "")))
			continue;
		if (has_room(out, n_shown)) {
			n_shown++;
			add_file(out, row);
		} else {
			n_left++;
		}
	}
	add_left(out, n_left);
	buf_addf(out, is_cut ? "[more than %zu files: give path]" : "[%zu files in all: give path]",
		json_array_size(files));
	json_decref(dirs);
}

static void add_all(struct buf *out, const json_t *files)
{
	size_t i, n = json_array_size(files);
	for (i = 0; i < n && has_room(out, i); i++)
		add_file(out, json_array_get(files, i));
	add_left(out, n - i);
}

static void give_list(struct mcp_job *job, const json_t *result)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	const json_t *files = json_object_get(result, "files");
	if (json_array_size(files) > FILES_MAX || param_flag(result, "truncated"))
		add_level(&out, result);
	else
		add_all(&out, files);
	if (out.bytes == 0)
		buf_add(&out, "no files");
	mcp_job_give(job, mcp_result_text(buf_str(&out), out.bytes));
}

static void on_listed(struct mcp_job *job, const json_t *result, const struct err *err);

static void list_it(struct mcp_job *job)
{
	json_t *params = session_params(job);
	json_put_text(params, "path", argument(job, "path", "."));
	mcp_job_do(job, "file.list", params, on_listed);
}

/*
 * Respond to the model after file.list has failed. @session is NULL if the session does not exist.
 * - The session exists: its files do not include the path.
 * - The session does not exist, but new sessions get files of the host: create the session and list
 * its files.
 * - Otherwise: there are no files yet.
 */
static void on_known(struct mcp_job *job, const json_t *session, const struct err *err)
{
	static const char text[] = "no files: the session does not exist yet";
	struct err missing;
	(void)err;
	if (session) {
		err_fail(&missing, ERR_NOT_FOUND, "`file.list` without a path lists all files",
			"path: %.200s does not exist", argument(job, "path", ""));
		mcp_job_refuse(job, &missing);
	} else if (mcp_tools_has_files(job->tools)) {
		mcp_job_create(job, list_it);
	} else {
		mcp_job_give(job, mcp_result_text(text, strlen(text)));
	}
}

static void on_listed(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (result)
		give_list(job, result);
	else if (err->code == ERR_NOT_FOUND && !job->is_new)
		mcp_job_do(job, "session.get", session_params(job), on_known);
	else
		mcp_job_refuse(job, err);
}

void mcp_list_files(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (job)
		list_it(job);
}
