/* The command `retort repl`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/repl/repl.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "cli/host/outdir.h"
#include "api/text/statement.h"
#include "cli/host/xdg.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATEMENT_MAX_BYTES = 16 << 20, PROMPT_BYTES = 160 };

/* clang-format off */
static const struct opt repl_opts[] = {
	TOOLS_OPT(struct repl_args, "Tools"),
	BOX_PUBLISH_OPT(struct repl_args),
#define BOX_ARGS struct repl_args
#include "cli/box.def"
#undef BOX_ARGS
	{.name = "out", .letter = 'o', OPT_INTO_TEXT(struct repl_args, out), .arg = "DIR", .group = "Output",
		.complete = OPT_COMPLETE_DIR,
		.help = "copy new and changed files of the workspace to DIR, after each statement"},
	{.name = "images", OPT_INTO_CHOICE(struct repl_args, images), .arg = "MODE", .group = "Output",
		.choices = PICTURE_CHOICES, .fallback = "auto", .help = "how plots are shown"},
	{.name = "no-history", OPT_INTO_FLAG(struct repl_args, no_history), .group = "Output",
		.help = "do not save typed lines for the next repl"},
	{.name = "quiet", .letter = 'q', OPT_INTO_FLAG(struct repl_args, quiet), .group = "Output",
		.help = "print no greeting and no notes about steps"},
	BOX_PROFILE_OPT(struct repl_args),
	CMD_COMMON_OPTS(struct repl_args),
};
/* clang-format on */

static json_t *here(const struct repl *repl)
{
	return json_pack("{s:s}", "session", repl->session);
}

/* ---- running a step ---- */

static void on_event(void *arg, const json_t *event)
{
	struct repl *repl = arg;
	if (!approver_takes(&repl->approver, event))
		view_event(&repl->view, event);
	answer_event(&repl->answer, event);
}

static int run(struct repl *repl, const char *code, json_t **record, struct err *err)
{
	const struct operation_listener listener = {.arg = repl, .event = on_event};
	json_t *text = json_string(code);
	if (!text)
		return err_fail(err, ERR_USAGE, "type it again", "the statement is not UTF-8");
	/* A program may read lines only if the REPL is used at a terminal: if the input is a
	 * pipe, its lines are statements. With "stdin_open", the step reports by an event that
	 * it waits for input. */
	bool can_answer = editor_is_terminal(repl->reader.editor) &&
		(strcmp(repl->runtime, "python") == 0 || strcmp(repl->runtime, "shell") == 0);
	json_t *params = json_pack("{s:s, s:o, s:s, s:s, s:b, s:b}", "session", repl->session,
		"code", text, "runtime", repl->runtime, "filename", "<stdin>", "approvals",
		repl->can_ask, "stdin_open", can_answer);
	int r = service_call(repl->service, "step.run", params, &listener, record, err);
	answer_end(&repl->answer);
	editor_type(repl->reader.editor, buf_str(&repl->answer.typed), repl->answer.typed.bytes);
	buf_clear(&repl->answer.typed);
	return r;
}

void repl_step(struct repl *repl, const char *code, bool with_time)
{
	struct err err;
	json_t *record = NULL;
	int r = run(repl, code, &record, &err);
	if (r < 0) {
		(void)cli_fail(&err, false);
		repl->failures++;
		repl->is_leaving = repl->is_gone = err.code == ERR_GONE;
		return;
	}
	if (view_record(&repl->view, record) != 0)
		repl->failures++;
	if (repl->out_fd >= 0) {
		const struct copy_from from = repl_copy(repl);
		if (copy_changed(&from, record, repl->out_fd, &err) < 0)
			(void)cli_fail(&err, false);
	}
	repl->is_leaving = repl->view.out.error == EPIPE; /* nobody reads our output any more */
	if (with_time) {
		const json_t *usage = json_object_get(record, "usage");
		fprintf(stderr, "wall %.1f ms, CPU %.1f ms\n",
			json_number_value(json_object_get(usage, "wall_ms")),
			json_number_value(json_object_get(usage, "cpu_ms")));
	}
	json_decref(record);
}

