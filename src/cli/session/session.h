/* Declarations shared by the subcommands of `retort session …`. SPDX-License-Identifier: Apache-2.0
 */
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
	bool atomic, graph, all, dry_run, force, recursive, help;
	int color;
};

/* The row of --socket, which every subcommand has. */
#define SESSION_SOCKET_OPT                                                                         \
	{                                                                                          \
		.name = "socket", OPT_INTO_TEXT(struct session_args, socket), .arg = "PATH",       \
		.group = "General options", .complete = OPT_COMPLETE_FILE,                         \
		.help = "socket of the engine (default: retort/retort.sock below "                 \
			"XDG_RUNTIME_DIR)"                                                         \
	}

/* A running subcommand, with its options and operands; it is connected if `is_open`. */
struct session_run {
	const struct cmd *cmd;
	struct session_args args;
	struct opt_set set;
	struct client client;
	char **operands;
	int n_operands;
	bool is_open;
};

/* The command line, and the allowed number of operands; max -1: any number. Operands must be UTF-8,
 * except for the second if it is a file of the host. */
struct session_argv {
	int argc;
	char **argv;
	int min, max;
	bool is_second_file;
};

/*
 * Parse the options, check the number of operands, and connect.
 * Returns: 1, 0 when help was printed, or negative errno.
 */
int session_begin(struct session_run *run, const struct cmd *cmd, const struct session_argv *argv,
	struct err *err);

/* Disconnect. If @r is negative, report @err. Returns: the exit status: @status, or the status of
 * @err. */
int session_end(struct session_run *run, int r, const struct err *err, int status);

/* Call an operation, as client_call() does; the caller decrefs *@result. */
int session_call(struct session_run *run, const char *method, json_t *params, json_t **result,
	struct err *err);

/* Return the functions that copy files between the host and the session of the first operand.
 * Borrows @run. */
struct copy_from session_copy(struct session_run *run);

/* The exit statuses of all subcommands except `exec`. */
enum { SESSION_EXITS = 7 };
extern const struct cmd_exit session_exits[SESSION_EXITS];

extern const struct cmd cmd_session_new, cmd_session_ls, cmd_session_exec, cmd_session_branch,
	cmd_session_undo, cmd_session_log, cmd_session_files, cmd_session_rm, cmd_session_export,
	cmd_session_prune;
