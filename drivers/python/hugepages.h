/*
 * Controls transparent huge pages of a driver and its clones. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/*
 * Collapse the aligned parts of the process's private anonymous memory into huge pages.
 */
void hugepages_collapse(void);

/*
 * Disable huge pages for this process and its children. From Linux 6.18 on, memory marked with
 * MADV_HUGEPAGE is exempt.
 */
void hugepages_disable(void);
