/* Whether a text is still there when its memory is freed. The program is linked with --wrap=free.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Begin to look for @text, which lives until wiped_end(). */
void wiped_begin(const char *text);
/* End it. Returns: how many pieces of memory had the text when they were freed; *@n_freed: how many
 * were freed. */
size_t wiped_end(size_t *n_freed);
