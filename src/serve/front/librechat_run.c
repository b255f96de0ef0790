/*
 * POST /exec of the front "librechat": read the files that the request refers to, run the program,
 * save what it has made or changed, answer.
 *
 * A file of the request that the program has not changed is "inherited" in the answer, under its
 * own id. One that it has changed is a new file, "modified_from" the old one. Clients show nothing
 * of the answer but stdout, stderr and names of files; so how a program was ended, and which files
 * are not kept, is said on stderr, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/row/param.h"
#include "base/buf.h"
#include "serve/front/inside.h"
#include "serve/front/librechat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	INPUT_BYTES = 64 << 20, /* of all files of a request */
	OUTPUT_FILES = 50,
	STDERR_BYTES = 16 << 20
};

/* ---- the request ---- */

/* The languages, as program.run knows them; the names are the original's. */
static const struct {
	const char *names, *language;
} languages[] = {
	{"|py|python|", "python"},
	{"|js|javascript|node|nodejs|node-js|node-javascript|bun|bun-js|", "javascript"},
	{"|ts|typescript|bun-ts|bun-typescript|", "typescript"},
	{"|bash|sh|", "shell"},
	{"|c|", "c"},
	{"|cpp|", "cpp"},
	{"|java|", "java"},
	{"|php|", "php"},
	{"|rs|", "rust"},
	{"|go|", "go"},
	{"|d|", "d"},
	{"|f90|", "fortran"},
	{"|r|", "r"},
};

static const char *find_language(const char *name)
{
	char word[32];
	int n = snprintf(word, sizeof word, "|%s|", name);
	for (size_t i = 0; n < (int)sizeof word && i < ARRAY_LEN(languages); i++)
		if (strcasestr(languages[i].names, word) && !strchr(name, '|'))
			return languages[i].language;
	return NULL;
}

/* Older clients call the storage session of a file "session_id". */
static const char *storage_of(const json_t *file)
{
	return param_text(file, "storage_session_id", json_get_text(file, "session_id"));
}

static bool refuse_file(struct front_call *c, size_t at, const char *what, const char *why)
{
	char text[160];
	snprintf(text, sizeof text, "files[%zu]%s %s", at, what, why);
	libre_refuse(c, 400, text);
	return false;
}

/* Return whether the files of the request are references to files; if not, the call is over. */
static bool check_files(struct front_call *c, const json_t *files)
{
	size_t i;
	const json_t *file;
	if (json_array_size(files) > LIBRE_FILES_MAX) {
		libre_refuse(c, 400, "files cannot contain more than 200 destinations");
		return false;
	}
	json_array_foreach(files, i, file)
	{
		const json_t *name = json_object_get(file, "name");
		if (!json_is_object(file))
			return refuse_file(c, i, "", "must be an object");
		if (!libre_is_id(json_get_text(file, "id")))
			return refuse_file(c, i, ".id", "is invalid");
		if (!libre_is_id(storage_of(file)))
			return refuse_file(c, i, ".storage_session_id", "is invalid");
		if (!json_is_string(name))
			return refuse_file(c, i, ".name", "must be a string");
		const char *why =
			libre_wrong_name(json_string_value(name), json_string_length(name));
		if (why)
			return refuse_file(c, i, ".name", why);
	}
	return true;
}

static bool are_texts(const json_t *list)
{
	size_t i;
	const json_t *item;
	json_array_foreach(list, i, item) if (!json_is_string(item)) return false;
	return !list || json_is_null(list) || json_is_array(list);
}

/* ---- reading the files of the request ---- */

static void read_next(struct front_call *c);
static void on_ran(struct front_call *c, const json_t *result, const struct err *err);

/* The file of the request that is read now; NULL behind the last. */
static const json_t *file_at_hand(const struct front_call *c)
{
	return json_array_get(
		json_object_get(c->body, "files"), (size_t)json_get_int(c->kept, "at"));
}

static void fail_file(struct front_call *c, const struct err *err)
{
	if (err->code == ERR_NOT_FOUND)
		libre_refuse(c, 403, "Unauthorized file reference");
	else
		front_fail(c, err);
}

static void on_read(struct front_call *c, const json_t *result, const struct err *err)
{
	if (!result) {
		fail_file(c, err);
		return;
	}
	int64_t bytes = json_get_int(c->kept, "bytes") + json_get_int(result, "size");
	if (bytes > INPUT_BYTES) {
		libre_refuse(c, 413, "The files are too large together");
		return;
	}
	json_t *file = json_need(json_object());
	json_put_shared(file, "path", json_object_get(file_at_hand(c), "name"));
	json_put_shared(file, "content", json_object_get(result, "content"));
	json_put_shared(file, "encoding", json_object_get(result, "encoding"));
	json_add_new(json_object_get(c->kept, "files"), file);
	json_put_int(c->kept, "bytes", bytes);
	json_put_int(c->kept, "at", json_get_int(c->kept, "at") + 1);
	read_next(c);
}

