/* Allocation of large objects in huge pages. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

enum { PAGES_MIN_BYTES = 4 << 20 };

/*
 * Allocate memory in huge pages where the kernel has them, so that first use costs one page fault
 * per 2 MiB instead of one per 4 KiB. Below PAGES_MIN_BYTES this is malloc().
 * Owns: the caller frees.
 * Returns: NULL on failure.
 * Source: madvise(2), MADV_HUGEPAGE.
 */
void *pages_alloc(size_t bytes);
