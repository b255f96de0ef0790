/* Conversion of tool names to identifiers of a programming language. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum identifier_language { IDENTIFIER_PYTHON, IDENTIFIER_JAVASCRIPT };

enum { IDENTIFIER_BYTES = 160 };

/*
 * Make an identifier: "_" replaces each character that is not an ASCII letter, a digit or "_",
 * precedes a leading digit, and follows a reserved word. An empty name becomes "_".
 * Limits: cut at IDENTIFIER_BYTES - 8.
 */
void identifier_make(
	enum identifier_language language, const char *name, char out[IDENTIFIER_BYTES]);

/* Convert readFile to read_file. Returns: false when the name has no upper-case letter. */
bool identifier_snake(const char *name, char out[IDENTIFIER_BYTES]);
