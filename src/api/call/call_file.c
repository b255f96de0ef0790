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

/* ---- the rows ---- */

#define FILE_PATH                                                                                  \
	{                                                                                          \
		.name = "path", .type = PARAM_TEXT, NEEDED, .min = 1, .max = PATH_BYTES,           \
		.help = "path in the workspace, relative to it"                                    \
	}

static const struct param list_rows[] = {
	SESSION,
	{"path", PARAM_TEXT, false, 0, PATH_BYTES, .fallback = "",
		.help = "a directory of the workspace or of a volume in it; usual: all"},
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
	{"content", PARAM_DATA, true, .help = "what the file holds from now on"},
	{"encoding", PARAM_CHOICE, .choices = "utf-8|base64", .fallback = "utf-8",
		.help = "how content is written"},
};
static const struct param remove_rows[] = {
	SESSION,
	FILE_PATH,
	{"recursive", PARAM_FLAG, .fallback = "false",
		.help = "a directory too, with all that is in it"},
};

static const struct param one_file_rows[] = {
	GIVES("path", PARAM_TEXT, "relative to the workspace"),
	GIVES("size", PARAM_COUNT, "bytes"),
	GIVES("mime", PARAM_TEXT, "what it seems to be, by its name"),
	GIVES("modified_ms", PARAM_COUNT, "when: milliseconds since 1970"),
	MAY_GIVE("volume", PARAM_FLAG, "it is in a volume"),
};
static const struct param files_rows[] = {
	{"files", PARAM_OBJECTS, NEEDED, FIELDS(one_file_rows), .help = "regular files; no links"},
	MAY_GIVE("path", PARAM_TEXT, "the directory, if one was named: relative to the workspace"),
	MAY_GIVE("truncated", PARAM_FLAG, "there are more than were looked at"),
	{"directories", PARAM_TEXTS, .help = "truncated: the directories that lie directly there"},
};
static const struct param content_rows[] = {
	GIVES("path", PARAM_TEXT, "as requested"),
	GIVES("content", PARAM_DATA, "its bytes, as encoding says"),
	{"encoding", PARAM_CHOICE, NEEDED, .choices = "utf-8|base64",
		.help = "base64 when the bytes are no UTF-8 text"},
	GIVES("size", PARAM_COUNT, "bytes of the whole file"),
	GIVES("offset", PARAM_COUNT, "where the content begins"),
	MAY_GIVE(
		"inode", PARAM_TEXT, "which file it is, when it has more names: the same for each"),
};
static const struct param changed_rows[] = {
	GIVES("path", PARAM_TEXT, "as requested"),
	MAY_GIVE("step", PARAM_TEXT, "the step that the change is in the session's history"),
};

static const struct operation rows[] = {
	{"file.list", "List the files of a workspace", ROWS(list_rows), RESULT(files_rows),
		.label = OPERATION_PROGRAM,
		.limits = "10000 files, 1000 of them in volumes unless path names one.",
		.errors = "not_found|access|busy|gone|box", .example = "{'session': 'demo'}",
		.answer = "{'files': [{'path': 'notes.txt', 'size': 6, 'mime': 'text/plain'}]}",
		.start = start_list},
	{"file.read", "Read a file of a workspace", ROWS(read_rows), RESULT(content_rows),
		.label = OPERATION_PROGRAM, .limits = "16 MiB at once.",
		.errors = "not_found|access|busy|gone|box",
		.example = "{'session': 'demo', 'path': 'notes.txt'}",
		.answer = "{'content': 'hello\\n', 'encoding': 'utf-8', 'size': 6}",
		.start = start_read},
	{"file.write", "Write a file of a workspace", ROWS(write_rows), RESULT(changed_rows),
		.label = OPERATION_ENGINE, .limits = "64 MiB at once; a message has 64 MiB in all.",
		.errors = "not_found|access|busy|limit|no_space|gone|box",
		.example = "{'session': 'demo', 'path': 'data/in.csv', 'content': 'a,b\\n1,2\\n'}",
		.answer = "{'path': 'data/in.csv'}", .start = start_write},
	{"file.remove", "Remove a file of a workspace", ROWS(remove_rows), RESULT(changed_rows),
		.label = OPERATION_ENGINE, .errors = "not_found|access|busy|gone|box",
		.example = "{'session': 'demo', 'path': 'notes.txt'}",
		.answer = "{'path': 'notes.txt'}", .start = start_remove},
};

const struct operation_family file_family = FAMILY(rows);
