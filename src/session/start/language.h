/* Names the languages of steps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* Return the names of all languages, for messages. */
const char *language_names(void);
/* Return the language that @word means ("bash": "shell"), or NULL. */
const char *language_by_word(const char *word);
/* Find the language of a step that is the file @filename, by the rules of order_check(). *@out is
 * NULL if neither the extension nor the `#!` line tells. Errors: ERR_RUNTIME: the file is in
 * another language, or is data. */
int language_of_file(
	const char *filename, const char *code, size_t bytes, const char **out, struct err *err);
