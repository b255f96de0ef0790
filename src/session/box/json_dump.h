/* JSON as text, fast where it is long. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/*
 * The bytes of json_dumps() with JSON_COMPACT, and the only other @flags JSON_SORT_KEYS and
 * JSON_ENCODE_ANY; other flags are left to json_dumps(). That one decodes a string character by
 * character, twice: a step's output of 10 MiB takes it a tenth of a second.
 * Owns:    the caller frees.
 * Returns: NULL without memory, or for a string that is no UTF-8.
 */
char *json_dump_text(const json_t *json, size_t flags);

/* The same with JSON_COMPACT, behind what @out holds. Returns: 0, -E2BIG, -ENOMEM, -EILSEQ,
 * -EINVAL, and @out may hold a part. */
int json_dump_put(struct buf *out, const json_t *json);
