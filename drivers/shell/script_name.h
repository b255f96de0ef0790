/*
 * Give a path to a script that exists only in memory. bash shows the path by which it opened a
 * script in $BASH_SOURCE and in its messages. So the driver makes a temporary directory in which
 * that relative path is a symbolic link to the script. The directory is needed only until bash has
 * opened the script.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <limits.h>

struct script_name {
	char dir[64];	     /* temporary directory, in which bash must be started */
	char path[PATH_MAX]; /* relative to @dir */
};

/*
 * Make a path that leads to file descriptor @fd of this process. @out->path is @path if that is
 * relative and without "..", otherwise the last part of @path. A bash that was started in @out->dir
 * can open it. Returns: 0, or negative errno.
 */
int script_name_make(struct script_name *out, const char *path, int fd);

void script_name_remove(const struct script_name *name);
