/*
 * A name for a script that is in memory: bash says in $BASH_SOURCE and in messages how it opened
 * it, so there must be a directory in which that name leads to it, for as long as it takes to open
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <limits.h>

struct script_name {
	char dir[64];	     /* start bash here */
	char path[PATH_MAX]; /* below it */
};

/*
 * Make @path (relative, else its last part counts) lead to descriptor @fd of this process. Path of
 * @out is what to open in @out->dir. Returns: 0, or negative errno.
 */
int script_name_make(struct script_name *out, const char *path, int fd);

void script_name_remove(const struct script_name *name);
