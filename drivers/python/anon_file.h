/*
 * Anonymous files (memfd, or O_TMPFILE where memfd is not allowed), and copies of unlinked ones.
 * libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Create an empty anonymous file, open for reading and writing, close-on-exec. Returns: a
 * descriptor, or -1. */
int anon_file_new(void);

/*
 * Copy the first @bytes of the regular file @fd, which may be open for writing only, into a new
 * anonymous file.
 * Returns: a descriptor, or -1.
 */
int anon_file_copy(int fd, off_t bytes);

/*
 * Read the first @bytes of @fd into memory, to be freed with munmap(). @bytes must not be 0.
 * Returns: NULL if the file cannot be read.
 */
char *anon_file_save(int fd, off_t bytes);

/*
 * Write @kept back to the file @fd, which may be open for reading only, and set its size to @bytes.
 * Returns: whether that succeeded.
 */
bool anon_file_restore(int fd, const char *kept, off_t bytes);
