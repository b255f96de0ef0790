/* The subcommands of `retort session`, except `exec`, `files` and `prune`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/session/session.h"

#include "api/call/call_session.h"
#include "api/text/outcome.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/host/outdir.h"
#include "cli/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_word(const char *what, const char *text, struct err *err)
{
	if (!text || utf8_is_valid(text, strlen(text)))
		return 0;
	return err_set(err, ERR_USAGE, "%s %.100s: not UTF-8", what, text);
}

/* Check that the arguments are UTF-8. They are sent as JSON, which cannot represent other bytes. */
static int check_words(
	const struct session_run *run, const struct session_argv *argv, struct err *err)
{
	const struct session_args *args = &run->args;
	const struct {
		const char *what, *text;
	} rows[] = {{"--to", args->to}, {"--remove", args->remove}, {"--runtime", args->runtime}};
	int n = argv->is_second_file ? MIN(run->n_operands, 1) : run->n_operands, r = 0;
	for (int i = 0; r == 0 && i < n; i++)
		r = check_word(i == 0 ? "session" : "name", run->operands[i], err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(rows); i++)
		r = check_word(rows[i].what, rows[i].text, err);
	return r;
}

int session_operand(const struct cmd *cmd, void *target, int argc, char **argv,
	const char **session, struct err *err)
{
	int at = cmd_begin(cmd, target, argc, argv, err);
	*session = NULL;
	if (at <= 0)
		return at;
	if (at == argc)
		return err_fail(err, ERR_USAGE, "`retort session ls` lists them",
			"%s: the session is missing", cmd->name);
	if (at + 1 < argc)
		return err_fail(err, ERR_USAGE, "leave it out", "%s: unexpected \"%.60s\"",
			cmd->name, argv[at + 1]);
	if (!utf8_is_valid(argv[at], strlen(argv[at])))
		return err_fail(err, ERR_USAGE, "`retort session ls` lists them",
			"session %.100s: not UTF-8", argv[at]);
	*session = argv[at];
	return 0;
}

int session_begin(struct session_run *run, const struct cmd *cmd, const struct session_argv *argv,
	struct err *err)
{
	*run = (struct session_run){.cmd = cmd, .args = {.box = BOX_ARGS_INIT}};
	int at = cmd_parse(cmd, &run->set, &run->args, argv->argc, argv->argv, err);
	if (at <= 0)
		return at;
	int r = cmd_config(&run->set, run->args.box.profile, err);
	if (r < 0)
		return r;
	run->operands = argv->argv + at;
	run->n_operands = argv->argc - at;
	int min = argv->min, max = argv->max;
	if (run->n_operands < min || (max >= 0 && run->n_operands > max)) {
		if (run->n_operands < min)
			(void)err_set(err, ERR_USAGE, "%s: a name is missing", cmd->name);
		else
			(void)err_set(err, ERR_USAGE, "%s: unexpected \"%.64s\"", cmd->name,
				run->operands[max]);
		return err_hint(err, "write: retort %s", cmd->usage[0]);
	}
	r = check_words(run, argv, err);
	if (r < 0)
		return r;
	run->is_open = true;
	r = client_open(&run->client, run->args.socket, err);
	return r < 0 ? r : 1;
}

int session_end(struct session_run *run, int r, const struct err *err, int status)
{
	if (run->is_open)
		client_done(&run->client);
	return r < 0 ? cli_fail(err, run->args.output.json) : status;
}

int session_call(struct session_run *run, const char *method, json_t *params, json_t **result,
	struct err *err)
{
	return client_call(&run->client, method, params, NULL, result, err);
}

static int call_of(void *arg, const char *method, json_t *params, json_t **result, struct err *err)
{
	return session_call(arg, method, params, result, err);
}

struct copy_from session_copy(struct session_run *run)
{
	return (struct copy_from){.call = call_of, .arg = run, .session = run->operands[0]};
}

