/* Integers of JSON beyond 64 bits, which the parser has no type for. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Append @text with each such integer replaced by a string that begins with a mark (hide), or with
 * the integers restored (show). Malformed JSON is copied; the parser reports it.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int number_hide(const char *text, size_t bytes, struct buf *out);
int number_show(const char *text, size_t bytes, struct buf *out);

/* Is @v an integer that number_hide() replaced? */
bool number_is_hidden(const json_t *v);
