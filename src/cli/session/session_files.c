/* The command `retort session files`: lists, prints, copies, writes and removes files of a
 * workspace. SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"
#include "cli/session/copy.h"
#include "cli/host/outdir.h"
#include "cli/session/session.h"
#include "cli/view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COPY_MAX_BYTES = 1 << 30 };

/* clang-format off */
static const struct opt files_opts[] = {
	{.name = "put", OPT_INTO_TEXT(struct session_args, put), .arg = "FILE", .flags = OPT_NO_ENV | OPT_ONCE,
		.group = "Options", .complete = OPT_COMPLETE_FILE,
		.help = "copy FILE of the host to PATH (default: the name of FILE)"},
	{.name = "remove", OPT_INTO_TEXT(struct session_args, remove), .arg = "PATH",
		.flags = OPT_NO_ENV | OPT_ONCE, .group = "Options", .help = "remove a file"},
	{.name = "recursive", OPT_INTO_FLAG(struct session_args, recursive), .flags = OPT_NO_ENV,
		.group = "Options", .help = "with --remove: remove a directory and everything in "
			"it"},
	{.name = "out", .letter = 'o', OPT_INTO_TEXT(struct session_args, output.dir), .arg = "DIR",
		.group = "Output", .complete = OPT_COMPLETE_DIR, .help = "copy the files to DIR"},
	{.name = "json", OPT_INTO_FLAG(struct session_args, output.json), .flags = OPT_NO_ENV,
		.group = "Output", .help = "print one JSON object"},
	SESSION_SOCKET_OPT,
	CMD_COMMON_OPTS(struct session_args),
};
/* clang-format on */

static int put_file(struct session_run *run, const char *path, struct err *err)
{
	const struct copy_from from = session_copy(run);
	int r = copy_put(&from, run->args.put, path, err);
	if (r < 0 && err->code == ERR_LIMIT)
		return err_hint(err, "show it to a new session: retort session new -v FILE:/data");
	if (r < 0 && !path && err->code == ERR_USAGE && !err->hint[0])
		return err_hint(err, "give it another: write PATH behind SESSION");
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
	const struct copy_from from = session_copy(run);
	int r = path ? copy_one(&from, path, fd, err) : copy_all(&from, fd, err);
	if (r > 0)
		view_tell_not_all();
	return MIN(r, 0);
}

static int list_files(struct session_run *run, const char *path, struct err *err)
{
	json_t *list = NULL;
	json_t *params = json_pack("{s:s, s:s*}", "session", run->operands[0], "path", path);
	int r = session_call(run, "file.list", params, &list, err);
	if (r == 0 && (run->args.output.json ? view_json(list) : session_print_files(list)) != 0)
		r = err_set(err, ERR_IO, "standard output");
	json_decref(list);
	return r;
}

/* Print the file @path to stdout. If @path is a directory, list it instead. */
static int print_file(struct session_run *run, const char *path, struct err *err)
{
	struct err ignored;
	cleanup_buf struct buf data = BUF_INIT(COPY_MAX_BYTES);
	const struct copy_from from = session_copy(run);
	int r = copy_read(&from, path, &data, err);
	if (r < 0 && err->code == ERR_ACCESS && list_files(run, path, &ignored) == 0)
		return 0;
	if (r == 0 && (r = fd_write_all(STDOUT_FILENO, buf_str(&data), data.bytes)) < 0)
		return err_sys(err, ERR_IO, -r, "standard output");
	return r;
}

static int check(const struct session_run *run, struct err *err)
{
	const struct session_args *args = &run->args;
	if (args->put && args->remove)
		return err_fail(err, ERR_USAGE, "one of them at a time",
			"--put and --remove exclude each other");
	if (args->recursive && !args->remove)
		return err_fail(err, ERR_USAGE,
			"write: retort session files SESSION --remove PATH --recursive",
			"--recursive without --remove");
	if (args->remove && run->n_operands > 1)
		return err_fail(err, ERR_USAGE, "write: retort session files SESSION --remove PATH",
			"both PATH and --remove");
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
		r = list_files(&run, NULL, &err);
	return session_end(&run, r, &err, 0);
}

static const char *const usage[] = {"session files [options] SESSION [PATH]", NULL};

static const struct cmd_example examples[] = {
	{"list the workspace", "retort session files work"},
	{"print a file", "retort session files work result.csv"},
	{"list a directory", "retort session files work data"},
	{"copy a file into the session", "retort session files work --put orders.csv"},
	{"copy all files out", "retort session files work -o results"},
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
