/* Files without a name. libc only. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Returns: a new, empty one, open for both and closed by exec; -1 when there is none to be had. */
int anon_file_new(void);

/*
 * A copy of the first @bytes of the regular file @fd, which may be open for writing only.
 * Returns: a descriptor, or -1.
 */
int anon_file_copy(int fd, off_t bytes);

/* The same in memory, for munmap(). @bytes is not 0. Returns: NULL when it cannot be read. */
char *anon_file_save(int fd, off_t bytes);

/* Make the file @fd, which may be open for reading only, what was @kept of it. Returns: whether it
 * is. */
bool anon_file_restore(int fd, const char *kept, off_t bytes);
