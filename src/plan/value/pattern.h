/* Patterns of texts, in linear time. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/heap.h"

/*
 * Does the whole of @text match @pattern? The syntax has characters, ".", "[a-z_]", "[^…]", "\d"
 * "\w" "\s" escaped characters, "(…)", "|", "*", "+", "?", "{2,5}".
 *
 * Limits:  time is linear in text times pattern, paid as fuel.
 * Returns: 1, 0, or -1 with the failure set: malformed pattern.
 */
int pattern_matches(
	struct heap *h, const char *pattern, size_t pattern_bytes, const char *text, size_t bytes);
