/*
 * Preserves private file mappings that a program has written to, such as those of mmap.ACCESS_COPY
 * or of numpy's mmap_mode "c". Their written pages are lost when the file is truncated, and the
 * file's name may later belong to another file. Needs libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

/*
 * The functions are called in this order:
 *
 * private_find(), before the clone: list the writable private mappings of the box's own files.
 * Returns: 0, or negative errno, which is -E2BIG for more than MAPPINGS_MAX.
 *
 * private_keep(), in a guard, or in a process before its first branch: copy written pages to
 * anonymous memory, at most @room bytes. Allocates nothing by malloc() and takes no lock.
 *
 * private_put_back(), in a resumed guard or a branch: map the unwritten pages again if the file's
 * name now belongs to another file. Adds the size of lost written pages to *@gone_bytes. Returns:
 * the number of mappings whose file has lost its name.
 */
enum { PRIVATE_KEPT_MAX = 16 << 20 };
int private_find(void);
void private_keep(uint64_t room);
int private_put_back(uint64_t *gone_bytes);
void private_done(void);
