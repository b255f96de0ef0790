/*
 * Anonymous files, and copies of files that were unlinked. An anonymous file is a memfd or, in a
 * box that forbids these, a file made with O_TMPFILE. Needs libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Create an empty anonymous file. It is open for reading and writing, and close-on-exec. Returns: a
 * file descriptor, or -1.
 */
int anon_file_new(void);

/*
 * Copy the first @bytes of the regular file @fd into a new anonymous file. @fd may be open for
 * writing only. Returns: a file descriptor, or -1.
 */
int anon_file_copy(int fd, off_t bytes);

/*
 * Read the first @bytes of @fd into memory. @bytes must not be 0. Owns: the caller frees with
 * munmap(). Returns: NULL if the file cannot be read.
 */
char *anon_file_save(int fd, off_t bytes);

/*
 * Write @kept back to the file @fd, and set the file's size to @bytes. @fd may be open for reading
 * only. Returns: whether that succeeded.
 */
bool anon_file_restore(int fd, const char *kept, off_t bytes);
