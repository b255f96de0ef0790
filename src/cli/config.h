/* The configuration file $XDG_CONFIG_HOME/retort/config.json: defaults that the environment
 * overrides. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

#include <jansson.h>

/*
 * Apply the file to @set, if there is one. It holds one object; its members are the long names of
 * options, their values texts, numbers, true or false, or arrays of texts for options that may be
 * repeated. Members that this command does not know are left to others. "profiles" holds such
 * objects by name; that of @profile (or NULL) is applied over the rest.
 *
 * Owns:    texts live until the process ends.
 * Errors:  ERR_USAGE with the file's name and the line; ERR_NOT_FOUND when there is no such
 * profile.
 */
int config_apply(struct opt_set *set, const char *profile, struct err *err);

/*
 * A member that is not an option; *@out is unchanged if it is missing.
 * Owns:    the caller decrefs.
 * Errors:  ERR_USAGE: the file is not a JSON object.
 */
int config_member(const char *name, json_t **out, struct err *err);
