/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "own_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const dirs[] = {"/home/user", "/tmp", "/dev/shm"};
enum { N_DIRS = sizeof dirs / sizeof *dirs };

bool own_path_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool own_path_is_dir(const char *path)
{
	for (size_t i = 0; i < N_DIRS; i++)
		if (own_path_is_below(path, dirs[i]))
			return true;
	return false;
}

/* Return the number of the mount that has @path, or 0. */
static uint64_t mount_of(const char *path, int flags)
{
	struct statx st;
	return statx(AT_FDCWD, path, flags, STATX_MNT_ID, &st) < 0 ? 0 : st.stx_mnt_id;
}

/* The directory with the changes is in boxes with an image only (WIRE_CHANGES_DIR). */
static bool is_of_own_system(const char *path)
{
	uint64_t root = access("/retort/system", F_OK) == 0 ? mount_of("/", 0) : 0;
	return root != 0 && mount_of(path, AT_SYMLINK_NOFOLLOW) == root;
}

bool own_path_is_separate(const char *path)
{
	return own_path_is_dir(path) || is_of_own_system(path);
}

bool own_path_is_volume(const char *path)
{
	for (size_t i = 0; i < N_DIRS; i++) {
		if (!own_path_is_below(path, dirs[i]))
			continue;
		uint64_t mount = mount_of(path, 0);
		return mount == 0 ? errno != ENOENT : mount != mount_of(dirs[i], 0);
	}
	return !is_of_own_system(path);
}
