/* Match texts with patterns in linear time. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/heap.h"

/*
 * Does the whole of @text match @pattern? The syntax has characters, ".", "[a-z_]", "[^…]", "\d"
 * "\w" "\s" escaped characters, "(…)", "|", "*", "+", "?", "{2,5}".
 *
 * Limits:  the time is proportional to the length of the text times that of the pattern, and is
 * paid as fuel. Returns: 1 or 0; -1 with the failure set, such as for a malformed pattern.
 */
int pattern_matches(
	struct heap *h, const char *pattern, size_t pattern_bytes, const char *text, size_t bytes);
