/* Output of programs, made readable. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/*
 * Append @text without escape sequences and other characters that a terminal executes, and without
 * text that "\r" overwrote. Other control characters, also NUL, become their picture ("␀"), so
 * that no printed text is lost.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int printable_add(struct buf *out, const char *text, size_t bytes);

/* Append about @max characters of @text: its head and tail, and between them a line that says how
 * many are missing and (@rest, may be NULL) how to get them. Returns: 0, -E2BIG, -ENOMEM. */
int printable_cut(struct buf *out, const char *text, size_t bytes, size_t max, const char *rest);
