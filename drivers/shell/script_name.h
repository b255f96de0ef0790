/*
 * A path for a script that is in memory. bash shows the path by which it opened a script in
 * $BASH_SOURCE and in messages. So, until bash has opened it, there must be a directory in which
 * the right relative path leads to the script.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <limits.h>

struct script_name {
	char dir[64];	     /* the directory in which to start bash */
	char path[PATH_MAX]; /* relative to @dir */
};

/*
 * Make @path lead to descriptor @fd of this process. An absolute path is reduced to its last
 * part. bash, started in @out->dir, opens @out->path. Returns: 0, or negative errno.
 */
int script_name_make(struct script_name *out, const char *path, int fd);

void script_name_remove(const struct script_name *name);
