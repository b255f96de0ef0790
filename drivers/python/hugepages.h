/*
 * Transparent huge pages of a driver and its copies. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/*
 * Collapse the private anonymous memory of the process into huge pages, where it is aligned for
 * that.
 */
void hugepages_collapse(void);

/*
 * Disable huge pages for this process and its children. From Linux 6.18 on, memory marked with
 * MADV_HUGEPAGE is exempt.
 */
void hugepages_disable(void);