/* ---- reading and running statements ---- */

static void make_prompt(const struct repl *repl, char out[PROMPT_BYTES])
{
	bool is_python = strcmp(repl->runtime, "python") == 0;
	cleanup_buf struct buf name = BUF_INIT(8 * REPL_SESSION_BYTES);
	if (repl->is_branched)
		(void)utf8_escape_terminal(&name, repl->name, strlen(repl->name), UTF8_ONE_LINE);
	snprintf(out, PROMPT_BYTES, "%.80s%s%s%s", buf_str(&name), name.bytes ? " " : "",
		is_python ? "" : repl->runtime, is_python ? ">>> " : "> ");
}

/* Read and run one statement. Returns: 1 to continue; 0 at the end of the REPL; or negative
 * errno. */
static int do_statement(struct repl *repl)
{
	cleanup_buf struct buf text = BUF_INIT(STATEMENT_MAX_BYTES);
	char prompt[PROMPT_BYTES];
	make_prompt(repl, prompt);
	int r = reader_statement(&repl->reader, repl->runtime, prompt, &text);
	if (r == -EINTR)
		return 1;
	if (r <= 0)
		return r;
	const char *code = buf_str(&text);
	if (code[strspn(code, " \t\r\n")] == '\0')
		return 1;
	editor_remember(repl->reader.editor, code);
	if (statement_leaves(repl->runtime, code))
		return 0;
	if (service_is_over(repl->service))
		repl->is_gone = true; /* the engine has ended, so no step can run */
	else if (magic_is(code, repl->runtime))
		repl_command(repl, code);
	else
		repl_step(repl, code, false);
	repl->is_gone = repl->is_gone || service_is_over(repl->service);
	return !repl->is_leaving && !repl->is_gone;
}

/* ---- completing names ---- */

static json_t *on_complete(void *arg, const char *text)
{
	struct repl *repl = arg;
	json_t *names = NULL;
	struct err err;
	if (magic_is(text, repl->runtime) && magic_at(text) != MAGIC_TIME)
		return repl_complete_command(repl, text);
	/* In Python, names are completed in strings too, because keys and file names are written
	 * there. */
	if (strcmp(repl->runtime, "python") != 0 && statement_is_in_string(repl->runtime, text))
		return NULL;
	json_t *params = here(repl);
	json_put_text(params, "text", text);
	json_put_text(params, "runtime", repl->runtime);
	return repl_call(repl, "step.complete", params, &names, &err) == 0 ? names : NULL;
}

/* ---- starting and ending the REPL ---- */

static int on_wait(void *arg, int fd)
{
	struct repl *repl = arg;
	return service_wait(repl->service, fd);
}

static void on_continued(void *arg)
{
	struct repl *repl = arg;
	if (repl->reader.editor)
		editor_resume(repl->reader.editor);
}

static void on_resized(void *arg)
{
	struct repl *repl = arg;
	if (repl->reader.editor)
		editor_resize(repl->reader.editor);
}

/* End the REPL because of the signal @number. Raise SIGTERM: the service then ends the input,
 * and the REPL restores the terminal and saves the history. */
static void end_by(struct repl *repl, int number)
{
	repl->ended_by = number;
	(void)raise(SIGTERM);
}

static void on_hung_up(void *arg)
{
	end_by(arg, SIGHUP);
}

static void on_quit(void *arg)
{
	end_by(arg, SIGQUIT);
}

