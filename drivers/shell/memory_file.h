/*
 * Files through which bash and the driver exchange text.
 *
 * The files are in memory (memfd). On a host where no cgroup counts such memory, a box cannot
 * create memfds. The files are then unlinked files on the box's disk. Each of them keeps disk space
 * allocated for its usual content, so a full disk does not stop a shell that has already started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>

enum { MEMORY_FILE_ROOM_BYTES = 64 << 10 };

/*
 * Create a file with the content @text. If @text is NULL, the file consists of @bytes zeros and its
 * size is fixed. Returns: a file descriptor, or negative errno.
 */
int memory_file_new(const char *name, const char *text, size_t bytes);

/* Replace the content by @text. Returns: 0, or negative errno, which is -ENOSPC on a full disk. */
int memory_file_set(int fd, const char *text, size_t bytes);

/* Erase the content, which is at most @max_bytes, and keep @room_bytes of disk space allocated. */
void memory_file_clear(int fd, size_t max_bytes, size_t room_bytes);
