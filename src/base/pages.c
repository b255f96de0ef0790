/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_PAGE_BYTES = 2 << 20 };

void *pages_alloc(size_t bytes)
{
	if (bytes < PAGES_MIN_BYTES || bytes > SIZE_MAX - LARGE_PAGE_BYTES)
		return malloc(bytes);
	size_t whole = (bytes + LARGE_PAGE_BYTES - 1) & ~(size_t)(LARGE_PAGE_BYTES - 1);
	void *p = aligned_alloc(LARGE_PAGE_BYTES, whole);
	/* An error is ignored: a kernel without huge pages gives small pages. */
	if (p)
		(void)madvise(p, whole, MADV_HUGEPAGE);
	return p;
}
