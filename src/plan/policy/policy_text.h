/*
 * Compare texts with the lists of ends_with() and member(). Programs may read the same text
 * differently: for some programs, "%41" is "A". So an allow clause holds only if a text matches
 * exactly, but a deny clause holds as soon as one program might read the text as a match.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/value/value.h"

/* Return whether @text ends with @end and is one word, without spaces and separators. A @text
 * that contains "@" must be one address, with only letters, digits and . _ + - before @end. */
bool policy_ends_with(const char *text, size_t bytes, const struct str *end);

/*
 * These functions decide `deny` clauses. They test each part of @v, such as an element of a list or
 * a key of a dict.
 * policy_any_ends_with(): return whether a program may take a part of @v for a text that ends with
 * an element of @list.
 * policy_any_member(): return whether a program may take a part of @v for an element of @list.
 *
 * Differences that a program may overlook do not prevent a match: upper and lower case, dots at the
 * end, percent-encoding such as %41, the spelling of numbers and bools, and characters around a
 * word. Letters, digits and . - _ belong to the word.
 *
 * A value that cannot be compared reliably counts as a match. This holds for a text with characters
 * that look like others, for an address that is not plain, and for any value that is neither text
 * nor number. For policy_any_ends_with() it also holds for a text with spaces or quotes. None and
 * empty containers do not match.
 */
bool policy_any_ends_with(struct val v, const struct tuple *list);
bool policy_any_member(struct val v, const struct tuple *list);

/* Return whether @a and @b are the same text, or the same number. */
bool policy_is_same(struct val a, struct val b);
