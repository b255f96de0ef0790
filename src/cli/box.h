/* Options of everything that starts a box: `run`, `repl`, `session new`. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/once/once.h"
#include "base/opt.h"
#include "cli/config.h"

#include <jansson.h>
#include <stdbool.h>

/* What the rows of cli/box.def fill; starts as BOX_ARGS_INIT. */
struct box_args {
	const char *runtime;
	struct opt_list volumes, env;
	const char *preload;
	const char *workspace, *python, *rootfs, *net, *profile, *skills;
	struct limits limits;
	uint64_t seed;
	const char *time;
	bool fresh;
};

#define BOX_ARGS_INIT                                                                              \
	{                                                                                          \
		.limits = order_default_limits()                                                   \
	}

/* The row that goes with them, among the general options. */
#define BOX_PROFILE_OPT(s)                                                                         \
	{                                                                                          \
		.name = "profile", OPT_INTO_TEXT(s, box.profile), .arg = "NAME",                   \
		.group = "General options",                                                        \
		.help = "apply the options that the configuration has under NAME"                  \
	}

/* Say what is wrong with them before anything is started. Errors: ERR_USAGE. */
int box_check(const struct box_args *args, struct err *err);

/* Volumes and variables as an order has them, with room for the skills, for a program's file and
 * for two variables about the terminal. Owns its parts: box_pieces_done(). */
struct box_pieces {
	struct volume volumes[OPT_LIST_MAX + 2];
	char *copies[OPT_LIST_MAX + 1], *env[OPT_LIST_MAX + 2];
	size_t n_env;
};

/* Fill everything of @order but the program. @p, zeroed by the caller, must outlive it. */
int box_order(const struct box_args *args, const struct opt_set *set, struct box_pieces *p,
	struct order *order, struct err *err);
void box_pieces_done(struct box_pieces *p);

/*
 * The parameters of session.create: paths are made absolute, since the engine stands elsewhere.
 * Owns: the caller decrefs. Returns: NULL and @err.
 */
json_t *box_params(const struct box_args *args, const struct opt_set *set, struct err *err);

/*
 * Have the programs of a session know how wide the terminal on stdout is, by COLUMNS, unless the
 * parameters say so. @create: what box_params() gave.
 */
void box_tell_columns(json_t *create);
