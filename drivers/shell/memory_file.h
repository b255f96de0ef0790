/*
 * The files that bash reads and writes for the driver.
 *
 * They are in memory. Where nobody counts such memory a box has none: they are then on its disk,
 * without a name, and each keeps as much room there as is usual for it. A full disk stops no shell
 * that has begun.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>

enum { MEMORY_FILE_ROOM_BYTES = 64 << 10 };

/* Its content is @text (NULL: @bytes zeros, and it cannot grow). Returns: a descriptor, or negative
 * errno. */
int memory_file_new(const char *name, const char *text, size_t bytes);

/* Put @text in its place. Returns: 0, or negative errno: -ENOSPC when the disk is full. */
int memory_file_set(int fd, const char *text, size_t bytes);

/* Make it as if nothing (of at most @max_bytes) was ever written, with room for @room_bytes. */
void memory_file_clear(int fd, size_t max_bytes, size_t room_bytes);