static json_t *one_session(const struct session_run *run)
{
	return json_pack("{s:s}", "session", run->operands[0]);
}

/*
 * Print @result. With --json, print the whole object. Otherwise print the text of its member @name,
 * or nothing if @name is NULL.
 * Owns: the reference to @result is taken. Returns: the exit status.
 */
static int show(const struct session_run *run, json_t *result, const char *name)
{
	int status = 0;
	if (run->args.output.json)
		status = view_json(result);
	else if (name)
		status = puts(session_text(result, name)) < 0;
	json_decref(result);
	return status;
}

/* ---- the command `session new` ---- */

#define JSON_OPT                                                                                   \
	{                                                                                          \
		.name = "json", OPT_INTO_FLAG(struct session_args, output.json),                   \
		.flags = OPT_NO_ENV, .group = "Output", .help = "print one JSON object"            \
	}
#define ENDING_OPTS SESSION_SOCKET_OPT, CMD_COMMON_OPTS(struct session_args)

static const struct opt new_opts[] = {
	BOX_PUBLISH_OPT(struct session_args),
#define BOX_ARGS struct session_args
#include "cli/box.def"
#undef BOX_ARGS
	JSON_OPT,
	BOX_PROFILE_OPT(struct session_args),
	ENDING_OPTS,
};

/* Open the ports of the new session. If that fails, the session ends. */
static int publish(struct session_run *run, const json_t *made, struct err *err)
{
	const char *session = session_text(made, "session");
	struct err ignored;
	json_t *nothing = NULL;
	int r = box_publish(&run->args.box, session, run->args.output.json, call_of, run, err);
	if (r == 0)
		return 0;
	(void)session_call(
		run, "session.close", json_pack("{s:s}", "session", session), &nothing, &ignored);
	json_decref(nothing);
	return r;
}

static int new_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	json_t *result = NULL;
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_new, &(struct session_argv){argc, argv, 0, 1}, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = box_check(&run.args.box, &err);
	json_t *params = r < 0 ? NULL : box_params(&run.args.box, &run.set, &err);
	if (r == 0 && !params)
		r = -err_errno(err.code);
	if (r == 0 && run.n_operands > 0)
		json_put_text(params, "name", run.operands[0]);
	if (r == 0)
		r = session_call(&run, "session.create", params, &result, &err);
	if (r == 0)
		r = publish(&run, result, &err);
	if (r == 0)
		status = show(&run, result, "session");
	else
		json_decref(result);
	return session_end(&run, r, &err, status);
}

/* ---- the commands `session ls`, `rm`, `branch`, `undo` and `export` ---- */

static const struct opt plain_opts[] = {JSON_OPT, ENDING_OPTS};

/* clang-format off */
static const struct opt ls_opts[] = {
	{.name = "quiet", .letter = 'q', OPT_INTO_FLAG(struct session_args, output.quiet), .flags = OPT_NO_ENV,
		.group = "Output", .help = "print only names, or ids of sessions without a name"},
	JSON_OPT,
	ENDING_OPTS,
};
/* clang-format on */

static int print_names(const json_t *list)
{
	const json_t *rows = json_object_get(list, "sessions");
	int r = 0;
	for (size_t i = 0; r >= 0 && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *name = session_text(row, "name");
		r = puts(name[0] ? name : session_text(row, "session"));
	}
	return r < 0;
}

/* List all sessions. Each call of session.list returns a part of them. */
static int list_all(struct session_run *run, json_t **out, struct err *err)
{
	json_t *rows = json_array(), *page = NULL;
	int r;
	do {
		const json_t *last = json_array_get(rows, json_array_size(rows) - 1);
		json_t *params =
			last ? json_pack("{s:s}", "before", session_text(last, "session")) : NULL;
		json_decref(page);
		page = NULL;
		r = session_call(run, "session.list", params, &page, err);
		(void)json_array_extend(rows, json_object_get(page, "sessions"));
	} while (r == 0 && json_is_true(json_object_get(page, "truncated")) &&
		json_array_size(json_object_get(page, "sessions")) > 0);
	json_decref(page);
	*out = json_pack("{s:o}", "sessions", rows);
	return r;
}

