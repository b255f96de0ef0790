/*
 * Paths of which each box has files of its own, so that a branch has others than the box that it
 * was made from. Needs libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>

/* Return whether @path is @dir or below it. */
bool own_path_is_below(const char *path, const char *dir);

/* Return whether @path is in a directory that each box has for itself: /home/user, /tmp, /dev/shm.
 */
bool own_path_is_dir(const char *path);

/* Return whether own_path_is_dir(), or whether @path is a file of the system, in a box with an
 * image: such a box has a system for itself. */
bool own_path_is_separate(const char *path);

/*
 * Return whether @path is in a volume: in a mount of its own in one of the directories that each
 * box has for itself.
 * A file that no longer exists counts as not in a volume. A resource tracker of multiprocessing may
 * just have removed it, because the tracker believed that the segment was leaked.
 */
bool own_path_is_volume(const char *path);
