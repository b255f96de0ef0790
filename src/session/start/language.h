/* Finds the language of a step by a name or by a file.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* Return the names of all languages, for use in messages. */
const char *language_names(void);
/* Return the language that @word means, for example "shell" for "bash". Returns: NULL if @word
 * names no language. */
const char *language_by_word(const char *word);
/*
 * Find the language of the file @filename with the content @code, by its extension or its `#!`
 * line. *@out becomes NULL if neither tells the language. Errors: ERR_RUNTIME: retort does not run
 * this language, or the file is data.
 */
int language_of_file(
	const char *filename, const char *code, size_t bytes, const char **out, struct err *err);
