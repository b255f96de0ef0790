/* Conversion of tool names to identifiers of a programming language. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum identifier_language { IDENTIFIER_PYTHON, IDENTIFIER_JAVASCRIPT };

enum { IDENTIFIER_BYTES = 160 };

/*
 * Make an identifier. Each character that is not an ASCII letter, a digit or "_" becomes "_". A
 * name that begins with a digit gets "_" in front, a reserved word gets "_" at its end, and an
 * empty name becomes "_".
 * Limits:  the identifier is cut at IDENTIFIER_BYTES - 8.
 */
void identifier_make(
	enum identifier_language language, const char *name, char out[IDENTIFIER_BYTES]);

/* Convert a name from camel case to snake case: readFile to read_file. Returns: false if the name
 * has no upper-case letter. */
bool identifier_snake(const char *name, char out[IDENTIFIER_BYTES]);
