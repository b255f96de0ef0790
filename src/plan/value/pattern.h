/* Patterns of texts, in linear time. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/heap.h"

/*
 * Is the whole of @text of the form of @pattern? Known are characters, ".", "[a-z_]", "[^…]", "\d"
 * "\w" "\s" and what is escaped, "(…)", "|", "*", "+", "?", "{2,5}".
 *
 * Limits:  the time is that of the text times the pattern, paid as fuel.
 * Returns: 1, 0, or -1 with the failure set: no such pattern.
 */
int pattern_matches(
	struct heap *h, const char *pattern, size_t pattern_bytes, const char *text, size_t bytes);
