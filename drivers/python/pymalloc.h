/* Where CPython's small-object allocator gets its memory. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From now on pymalloc's arenas are adjacent and aligned for huge pages. */
void pymalloc_gather(void);

/*
 * Fill the free blocks among the small objects for good, so that later objects are adjacent in
 * fresh pools instead of scattered over the holes that imports have left: each page that a branch
 * writes is copied, and the holes cost only once. With an unknown allocator this wastes 8 MB and
 * gains nothing.
 */
void pymalloc_fill_holes(void);
