/* JSON as text. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Like json_dumps(), but a real is written with as few digits as keep its value: 0.3, not
 * 0.29999999999999999. Owns: the caller frees. Returns: NULL without memory. */
char *json_text(const json_t *json, size_t flags);

/* The same with JSON_COMPACT, appended to @out. Returns: 0; or -E2BIG, -ENOMEM, -EILSEQ, and @out
 * is unchanged. */
int json_put(struct buf *out, const json_t *json);

/* Is it larger than @bytes? The size is an estimate: each value counts as its text and NODE_BYTES.
 * Stops counting at @bytes. */
bool json_is_long(const json_t *json, size_t bytes);

/* That estimate. */
size_t json_bytes(const json_t *json);

/* A text from outside as JSON: cut at @max_bytes; invalid UTF-8 becomes U+FFFD. Returns: NULL
 * without memory. */
json_t *json_safe_text(const char *text, size_t max_bytes);
