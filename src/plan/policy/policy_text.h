/* Texts against the lists of ends_with() and member(). To allow, a text has to match exactly; to
 * deny, it is enough that some program may read the text as a match. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/*
 * Does @text end with @end, and is it one word, without spaces and separators? If it has an @, it
 * has to be one address, with only letters, digits and . _ + - in front of @end.
 */
bool policy_ends_with(const char *text, size_t bytes, const struct str *end);

/*
 * To deny: may any part of @v, keys of dicts included, be read as a text that ends with an element
 * of the list, or as an element itself? The comparison ignores case, dots at the end, anything
 * around a word but letters, digits and . - _, and whether a letter is written as %41; it knows the
 * usual spellings of numbers and bools. A value that cannot be compared counts as a match: text
 * with characters that look like others, an address that is not plain, for ends_with also spaces
 * and quotes, anything that is neither text nor number. None and empty values do not match.
 */
bool policy_any_ends_with(struct val v, const struct tuple *list);
bool policy_any_member(struct val v, const struct tuple *list);

/* Are they the same text, or the same number? */
bool policy_is_same(struct val a, struct val b);
