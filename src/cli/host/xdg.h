/* The directories of retort's files for one user. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <limits.h>

/*
 * Return $XDG_STATE_HOME/retort, else ~/.local/state/retort; created with mode 0700 if necessary.
 * Source:  XDG Base Directory Specification: relative paths are ignored.
 * Errors:  ERR_ACCESS: the directory belongs to another user, or others may enter it;
 * ERR_NOT_FOUND: HOME is not set.
 */
int xdg_state_dir(char out[PATH_MAX], struct err *err);

/*
 * Return $XDG_RUNTIME_DIR/retort, else /run/user/UID/retort, else /tmp/retort-UID; created with
 * mode 0700.
 * Errors:  as xdg_state_dir().
 */
int xdg_runtime_dir(char out[PATH_MAX], struct err *err);

/* Create @path with its parents, and check that @path is a directory which only this user may
 * enter. */
int xdg_make_dir(const char *path, struct err *err);
