/* Texts against the lists of ends_with() and member(): to allow, a text has to be just that; to
 * deny, it is enough that whoever gets it may read it so. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/*
 * Does @text end with @end, and is it one word? What holds a space or a separator is not. What has
 * an @ has to be one address of letters, digits and . _ + - in front of @end.
 */
bool policy_ends_with(const char *text, size_t bytes, const struct str *end);

/*
 * To deny: may any part of @v be read as one that ends with one of @list, or as one of @list?
 * Case, dots at the end, what stands around a word (all but letters, digits, . - _) and %41 for a
 * letter do not matter there, nor how a number or a bool is written; dicts have keys and values.
 * What cannot be compared counts as denied: characters that others stand for, what is no plain
 * address, for ends_with what holds spaces or quotes, what is neither text nor number. None and
 * what is empty is not.
 */
bool policy_any_ends_with(struct val v, const struct tuple *list);
bool policy_any_member(struct val v, const struct tuple *list);

/* The same text, or the same number. */
bool policy_is_same(struct val a, struct val b);
