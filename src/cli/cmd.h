/* Subcommands: a table row for each, used by the parser, help, completion and manual.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "cli/screen/term.h"

#include <stdbool.h>
#include <stdio.h>

struct cmd_example {
	const char *what; /* description: "limit the memory" */
	const char *line; /* command line: "retort run -m 256m job.py" */
};

struct cmd_exit {
	const char *status; /* exit status: "124", "128+n" */
	const char *meaning;
};

/* The kinds of words that complete operands. */
enum cmd_operand {
	CMD_OPERAND_NONE,
	CMD_OPERAND_NAME, /* a name that cannot be completed */
	CMD_OPERAND_FILE,
	CMD_OPERAND_CHOICE,
	CMD_OPERAND_CHOICE_FILE, /* a choice, then a file */
	CMD_OPERAND_COMMAND,
	CMD_OPERAND_SESSION,	  /* a session; further operands cannot be completed */
	CMD_OPERAND_SESSION_FILE, /* a session, then a file */
	CMD_OPERAND_SESSIONS,	  /* any number of sessions */
};

/* A subcommand. Each is a file that exports one row. Texts are plain UTF-8; man.c and completion.c
 * escape them. */
struct cmd {
	const char *name;    /* full name: "run"; "session new" */
	const char *summary; /* begins in upper case, without final stop: "Run code once in a fresh
				box" */
	const char *const *usage; /* "run [options] [FILE]"; NULL at the end */
	const char *text;	  /* paragraphs, separated by an empty line; or NULL */
	const struct opt *opts;
	size_t n_opts;
	const struct cmd_example *examples;
	size_t n_examples;
	const struct cmd_exit *exits; /* exit statuses; NULL: the usual 0, 1 and 2 */
	size_t n_exits;
	enum cmd_operand operand;
	const char *operand_choices; /* for CMD_OPERAND_CHOICE and _CHOICE_FILE: "bash|zsh|fish" */
	bool stop_at_operand;	     /* words behind the first operand are not options of retort */
	bool is_hidden;
	const struct cmd *const *subs; /* for `retort session`: "session new", …; NULL at the end */
	/* Run the command. Returns: the exit status. argv[0] is the command's name. */
	int (*run)(int argc, char **argv);
};

/* The last rows of every command's table; @s has members `bool help` and `int color`. */
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

/* The row of --tools; @s has a member `const char *tools`. */
#define TOOLS_OPT(s, where)                                                                        \
	{                                                                                          \
		.name = "tools", .param = "tools", OPT_INTO_TEXT(s, tools), .arg = "FILE",         \
		.group = (where), .complete = OPT_COMPLETE_FILE,                                   \
		.help = "let code in boxes call tools: FILE lists their servers, as for "          \
			"`retort "                                                                 \
			"tools`"                                                                   \
	}

/* All commands, in the order of help; NULL at the end. */
extern const struct cmd *const cmd_table[];

/* The command for `retort` without a subcommand: `retort --version`. Its name is "retort". */
extern const struct cmd cmd_root;

extern const struct cmd cmd_run, cmd_repl, cmd_session, cmd_serve, cmd_mcp, cmd_agent, cmd_replay,
	cmd_plan, cmd_tools, cmd_doctor, cmd_completion, cmd_version, cmd_help;

/* Find a command by its full name: "run", "session new". */
const struct cmd *cmd_find(const char *name);

/* Run the subcommand that argv[1] names; without a subcommand, parse the options of @cmd. */
int cmd_run_sub(const struct cmd *cmd, int argc, char **argv);

/* Call @row for every command and subcommand that is not hidden. */
void cmd_each(void (*row)(const struct cmd *cmd, void *arg), void *arg);

/* Report an unknown command, with a suggestion. Returns: negative errno. */
int cmd_unknown(const char *name, struct err *err);

/* Return the exit statuses for help: the command's, or the usual 0, 1 and 2. */
const struct cmd_exit *cmd_exits(const struct cmd *cmd, size_t *n);

/*
 * Parse argv, then the environment, into @target, the struct behind cmd->opts. Refuse operands if
 * the command takes none.
 *
 * Returns: the index of the first operand, 0 if help was requested and printed (the command then
 *          ends with status 0), or negative errno.
 */
int cmd_parse(const struct cmd *cmd, struct opt_set *set, void *target, int argc, char **argv,
	struct err *err);

/*
 * Report @err as one line on stderr, `retort: message: hint`, safe for a terminal; with @json also
 * as {"error":{"code","message","hint"}} on stdout.
 * Returns: the exit status of err->code.
 */
int cli_fail(const struct err *err, bool json);

/* Write the help text; for cmd_root with the list of commands. */
void help_print(FILE *out, const struct cmd *cmd, int columns, bool color);

/* Write the manual page in roff. Source: man(7) of mandoc and groff. */
void man_print(FILE *out, const struct cmd *cmd);

/* The version: "1.2.3"; its release date in the form of mdoc: "January 2, 2026". */
extern const char version_text[];
extern const char version_date[];
