/* Match texts with regular expressions in linear time. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/heap.h"

/*
 * Return whether @pattern matches the whole of @text. A pattern consists of characters, ".",
 * "[a-z_]", "[^…]", "\d", "\w", "\s", escaped characters, "(…)", "|", "*", "+", "?" and "{2,5}".
 * Limits: the time is proportional to the length of the text times that of the pattern, and is paid
 * as fuel.
 * Returns: 1 or 0; -1 with the failure set, for example for a malformed pattern.
 */
int pattern_matches(
	struct heap *h, const char *pattern, size_t pattern_bytes, const char *text, size_t bytes);
