/* `retort session files`: what is in a workspace. SPDX-License-Identifier: Apache-2.0 */
#include "cli/session_copy.h"

#include "api/base64.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "cli/outdir.h"
#include "cli/program.h"
#include "cli/view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

int session_copy_read(struct session_run *run, const char *path, struct buf *out, struct err *err)
{
	json_int_t size = 0, at = 0;
	do {
		json_t *result = NULL;
		json_t *params = json_pack("{s:s, s:s, s:I, s:i}", "session", run->operands[0],
			"path", path, "offset", at, "limit", CHUNK_BYTES);
		int r = session_call(run, "file.read", params, &result, err);
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

static int copy_one(struct session_run *run, const char *path, int out_fd, struct err *err)
{
	cleanup_buf struct buf data = BUF_INIT(COPY_MAX_BYTES);
	int r = session_copy_read(run, path, &data, err);
	return r < 0 ? r : outdir_put(out_fd, path, buf_str(&data), data.bytes, err);
}

static int copy_rows(struct session_run *run, const json_t *rows, int out_fd, struct err *err)
{
	struct err later;
	int first = 0;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		if (strcmp(session_text(row, "change"), "deleted") == 0)
			continue;
		int r = copy_one(run, session_text(row, "path"), out_fd, first < 0 ? &later : err);
		first = first < 0 ? first : r;
	}
	return first;
}

int session_copy_changed(struct session_run *run, const json_t *record, int out_fd, struct err *err)
{
	return copy_rows(run, json_object_get(record, "files"), out_fd, err);
}

int session_copy_all(struct session_run *run, int out_fd, struct err *err)
{
	json_t *list = NULL;
	json_t *params = json_pack("{s:s}", "session", run->operands[0]);
	int r = session_call(run, "file.list", params, &list, err);
	if (r == 0)
		r = copy_rows(run, json_object_get(list, "files"), out_fd, err);
	json_decref(list);
	return r;
}

static const struct opt files_opts[] = {
	{.name = "put",
		OPT_INTO_TEXT(struct session_args, put),
		.arg = "FILE",
		.flags = OPT_NO_ENV | OPT_ONCE,
		.group = "Options",
		.complete = OPT_COMPLETE_FILE,
		.help = "write FILE of the host to PATH, or to its own name"},
	{.name = "remove",
		OPT_INTO_TEXT(struct session_args, remove),
		.arg = "PATH",
		.flags = OPT_NO_ENV | OPT_ONCE,
		.group = "Options",
		.help = "remove a file"},
	{.name = "recursive",
		OPT_INTO_FLAG(struct session_args, recursive),
		.flags = OPT_NO_ENV,
		.group = "Options",
		.help = "with --remove: a directory too, with all that is in it"},
	{.name = "out",
		.letter = 'o',
		OPT_INTO_TEXT(struct session_args, output.dir),
		.arg = "DIR",
		.group = "Output",
		.complete = OPT_COMPLETE_DIR,
		.help = "copy the files to DIR"},
	{.name = "json",
		OPT_INTO_FLAG(struct session_args, output.json),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print one JSON object"},
	SESSION_SOCKET_OPT,
	CMD_COMMON_OPTS(struct session_args),
};

static int put_file(struct session_run *run, const char *path, struct err *err)
{
	cleanup_buf struct buf data = BUF_INIT(PUT_MAX_BYTES);
	cleanup_buf struct buf text = BUF_INIT(PUT_MAX_BYTES * 2);
	const char *slash = strrchr(run->args.put, '/');
	const char *name = path ? path : slash ? slash + 1 : run->args.put;
	json_t *result = NULL;
	if (!utf8_is_valid(name, strlen(name))) {
		(void)err_set(err, ERR_USAGE, "the name %.100s is not UTF-8", name);
		return err_hint(err, "give it another: write PATH behind SESSION");
	}
	int r = program_read(run->args.put, &data, err);
	if (r < 0 && err->code == ERR_LIMIT) {
		(void)err_set(
			err, ERR_LIMIT, "%s is over %d MiB", run->args.put, PUT_MAX_BYTES >> 20);
		return err_hint(err, "show it to a new session: retort session new -v FILE:/data");
	}
	if (r < 0 && (err->code == ERR_NOT_FOUND || err->code == ERR_USAGE))
		return err_hint(err, "name a file of this host");
	if (r == 0 && base64_write(&text, buf_str(&data), data.bytes) < 0)
		r = err_set(err, ERR_NO_MEMORY, "no memory for %s", run->args.put);
	if (r < 0)
		return r;
	json_t *params = json_pack("{s:s, s:s, s:s, s:s}", "session", run->operands[0], "path",
		name, "content", buf_str(&text), "encoding", "base64");
	r = session_call(run, "file.write", params, &result, err);
	json_decref(result);
	return r;
}

static int remove_file(struct session_run *run, struct err *err)
{
	json_t *result = NULL;
	json_t *params = json_pack("{s:s, s:s, s:b}", "session", run->operands[0], "path",
		run->args.remove, "recursive", run->args.recursive);
	int r = session_call(run, "file.remove", params, &result, err);
	json_decref(result);
	return r;
}

static int copy_out(struct session_run *run, const char *path, struct err *err)
{
	cleanup_fd int fd = outdir_open(run->args.output.dir, err);
	if (fd < 0)
		return fd;
	return path ? copy_one(run, path, fd, err) : session_copy_all(run, fd, err);
}

static int print_file(struct session_run *run, const char *path, struct err *err)
{
	cleanup_buf struct buf data = BUF_INIT(COPY_MAX_BYTES);
	int r = session_copy_read(run, path, &data, err);
	if (r == 0 && (r = fd_write_all(STDOUT_FILENO, buf_str(&data), data.bytes)) < 0)
		return err_sys(err, ERR_IO, -r, "standard output");
	return r;
}

static int list_files(struct session_run *run, struct err *err)
{
	json_t *list = NULL;
	json_t *params = json_pack("{s:s}", "session", run->operands[0]);
	int r = session_call(run, "file.list", params, &list, err);
	if (r == 0 && (run->args.output.json ? view_json(list) : session_print_files(list)) != 0)
		r = err_set(err, ERR_IO, "standard output");
	json_decref(list);
	return r;
}

static int check(const struct session_run *run, struct err *err)
{
	const struct session_args *args = &run->args;
	if (args->put && args->remove) {
		(void)err_set(err, ERR_USAGE, "--put and --remove exclude each other");
		return err_hint(err, "one of them at a time");
	}
	if (args->recursive && !args->remove) {
		(void)err_set(err, ERR_USAGE, "--recursive without --remove");
		return err_hint(
			err, "write: retort session files SESSION --remove PATH --recursive");
	}
	if (args->remove && run->n_operands > 1) {
		(void)err_set(err, ERR_USAGE, "both PATH and --remove");
		return err_hint(err, "write: retort session files SESSION --remove PATH");
	}
	return 0;
}

static int files_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	int r = session_begin(
		&run, &cmd_session_files, &(struct session_argv){argc, argv, 1, 2}, &err);
	if (r == 0)
		return 0;
	const char *path = run.n_operands > 1 ? run.operands[1] : NULL;
	int bad = r > 0 ? check(&run, &err) : 0;
	if (bad < 0)
		r = bad;
	if (r > 0 && run.args.put)
		r = put_file(&run, path, &err);
	else if (r > 0 && run.args.remove)
		r = remove_file(&run, &err);
	else if (r > 0 && run.args.output.dir)
		r = copy_out(&run, path, &err);
	else if (r > 0 && path)
		r = print_file(&run, path, &err);
	else if (r > 0)
		r = list_files(&run, &err);
	return session_end(&run, r, &err, 0);
}

static const char *const usage[] = {"session files [options] SESSION [PATH]", NULL};

static const struct cmd_example examples[] = {
	{"list them", "retort session files work"},
	{"print one", "retort session files work result.csv"},
	{"bring one in", "retort session files work --put orders.csv"},
	{"take all out", "retort session files work -o results"},
};

const struct cmd cmd_session_files = {
	.name = "session files",
	.summary = "List, print, write and remove files of a session",
	.usage = usage,
	.opts = files_opts,
	.n_opts = ARRAY_LEN(files_opts),
	.exits = session_exits,
	.n_exits = SESSION_EXITS,
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.operand = CMD_OPERAND_SESSION,
	.run = files_main,
};
