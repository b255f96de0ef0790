/* Provides memory for CPython's small-object allocator. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Make later arenas of pymalloc adjacent and aligned for huge pages. */
void pymalloc_gather(void);

/*
 * Fill the free blocks between small objects permanently. Later objects are then adjacent in fresh
 * pools, instead of scattered over the holes that imports have left. Since each page that a branch
 * writes is copied, this saves more than the holes, which cost memory only once. With an unknown
 * allocator this wastes 8 MB and gains nothing.
 */
void pymalloc_fill_holes(void);