static int watch_terminal(struct repl *repl, struct err *err)
{
	const struct {
		int number;
		void (*told)(void *arg);
	} rows[] = {{SIGCONT, on_continued}, {SIGWINCH, on_resized}, {SIGHUP, on_hung_up},
		{SIGQUIT, on_quit}};
	/* SIGCONT and SIGWINCH are handled even if the input is not a terminal. */
	enum { N_ALWAYS = 2 };
	size_t n_rows = editor_is_terminal(repl->reader.editor) ? ARRAY_LEN(rows) : N_ALWAYS;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n_rows; i++)
		r = service_watch(repl->service, rows[i].number, rows[i].told, repl, err);
	return r;
}

static int prepare(struct repl *repl, struct err *err)
{
	const struct service_config config = {.tools = repl->args.tools,
		.skills = repl->args.box.skills,
		.layers_dir = xdg_layers_dir(NULL),
		.version = version_text};
	const struct editor_config editor = {.arg = repl,
		.wait = on_wait,
		.complete = on_complete,
		.history = repl->history[0] ? repl->history : NULL};
	const struct view_options options = {.output.images = repl->args.images,
		.output.quiet = repl->args.quiet,
		.output.dir = repl->args.out,
		.limits = &repl->args.box.limits,
		.is_typed = true,
		.place = PLACE_REPL,
		.error_color = term_has_color(STDERR_FILENO, (enum term_color)repl->args.color)};
	snprintf(repl->runtime, sizeof repl->runtime, "%s",
		repl->args.box.runtime ? repl->args.box.runtime : "python");
	repl->create = box_params(&repl->args.box, &repl->set, err);
	if (!repl->create)
		return -err_errno(err->code);
	if (repl->args.out && (repl->out_fd = outdir_open(repl->args.out, err)) < 0)
		return repl->out_fd;
	json_put_text(repl->create, "name", "main");
	picture_ask(repl->args.images, repl->create);
	box_tell_columns(repl->create);
	view_init(&repl->view, &options);
	/* Open the editor, which takes the terminal, before the box is created. What the user
	 * types while the box is created then becomes the first line. */
	int r = service_open(&repl->service, &config, err);
	repl->answer = ANSWER_INIT(repl->service);
	r = r < 0 ? r : editor_open(&repl->reader.editor, &editor, err);
	r = r < 0 ? r : watch_terminal(repl, err);
	if (r == 0)
		repl->can_ask = editor_is_terminal(repl->reader.editor) &&
			approver_open(&repl->approver, repl->service);
	repl->approver.show = view_event;
	repl->approver.screen = &repl->view;
	return r < 0 ? r : repl_create(repl, err);
}

static int find_history(struct repl *repl, struct err *err)
{
	char dir[PATH_MAX];
	if (repl->args.no_history || !isatty(STDIN_FILENO))
		return 0;
	int r = xdg_state_dir(dir, err);
	if (r == 0 && snprintf(repl->history, PATH_MAX, "%s/history", dir) >= PATH_MAX)
		repl->history[0] = '\0';
	return r;
}

/* Report that the engine has ended. The REPL cannot go on: boxes cannot be made without the
 * warden, and the session existed only in this process. */
static int fail_gone(const struct repl *repl, struct err *err)
{
	if (!service_is_over(repl->service))
		return err_exit(ERR_GONE); /* repl_step() has shown the error */
	(void)err_set(err, ERR_GONE, "the warden was ended, and every box with it");
	(void)err_hint(err, "start `retort repl` again%s",
		repl->history[0] ? ": its history has what was typed" : "");
	return cli_fail(err, false);
}

/* Report a NUL byte in the input. Run nothing more, because later statements may depend on this
 * one. */
static void fail_nul(size_t line, struct err *err)
{
	err_fail(err, ERR_USAGE, "take it out: neither its statement nor what follows was run",
		"standard input: line %zu has a NUL byte", line);
}

