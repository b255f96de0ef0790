/*
 * Control the transparent huge pages of a driver and its clones. Needs libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/*
 * Turn the private anonymous memory of this process into huge pages, except for parts that are not
 * aligned to a huge page.
 */
void hugepages_collapse(void);

/*
 * Disable huge pages for this process and its children. From Linux 6.18 on, memory marked with
 * MADV_HUGEPAGE is exempt.
 */
void hugepages_disable(void);
