/* Operations on any path of a session's box, as its programs see it. SPDX-License-Identifier:
 * Apache-2.0 */
#include "api/call/inside.h"
#include "api/call/path_helper.h"
#include "api/call/path_message.h"
#include "base/base64.h"
#include "base/json.h"

#include <errno.h>
#include <string.h>

enum {
	PATH_WRITE_BYTES = 64 << 20,
	DEPTH_MAX = 64,
	MODE_MAX = 07777,
	ATTRIBUTES_BYTES = 48 << 10, /* of all arguments of a program at most 96 KiB */
};

/* ---- the program's arguments ---- */

static int prepare_stat(struct path_args *args, const json_t *params, struct err *err)
{
	path_add(args, "stat");
	return path_add_path(args, params, "path", err);
}

static int prepare_list(struct path_args *args, const json_t *params, struct err *err)
{
	path_add(args, "list");
	int r = path_add_path(args, params, "path", err);
	path_add_number(args, (int64_t)param_count(params, "depth", 1));
	return r;
}

static int prepare_make(struct path_args *args, const json_t *params, struct err *err)
{
	path_add(args, "make");
	int r = path_add_path(args, params, "path", err);
	const json_t *parents = param_get(params, "parents");
	path_add_number(args, !parents || json_is_true(parents));
	return r;
}

static int prepare_move(struct path_args *args, const json_t *params, struct err *err)
{
	path_add(args, "move");
	int r = path_add_path(args, params, "source", err);
	return r < 0 ? r : path_add_path(args, params, "destination", err);
}

static int prepare_remove(struct path_args *args, const json_t *params, struct err *err)
{
	const json_t *recursive = param_get(params, "recursive");
	path_add(args, "remove");
	int r = path_add_path(args, params, "path", err);
	path_add_number(args, !recursive || json_is_true(recursive));
	path_add_number(args, param_flag(params, "missing_ok"));
	if (r == 0 &&
		(strcmp(args->paths[0], "/") == 0 || strcmp(args->paths[0], "/home/user") == 0))
		return err_fail(err, ERR_USAGE, "remove what is in it",
			"`path`: %s itself cannot be removed", args->paths[0]);
	return r;
}

static int prepare_read(struct path_args *args, const json_t *params, struct err *err)
{
	const json_t *limit = param_get(params, "limit");
	path_add(args, "read");
	int r = path_add_path(args, params, "path", err);
	path_add_number(args, (int64_t)param_count(params, "offset", 0));
	path_add_number(args, limit ? (int64_t)param_count(params, "limit", 0) : -1);
	return r;
}

static int prepare_watch(struct path_args *args, const json_t *params, struct err *err)
{
	path_add(args, "watch");
	int r = path_add_path(args, params, "path", err);
	path_add_number(args, param_flag(params, "recursive"));
	path_add_number(args, param_flag(params, "entries"));
	return r;
}

/* ---- path.write ---- */

static int add_content(struct path_args *args, const json_t *params, struct err *err)
{
	const json_t *content = param_get(params, "content");
	args->input = json_string_value(content);
	args->input_bytes = json_string_length(content);
	args->decoded = BUF_INIT(PATH_WRITE_BYTES);
	if (strcmp(param_text(params, "encoding", "utf-8"), "base64") == 0) {
		int r = base64_read(&args->decoded, args->input, args->input_bytes, err);
		if (r == -E2BIG)
			args->input_bytes = PATH_WRITE_BYTES + 1;
		else if (r < 0)
			return err_wrap(err, "`content`");
		else
			args->input_bytes = args->decoded.bytes;
		args->input = buf_str(&args->decoded);
	}
	if (args->input_bytes > PATH_WRITE_BYTES)
		return err_fail(err, ERR_LIMIT, "write it in parts, with `append`",
			"`content`: over %d MiB", PATH_WRITE_BYTES >> 20);
	return 0;
}

static int add_attributes(struct path_args *args, const json_t *params, struct err *err)
{
	json_t *given = json_unconst(param_get(params, "attributes")), *value;
	const char *name;
	size_t bytes = 0;
	if (!given)
		return 0;
	path_add(args, param_text(params, "attribute_prefix", ""));
	json_object_foreach(given, name, value)
	{
		bytes += strlen(name) + json_string_length(value);
		if (!name[0])
			return err_fail(err, ERR_USAGE, "{\"NAME\": \"value\"}",
				"`attributes`: a name is empty");
		if (strlen(json_string_value(value)) != json_string_length(value))
			return err_fail(err, ERR_USAGE, "encode it, for example as base64",
				"`attributes.%.64s`: contains NUL", name);
		if (bytes > ATTRIBUTES_BYTES)
			return err_fail(err, ERR_LIMIT, "put it into a file",
				"`attributes`: over %d KiB", ATTRIBUTES_BYTES >> 10);
		path_add(args, name);
		path_add(args, json_string_value(value));
	}
	return 0;
}

