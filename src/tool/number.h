/* Numbers of JSON that the parser has no type for: integers beyond 64 bits stay what they are.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Append @text with each such integer as a string that begins with a mark, and back. What is no
 * JSON is passed on as it is: the parser says so. Returns: 0, -E2BIG, -ENOMEM.
 */
int number_hide(const char *text, size_t bytes, struct buf *out);
int number_show(const char *text, size_t bytes, struct buf *out);

/* Is @v a number that was hidden? */
bool number_is_hidden(const json_t *v);
