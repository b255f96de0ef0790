/* The command `retort session exec`: runs a step in a session of a running engine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/session/session.h"

#include "api/call/call_session.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/session/copy.h"
#include "cli/host/outdir.h"
#include "cli/host/program.h"
#include "cli/view.h"

#include <signal.h>
#include <string.h>

/* clang-format off */
static const struct opt exec_opts[] = {
	{.name = "code", .letter = 'c', OPT_INTO_TEXT(struct session_args, code), .arg = "CODE",
		.flags = OPT_NO_ENV | OPT_ONCE, .group = "Program", .help = "run CODE"},
	{.name = "runtime", .letter = 'r', OPT_INTO_TEXT(struct session_args, runtime), .arg = "RUNTIME",
		.flags = OPT_NO_ENV, .group = "Program", .choices = "python|javascript|sql|shell",
		.help = HELP_FILE_LANGUAGE},
	{.name = "stdin", OPT_INTO_TEXT(struct session_args, stdin_file), .arg = "FILE",
		.flags = OPT_NO_ENV | OPT_ONCE, .group = "Program", .complete = OPT_COMPLETE_FILE,
		.help = "file for the step's standard input, or - for retort's own; by default "
			"the input is empty"},
	{.name = "timeout", OPT_INTO_MS(struct session_args, timeout_ms), .arg = "TIME", .flags = OPT_NO_ENV,
		.group = "Program", .min = 1, .max = UINT64_C(1) << 40, .help = HELP_TIMEOUT},
	{.name = "atomic", OPT_INTO_FLAG(struct session_args, atomic), .flags = OPT_NO_ENV, .group = "Program",
		.help = HELP_ATOMIC},
#define OUTPUT_ARGS struct session_args
#include "cli/output.def"
#undef OUTPUT_ARGS
	SESSION_SOCKET_OPT,
	CMD_COMMON_OPTS(struct session_args),
};
/* clang-format on */

static int check(const struct session_run *run, struct err *err)
{
	const struct session_args *args = &run->args;
	const char *program = run->n_operands > 1 ? run->operands[1] : NULL;
	int r = output_check(&args->output, err);
	if (r < 0)
		return r;
	if (!args->code == !program)
		return err_fail(err, ERR_USAGE,
			"name a FILE, or use -c CODE, or - for standard input",
			program ? "both a program and --code" : "nothing to run");
	if (args->stdin_file && program && strcmp(program, "-") == 0 &&
		strcmp(args->stdin_file, "-") == 0)
		return err_fail(err, ERR_USAGE, "name the program's file",
			"standard input cannot be both program and input");
	return 0;
}

static json_t *text_json(const struct buf *text, const char *name, struct err *err)
{
	json_t *json = json_stringn(buf_str(text), text->bytes);
	if (json)
		return json;
	err_fail(err, ERR_USAGE, "save it as UTF-8: iconv -f latin1 -t utf-8 FILE",
		"%s is not UTF-8", name);
	return NULL;
}

static int read_input(const char *path, struct buf *out, struct err *err)
{
	int r = program_read(path, out, err);
	if (r == 0)
		return 0;
	(void)err_wrap(err, "--stdin");
	return err_hint(err,
		err->code == ERR_LIMIT
			? "bring it in: retort session files SESSION --put FILE"
			: "name a file that you may read, or - for retort's own standard input");
}

static int make_params(const struct session_run *run, json_t **out, struct err *err)
{
	const struct session_args *args = &run->args;
	const char *program = run->n_operands > 1 ? run->operands[1] : NULL;
	cleanup_buf struct buf code = BUF_INIT(PROGRAM_MAX_BYTES);
	cleanup_buf struct buf input = BUF_INIT(PROGRAM_MAX_BYTES);
	int r = check(run, err);
	if (r == 0)
		r = program ? program_read(program, &code, err) : buf_add(&code, args->code);
	if (r == 0 && args->stdin_file)
		r = read_input(args->stdin_file, &input, err);
	if (r < 0)
		return err->code ? r : err_set(err, ERR_LIMIT, "the code is too long");
	json_t *text = text_json(&code, program_name(program), err);
	json_t *input_json = args->stdin_file ? text_json(&input, "standard input", err) : NULL;
	json_t *params = json_pack("{s:s, s:o, s:s, s:b, s:b, s:o*, s:s*}", "session",
		run->operands[0], "code", text, "filename", program_name(program), "stream",
		!args->output.json, "atomic", args->atomic, "stdin", input_json, "runtime",
		args->runtime);
	if (!params || (args->stdin_file && !input_json)) {
		json_decref(params);
		return err->code ? -err_errno(err->code)
				 : err_set(err, ERR_USAGE, "%s is not UTF-8", run->operands[0]);
	}
	if (args->timeout_ms > 0)
		json_put_int(params, "timeout_ms", args->timeout_ms);
	*out = params;
	return 0;
}

static int exec_main(int argc, char **argv)
{
	struct session_run run;
	struct view view;
	struct err err = {0};
	json_t *params = NULL, *record = NULL;
	cleanup_fd int out_fd = -1;
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_exec, &(struct session_argv){argc, argv, 1, 2, true}, &err);
	if (r == 0)
		return 0;
	const struct session_args *args = &run.args;
	if (r > 0 && args->output.dir && (out_fd = outdir_open(args->output.dir, &err)) < 0)
		r = out_fd;
	if (r > 0)
		r = make_params(&run, &params, &err);
	if (r < 0)
		return session_end(&run, r, &err, 0);
	const struct view_options options = {
		.output = args->output, .place = PLACE_SESSION, .is_atomic = args->atomic};
	const struct client_events events = {.arg = &view, .event = view_event};
	/* If the reader of our stdout closes its end, do not die at once: the step must be ended
	 * first. */
	(void)signal(SIGPIPE, SIG_IGN);
	view_init(&view, &options);
	r = client_call(&run.client, "step.run", params, &events, &record, &err);
	if (r == 0)
		status = view_record(&view, record);
	const struct copy_from from = session_copy(&run);
	if (r == 0 && out_fd >= 0)
		r = copy_changed(&from, record, out_fd, &err);
	view_done(&view);
	json_decref(record);
	return session_end(&run, r, &err, status);
}

static const char *const usage[] = {"session exec [options] SESSION FILE",
	"session exec [options] SESSION -c CODE", "session exec [options] SESSION -", NULL};

static const struct cmd_exit exits[] = {
	{"0-255", "exit status of the step: 0, or 1 after an error"},
	{"2", "usage error: a wrong option, session or file"},
	{"4", "no engine listens at the socket"},
	{"124", "time limit exceeded"},
	{"125", "the engine has ended, or could not start the box"},
	{"126", "denied by policy"},
	{"127", "the runtime is not installed on the engine's host"},
	{"128+n", "killed by signal n; 137 can also be the memory limit: --json says which"},
	{"130", "interrupted"},
};

const struct cmd cmd_session_exec = {
	.name = "session exec",
	.summary = TEXT_RUN,
	.usage = usage,
	.text = "Prints what the step prints, and the value of its last expression, as `retort run` does. "
		"Ctrl-C stops the step; the session stays.",
	.opts = exec_opts,
	.n_opts = ARRAY_LEN(exec_opts),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_SESSION_FILE,
	.run = exec_main,
};
