/* Python's memory in one place. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From now on what Python's allocator asks for lies together, and right for huge pages. */
void pymalloc_gather(void);

/*
 * Take the holes there are among small objects, for good: what is made from now on lies together,
 * at the beginning of a pool of its size, where it would else be strewn over all the holes that
 * imports have left. Each page that a branch writes is a page that it copies; the holes cost once.
 * Where the allocator is not what we think, this costs 8 MB and gains nothing.
 */
void pymalloc_fill_holes(void);
