/* The command `retort exec`: runs any program in a session of a running engine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_session.h"
#include "base/json.h"
#include "cli/process/foreground.h"
#include "cli/session/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct exec_args {
	struct process_args process;
	const char *cwd, *name, *socket;
	struct opt_list env;
	uint64_t timeout_ms;
	bool detach, keep_alive, json, help;
	int color;
};

/* clang-format off */
static const struct opt exec_opts[] = {
#define PROCESS_ARGS struct exec_args
#include "cli/process.def"
#undef PROCESS_ARGS
	{.name = "cwd", .letter = 'w', OPT_INTO_TEXT(struct exec_args, cwd), .arg = "DIR", .flags = OPT_NO_ENV,
		.group = "Program", .help = "directory of the box in which the program starts (default: the "
			"workspace)"},
	{.name = "env", .letter = 'e', OPT_INTO_LIST(struct exec_args, env), .arg = "K[=V]", .flags = OPT_NO_ENV,
		.group = "Program", .help = "set an environment variable; K alone passes on the host's value"},
	{.name = "timeout", OPT_INTO_MS(struct exec_args, timeout_ms), .arg = "TIME", .flags = OPT_NO_ENV,
		.group = "Program", .min = 1, .max = UINT64_C(1) << 40,
		.help = "wall time of the program (default: no limit)"},
	{.name = "name", OPT_INTO_TEXT(struct exec_args, name), .arg = "NAME", .flags = OPT_NO_ENV,
		.group = "Program", .help = "name of the process, for `retort attach` and `retort ps`"},
	{.name = "detach-keys", OPT_INTO_TEXT(struct exec_args, process.detach_keys), .arg = "KEYS",
		.group = "Program", .fallback = PROCESS_KEYS,
		.help = "keys that leave the program running at its terminal"},
	{.name = "detach", .letter = 'd', OPT_INTO_FLAG(struct exec_args, detach), .flags = OPT_NO_ENV,
		.group = "Program", .help = "leave the program running, and print the id of its process"},
	{.name = "keep-alive", OPT_INTO_FLAG(struct exec_args, keep_alive), .flags = OPT_NO_ENV,
		.group = "Program", .help = "with --detach: while the program runs, the session is not idle"},
	{.name = "json", OPT_INTO_FLAG(struct exec_args, json), .flags = OPT_NO_ENV, .group = "Output",
		.help = "print one JSON object about the process, with its output"},
	SOCKET_OPT(struct exec_args, socket),
	CMD_COMMON_OPTS(struct exec_args),
};
/* clang-format on */

/* The words after SESSION. A `--` between the two may be written or left out. */
static int find_argv(int argc, char **argv, int at, char ***out, struct err *err)
{
	bool has_dashes = at + 1 < argc && strcmp(argv[at + 1], "--") == 0;
	int first = at + 1 + has_dashes;
	if (at >= argc)
		return err_fail(err, ERR_USAGE, "`retort session ls` lists them",
			"exec: the session is missing");
	if (first >= argc)
		return err_fail(err, ERR_USAGE, "for example: retort exec -it SESSION bash",
			"exec: the program is missing");
	if (!has_dashes && argv[first][0] == '-')
		return err_fail(err, ERR_USAGE,
			"write options before SESSION, and a program of that name behind --",
			"exec: \"%.60s\" is behind SESSION", argv[first]);
	*out = argv + first;
	return 0;
}

static int check(const struct exec_args *args, struct err *err)
{
	if (args->json && args->process.terminal && !args->detach)
		return err_fail(
			err, ERR_USAGE, "leave one out", "--json and --tty exclude each other");
	if (args->keep_alive && !args->detach)
		return err_fail(err, ERR_USAGE,
			"leave it out: a program that you wait for always does",
			"--keep-alive without --detach");
	return args->detach ? 0 : foreground_check(&args->process, STDIN_FILENO, err);
}

