/* Subcommands of retort. Each has a table row, which the parser, help, completion and manual
 * use. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "cli/screen/term.h"

#include <stdbool.h>
#include <stdio.h>

struct cmd_example {
	const char *what; /* what the example shows: "limit the memory" */
	const char *line; /* the command line: "retort run -m 256m job.py" */
};

struct cmd_exit {
	const char *status; /* the status as text: "124", "128+n" */
	const char *meaning;
};

/* The kind of a command's operands, such as files or sessions. From the kind, shell completion
 * knows which words to offer. */
enum cmd_operand {
	CMD_OPERAND_NONE,
	CMD_OPERAND_NAME, /* a name or text; completion offers no words */
	CMD_OPERAND_FILE,
	CMD_OPERAND_CHOICE,	 /* a word of operand_choices */
	CMD_OPERAND_CHOICE_FILE, /* a word of operand_choices, then a file */
	CMD_OPERAND_COMMAND,
	/* The first operand is a session. Shell completion offers no words for operands after
	 * the session. */
	CMD_OPERAND_SESSION,
	CMD_OPERAND_SESSION_FILE,    /* a session, then a file */
	CMD_OPERAND_SESSION_PROCESS, /* a session, then one of its processes */
	CMD_OPERAND_SESSIONS,	     /* any number of sessions */
};

/* A row that describes a command or subcommand. The file that implements the command exports its
 * row. All texts are plain UTF-8; man.c and completion.c escape them. */
struct cmd {
	const char *name; /* what a user types to call the command: "run", "session new" */
	/* Words that users of other programs, or of the API, try for a subcommand: "remove delete";
	 * or NULL. */
	const char *alike;
	/* One line that begins in upper case and has no full stop: "Run code once in a fresh
	 * box". */
	const char *summary;
	/* The lines after "usage: retort", such as "run [options] [FILE]"; NULL at the end. */
	const char *const *usage;
	/* The description: paragraphs with an empty line between them; or NULL. */
	const char *text;
	const struct opt *opts;
	size_t n_opts;
	const struct cmd_example *examples;
	size_t n_examples;
	/* Exit statuses with their meanings; NULL: the usual statuses 0, 1 and 2. */
	const struct cmd_exit *exits;
	size_t n_exits;
	enum cmd_operand operand;
	/* For CMD_OPERAND_NONE: what to do instead of giving an operand; NULL: "leave it out". */
	const char *instead;
	/* For CMD_OPERAND_CHOICE and CMD_OPERAND_CHOICE_FILE: the words of which the operand is
	 * one, such as "bash|zsh|fish". */
	const char *operand_choices;
	/* Options end at the first operand. Later words belong to the program that is run. */
	bool stop_at_operand;
	bool is_hidden;
	/* Subcommands, such as "session new" in `retort session`, NULL at the end; or NULL. */
	const struct cmd *const *subs;
	/* Run the command. argv[0] is the command's name. Returns: the exit status. */
	int (*run)(int argc, char **argv);
};

/* Rows that end the options table of every command. @s: the struct in which the values of the
 * options are stored. The struct has the members `bool help` and `int color`. */
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

/* The row of an options table for the option --tools. @s: the struct in which the value of the
 * option is stored. The struct has a member `const char *tools`. @where: the group of options
 * under which the help lists --tools, such as "Tools". */
#define TOOLS_OPT(s, where)                                                                        \
	{                                                                                          \
		.name = "tools", .param = "tools", OPT_INTO_TEXT(s, tools), .arg = "FILE",         \
		.group = (where), .complete = OPT_COMPLETE_FILE,                                   \
		.help = "let code in boxes call tools: FILE lists their servers, as for "          \
			"`retort "                                                                 \
			"tools`"                                                                   \
	}

/* The option --commands of a server of the Model Context Protocol. @s has the member commands. */
#define COMMANDS_OPT(s, where)                                                                     \
	{                                                                                          \
		.name = "commands", OPT_INTO_FLAG(s, commands), .group = (where),                  \
		.help = "also offer agents the tools run_command and process_output, which run "   \
			"programs in boxes"                                                        \
	}

/* All commands in the order of the help, NULL at the end. */
extern const struct cmd *const cmd_table[];

/* The command `retort` without a subcommand, for example `retort --version`. */
extern const struct cmd cmd_root;

extern const struct cmd cmd_run, cmd_repl, cmd_session, cmd_exec, cmd_attach, cmd_ps, cmd_port,
	cmd_cp, cmd_ssh_config, cmd_ssh_proxy, cmd_template, cmd_image, cmd_kernel,
	cmd_kernel_install, cmd_serve, cmd_mcp, cmd_agent, cmd_replay, cmd_plan, cmd_tools,
	cmd_doctor, cmd_completion, cmd_version, cmd_help;

/* Find a command or subcommand by its full name, such as "run" or "session new". */
const struct cmd *cmd_find(const char *name);

/* Return the only subcommand of all that @word means: "image pull" for "pull", "image rm" for
 * "rmi"; NULL if there is none, or several. */
const struct cmd *cmd_alike(const char *word);

/* Run the subcommand of @cmd that argv[1] names. Without a subcommand, parse the options of
 * @cmd. */
int cmd_run_sub(const struct cmd *cmd, int argc, char **argv);

/* Call @row for every command that is not hidden, and for every subcommand. */
void cmd_each(void (*row)(const struct cmd *cmd, void *arg), void *arg);

/* Set @err to "unknown command", with a similar name as a hint. Returns: negative errno. */
int cmd_unknown(const char *name, struct err *err);

/* Return the exit statuses that the help shows: those of @cmd, or the usual ones 0, 1 and 2. */
const struct cmd_exit *cmd_exits(const struct cmd *cmd, size_t *n);

/*
 * Parse argv, and then the environment, into @target, the struct that cmd->opts fills. Refuse
 * operands if the command takes none.
 *
 * Returns: the index of the first operand; 0 after help was requested and printed (then end with
 * status 0); or negative errno.
 */
int cmd_parse(const struct cmd *cmd, struct opt_set *set, void *target, int argc, char **argv,
	struct err *err);

/* Set options from the configuration file, as config_apply() does. @set is from cmd_parse(). */
int cmd_config(struct opt_set *set, const char *profile, struct err *err);
/* Do both, for a command that has no profiles. Returns: as cmd_parse(). */
int cmd_begin(const struct cmd *cmd, void *target, int argc, char **argv, struct err *err);

/* Print a warning for each environment variable RETORT_… that no command reads and whose name is
 * similar to one that is read. Other RETORT_… variables may belong to other programs. */
void cmd_check_environment(void);

/*
 * Report @err on stderr as one line, `retort: message: hint`. Terminal control characters are
 * escaped. If @json, print {"error": {"code", "message", "hint"?}} to stdout too.
 * Returns: the exit status for err->code.
 */
int cli_fail(const struct err *err, bool json);

/* Write the help of @cmd. For cmd_root, add the list of commands. */
void help_print(FILE *out, const struct cmd *cmd, int columns, bool color);

/* Write the manual page of @cmd in roff. Source: man(7) of mandoc and groff. */
void man_print(FILE *out, const struct cmd *cmd);

/* The version, such as "1.2.3". */
extern const char version_text[];
/* The date of the version's release, in the form that mdoc requires: "January 2, 2026". */
extern const char version_date[];
