/* Names of tools as names of a language. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum identifier_language { IDENTIFIER_PYTHON, IDENTIFIER_JAVASCRIPT };

enum { IDENTIFIER_BYTES = 160 };

/*
 * Whatever is no ASCII letter, digit or _ becomes _; one goes before a leading digit, one behind a
 * word of the language. An empty name is "_". Limits: cut at IDENTIFIER_BYTES - 8.
 */
void identifier_make(
	enum identifier_language language, const char *name, char out[IDENTIFIER_BYTES]);

/* readFile is read_file. Returns: false when that is no other name. */
bool identifier_snake(const char *name, char out[IDENTIFIER_BYTES]);
