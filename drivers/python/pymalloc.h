/*
 * Provide memory for pymalloc, CPython's allocator for small objects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/* From now on, place the arenas of pymalloc next to each other and aligned for huge pages. */
void pymalloc_gather(void);

/*
 * Fill the free blocks that the imports have left between small objects, permanently. Later objects
 * are then adjacent in fresh pools. Each page that a branch writes is copied, so this saves more
 * memory than the filled blocks cost, which the branches share. If the allocator is not the known
 * one, this wastes 8 MB and gains nothing.
 */
void pymalloc_fill_holes(void);
