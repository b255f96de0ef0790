/* Compare texts with the lists of ends_with() and member(). An allow clause holds only if a text
 * matches exactly; a deny clause holds if any program may read the text as a match.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* Does @text end with @end, and is @text one word, without spaces and separators? A @text that
 * contains "@" must be one address, with only letters, digits and . _ + - before @end. */
bool policy_ends_with(const char *text, size_t bytes, const struct str *end);

/*
 * For deny clauses: may a program read any part of @v, including the keys of dicts, as a text that
 * ends with an element of the list (policy_any_ends_with()), or as an element itself
 * (policy_any_member())? The comparison ignores case, dots at the end, percent-encoding such as
 * %41, and all characters around a word except letters, digits and . - _. It recognises the usual
 * spellings of numbers and bools. A value that cannot be compared reliably is treated as a match: a
 * text with characters that look like others, an address that is not plain, for ends_with also
 * spaces and quotes, and any value that is neither text nor number. None and empty containers do
 * not match.
 */
bool policy_any_ends_with(struct val v, const struct tuple *list);
bool policy_any_member(struct val v, const struct tuple *list);

/* Are @a and @b the same text, or the same number? */
bool policy_is_same(struct val a, struct val b);
