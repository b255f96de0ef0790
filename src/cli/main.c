/* The table of commands, and main(), which calls them. SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd.h"

#include "base/fd.h"
#include "base/word.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct cmd *const cmd_table[] = {
	&cmd_run,
	&cmd_repl,
	&cmd_session,
	&cmd_exec,
	&cmd_attach,
	&cmd_ps,
	&cmd_port,
	&cmd_cp,
	&cmd_ssh_config,
	&cmd_ssh_proxy,
	&cmd_template,
	&cmd_image,
	&cmd_kernel,
	&cmd_serve,
	&cmd_mcp,
	&cmd_agent,
	&cmd_replay,
	&cmd_plan,
	&cmd_tools,
	&cmd_doctor,
	&cmd_completion,
	&cmd_version,
	&cmd_help,
	NULL,
};

struct root_args {
	bool version, help;
	int color;
};

static const struct opt root_opts[] = {
	{.name = "version",
		.letter = 'V',
		OPT_INTO_FLAG(struct root_args, version),
		.flags = OPT_NO_ENV,
		.group = "General options",
		.help = "print the version"},
	CMD_COMMON_OPTS(struct root_args),
};

static const char *const root_usage[] = {"COMMAND [options] [ARGS…]", NULL};

static const struct cmd_example root_examples[] = {
	{"run a file", "retort run analysis.py"},
	{"run one line of Python", "retort run -c 'print(6 * 7)'"},
	{"see what this host can enforce", "retort doctor"},
};

const struct cmd cmd_root = {
	.name = "retort",
	.summary = "Run code that nobody has read, in a box it cannot leave",
	.usage = root_usage,
	.text = "retort runs Python, JavaScript, SQL and shell code in boxes: sandboxes with "
		"limits on memory, time, processes and disk, without network and without the "
		"caller's files. A session is a box that stays: its state survives failed steps, "
		"and can be branched and undone.",
	.opts = root_opts,
	.n_opts = ARRAY_LEN(root_opts),
	.examples = root_examples,
	.n_examples = ARRAY_LEN(root_examples),
	.operand = CMD_OPERAND_COMMAND,
	.stop_at_operand = true,
};

int cmd_unknown(const char *name, struct err *err)
{
	struct word_near near = WORD_NEAR(name);
	for (const struct cmd *const *c = cmd_table; *c; c++)
		if (!(*c)->is_hidden)
			word_near_try(&near, (*c)->name);
	int r = err_unknown(err, ERR_USAGE, &near, "`retort help` lists the commands",
		"unknown command \"%.64s\"", name);
	const struct cmd *alike = cmd_alike(name);
	if (alike)
		err_hint(err, "did you mean `retort %s`?", alike->name);
	else if (!near.best && (strchr(name, '.') || access(name, F_OK) == 0))
		err_hint(err, "did you mean `retort run %.64s`?", name);
	return r;
}

/* Run a command as if it had been called without arguments. */
static int run_bare(const struct cmd *cmd)
{
	char name[] = "retort";
	char *argv[] = {name, NULL};
	return cmd->run(1, argv);
}

static int dispatch(int argc, char **argv)
{
	static const char *const colors[] = {"auto", "always", "never"};
	struct root_args args = {0};
	struct opt_set set;
	struct err err;
	bool is_code = argc > 1 && strcmp(argv[1], "-c") == 0;
	int at = cmd_parse(&cmd_root, &set, &args, argc, argv, &err);
	if (at < 0 && is_code)
		(void)err_hint(&err, "did you mean `retort run -c`?");
	if (at < 0)
		return cli_fail(&err, false);
	if (at == 0)
		return 0;
	/* If --color is given before the name of the command, it is the default for the
	 * command's own --color. */
	if (opt_source(&set, "color") == OPT_FROM_ARG)
		(void)setenv("RETORT_COLOR", colors[args.color], 1);
	if (args.version)
		return run_bare(&cmd_version);
	if (at == argc)
		return run_bare(&cmd_help);
	const struct cmd *cmd = cmd_find(argv[at]);
	if (cmd) {
		cmd_check_environment();
		return cmd->run(argc - at, argv + at);
	}
	(void)cmd_unknown(argv[at], &err);
	return cli_fail(&err, false);
}

/* Open /dev/null in place of each standard stream that the caller has closed. Otherwise the next
 * file that is opened would become a standard stream. */
static void hold_standard_streams(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	fd_close(&fd);
}

/* Return whether the reader of stdout has closed its end. */
static bool is_unread(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};
	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

int main(int argc, char **argv)
{
	hold_standard_streams();
	/* A parent process may have ignored SIGPIPE, and an ignored signal is inherited. */
	(void)signal(SIGPIPE, SIG_DFL);
	int status = argc > 0 ? dispatch(argc, argv) : err_exit(ERR_USAGE);
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (is_unread())
		return status > 1 ? status : 128 + SIGPIPE;
	struct err err;
	(void)err_sys(&err, ERR_IO, errno ? errno : EIO, "standard output");
	int failed = cli_fail(&err, false);
	return status ? status : failed;
}
