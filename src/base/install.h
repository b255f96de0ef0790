/* The paths of retort's own programs and files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <limits.h>

struct install {
	char warden[PATH_MAX];	    /* path of the warden; init is in the same directory */
	char planner[PATH_MAX];	    /* path of the planner, in the same directory */
	char drivers_dir[PATH_MAX]; /* directory that contains python/ and so on */
};

/* Find the paths relative to this executable: in an installation (PREFIX/bin) or a build tree.
 * The environment is ignored. Errors: ERR_BOX with a hint. */
int install_find(struct install *out, struct err *err);