static int start_detached(
	struct client *client, const struct foreground_order *order, bool json, struct err *err)
{
	cleanup_json json_t *about = NULL;
	json_t *params = foreground_params(order, err);
	int r = params ? client_call(client, "process.start", params, NULL, &about, err)
		       : -err_errno(err->code);
	if (r < 0)
		return r;
	return json ? view_json(about) : puts(json_get_text(about, "process")) < 0;
}

/* A file of this host is not in the box. */
static void hint_at_host(const char *program, struct err *err)
{
	if (err->code == ERR_RUNTIME && strstr(err->msg, " not found in the box") &&
		access(program, R_OK) == 0)
		err_hint(err, "it is a file of this host: copy it in with `retort cp`");
}

static int run(const struct exec_args *args, struct client *client,
	const struct foreground_order *order, struct err *err)
{
	cleanup_json json_t *about = NULL;
	if (args->detach)
		return start_detached(client, order, args->json, err);
	int status = foreground_run(client, order, &about, err);
	if (!about)
		return status;
	if (args->json) {
		int r = foreground_add_output(client, order->session, about, err);
		int shown = r < 0 ? r : view_json(about);
		return shown < 0 ? shown : MAX(shown, status);
	}
	foreground_tell(about, order->timeout_ms);
	return status;
}

static int exec_main(int argc, char **argv)
{
	struct exec_args args = {0};
	struct err err = {0};
	struct client client = {.fd = -1};
	char **words = NULL;
	int at = cmd_begin(&cmd_exec, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	int r = MIN(at, 0);
	if (r == 0)
		r = find_argv(argc, argv, at, &words, &err);
	if (r == 0)
		r = check(&args, &err);
	if (r == 0)
		r = client_open(&client, args.socket, &err);
	if (r == 0) {
		const struct foreground_order order = {.args = &args.process,
			.session = argv[at],
			.argv = words,
			.cwd = args.cwd,
			.name = args.name,
			.env = &args.env,
			.timeout_ms = args.timeout_ms,
			.in_fd = STDIN_FILENO,
			.is_detached = args.detach,
			.is_silent = args.json,
			.keep_alive = args.keep_alive || !args.detach};
		r = run(&args, &client, &order, &err);
		if (r < 0)
			hint_at_host(words[0], &err);
	}
	client_done(&client);
	return r < 0 ? foreground_fail(&err, args.json) : r;
}

static const char *const usage[] = {"exec [options] SESSION [--] COMMAND [ARGS...]", NULL};

static const struct cmd_example examples[] = {
	{"run the tests of a session's workspace", "retort exec work -- make test"},
	{"use a shell in it", "retort exec -it work bash"},
	{"send a file through a program", "retort exec -i work sort <names.txt >sorted.txt"},
	{"leave a server running", "retort exec -d --name web work python3 -m http.server"},
};

static const struct cmd_exit exits[] = {
	{"0-255", "exit status of the program"},
	{"2", "usage error: a wrong option, session or directory"},
	{"4", "no engine listens at the socket, or it has ended"},
	{"124", "time limit exceeded"},
	{"125", "the engine could not start a box"},
	{"126", "the program cannot be executed"},
	{"127", "the program was not found"},
	{"128+n", "the program was killed by signal n; 137 also if its session ended"},
	{"141", "the reader of the output has closed it"},
};

const struct cmd cmd_exec = {
	.name = "exec",
	.summary = "Run any program in a session",
	.usage = usage,
	.text = "The program gets our streams byte for byte, and its exit status is ours. Ctrl-C "
		"interrupts it; a second Ctrl-C ends it with SIGTERM, a third one with SIGKILL. With "
		"-t it has a terminal of its own, to which every key goes; Ctrl-P Ctrl-Q leaves it "
		"running, and `retort attach` returns to it.\n\n"
		"It sees the files of the session, but not its variables: `retort session exec` runs "
		"code that does. It is no step: the journal does not have it. An undo of the step "
		"before it also takes back what it wrote.",
	.opts = exec_opts,
	.n_opts = ARRAY_LEN(exec_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_SESSION,
	.stop_at_operand = true,
	.run = exec_main,
};
