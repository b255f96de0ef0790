/* The sizes of the pages a driver and its copies have. libc only. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

/* Make huge pages of the process's own memory that has no file, as far as it lies right for that.
 */
void hugepages_collapse(void);

/*
 * No huge pages for this process and its children; where the kernel can (6.18), but for memory that
 * was asked for with MADV_HUGEPAGE.
 */
void hugepages_disable(void);
