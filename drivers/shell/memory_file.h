/*
 * Files through which bash and the driver exchange text.
 *
 * They are in memory (memfd). Where no cgroup accounts for such memory, a box cannot create
 * memfds: the files are then unlinked files on the box's disk, and each keeps enough disk space
 * allocated for its usual content. So a disk that fills up does not stop a shell that has
 * started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>

enum { MEMORY_FILE_ROOM_BYTES = 64 << 10 };

/*
 * Create a file with the content @text (NULL: @bytes zeros, and the size is fixed). Returns: a
 * descriptor, or negative errno.
 */
int memory_file_new(const char *name, const char *text, size_t bytes);

/* Replace the content by @text. Returns: 0, or negative errno: -ENOSPC when the disk is full. */
int memory_file_set(int fd, const char *text, size_t bytes);

/* Erase the content (of at most @max_bytes), and keep @room_bytes of disk space allocated. */
void memory_file_clear(int fd, size_t max_bytes, size_t room_bytes);
