/* Make the output of programs readable. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/*
 * Append @text without escape sequences, without characters that a terminal executes, and without
 * text that was overwritten after "\r". Other control characters, also NUL, become a picture such
 * as "␀", so that no printed text is lost.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int printable_add(struct buf *out, const char *text, size_t bytes);

/* Append @text, but cut a long text to about @max characters: a line replaces the middle. The
 * line says how many characters are missing, and ends with @rest, which says how to get them.
 * @rest may be NULL. Returns: 0, -E2BIG, -ENOMEM. */
int printable_cut(struct buf *out, const char *text, size_t bytes, size_t max, const char *rest);
