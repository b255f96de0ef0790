/* JSON as text: writing it, and estimating its size. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Dump like json_dumps(), but write a real with as few digits as keep its value: 0.3, not
 * 0.29999999999999999. Owns: the caller frees. Returns: NULL without memory. */
char *json_text(const json_t *json, size_t flags);

/* Append the same text, with JSON_COMPACT, to @out. Returns: 0; or -E2BIG, -ENOMEM, -EILSEQ, and
 * @out is unchanged. */
int json_put(struct buf *out, const json_t *json);

/* Is @json larger than @bytes? The size is an estimate: the text of each value plus NODE_BYTES.
 * Counting stops at @bytes. */
bool json_is_long(const json_t *json, size_t bytes);

/* Return that estimate of the size. */
size_t json_bytes(const json_t *json);

/* Convert a text from outside to JSON: cut at @max_bytes; invalid UTF-8 becomes U+FFFD. Returns:
 * NULL without memory. */
json_t *json_safe_text(const char *text, size_t max_bytes);
