/* The command `retort attach`: joins our streams to those of a program that runs already.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "cli/process/foreground.h"
#include "cli/screen/term.h"
#include "cli/session/session.h"

#include <string.h>
#include <unistd.h>

struct attach_args {
	struct process_args process;
	const char *socket;
	bool help;
	int color;
};

/* clang-format off */
static const struct opt attach_opts[] = {
	{.name = "interactive", .letter = 'i', OPT_INTO_FLAG(struct attach_args, process.input),
		.flags = OPT_NO_ENV, .group = "Program",
		.help = "give the program our standard input; a terminal is given to it always"},
	{.name = "detach-keys", OPT_INTO_TEXT(struct attach_args, process.detach_keys), .arg = "KEYS",
		.group = "Program", .fallback = PROCESS_KEYS,
		.help = "keys that leave the program running at its terminal"},
	SOCKET_OPT(struct attach_args, socket),
	CMD_COMMON_OPTS(struct attach_args),
};
/* clang-format on */

static json_t *named(char **operands)
{
	return json_pack("{s:s, s:s}", "session", operands[0], "process", operands[1]);
}

static int check_operands(int argc, char **argv, int at, struct err *err)
{
	static const char *const missing[] = {"the session", "the process"};
	int n = argc - at;
	if (n < 2)
		return err_fail(err, ERR_USAGE, "`retort ps SESSION` lists them",
			"attach: %s is missing", missing[n]);
	if (n > 2)
		return err_fail(err, ERR_USAGE, "leave it out", "attach: unexpected \"%.60s\"",
			argv[at + 2]);
	return 0;
}

static int attach(
	const struct attach_args *args, struct client *client, char **operands, struct err *err)
{
	struct pump p;
	cleanup_json json_t *about = NULL, *now = NULL;
	json_t *params = named(operands);
	if (!params)
		return err_set(err, ERR_USAGE, "attach: a name is not UTF-8");
	int r = client_call(client, "process.get", params, NULL, &now, err);
	if (r < 0)
		return r;
	bool is_terminal = term_is(STDIN_FILENO);
	struct pump_config config = {.client = client,
		.session = operands[0],
		.in_fd = is_terminal || args->process.input ? STDIN_FILENO : -1,
		.out_fd = {STDOUT_FILENO, STDERR_FILENO},
		.is_raw = is_terminal && json_get_bool(now, "terminal"),
		.is_late = true};
	const char *keys = args->process.detach_keys;
	r = keys_parse(keys ? keys : PROCESS_KEYS, &config.keys, err);
	if (r < 0)
		return r;
	pump_open(&p, &config, "process.get", named(operands));
	(void)pump_run(&p);
	r = foreground_end(&p, &about, err);
	if (about)
		foreground_tell(about, 0);
	return r;
}

static int attach_main(int argc, char **argv)
{
	struct attach_args args = {0};
	struct err err = {0};
	struct client client = {.fd = -1};
	int at = cmd_begin(&cmd_attach, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	int r = MIN(at, 0);
	if (r == 0)
		r = check_operands(argc, argv, at, &err);
	if (r == 0)
		r = client_open(&client, args.socket, &err);
	if (r == 0)
		r = attach(&args, &client, argv + at, &err);
	client_done(&client);
	return r < 0 ? cli_fail(&err, false) : r;
}

static const char *const usage[] = {"attach [options] SESSION PROCESS", NULL};

static const struct cmd_exit exits[] = {
	{"0-255", "exit status of the program; 0 also if it was left running"},
	{"2", "usage error: a wrong option, session or process"},
	{"4", "no engine listens at the socket, or it has ended"},
	{"124", "time limit exceeded"},
	{"128+n", "the program was killed by signal n"},
	{"141", "the reader of the output has closed it"},
};

const struct cmd cmd_attach = {
	.name = "attach",
	.summary = "Return to a program that runs in a session",
	.usage = usage,
	.text = "Shows what the engine has kept of the program's output, then what follows, until "
		"the program ends. Signals and keys work as with `retort exec`. PROCESS is an id or "
		"a name, as `retort ps` lists them.",
	.opts = attach_opts,
	.n_opts = ARRAY_LEN(attach_opts),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_SESSION_PROCESS,
	.run = attach_main,
};
