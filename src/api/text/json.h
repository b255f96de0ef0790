/* JSON as text. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Like json_dumps(), but a number that is no integer is written as short as it can be without
 * changing its value: 0.3, not 0.29999999999999999. Owns: the caller frees. Returns: NULL without
 * memory.
 */
char *json_text(const json_t *json, size_t flags);

/* The same with JSON_COMPACT, behind what @out holds. Returns: 0; or -E2BIG, -ENOMEM, -EILSEQ, and
 * @out is as before. */
int json_put(struct buf *out, const json_t *json);

/*
 * Is its text longer than @bytes, or as much work? A value counts as NODE_BYTES besides what it
 * holds. No more than that is looked at.
 */
bool json_is_long(const json_t *json, size_t bytes);

/* How long it reckons a text to be: */
size_t json_bytes(const json_t *json);

/* Anybody's bytes as a text: cut at @max_bytes, what is no UTF-8 becomes U+FFFD. Returns: NULL
 * without memory. */
json_t *json_safe_text(const char *text, size_t max_bytes);
