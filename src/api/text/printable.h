/* Text of programs, made fit to be read. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/*
 * Append @text without what a terminal would obey, and without what was overwritten by "\r". Other
 * control characters, NUL too, are shown by a picture each ("␀"): nothing that was printed is lost.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int printable_add(struct buf *out, const char *text, size_t bytes);

/*
 * Append at most about @max characters of @text: head and tail; between them a line that says how
 * many are missing, and @rest, how to get them (or NULL).
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int printable_cut(struct buf *out, const char *text, size_t bytes, size_t max, const char *rest);
