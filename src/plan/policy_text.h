/* Texts against the lists of ends_with() and member(): to allow, a text has to be just that; to
 * deny, it is enough that whoever gets it may read it so. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value.h"

/*
 * Does @text end with @end, and is it one word? What holds a space, a separator or what mail
 * programs read as more than one address is not; neither is what is no ASCII, in an address.
 */
bool policy_ends_with(const char *text, size_t bytes, const struct str *end);

/*
 * To deny: may any part of @v be read as one that ends with one of @list, or as one of @list?
 * Case, spaces around, dots at the end, quotes and separators do not matter there; dicts have keys
 * and values. What cannot be compared counts as denied: characters that others stand for,
 * addresses that mail programs may read as others, for ends_with what is not one word, what is
 * neither text nor number. None and what is empty is not.
 */
bool policy_any_ends_with(struct val v, const struct tuple *list);
bool policy_any_member(struct val v, const struct tuple *list);

/* The same text, or the same number. */
bool policy_is_same(struct val a, struct val b);