static void on_found(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *row = json_array_get(json_object_get(result, "files"), 0);
	struct err none;
	(void)err_set(&none, ERR_NOT_FOUND, "no such file");
	if (row)
		libre_operate(c, "file.read", json_get_text(row, "path"), json_need(json_object()),
			on_read);
	else
		fail_file(c, result ? &none : err);
}

static void run(struct front_call *c)
{
	json_t *params = json_need(json_object());
	json_put_text(params, "language", find_language(json_get_text(c->body, "lang")));
	json_put_shared(params, "code", json_object_get(c->body, "code"));
	json_put_shared(params, "files", json_object_get(c->kept, "files"));
	json_put_int(params, "changed", OUTPUT_FILES);
	if (json_is_array(json_object_get(c->body, "args")))
		json_put_shared(params, "args", json_object_get(c->body, "args"));
	front_run(c, params, true, on_ran);
}

static void read_next(struct front_call *c)
{
	const json_t *file = file_at_hand(c);
	if (file)
		libre_find(c, storage_of(file), json_get_text(file, "id"), on_found);
	else
		run(c);
}

void libre_start_exec(struct front_call *c)
{
	const json_t *lang = json_object_get(c->body, "lang");
	const json_t *files = json_object_get(c->body, "files");
	char id[LIBRE_ID_BYTES], text[128];
	bool is_list = !files || json_is_null(files) || json_is_array(files);
	if (!json_is_string(json_object_get(c->body, "code"))) {
		libre_refuse(c, 400, "code must be a string");
	} else if (!json_is_string(lang) || !find_language(json_string_value(lang))) {
		snprintf(text, sizeof text, "Unsupported language: %.80s",
			json_is_string(lang) ? json_string_value(lang) : "undefined");
		libre_refuse(c, 400, text);
	} else if (!are_texts(json_object_get(c->body, "args"))) {
		libre_refuse(c, 400, "args must be an array of strings");
	} else if (!is_list) {
		libre_refuse(c, 400, "files must be an array");
	} else if (check_files(c, files)) {
		libre_make_storage(id);
		c->kept = json_need(json_pack("{s:s, s:[], s:[], s:i}", "storage", id, "files",
			"save", "then", LIBRE_RAN));
		read_next(c);
	}
}

/* ---- the answer ---- */

/* Return the file of the request whose name is @path, and the content that it had. */
static const json_t *find_input(const struct front_call *c, const char *path, const json_t **had)
{
	const json_t *files = json_object_get(c->body, "files"), *file;
	size_t i;
	json_array_foreach(files, i, file) if (strcmp(json_get_text(file, "name"), path) == 0)
	{
		*had = json_array_get(json_object_get(c->kept, "files"), i);
		return file;
	}
	return NULL;
}

/* Take a file that the program has changed into what is saved; not one that is as it was. */
static void take_output(struct front_call *c, const json_t *file)
{
	char id[LIBRE_ID_BYTES];
	const json_t *had = NULL, *input = find_input(c, json_get_text(file, "path"), &had);
	bool is_same = json_equal(json_unconst(json_object_get(had, "content")),
			       json_unconst(json_object_get(file, "content"))) &&
		json_equal(json_unconst(json_object_get(had, "encoding")),
			json_unconst(json_object_get(file, "encoding")));
	if (input && (is_same || libre_is_read_only(json_get_text(input, "id"))))
		return;
	libre_make_file(id, false);
	json_t *row = json_pack("{s:s, s:O, s:O, s:O}", "id", id, "name",
		json_object_get(file, "path"), "content", json_object_get(file, "content"),
		"encoding", json_object_get(file, "encoding"));
	if (row && input)
		json_put_new(row, "from",
			json_pack("{s:O, s:s}", "id", json_object_get(input, "id"),
				"storage_session_id", storage_of(input)));
	const char *name = json_get_text(file, "path");
	const char *why = libre_wrong_name(name, strlen(name));
	if (row && why)
		json_put_text(row, "error", why);
	json_add_new(json_object_get(c->kept, "save"), row);
}

/* Say on stderr how a program has ended that has not ended by itself. */
static void say_end(struct buf *out, const struct front_end *end)
{
	if (end->how == FRONT_LATE)
		buf_add(out, "Time limit exceeded\n");
	else if (end->how == FRONT_NO_MEMORY)
		buf_add(out, "Out of memory\n");
	else if (end->how == FRONT_SIGNALLED)
		buf_addf(out, "Killed by signal %d\n", end->signal);
}

static json_t *signal_name(int signal)
{
	const char *name = sigabbrev_np(signal);
	return name ? json_sprintf("SIG%s", name) : json_sprintf("%d", signal);
}

static void say_cut(struct buf *out, const json_t *record)
{
	static const char *const streams[] = {"stdout", "stderr"};
	char name[32];
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		snprintf(name, sizeof name, "%s_bytes", streams[i]);
		int64_t bytes = json_get_int(json_object_get(record, "truncated"), name);
		if (bytes > 0)
			buf_addf(out, "%" PRId64 " bytes of %s are left out\n", bytes, streams[i]);
	}
}