static int ls_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	json_t *list = NULL;
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_ls, &(struct session_argv){argc, argv, 0, 0}, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = list_all(&run, &list, &err);
	if (r == 0)
		status = run.args.output.json	? view_json(list)
			: run.args.output.quiet ? print_names(list)
						: session_print_list(list);
	json_decref(list);
	return session_end(&run, r, &err, status);
}

static int rm_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_rm, &(struct session_argv){argc, argv, 1, -1}, &err);
	if (r <= 0)
		return r == 0 ? 0 : session_end(&run, r, &err, 0);
	/* After an error, report it and continue with the other sessions. */
	for (int i = 0; i < run.n_operands; i++) {
		json_t *result = NULL, *params = json_pack("{s:s}", "session", run.operands[i]);
		r = session_call(&run, "session.close", params, &result, &err);
		json_decref(result);
		if (r < 0)
			status = cli_fail(&err, run.args.output.json);
		else if (!run.args.output.json)
			puts(run.operands[i]);
	}
	if (status == 0 && run.args.output.json)
		puts("{}");
	return session_end(&run, 0, &err, status);
}

/* clang-format off */
static const struct opt branch_opts[] = {
	{.name = "force", OPT_INTO_FLAG(struct session_args, force), .flags = OPT_NO_ENV, .group = "Options",
		.help = HELP_FORCE},
	{.name = "keep-processes", OPT_INTO_FLAG(struct session_args, keep_processes), .flags = OPT_NO_ENV,
		.help = HELP_KEEP_PROCESSES},
	{.name = "secrets", OPT_INTO_FLAG(struct session_args, secrets), .flags = OPT_NO_ENV,
		.help = HELP_WITH_SECRETS},
	JSON_OPT,
	ENDING_OPTS,
};
/* clang-format on */

static void add_branched(struct buf *b, const json_t *result)
{
	(void)outcome_add_branched(b, result);
}

static int branch_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	json_t *result = NULL;
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_branch, &(struct session_argv){argc, argv, 1, 2}, &err);
	if (r == 0)
		return 0;
	if (r > 0) {
		json_t *params = one_session(&run);
		if (run.n_operands > 1)
			json_put_text(params, "name", run.operands[1]);
		if (run.args.force)
			json_put_bool(params, "force", true);
		if (run.args.keep_processes)
			json_put_bool(params, "keep_processes", true);
		if (run.args.secrets)
			json_put_bool(params, "secrets", true);
		r = session_call(&run, "session.branch", params, &result, &err);
	}
	bool is_told =
		json_object_get(result, "runs_again") || json_object_get(result, "processes_left");
	if (r == 0 && !run.args.output.json && is_told)
		view_tell("branched", add_branched, result);
	if (r == 0)
		status = show(&run, result, "session");
	return session_end(&run, r, &err, status);
}

/* clang-format off */
static const struct opt undo_opts[] = {
	{.name = "to", OPT_INTO_TEXT(struct session_args, to), .arg = "STEP", .flags = OPT_NO_ENV | OPT_ONCE,
		.group = "Options", .help = HELP_UNDO_TO},
	JSON_OPT,
	ENDING_OPTS,
};
/* clang-format on */

static int undo_params(const struct session_run *run, json_t **out, struct err *err)
{
	struct num_range range = {1, 1000000};
	uint64_t count = 1;
	int r = run->n_operands > 1 ? num_parse_count(run->operands[1], range, &count, err) : 0;
	if (r < 0)
		return err_wrap(err, "number of steps");
	if (run->args.to && run->n_operands > 1)
		return err_fail(err, ERR_USAGE, "give one of them", "both N and --to");
	*out = one_session(run);
	if (run->args.to)
		json_put_text(*out, "to", run->args.to);
	else
		json_put_int(*out, "count", count);
	if (term_is(STDERR_FILENO) && !run->args.output.json)
		json_put_bool(*out, "stream", true);
	return 0;
}

