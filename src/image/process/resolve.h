/* Where the paths of an archive lead, below one directory. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct resolver {
	int root;
	uint64_t steps; /* how many names may still be followed */
	/* Make the directory @name in @dir, where there is none: nothing, or no directory. Returns:
	 * 0, or negative errno. NULL: nothing is made. */
	int (*make)(void *arg, int dir, const char *name);
	void *arg;
};

/*
 * Open the directory @path as if `root` were the root of a file system, also for symbolic links.
 * Directories that are missing in @path itself are made; those that a link leads to are not.
 * Returns: an O_PATH descriptor, or negative errno: -ENOTDIR, something on the way is no directory;
 * -ELOOP, too many links; -ENAMETOOLONG, too deep, or links that are too long; -E2BIG, no steps are
 * left; and those of `make`.
 */
int resolve_dir(struct resolver *r, const char *path);
