/* JSON integers beyond 64 bits, for which the parser has no type. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * number_hide() appends @text, but replaces each integer beyond 64 bits by a string that begins
 * with a mark. number_show() replaces these strings by the integers again. Malformed JSON is only
 * copied: the parser reports it later.
 *
 * Returns: 0, -E2BIG or -ENOMEM.
 */
int number_hide(const char *text, size_t bytes, struct buf *out);
int number_show(const char *text, size_t bytes, struct buf *out);

/* Return whether @v is a string by which number_hide() has replaced an integer. */
bool number_is_hidden(const json_t *v);
