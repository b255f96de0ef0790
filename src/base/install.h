/* The paths of retort's own programs and files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <limits.h>

struct install {
	char warden[PATH_MAX];	    /* the warden; init is beside it */
	char planner[PATH_MAX];	    /* the planner, beside it as well */
	char drivers_dir[PATH_MAX]; /* contains python/ … */
};

/*
 * Find the paths from this executable's own path: an installation (PREFIX/bin) or a build tree.
 * The environment is ignored. Errors: ERR_BOX with a hint.
 */
int install_find(struct install *out, struct err *err);
