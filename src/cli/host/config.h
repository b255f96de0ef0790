/* The configuration file $XDG_CONFIG_HOME/retort/config.json: defaults for options.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

#include <jansson.h>

/*
 * Apply the file to @set, if the file exists. The environment and the command line override it. The
 * file contains one object; the names of its members are the long names of options, the values
 * texts, numbers, true or false, or arrays of texts for options that may be repeated. Members that
 * this command does not know are ignored: they belong to other commands. The member "profiles"
 * contains such objects by name; the object of @profile (or NULL) overrides the rest.
 *
 * Owns:    texts live until the process ends.
 * Errors:  ERR_USAGE with the file's name and the line; ERR_NOT_FOUND if the profile does not
 * exist.
 */
int config_apply(struct opt_set *set, const char *profile, struct err *err);

/*
 * Read a member that is not an option; *@out is unchanged if the member is missing.
 * Owns:    the caller decrefs.
 * Errors:  ERR_USAGE: the file is not a JSON object.
 */
int config_member(const char *name, json_t **out, struct err *err);
