/* A subcommand: one table row for parser, help, completion and manual. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "cli/term.h"

#include <stdbool.h>
#include <stdio.h>

struct cmd_example {
	const char *what; /* "limit the memory" */
	const char *line; /* "retort run -m 256m job.py" */
};

struct cmd_exit {
	const char *status; /* "124", "128+n" */
	const char *meaning;
};

/* What operands are completed with. */
enum cmd_operand {
	CMD_OPERAND_NONE,
	CMD_OPERAND_NAME, /* a name that cannot be completed */
	CMD_OPERAND_FILE,
	CMD_OPERAND_CHOICE,
	CMD_OPERAND_CHOICE_FILE, /* then a file */
	CMD_OPERAND_COMMAND,
	CMD_OPERAND_SESSION,	  /* further operands cannot be completed */
	CMD_OPERAND_SESSION_FILE, /* then a file */
	CMD_OPERAND_SESSIONS,	  /* any number */
};

/* Each subcommand is a file that exports one of these. Texts are plain UTF-8; man.c and
 * completion.c escape them. */
struct cmd {
	const char *name;	  /* "run"; "session new" */
	const char *summary;	  /* upper case, no final stop: "Run code once in a fresh box" */
	const char *const *usage; /* "run [options] [FILE]"; NULL at the end */
	const char *text;	  /* paragraphs, an empty line between; or NULL */
	const struct opt *opts;
	size_t n_opts;
	const struct cmd_example *examples;
	size_t n_examples;
	const struct cmd_exit *exits; /* NULL: the usual 0, 1 and 2 */
	size_t n_exits;
	enum cmd_operand operand;
	const char *operand_choices; /* CMD_OPERAND_CHOICE, _CHOICE_FILE: "bash|zsh|fish" */
	bool stop_at_operand;	     /* what follows the first operand is not retort's */
	bool is_hidden;
	const struct cmd *const *subs; /* of `retort session`: "session new", …; NULL at the end */
	/* Returns: the exit status. argv[0] is the command's name. */
	int (*run)(int argc, char **argv);
};

/* The last rows of every command's table; @s has `bool help` and `int color`. */
#define CMD_COMMON_OPTS(s)                                                                         \
	{.name = "color",                                                                          \
		OPT_INTO_CHOICE(s, color),                                                         \
		.arg = "WHEN",                                                                     \
		.group = "General options",                                                        \
		.choices = TERM_COLOR_CHOICES,                                                     \
		.fallback = "auto",                                                                \
		.help = "colour the output"},                                                      \
	{                                                                                          \
		.name = "help", .letter = 'h', OPT_INTO_FLAG(s, help), .flags = OPT_NO_ENV,        \
		.group = "General options", .help = "show this help"                               \
	}

/* The row of --tools; @s has `const char *tools`. */
#define TOOLS_OPT(s, where)                                                                        \
	{                                                                                          \
		.name = "tools", .param = "tools", OPT_INTO_TEXT(s, tools), .arg = "FILE",         \
		.group = (where), .complete = OPT_COMPLETE_FILE,                                   \
		.help = "let code in boxes call the tools of these servers: a list as `retort "    \
			"tools` reads"                                                             \
	}

/* Every command, in the order of help; NULL at the end. */
extern const struct cmd *const cmd_table[];

/* The command without a subcommand: `retort --version`. Its name is "retort". */
extern const struct cmd cmd_root;

extern const struct cmd cmd_run, cmd_repl, cmd_session, cmd_serve, cmd_mcp, cmd_agent, cmd_replay,
	cmd_plan, cmd_tools, cmd_doctor, cmd_completion, cmd_version, cmd_help;

/* Find a command by its full name: "run", "session new". */
const struct cmd *cmd_find(const char *name);

/* Run the subcommand that argv[1] names; without one, parse the options of @cmd. */
int cmd_run_sub(const struct cmd *cmd, int argc, char **argv);

/* Call @row for every command that is not hidden, also for subcommands. */
void cmd_each(void (*row)(const struct cmd *cmd, void *arg), void *arg);

/* Report an unknown command, with a suggestion. Returns: negative errno. */
int cmd_unknown(const char *name, struct err *err);

/* The exit statuses for help: the command's, or the usual 0, 1 and 2. */
const struct cmd_exit *cmd_exits(const struct cmd *cmd, size_t *n);

/*
 * Read argv, then the environment, into @target, the struct behind cmd->opts. A command without
 * operands gets none.
 *
 * Returns: the index of the first operand, 0 when help was asked for and printed (the command then
 *          ends with status 0), or negative errno.
 */
int cmd_parse(const struct cmd *cmd, struct opt_set *set, void *target, int argc, char **argv,
	struct err *err);

/*
 * Report @err as one line on stderr, `retort: message: hint`, safe for a terminal; with @json as
 * {"error":{"code","message","hint"}} on stdout too.
 * Returns: the exit status of err->code.
 */
int cli_fail(const struct err *err, bool json);

/* Write help for people; for cmd_root also the list of commands. */
void help_print(FILE *out, const struct cmd *cmd, int columns, bool color);

/* Write the manual page in roff. Source: man(7) of mandoc and groff. */
void man_print(FILE *out, const struct cmd *cmd);

/* "1.2.3", and the day it was released as mdoc writes it: "January 2, 2026". */
extern const char version_text[];
extern const char version_date[];
