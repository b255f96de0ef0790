/* The languages of steps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* The names of all languages, for messages. */
const char *language_names(void);
/* The language that @word means ("bash": "shell"), or NULL. */
const char *language_by_word(const char *word);
/* The language of a step that is the file @filename, as order_check() finds it; *@out is NULL when
 * neither its ending nor its `#!` line says. Errors: ERR_RUNTIME: it is of another language, or
 * data.
 */
int language_of_file(
	const char *filename, const char *code, size_t bytes, const char **out, struct err *err);