static void on_ran(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *record = json_object_get(result, "run"), *row;
	cleanup_buf struct buf said = BUF_INIT(STDERR_BYTES);
	size_t i;
	if (!result) {
		front_fail(c, err);
		return;
	}
	record = record ? record : json_object_get(result, "compile");
	const struct front_end end = front_read_end(record);
	json_array_foreach(json_object_get(result, "files"), i, row) take_output(c, row);
	say_cut(&said, record);
	json_array_foreach(json_object_get(result, "unread"), i,
		row) if (strcmp(json_get_text(row, "code"), "not_found") != 0) buf_addf(&said,
		"%s is not kept: %s\n", json_get_text(row, "path"), json_get_text(row, "message"));
	if (json_array_size(json_object_get(c->kept, "save")) >= OUTPUT_FILES)
		buf_addf(&said, "at most %d new or changed files are kept\n", OUTPUT_FILES);
	say_end(&said, &end);
	json_put_shared(c->kept, "record", record);
	json_put_new(c->kept, "said", json_new_text(buf_str(&said), said.bytes));
	libre_save(c);
}

/* Return whether the program has removed the file, or made it another one, which is saved. */
static bool is_replaced(const struct front_call *c, const json_t *file)
{
	const char *name = json_get_text(file, "name");
	const json_t *row;
	size_t i, n = strlen(name);
	json_array_foreach(json_object_get(c->kept, "save"), i, row)
	{
		const char *saved = json_get_text(row, "name");
		bool is_file = strcmp(saved, name) == 0 && !json_object_get(row, "error");
		bool is_directory = strncmp(saved, name, n) == 0 && saved[n] == '/';
		if (is_file || is_directory)
			return true;
	}
	json_array_foreach(json_object_get(json_object_get(c->kept, "record"), "files"), i,
		row) if (strcmp(json_get_text(row, "path"), name) == 0 &&
		strcmp(json_get_text(row, "change"), "deleted") == 0) return true;
	return false;
}

/* Make a file of the answer. Clients of different ages read the id of its storage session by
 * different names. */
static json_t *new_file(const json_t *id, const json_t *name, const char *storage)
{
	return json_pack("{s:O, s:O, s:s, s:s}", "id", id, "name", name, "storage_session_id",
		storage, "session_id", storage);
}

/* Make the list of files, and say on stderr which of them are not kept. */
static json_t *list_files(const struct front_call *c, struct buf *said)
{
	const char *storage = json_get_text(c->kept, "storage");
	const json_t *row;
	json_t *files = json_need(json_array()), *file;
	size_t i;
	json_array_foreach(json_object_get(c->kept, "save"), i, row)
	{
		if (json_object_get(row, "error")) {
			buf_addf(said, "%s is not kept: %s\n", json_get_text(row, "name"),
				json_get_text(row, "error"));
			continue;
		}
		file = new_file(json_object_get(row, "id"), json_object_get(row, "name"), storage);
		if (file)
			json_put_shared(file, "modified_from", json_object_get(row, "from"));
		json_add_new(files, file);
	}
	json_array_foreach(json_object_get(c->body, "files"), i, row)
	{
		if (is_replaced(c, row))
			continue;
		file = new_file(
			json_object_get(row, "id"), json_object_get(row, "name"), storage_of(row));
		if (file)
			json_put_bool(file, "inherited", true);
		json_add_new(files, file);
	}
	return files;
}

void libre_ran(struct front_call *c)
{
	static const struct {
		const char *status, *message;
	} ends[] = {[FRONT_EXITED] = {"RE", "Execution failed"},
		[FRONT_SIGNALLED] = {"SG", "Execution failed"},
		[FRONT_LATE] = {"TO", "Time limit exceeded"},
		[FRONT_NO_MEMORY] = {"SG", "Out of memory"}};
	const json_t *record = json_object_get(c->kept, "record");
	const struct front_end end = front_read_end(record);
	bool is_good = end.how == FRONT_EXITED && end.code == 0;
	cleanup_buf struct buf said = BUF_INIT(STDERR_BYTES);
	json_t *files = list_files(c, &said);
	json_t *more = json_new_text(buf_str(&said), said.bytes);
	json_t *first = front_joined(
		"", json_object_get(record, "stderr"), json_object_get(c->kept, "said"));
	json_t *body = json_pack("{s:O, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "session_id",
		json_object_get(c->kept, "storage"), "stdout", printed_stdout(record), "stderr",
		front_joined("", first, more), "files", files, "code",
		end.how == FRONT_EXITED ? json_integer(end.code) : json_null(), "signal",
		end.how == FRONT_EXITED ? json_null() : signal_name(end.signal), "message",
		is_good ? json_null() : json_string(ends[end.how].message), "status",
		is_good ? json_null() : json_string(ends[end.how].status), "wall_time",
		(json_int_t)end.wall_ms);
	json_decref(first);
	json_decref(more);
	front_answer(c, 200, body);
}
