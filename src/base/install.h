/* Where retort's own parts are. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <limits.h>

struct install {
	char warden[PATH_MAX];	    /* the warden; init stands beside it */
	char planner[PATH_MAX];	    /* beside it as well */
	char drivers_dir[PATH_MAX]; /* holds python/ … */
};

/*
 * Find them from where this executable is: an installation (PREFIX/bin) or a build tree. Nothing in
 * the environment has a say. Errors: ERR_BOX with a hint.
 */
int install_find(struct install *out, struct err *err);
