/* Declarations that the subcommands of `retort image` share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/cmd.h"
#include "cli/host/client.h"

#include <stdbool.h>
#include <sys/types.h>

struct image_args {
	const char *state, *ref, *platform;
	struct opt_list mirrors;
	uint64_t keep_ms;
	bool json, quiet, force, help;
	int color;
};

#define IMAGE_STATE_OPT                                                                            \
	{                                                                                          \
		.name = "state", OPT_INTO_TEXT(struct image_args, state), .arg = "DIR",            \
		.group = "General options", .complete = OPT_COMPLETE_DIR,                          \
		.help = "where the images are (default: retort below XDG_STATE_HOME)"              \
	}
#define IMAGE_JSON_OPT                                                                             \
	{                                                                                          \
		.name = "json", OPT_INTO_FLAG(struct image_args, json), .flags = OPT_NO_ENV,       \
		.group = "Output", .help = "print one JSON object"                                 \
	}
#define IMAGE_JSON_EACH_OPT                                                                        \
	{                                                                                          \
		.name = "json", OPT_INTO_FLAG(struct image_args, json), .flags = OPT_NO_ENV,       \
		.group = "Output",                                                                 \
		.help = "print a JSON object for each image, each on one line if there are "       \
			"several"                                                                  \
	}
#define IMAGE_FORCE_OPT(what)                                                                      \
	{                                                                                          \
		.name = "force", .letter = 'f', OPT_INTO_FLAG(struct image_args, force),           \
		.flags = OPT_NO_ENV, .group = "Options", .help = (what)                            \
	}

/* A subcommand that is running: its options and operands, and the engine that it has started. */
struct image_run {
	int min, max; /* how many operands it takes; max -1: any number */
	struct image_args args;
	struct opt_set set;
	char **operands;
	int n_operands;
	struct client client;
	pid_t engine; /* 0: no engine is running */
};

/*
 * Parse the command line. @run has `min` and `max`, and is zero otherwise. Then start an engine
 * that keeps no journal. Returns: 1; 0 after help was printed; or negative errno.
 */
int image_begin(
	struct image_run *run, const struct cmd *cmd, int argc, char **argv, struct err *err);
/* End the engine. Returns: the exit status: @status, or that of @err if @r is negative. */
int image_end(struct image_run *run, int r, const struct err *err, int status);

/*
 * Do @one for each operand. A failure is reported, with the operand, and the others still have
 * their turn, unless the user has interrupted it or the engine is gone. @one returns an exit
 * status; or negative errno and an error. Returns: the worst exit status.
 */
int image_each(struct image_run *run,
	int (*one)(struct image_run *run, const char *operand, struct err *err));

/* Call an operation with the name of an image. Owns: the caller decrefs *@result. */
int image_call(struct image_run *run, const char *method, const char *name, json_t **result,
	struct err *err);

/* Print a result as JSON, on one line if there are several operands. Returns: the exit status. */
int image_print(const struct image_run *run, const json_t *result);
/* Print what has become of an image. Returns: the exit status. */
int image_say(const struct image_run *run, const json_t *result);

/* An image was not found: name those in the hint whose names differ by their tags only. */
void image_suggest(struct image_run *run, const char *name, struct err *err);

/* The exit statuses of the subcommands that ask no registry. */
enum { IMAGE_EXITS = 5 };
extern const struct cmd_exit image_exits[IMAGE_EXITS];

extern const struct cmd cmd_image_import, cmd_image_pull, cmd_image_ls, cmd_image_inspect,
	cmd_image_rm, cmd_image_prune;
