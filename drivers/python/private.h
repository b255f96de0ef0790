/*
 * Private mappings of files, which a program has written to: mmap.ACCESS_COPY, numpy's mmap_mode
 * "c". Its own pages go when somebody cuts the file short, and what has its name may become
 * another. libc only. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

/*
 * private_find(): in the process that is to be copied: list those of files that the box has for
 * itself. Returns: 0, or negative errno (-E2BIG: more than 4096). private_keep(): in the copy: the
 * program's own pages become memory that no file can take away,
 * @room bytes of them. Neither allocates nor takes a lock.
 * private_put_back(): in a guard that goes on, or a branch: what the program has not written to is
 * that of the file which has the name now. Adds how many bytes of its own are gone to @gone_bytes.
 * Returns: of how many mappings the file is gone.
 */
enum { PRIVATE_KEPT_MAX = 16 << 20 };
int private_find(void);
void private_keep(uint64_t room);
int private_put_back(uint64_t *gone_bytes);
void private_done(void);
