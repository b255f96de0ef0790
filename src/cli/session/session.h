/* Declarations that the subcommands of `retort session` share. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "cli/box.h"
#include "cli/host/client.h"
#include "cli/cmd.h"
#include "cli/session/copy.h"
#include "cli/session/session_print.h"
#include "cli/view.h"

#include <stdbool.h>

struct session_args {
	struct box_args box;
	const char *socket;
	struct output_args output;
	const char *code, *stdin_file, *runtime, *to, *put, *remove;
	uint64_t timeout_ms, older_ms, keep;
	bool atomic, graph, all, add, dry_run, force, keep_processes, secrets, recursive, help;
	int color;
};

/* The option --socket, which every command has that talks to an engine. @s: the struct in which
 * its value is stored, @f: the member for it. */
#define SOCKET_OPT(s, f)                                                                           \
	{                                                                                          \
		.name = "socket", OPT_INTO_TEXT(s, f), .arg = "PATH", .group = "General options",  \
		.complete = OPT_COMPLETE_FILE,                                                     \
		.help = "socket of the engine (default: retort/retort.sock below "                 \
			"XDG_RUNTIME_DIR)"                                                         \
	}
#define SESSION_SOCKET_OPT SOCKET_OPT(struct session_args, socket)

/* A subcommand that is running, with its options and operands. `is_open`: session_end() has to
 * close `client`. */
struct session_run {
	const struct cmd *cmd;
	struct session_args args;
	struct opt_set set;
	struct client client;
	char **operands;
	int n_operands;
	bool is_open;
};

/* A command line, and how many operands are allowed: at least `min`, and at most `max`, or any
 * number if `max` is -1. Operands must be UTF-8. `is_second_file`: the second operand is a file
 * of the host, whose name may have any bytes. */
struct session_argv {
	int argc;
	char **argv;
	int min, max;
	bool is_second_file;
};

/*
 * Parse the options of a command into @target. Its one operand is a session, which must be UTF-8.
 * Returns: 0, with *@session; *@session NULL when help was printed; or negative errno.
 */
int session_operand(const struct cmd *cmd, void *target, int argc, char **argv,
	const char **session, struct err *err);

/*
 * Parse the options, check the operands, and connect to the engine.
 * Returns: 1; 0 when help was printed; or negative errno.
 */
int session_begin(struct session_run *run, const struct cmd *cmd, const struct session_argv *argv,
	struct err *err);

/* Disconnect. If @r is negative, report @err. Returns: the exit status for @err if @r is
 * negative, otherwise @status. */
int session_end(struct session_run *run, int r, const struct err *err, int status);

/* Call an operation of the engine with client_call(). Owns: the reference to @params is taken;
 * the caller decrefs *@result. */
int session_call(struct session_run *run, const char *method, json_t *params, json_t **result,
	struct err *err);

/* Return the functions for copying files between the host and the session that the first operand
 * names. They borrow @run. */
struct copy_from session_copy(struct session_run *run);

/* The exit statuses of the subcommands, for the help. `exec` and `prune` have others. */
enum { SESSION_EXITS = 7 };
extern const struct cmd_exit session_exits[SESSION_EXITS];

extern const struct cmd cmd_session_new, cmd_session_ls, cmd_session_exec, cmd_session_branch,
	cmd_session_undo, cmd_session_log, cmd_session_files, cmd_session_rm, cmd_session_export,
	cmd_session_prune, cmd_session_net;