/* Return whether the terminal was closed. The SIGHUP that this causes may come later. */
static bool is_hung_up(void)
{
	struct pollfd p = {.fd = STDIN_FILENO};
	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static int repl_loop(struct repl *repl, struct err *err)
{
	int r = find_history(repl, err);
	r = r < 0 ? r : prepare(repl, err);
	if (r < 0)
		return cli_fail(err, false);
	bool is_terminal = editor_is_terminal(repl->reader.editor);
	if (is_terminal && !repl->args.quiet)
		printf("retort %s, %s: %%help tells more, Ctrl-D leaves.\n", version_text,
			repl->runtime);
	do
		r = do_statement(repl);
	while (r > 0);
	if (repl->is_gone)
		return fail_gone(repl, err);
	if (is_terminal && !repl->ended_by && is_hung_up())
		/* The terminal was closed, but its SIGHUP has not come yet. */
		repl->ended_by = SIGHUP;
	if (r == -ECANCELED && !repl->ended_by)
		repl->ended_by = SIGTERM;
	if (repl->ended_by)
		return 128 + repl->ended_by;
	if (repl->view.out.error == EPIPE)
		return 128 + SIGPIPE;
	if (r == -E2BIG)
		err_set(err, ERR_LIMIT, "a statement over %d MiB: read what is large from a file",
			STATEMENT_MAX_BYTES >> 20);
	else if (r == -EILSEQ)
		fail_nul(editor_line(repl->reader.editor), err);
	else if (r < 0)
		(void)err_sys(err, ERR_IO, -r, "standard input");
	if (r < 0)
		return cli_fail(err, false);
	return is_terminal || repl->failures == 0 ? 0 : 1;
}

static int repl_main(int argc, char **argv)
{
	struct err err = {0};
	struct repl *repl = xnew(struct repl);
	repl->args.box = (struct box_args)BOX_ARGS_INIT;
	repl->approver = APPROVER_NONE;
	repl->out_fd = -1;
	int status = 0, r = cmd_parse(&cmd_repl, &repl->set, &repl->args, argc, argv, &err);
	if (r > 0) {
		r = cmd_config(&repl->set, repl->args.box.profile, &err);
		r = r < 0 ? r : box_check(&repl->args.box, &err);
		status = r < 0 ? cli_fail(&err, false) : repl_loop(repl, &err);
	} else if (r < 0) {
		status = cli_fail(&err, false);
	}
	approver_close(&repl->approver);
	buf_done(&repl->answer.typed);
	editor_close(take_ptr(repl->reader.editor));
	service_close(repl->service);
	json_decref(repl->create);
	view_done(&repl->view);
	fd_close(&repl->out_fd);
	free(repl->reader.ahead);
	free(repl);
	return status;
}

static const char *const usage[] = {"repl [options]", NULL};

static const struct cmd_example examples[] = {
	{"use Python with two libraries imported", "retort repl --preload numpy,pandas"},
	{"run statements from a file, in one session", "retort repl <steps.py"},
};

static const struct cmd_exit exits[] = {
	{"0", "left with Ctrl-D or %quit"},
	{"1", "standard input is not a terminal, and a statement failed"},
	{"2", "usage error"},
	{"125", "the box could not be made, or is gone"},
	{"129", "the terminal was closed"},
	{"131", "ended by Ctrl-\\"},
	{"141", "the reader of the output has closed it"},
	{"143", "ended by SIGTERM"},
};

const struct cmd cmd_repl = {
	.name = "repl",
	.summary = "Type statements and see their results",
	.usage = usage,
	.text = "Starts an interactive session in its own box, without a server. Variables and "
		"files stay from one statement to the next. Lines that begin with % are commands "
		"of retort: %undo goes back, %branch continues in a copy, %help lists all.\n\n"
		"A statement continues on the next line while a bracket or a string is open. An "
		"empty line ends a block. Pasted text is one statement. Python gets all other "
		"lines that begin with % or !, as in a notebook. Statements from a pipe are read "
		"without prompts.",
	.opts = repl_opts,
	.n_opts = ARRAY_LEN(repl_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.instead = "`retort repl <FILE` runs the lines of a file one by one, `retort run FILE` the "
		   "whole file",
	.run = repl_main,
};
