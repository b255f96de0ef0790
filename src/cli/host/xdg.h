/* Finds the directories in which retort stores the files of a user. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <limits.h>

/*
 * Write the directory for lasting data to @out: $XDG_STATE_HOME/retort, or else
 * ~/.local/state/retort. It is created with mode 0700 if necessary.
 * Source: XDG Base Directory Specification, by which relative paths are ignored.
 * Errors: ERR_ACCESS: the directory belongs to another user, or others may enter it. ERR_NOT_FOUND:
 * HOME is not set.
 */
int xdg_state_dir(char out[PATH_MAX], struct err *err);

/* Return the state directory that has the templates with packages: @state, or else RETORT_STATE of
 * the environment, or else the one that xdg_state_dir() would make. Returns: NULL if there is none.
 * Static, valid until the next call. */
const char *xdg_layers_dir(const char *state);

/*
 * Write the directory for sockets to @out: $XDG_RUNTIME_DIR/retort, or else /run/user/UID/retort,
 * or else /tmp/retort-UID. It is created with mode 0700 if necessary.
 * Errors: as xdg_state_dir().
 */
int xdg_runtime_dir(char out[PATH_MAX], struct err *err);

/* Create the directory @path and its parents. Then check that it is a directory, belongs to this
 * user, and that nobody else may enter it. */
int xdg_make_dir(const char *path, struct err *err);