static int undo_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	json_t *result = NULL, *params = NULL;
	struct view view;
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_undo, &(struct session_argv){argc, argv, 1, 2}, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = undo_params(&run, &params, &err);
	const struct view_options options = {.output = run.args.output};
	const struct client_events events = {.arg = &view, .event = view_event};
	view_init(&view, &options);
	if (r == 0)
		r = client_call(&run.client, "session.undo", params, &events, &result, &err);
	view_done(&view);
	if (r == 0 && !run.args.output.json && !outcome_is_plain_undo(result))
		view_tell("undone", outcome_add_undone, result);
	if (r == 0)
		status = show(&run, result, "head");
	return session_end(&run, r, &err, status);
}

/* clang-format off */
static const struct opt export_opts[] = {
	{.name = "out", .letter = 'o', OPT_INTO_TEXT(struct session_args, output.dir), .arg = "FILE",
		.flags = OPT_NO_ENV, .group = "Output", .complete = OPT_COMPLETE_FILE,
		.help = "write to FILE, not to stdout"},
	ENDING_OPTS,
};
/* clang-format on */

static int write_record(const char *path, const json_t *result, struct err *err)
{
	const json_t *record = json_object_get(result, "record");
	const char *text = json_string_value(record);
	size_t bytes = json_string_length(record);
	if (path)
		return outdir_put_at(path, text, bytes, err);
	int r = fd_write_all(STDOUT_FILENO, text, bytes);
	return r < 0 ? err_sys(err, ERR_IO, -r, "standard output") : 0;
}

static int export_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	json_t *result = NULL;
	int r = session_begin(
		&run, &cmd_session_export, &(struct session_argv){argc, argv, 1, 1}, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = session_call(&run, "session.export", one_session(&run), &result, &err);
	if (r == 0)
		r = write_record(run.args.output.dir, result, &err);
	json_decref(result);
	return session_end(&run, r, &err, 0);
}

/* ---- the command `session log`, which lists the steps of a session ---- */

/* clang-format off */
static const struct opt log_opts[] = {
	{.name = "all", OPT_INTO_FLAG(struct session_args, all), .flags = OPT_NO_ENV, .group = "Output",
		.help = HELP_LOG_ALL},
	{.name = "graph", OPT_INTO_FLAG(struct session_args, graph), .flags = OPT_NO_ENV, .group = "Output",
		.help = "draw the steps of all sessions as a tree"},
	JSON_OPT,
	ENDING_OPTS,
};
/* clang-format on */

static json_t *log_params(const struct session_run *run)
{
	json_t *params = one_session(run);
	if (run->args.all)
		json_put_bool(params, "all", true);
	return params;
}

static int log_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	json_t *log = NULL;
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_log, &(struct session_argv){argc, argv, 0, 1}, &err);
	if (r == 0)
		return 0;
	bool is_graph = run.args.graph;
	if (r > 0 && run.n_operands == (is_graph ? 1 : 0)) {
		r = err_set(&err, ERR_USAGE,
			is_graph ? "--graph draws all sessions" : "no session named");
		(void)err_hint(&err, is_graph ? "leave the name out" : "name one, or use --graph");
	}
	if (r > 0)
		r = session_call(&run, is_graph ? "session.graph" : "session.log",
			is_graph ? NULL : log_params(&run), &log, &err);
	if (r == 0 && run.args.output.json)
		status = view_json(log);
	else if (r == 0 && is_graph)
		status = session_print_graph(
			log, term_has_color(STDOUT_FILENO, (enum term_color)run.args.color));
	else if (r == 0)
		status = session_print_log(log);
	json_decref(log);
	return session_end(&run, r, &err, status);
}

/* ---- the table rows of the subcommands ---- */

