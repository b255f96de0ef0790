/* Where retort keeps things of one user. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <limits.h>

/*
 * $XDG_STATE_HOME/retort, else ~/.local/state/retort: made with mode 0700 when it is not there.
 * Source:  XDG Base Directory Specification: a relative path does not count.
 * Errors:  ERR_ACCESS when it is another user's, or others may enter it; ERR_NOT_FOUND without
 * HOME.
 */
int xdg_state_dir(char out[PATH_MAX], struct err *err);

/*
 * $XDG_RUNTIME_DIR/retort, else /run/user/UID/retort, else /tmp/retort-UID; made with mode 0700.
 * Errors: as above.
 */
int xdg_runtime_dir(char out[PATH_MAX], struct err *err);

/* Make @path with its parents, and check what is there: a directory of ours that is only ours. */
int xdg_make_dir(const char *path, struct err *err);
