/* Write JSON as text, and estimate its size. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Dump JSON like json_dumps(), but write a real number with fewer digits if that keeps its
 * value: 0.3, not 0.29999999999999999. Owns: the caller frees the result. Returns: NULL if memory
 * is exhausted. */
char *json_text(const json_t *json, size_t flags);

/* Append to @out what json_text() returns with JSON_COMPACT. Returns: 0; or -E2BIG, -ENOMEM or
 * -EILSEQ, and @out is unchanged. */
int json_put(struct buf *out, const json_t *json);

/* Return whether json_bytes() of @json is at least @bytes. Counting ends when that size is
 * reached. */
bool json_is_long(const json_t *json, size_t bytes);

/* Estimate the size of @json: for each value, the length of its text plus NODE_BYTES. */
size_t json_bytes(const json_t *json);

/* Make a JSON string of a text that may contain invalid UTF-8, which becomes U+FFFD. The text is
 * cut at @max_bytes. Returns: NULL if memory is exhausted. */
json_t *json_safe_text(const char *text, size_t max_bytes);
