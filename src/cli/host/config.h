/* The configuration file $XDG_CONFIG_HOME/retort/config.json. It contains defaults for options.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "base/word.h"

#include <jansson.h>

/*
 * Find the row of the option @name in the tables of all commands. If several commands have the
 * option, prefer a row that the environment may set.
 * Returns: the row; or NULL, after word_near_try() of the names that the environment may set.
 */
typedef const struct opt *config_find(const char *name, struct word_near *near);

/* What the configuration file is applied to. */
struct config_use {
	struct opt_set *set; /* the options of the command that runs */
	config_find *find;   /* finds those of all commands */
};

/*
 * Set options from the configuration file, if it exists. Options in the environment or on the
 * command line override those in the file.
 *
 * The file contains one object. The names of its members are long names of options. A value is a
 * text, a number, true or false; an option that may be repeated can have a list of texts. Options
 * that only other commands have are checked for their shape and then ignored. The member
 * "profiles" contains further objects of this kind by name. @profile: the name of the profile whose
 * members override the other members of the file; NULL: no profile. The other profiles are not
 * examined.
 *
 * Owns: the texts live until the process ends.
 * Errors: ERR_USAGE, with the name of the file, for an unknown name or a wrong value; for wrong
 * JSON with the line; ERR_NOT_FOUND: the profile does not exist.
 */
int config_apply(const struct config_use *use, const char *profile, struct err *err);

/*
 * Read the member @name of the configuration file. @name is a member that does not stand for an
 * option, such as "prices", so config_apply() ignores the member.
 *
 * - If the file and the member exist, *@out is the value of the member.
 * - If the file exists, but has no such member, *@out is NULL.
 * - If the file does not exist, *@out is unchanged.
 *
 * Owns: the caller decrefs *@out.
 * Errors: ERR_USAGE: the file does not contain a JSON object.
 */
int config_member(const char *name, json_t **out, struct err *err);
