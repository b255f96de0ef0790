/* Options of all commands that start a box, such as `run`, `repl` and `session new`.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/once/once.h"
#include "base/opt.h"
#include "api/once/package_list.h"
#include "api/once/secret_list.h"

#include <jansson.h>
#include <stdbool.h>

/* Values of the options in cli/box.def. Initialize with BOX_ARGS_INIT. */
struct box_args {
	const char *runtime;
	struct opt_list volumes, env, publish, net, secrets;
	const char *preload;
	const char *workspace, *python, *template, *rootfs, *image, *profile, *skills;
	struct limits limits;
	uint64_t seed;
	const char *time;
	bool fresh;
};

#define BOX_ARGS_INIT                                                                              \
	{                                                                                          \
		.limits = order_default_limits()                                                   \
	}

/* The option --profile, for an option table. It is listed with the general options. */
#define BOX_PROFILE_OPT(s)                                                                         \
	{                                                                                          \
		.name = "profile", OPT_INTO_TEXT(s, box.profile), .arg = "NAME",                   \
		.flags = OPT_NO_CONFIG, .group = "General options",                                \
		.help = "apply the options of profile NAME in the configuration"                   \
	}

/* The option --publish, for the option table of a command that has a box of its own. */
#define BOX_PUBLISH_OPT(s)                                                                         \
	{                                                                                          \
		.name = "publish", .letter = 'p', OPT_INTO_LIST(s, box.publish),                   \
		.arg = "[[HOST:]HP:]BP", .flags = OPT_NO_ENV, .group = "Program",                  \
		.help = "make port BP of the box reachable at port HP of the host (default: BP; "  \
			"0: a free one) on HOST (default: 127.0.0.1)"                              \
	}

/* Open the ports of the option --publish in @session of an engine, and say where they are unless
 * @is_quiet. @call: calls an operation of the engine, and takes the reference of its params. */
typedef int box_call_fn(
	void *arg, const char *method, json_t *params, json_t **result, struct err *err);
int box_publish(const struct box_args *args, const char *session, bool is_quiet, box_call_fn *call,
	void *arg, struct err *err);

/* Print where a port of the box is, on stderr. */
void box_tell_published(uint16_t box_port, const char *address);

/* Check the values of options before anything is started. Errors: ERR_USAGE. */
int box_check(const struct box_args *args, struct err *err);

/* The network rules of the options, and the texts of the files that contain some. */
struct box_net {
	const char *rules[OPT_LIST_MAX];
	size_t n;
	char *files[OPT_LIST_MAX];
	size_t n_files;
};

/* Memory for the volumes and variables of an order. The arrays have room for the volumes and
 * variables of the options, the directory of skills, the program's file, and two variables about
 * the terminal. Owns: the caller ends it with box_pieces_done(). */
struct box_pieces {
	struct volume volumes[OPT_LIST_MAX + 2];
	char *copies[OPT_LIST_MAX + 1], *env[OPT_LIST_MAX + 2];
	size_t n_env;
	struct box_net net;
	struct secret_list secrets;   /* set by box_complete() */
	struct package_list packages; /* the same */
};

/* Fill @order from the options, but without a program. @p must be zeroed before, and must
 * outlive @order, which points to it. */
int box_order(const struct box_args *args, const struct opt_set *set, struct box_pieces *p,
	struct order *order, struct err *err);
/* Complete @order, which box_order() has made, as the engine does with box_params(): get the values
 * of the secrets of the options, where a source that is a command is run, and replace named sets of
 * network rules, for which clients of this host are asked. */
int box_complete(
	const struct box_args *args, struct box_pieces *p, struct order *order, struct err *err);
void box_pieces_done(struct box_pieces *p);

/* Build the parameters of session.create. Paths are made absolute, because the engine may have
 * another working directory. Owns: the caller decrefs. Returns: NULL and @err on failure. */
json_t *box_params(const struct box_args *args, const struct opt_set *set, struct err *err);

/* Set the variable COLUMNS in @create to the width of the terminal on stdout, unless it is set
 * already. @create: the result of box_params(). */
void box_tell_columns(json_t *create);
