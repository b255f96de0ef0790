/* Allocation of large objects in huge pages. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

enum { PAGES_MIN_BYTES = 4 << 20 };

/*
 * Allocate memory in huge pages if the kernel has them. The first use of the memory then costs one
 * page fault per 2 MiB instead of one per 4 KiB. If @bytes is less than PAGES_MIN_BYTES, the
 * function calls malloc() instead.
 * Owns: the caller frees.
 * Returns: NULL on failure.
 * Source: madvise(2), MADV_HUGEPAGE.
 */
void *pages_alloc(size_t bytes);
