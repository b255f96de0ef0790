/* What endorses values: labels say who saw to it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin.h"

/* matches(value, pattern), member(value, list): ended by a row without a name. */
extern const struct native endorse_functions[];

/* A copy of @v that cannot be changed, whose labels all have the endorsement. Returns: 0 or -1. */
int endorse(struct vm *vm, struct val v, const char *word, struct val *out);

/*
 * Is the whole of @text of the form of @pattern? Known are characters, ".", "[a-z_]", "[^…]", "\d"
 * "\w"
 * "\s" and what is escaped, "(…)", "|", "*", "+", "?", "{2,5}".
 *
 * Limits:  the time is that of the text times the pattern, paid as fuel.
 * Returns: 1, 0, or -1 with the failure set: no such pattern.
 */
int pattern_matches(
	struct heap *h, const char *pattern, size_t pattern_bytes, const char *text, size_t bytes);
