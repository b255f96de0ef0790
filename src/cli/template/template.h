/* Declarations that the subcommands of `retort template` share. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "cli/cmd.h"
#include "cli/host/client.h"

#include <stdbool.h>
#include <sys/types.h>

struct template_args {
	const char *state, *python, *lock;
	struct opt_list pip, npm, apt, net, env;
	uint64_t memory_bytes, timeout_ms, disk_bytes;
	bool upgrade, json, quiet, help;
	int color;
};

/* The options that all subcommands have. */
#define TEMPLATE_STATE_OPT                                                                         \
	{                                                                                          \
		.name = "state", OPT_INTO_TEXT(struct template_args, state), .arg = "DIR",         \
		.group = "General options", .complete = OPT_COMPLETE_DIR,                          \
		.help = "where the templates are (default: retort below XDG_STATE_HOME)"           \
	}
#define TEMPLATE_JSON_OPT                                                                          \
	{                                                                                          \
		.name = "json", OPT_INTO_FLAG(struct template_args, json), .flags = OPT_NO_ENV,    \
		.group = "Output", .help = "print one JSON object"                                 \
	}

/* A subcommand that is running: its options and operands, and the engine that it has started. */
struct template_run {
	struct template_args args;
	struct opt_set set;
	char **operands;
	int n_operands;
	struct client client;
	pid_t engine; /* 0: no engine is running */
};

/*
 * Parse the command line; there may be from @min to @max operands, or any number if @max is -1.
 * Then start an engine that keeps no journal.
 * Returns: 1; 0 after help was printed; or negative errno.
 */
int template_begin(
	struct template_run *run, const struct cmd *cmd, int argc, char **argv, struct err *err);
/* End the engine. Returns: the exit status: @status, or that of @err if @r is negative. */
int template_end(struct template_run *run, int r, const struct err *err, int status);

extern const struct cmd cmd_template_build, cmd_template_ls, cmd_template_show, cmd_template_rm;
