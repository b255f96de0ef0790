/*
 * Preserves private mappings of files that a program has written to: mmap.ACCESS_COPY, numpy's
 * mmap_mode "c". Their written pages are lost when the file is truncated, and the file's name may
 * later belong to another file. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

/*
 * private_find(): before the clone: list the writable private mappings of the box's own files.
 * Returns: 0, or negative errno (-E2BIG: more than 4096).
 * private_keep(): in the clone: copy written pages to anonymous memory, at most @room bytes.
 * Neither allocates nor takes a lock.
 * private_put_back(): in a resumed guard or a branch: map the unwritten pages again if the name
 * belongs to another file now. Adds the bytes of lost written pages to @gone_bytes. Returns: the
 * number of mappings whose file lost its name.
 */
enum { PRIVATE_KEPT_MAX = 16 << 20 };
int private_find(void);
void private_keep(uint64_t room);
int private_put_back(uint64_t *gone_bytes);
void private_done(void);