static int prepare_write(struct path_args *args, const json_t *params, struct err *err)
{
	const json_t *mode = param_get(params, "mode");
	path_add(args, "write");
	int r = path_add_path(args, params, "path", err);
	if (r == 0)
		r = add_content(args, params, err);
	path_add_number(args, (int64_t)args->input_bytes);
	path_add_number(args, param_flag(params, "append"));
	path_add_number(args, mode ? (int64_t)param_count(params, "mode", 0) : -1);
	return r < 0 ? r : add_attributes(args, params, err);
}

/* ---- results ---- */

static json_t *give_entry(const char *lines, size_t bytes)
{
	cleanup_json json_t *said = path_line(lines, bytes);
	return path_entry(said);
}

static json_t *give_made(const char *lines, size_t bytes)
{
	cleanup_json json_t *said = path_line(lines, bytes);
	json_t *entry = path_entry(json_object_get(said, "entry"));
	json_t *out = entry ? json_need(json_object()) : NULL;
	if (out) {
		json_put_bool(out, "is_new", json_get_bool(said, "is_new"));
		json_put_new(out, "entry", entry);
	}
	return out;
}

static json_t *give_nothing(const char *lines, size_t bytes)
{
	cleanup_json json_t *said = path_line(lines, bytes);
	return said ? json_need(json_object()) : NULL;
}

/* Add one line of a listing. Returns: whether it is right. *@is_end: set to true by the last. */
static bool add_line(json_t *out, const char *line, size_t bytes, bool *is_end)
{
	json_t *entries = json_object_get(out, "entries");
	cleanup_json json_t *said = path_line(line, bytes);
	*is_end = json_get_bool(said, "end");
	if (*is_end) {
		if (json_get_bool(said, "truncated"))
			json_put_bool(out, "truncated", true);
		return true;
	}
	json_t *entry = json_array_size(entries) < PATH_ENTRIES_MAX ? path_entry(said) : NULL;
	json_add_new(entries, entry);
	return entry != NULL;
}

static json_t *give_list(const char *lines, size_t bytes)
{
	json_t *out = json_need(json_pack("{s:[]}", "entries"));
	const char *end = lines + bytes;
	bool is_right = true, is_end = false;
	for (const char *at = lines; is_right && !is_end && at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		is_right = add_line(out, at, (size_t)(stop - at), &is_end);
		at = stop + 1;
	}
	if (is_right && is_end)
		return out;
	json_decref(out);
	return NULL;
}

/* ---- the operations ---- */

static void start_stat(struct operation_call *call)
{
	static const struct path_use use = {PATH_ANSWER, prepare_stat, give_entry};
	path_run(call, &use);
}

static void start_list(struct operation_call *call)
{
	static const struct path_use use = {PATH_ANSWER, prepare_list, give_list};
	path_run(call, &use);
}

static void start_make(struct operation_call *call)
{
	static const struct path_use use = {PATH_ANSWER, prepare_make, give_made};
	path_run(call, &use);
}

static void start_move(struct operation_call *call)
{
	static const struct path_use use = {PATH_ANSWER, prepare_move, give_entry};
	path_run(call, &use);
}

static void start_remove(struct operation_call *call)
{
	static const struct path_use use = {PATH_ANSWER, prepare_remove, give_nothing};
	path_run(call, &use);
}

static void start_read(struct operation_call *call)
{
	static const struct path_use use = {PATH_CONTENT, prepare_read, NULL};
	path_run(call, &use);
}

static void start_write(struct operation_call *call)
{
	static const struct path_use use = {PATH_ANSWER, prepare_write, give_entry};
	path_run(call, &use);
}

static void start_watch(struct operation_call *call)
{
	static const struct path_use use = {PATH_EVENTS, prepare_watch, NULL};
	path_run(call, &use);
}

/* ---- rows of the table of operations ---- */

