/* The paths of retort's own programs and files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <limits.h>

struct install {
	char warden[PATH_MAX];	    /* path of the warden; retort-init is in the same directory */
	char planner[PATH_MAX];	    /* path of retort-planner, in the same directory */
	char gateway[PATH_MAX];	    /* path of retort-gateway, in the same directory */
	char unpack[PATH_MAX];	    /* path of retort-unpack, in the same directory */
	char drivers_dir[PATH_MAX]; /* directory of the drivers, with python/ and others in it */
};

/*
 * Find the paths relative to this executable, which is in an installation (PREFIX/bin) or in a
 * build tree. Environment variables are ignored.
 * Errors: ERR_BOX with a hint.
 */
int install_find(struct install *out, struct err *err);