const struct cmd_exit session_exits[SESSION_EXITS] = {
	{"0", "done"},
	{"1", "failed"},
	{"2", "usage error: a wrong option, value or name"},
	{"4", "no engine listens at the socket"},
	{"125", "the engine has ended, or could not make a box"},
	{"127", "the runtime is not installed on the engine's host"},
	{"141", "the reader of the output has closed it"},
};

#define SUB(id, words, what, rows, kind, use, main_, ...)                                          \
	static const char *const id##_usage[] = {use, NULL};                                       \
	const struct cmd cmd_session_##id = {.name = words,                                        \
		.summary = what,                                                                   \
		.usage = id##_usage,                                                               \
		.opts = rows,                                                                      \
		.n_opts = ARRAY_LEN(rows),                                                         \
		.exits = session_exits,                                                            \
		.n_exits = SESSION_EXITS,                                                          \
		.operand = CMD_OPERAND_##kind,                                                     \
		.run = main_,                                                                      \
		__VA_ARGS__}

SUB(new, "session new", TEXT_CREATE, new_opts, NAME, "session new [options] [NAME]", new_main,
	.alike = "create open start",
	.text = "Prints the id of the session. Its variables and files stay until `session rm`. "
		"After a restart, the engine restores them by running the session's steps again.");
SUB(ls, "session ls", TEXT_LIST, ls_opts, NAME, "session ls [--quiet | --json]", ls_main,
	.alike = "list ps");
SUB(rm, "session rm", "End sessions", plain_opts, SESSIONS, "session rm SESSION...", rm_main,
	.alike = "close delete end kill remove stop");
SUB(branch, "session branch", TEXT_BRANCH, branch_opts, SESSION,
	"session branch [--force | --keep-processes] [--secrets] SESSION [NAME]", branch_main,
	.text = "Prints the id of the new session, which begins with the same variables and "
		"files. Afterwards neither session sees changes of the other.");
SUB(undo, "session undo", TEXT_UNDO, undo_opts, SESSION, "session undo SESSION [N | --to STEP]",
	undo_main,
	.text = "Goes back N steps (default: 1), or to STEP. Restores variables and files as they "
		"were after that step, and prints its id.");
SUB(export, "session export", TEXT_EXPORT, export_opts, SESSION, "session export SESSION [-o FILE]",
	export_main, );
SUB(log, "session log", TEXT_LOG, log_opts, SESSION, "session log SESSION | --graph [options]",
	log_main, );

static const struct opt group_opts[] = {
	{.name = "help",
		.letter = 'h',
		.type = OPT_FLAG,
		.offset = 0,
		.flags = OPT_NO_ENV,
		.group = "General options",
		.help = "show this help"},
};

static int session_main(int argc, char **argv)
{
	return cmd_run_sub(&cmd_session, argc, argv);
}

static const struct cmd *const subs[] = {&cmd_session_new, &cmd_session_ls, &cmd_session_exec,
	&cmd_session_branch, &cmd_session_undo, &cmd_session_net, &cmd_session_log,
	&cmd_session_files, &cmd_session_rm, &cmd_session_export, &cmd_session_prune, NULL};

static const char *const usage[] = {"session COMMAND [options] [ARGS...]", NULL};

static const struct cmd_example examples[] = {
	{"make a session with pandas in it", "retort session new --preload pandas work"},
	{"run code in it", "retort session exec work -c 'x = 6 * 7'"},
	{"try something else from there", "retort session branch work trial"},
	{"see what happened", "retort session log --graph"},
};

const struct cmd cmd_session = {
	.name = "session",
	.summary = "Use sessions of a running engine",
	.usage = usage,
	.text = "A session is a box that stays: variables and files live from step to step. The "
		"engine is `retort serve`. SESSION is an id, the unique beginning of an id, or a "
		"name.",
	.opts = group_opts,
	.n_opts = ARRAY_LEN(group_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.operand = CMD_OPERAND_NAME,
	.subs = subs,
	.run = session_main,
};