#define HELP_PATH "path in the box: absolute, or relative to the workspace; `~` is the workspace"
#define PATH_ROW(name_, help_)                                                                     \
	{                                                                                          \
		.name = (name_), .type = PARAM_TEXT, NEEDED, .min = 1, .max = PATH_BYTES,          \
		.help = (help_)                                                                    \
	}
#define PATH_OF_BOX PATH_ROW("path", HELP_PATH)

static const struct param stat_rows[] = {SESSION, PATH_OF_BOX};
static const struct param list_rows[] = {
	SESSION,
	PATH_OF_BOX,
	{"depth", PARAM_COUNT, .min = 1, .max = DEPTH_MAX, .fallback = "1",
		.help = "levels of directories; 1: only what is in the directory itself"},
};
static const struct param make_rows[] = {
	SESSION,
	PATH_OF_BOX,
	{"parents", PARAM_FLAG, .fallback = "true",
		.help = "also make the directories above it that do not exist"},
};
static const struct param move_rows[] = {
	SESSION,
	PATH_ROW("source", "file or directory to move, as `path` of `path.stat`"),
	PATH_ROW("destination",
		"its new path; directories above it are made. A file there is "
		"replaced, an empty directory only by a directory"),
};
static const struct param remove_rows[] = {
	SESSION,
	PATH_OF_BOX,
	{"recursive", PARAM_FLAG, .fallback = "true",
		.help = "remove a directory with everything in it"},
	{"missing_ok", PARAM_FLAG, .fallback = "false",
		.help = "if there is nothing at the path, succeed"},
};
static const struct param read_rows[] = {
	SESSION,
	PATH_OF_BOX,
	{"offset", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0", .help = "first byte"},
	{"limit", PARAM_COUNT, false, 0, INT64_MAX,
		.help = "bytes at most (default: to the end of the file)"},
	{"stream", PARAM_FLAG, .fallback = "false", .help = "send the events"},
	{"raw", PARAM_FLAG, .fallback = "false",
		.help = "on the unix socket: send the content as bytes behind the event's line"},
};
static const struct param write_rows[] = {
	SESSION,
	PATH_OF_BOX,
	{"content", PARAM_DATA, true, .help = "what to write"},
	{"encoding", PARAM_CHOICE, .choices = "utf-8|base64", .fallback = "utf-8",
		.help = "encoding of content"},
	{"append", PARAM_FLAG, .fallback = "false",
		.help = "add the content to the end of the file, instead of replacing the file's"},
	{"mode", PARAM_COUNT, false, 0, MODE_MAX,
		.help = "permission bits of the file, as a number (default: unchanged; a new file "
			"gets 420, which is 0644)"},
	{"attributes", PARAM_MAP, false, 0, PATH_ATTRIBUTES_MAX,
		.help = "extended attributes of the file: {\"NAME\": \"value\"} sets "
			"`user.PREFIX` + NAME, and all other attributes that begin with "
			"`user.PREFIX` are removed (default: unchanged)"},
	{"attribute_prefix", PARAM_TEXT, false, 0, NAME_BYTES, .fallback = "",
		.help = "the PREFIX, such as \"e2b.\""},
};
static const struct param watch_rows[] = {
	SESSION,
	PATH_OF_BOX,
	{"recursive", PARAM_FLAG, .fallback = "false",
		.help = "watch all directories in it, also those that are made later"},
	{"entries", PARAM_FLAG, .fallback = "false",
		.help = "describe the file in events create, write and chmod"},
	{"stream", PARAM_FLAG, .fallback = "false", .help = "send the events"},
};

static const struct param entry_rows[] = {
	GIVES("name", PARAM_TEXT, "last part of the path"),
	GIVES("path", PARAM_TEXT,
		"absolute path as requested, without `.`, `..` and repeated slashes"),
	{"type", PARAM_CHOICE, NEEDED, .choices = "file|directory|link|other",
		.help = "for a link: the type of the file to which it leads; link: it leads to "
			"nothing"},
	GIVES("size", PARAM_COUNT, "size in bytes; of a link: of the link itself"),
	GIVES("mode", PARAM_COUNT,
		"permission bits as a number; for a link: those of the file to which it leads"),
	GIVES("owner", PARAM_TEXT, "name of its owner in the box, or the number"),
	GIVES("group", PARAM_TEXT, "name of its group in the box, or the number"),
	GIVES("uid", PARAM_COUNT, "number of its owner in the box"),
	GIVES("gid", PARAM_COUNT, "number of its group in the box"),
	GIVES("modified_ms", PARAM_COUNT, "time of the last change: milliseconds since 1970"),
	GIVES("modified_ns", PARAM_COUNT, "nanoseconds after that millisecond"),
	MAY_GIVE("link", PARAM_TEXT,
		"if it is a symbolic link: the path to which it leads; if that does not exist: "
		"the text of the link"),
	MAY_GIVE("link_mode", PARAM_COUNT, "permission bits of the link itself"),
	{"attributes", PARAM_MAP,
		.help = "its extended attributes whose names begin with `user.`, without that"},
	MAY_GIVE("inexact", PARAM_FLAG,
		"a name has bytes that are not UTF-8, here U+FFFD: it cannot be used as a path"),
};
static const struct param listed_rows[] = {
	{"entries", PARAM_OBJECTS, NEEDED, FIELDS(entry_rows),
		.help = "what is in the directory, sorted by name; a directory is followed by what "
			"is in it"},
	MAY_GIVE("truncated", PARAM_FLAG, "there is more than is listed"),
};
static const struct param made_rows[] = {
	GIVES("is_new", PARAM_FLAG, "the directory did not exist before"),
	{"entry", PARAM_OBJECT, NEEDED, FIELDS(entry_rows), .help = "the directory"},
};

#define ERRORS	     "not_found|access|limit|quota|busy|gone|box|io|protocol|interrupted"
#define ERRORS_WRITE ERRORS "|no_space"

static const struct operation rows[] = {
	{"path.stat", "Describe a file of the box", ROWS(stat_rows), RESULT(entry_rows),
		.label = OPERATION_PROGRAM, .errors = ERRORS,
		.example = "{'session': 'demo', 'path': '/tmp'}",
		.answer = "{'name': 'tmp', 'path': '/tmp', 'type': 'directory'}",
		.start = start_stat},
	{"path.list", "List a directory of the box", ROWS(list_rows), RESULT(listed_rows),
		.label = OPERATION_PROGRAM,
		.limits = "At most 10000 entries, and 15 MiB. Links are not followed below `path`.",
		.errors = ERRORS, .example = "{'session': 'demo', 'path': '.'}",
		.answer = "{'entries': [{'name': 'notes.txt', 'type': 'file', 'size': 6}]}",
		.start = start_list},
	{"path.make", "Make a directory in the box", ROWS(make_rows), RESULT(made_rows),
		.label = OPERATION_PROGRAM, .errors = ERRORS_WRITE,
		.example = "{'session': 'demo', 'path': '/tmp/new/part'}",
		.answer = "{'is_new': true, 'entry': {'name': 'part', 'type': 'directory'}}",
		.start = start_make},
	{"path.move", "Move or rename a file or directory of the box", ROWS(move_rows),
		RESULT(entry_rows), .label = OPERATION_PROGRAM, .errors = ERRORS_WRITE,
		.example = "{'session': 'demo', 'source': '/tmp/new', 'destination': 'kept'}",
		.answer = "{'name': 'kept', 'path': '/home/user/kept'}", .start = start_move},
	{"path.remove", "Remove a file or directory of the box", ROWS(remove_rows),
		.label = OPERATION_ENGINE, .errors = ERRORS,
		.example = "{'session': 'demo', 'path': 'kept'}", .answer = "{}",
		.start = start_remove},
	{"path.read", "Read a file of the box, as events", ROWS(read_rows), RESULT(entry_rows),
		.label = OPERATION_PROGRAM, .errors = ERRORS, .has_events = true,
		.example = "{'session': 'demo', 'path': '/etc/passwd', 'limit': 100, 'stream': "
			   "true}",
		.answer = "{'name': 'passwd', 'type': 'file'}", .start = start_read},
	{"path.write", "Write a file of the box", ROWS(write_rows), RESULT(entry_rows),
		.label = OPERATION_PROGRAM,
		.limits = "At most 64 MiB of content per call, and per message.",
		.errors = ERRORS_WRITE,
		.example = "{'session': 'demo', 'path': '/tmp/a.txt', 'content': 'hello\\n'}",
		.answer = "{'name': 'a.txt', 'path': '/tmp/a.txt', 'size': 6}",
		.start = start_write},
	{"path.watch",
		"Get the changes in a directory of the box as events, until the call is "
		"cancelled",
		ROWS(watch_rows), .label = OPERATION_PROGRAM, .limits = "At most 8192 directories.",
		.errors = ERRORS, .has_events = true, .example = NULL, .start = start_watch},
};

const struct operation_family path_family = FAMILY(rows);
