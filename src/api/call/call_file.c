/* Operations on the files of a workspace. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/inside.h"
#include "base/base64.h"
#include "api/operation/calls.h"
#include "registry/files.h"

#include <string.h>

enum { READ_MAX_BYTES = 16 << 20, WRITE_MAX_BYTES = 64 << 20 };

static const char *text(const struct operation_call *call, const char *name)
{
	return param_text(call->params, name, "");
}

static void list(void *arg, const json_t *none, const struct err *wrong)
{
	struct operation_call *call = arg;
	struct err err = {0};
	(void)none;
	if (wrong) {
		call_fail(call, wrong);
		return;
	}
	call_give(call,
		registry_file_list(
			call->context->registry, text(call, "session"), text(call, "path"), &err),
		&err);
}

static void start_list(struct operation_call *call)
{
	registry_await_box(call->context->registry, text(call, "session"), list, call);
}

static void give_content(void *arg, const json_t *none, const struct err *wrong)
{
	struct operation_call *call = arg;
	const struct registry_part part = {text(call, "session"), text(call, "path"),
		param_count(call->params, "offset", 0),
		param_count(call->params, "limit", READ_MAX_BYTES)};
	(void)none;
	if (wrong)
		call_fail(call, wrong);
	else
		registry_file_read(call->context->registry, &part, call_done, call);
}

static void start_read(struct operation_call *call)
{
	registry_await_box(call->context->registry, text(call, "session"), give_content, call);
}

static void start_write(struct operation_call *call)
{
	const json_t *content = param_get(call->params, "content");
	bool is_base64 = strcmp(param_text(call->params, "encoding", "utf-8"), "base64") == 0;
	cleanup_buf struct buf raw = BUF_INIT(WRITE_MAX_BYTES);
	struct err err = {0};
	const char *data = json_string_value(content);
	size_t bytes = json_string_length(content);
	if (is_base64) {
		if (base64_read(&raw, data, bytes, &err) < 0) {
			(void)err_wrap(&err, "content");
			call_fail(call, &err);
			return;
		}
		data = buf_str(&raw);
		bytes = raw.bytes;
	}
	const struct registry_file file = {text(call, "session"), text(call, "path"), data, bytes};
	registry_file_write(call->context->registry, &file, call_done, call);
}

static void start_remove(struct operation_call *call)
{
	const struct registry_file file = {.session = text(call, "session"),
		.path = text(call, "path"),
		.is_recursive = json_is_true(param_get(call->params, "recursive"))};
	registry_file_remove(call->context->registry, &file, call_done, call);
}

/* ---- rows of the table of operations ---- */

#define FILE_PATH                                                                                  \
	{                                                                                          \
		.name = "path", .type = PARAM_TEXT, NEEDED, .min = 1, .max = PATH_BYTES,           \
		.help = "path, relative to the workspace"                                          \
	}

static const struct param list_rows[] = {
	SESSION,
	{"path", PARAM_TEXT, false, 0, PATH_BYTES, .fallback = "",
		.help = "directory of the workspace, or of a volume in it (default: all files)"},
};
static const struct param read_rows[] = {
	SESSION,
	FILE_PATH,
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 1, READ_BYTES, .fallback = "16777216",
		.help = "bytes at most"},
};
static const struct param write_rows[] = {
	SESSION,
	FILE_PATH,
	{"content", PARAM_DATA, true, .help = "new content of the file"},
	{"encoding", PARAM_CHOICE, .choices = "utf-8|base64", .fallback = "utf-8",
		.help = "encoding of content"},
};
static const struct param remove_rows[] = {
	SESSION,
	FILE_PATH,
	{"recursive", PARAM_FLAG, .fallback = "false",
		.help = "remove a directory, with everything in it"},
};

static const struct param one_file_rows[] = {
	GIVES("path", PARAM_TEXT, "relative to the workspace"),
	GIVES("size", PARAM_COUNT, "size in bytes"),
	GIVES("mime", PARAM_TEXT, "MIME type, guessed from the file's name"),
	GIVES("modified_ms", PARAM_COUNT, "time of the last change: milliseconds since 1970"),
	MAY_GIVE("volume", PARAM_FLAG, "the file is in a volume"),
};
static const struct param files_rows[] = {
	{"files", PARAM_OBJECTS, NEEDED, FIELDS(one_file_rows),
		.help = "regular files; links are not listed"},
	MAY_GIVE("path", PARAM_TEXT, "the requested directory, relative to the workspace"),
	MAY_GIVE("truncated", PARAM_FLAG, "there were too many files to look at all"),
	{"directories", PARAM_TEXTS, .help = "if truncated: the subdirectories of the directory"},
};
const struct param file_content_rows[FILE_CONTENT_ROWS] = {
	GIVES("path", PARAM_TEXT, "as requested"),
	GIVES("content", PARAM_DATA, "bytes of the file, in that encoding"),
	{"encoding", PARAM_CHOICE, NEEDED, .choices = "utf-8|base64",
		.help = "base64 if the bytes are not UTF-8 text"},
	GIVES("size", PARAM_COUNT, "bytes of the whole file"),
	GIVES("offset", PARAM_COUNT, "offset of the first byte of content"),
	MAY_GIVE("inode", PARAM_TEXT,
		"if the file has several names (hard links): an id that they share"),
};
static const struct param changed_rows[] = {
	GIVES("path", PARAM_TEXT, "as requested"),
	MAY_GIVE("step", PARAM_TEXT,
		"id of the step that records the change in the session's history"),
};

static const struct operation rows[] = {
	{"file.list", "List the files of a workspace", ROWS(list_rows), RESULT(files_rows),
		.label = OPERATION_PROGRAM,
		.limits =
			"At most 10000 files; at most 1000 in volumes, unless path names a volume.",
		.errors = "not_found|access|busy|gone|box", .example = "{'session': 'demo'}",
		.answer = "{'files': [{'path': 'notes.txt', 'size': 6, 'mime': 'text/plain'}]}",
		.start = start_list},
	{"file.read", "Read a file of a workspace", ROWS(read_rows), RESULT(file_content_rows),
		.label = OPERATION_PROGRAM, .limits = "At most 16 MiB per call.",
		.errors = "not_found|access|busy|gone|box",
		.example = "{'session': 'demo', 'path': 'notes.txt'}",
		.answer = "{'content': 'hello\\n', 'encoding': 'utf-8', 'size': 6}",
		.start = start_read},
	{"file.write", "Write a file of a workspace", ROWS(write_rows), RESULT(changed_rows),
		.label = OPERATION_ENGINE, .limits = "At most 64 MiB per call, and per message.",
		.errors = "not_found|access|busy|limit|no_space|gone|box",
		.example = "{'session': 'demo', 'path': 'data/in.csv', 'content': 'a,b\\n1,2\\n'}",
		.answer = "{'path': 'data/in.csv'}", .start = start_write},
	{"file.remove", "Remove a file of a workspace", ROWS(remove_rows), RESULT(changed_rows),
		.label = OPERATION_ENGINE, .errors = "not_found|access|busy|gone|box",
		.example = "{'session': 'demo', 'path': 'notes.txt'}",
		.answer = "{'path': 'notes.txt'}", .start = start_remove},
};

const struct operation_family file_family = FAMILY(rows);
