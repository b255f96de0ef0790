/*
 * Transparent huge pages make copies of a process cheap.
 *
 * A clone copies the page tables. They have one entry for each page of 4 KB, but only one for a
 * huge page of 2 MB, which is 512 pages. So a template turns its heap into huge pages before it is
 * cloned (MADV_COLLAPSE).
 *
 * In the copies, huge pages are a disadvantage: the first write to a page copies that page, and 2
 * MB would be too much for a small write. The huge pages of the template do no such harm, because
 * the kernel splits them on a write. But the kernel could make new huge pages in the copies, so the
 * copies forbid it (PR_SET_THP_DISABLE).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hugepages.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef PR_THP_DISABLE_EXCEPT_ADVISED
#define PR_THP_DISABLE_EXCEPT_ADVISED (1 << 1)
#endif

static const uintptr_t huge_bytes = (uintptr_t)2 << 20;

static void collapse(uintptr_t start, uintptr_t end)
{
	start = (start + huge_bytes - 1) & ~(huge_bytes - 1);
	for (; start + huge_bytes <= end; start += huge_bytes)
		(void)madvise((void *)start, huge_bytes, MADV_COLLAPSE);
}

void hugepages_collapse(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps)) {
		uintptr_t start, end;
		unsigned long long inode;
		char mode[5];

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %llu", &start, &end, mode,
			    &inode) == 4 &&
			strcmp(mode, "rw-p") == 0 && inode == 0 && !strstr(line, "[stack]"))
			collapse(start, end);
	}
	if (maps)
		(void)fclose(maps);
}

void hugepages_disable(void)
{
	if (prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0) < 0)
		(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}
