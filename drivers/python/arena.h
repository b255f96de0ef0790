/* Python's memory in one place. libc only. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From now on what Python's allocator asks for lies together, and right for huge pages. */
void arena_gather(void);
