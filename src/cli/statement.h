/* Finds the end of a statement that is typed line by line. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * MORE      the text cannot be all: a bracket, a string or a comment is open, or its end says so
 * BLOCK     it can be all, or go on: an indented block of Python
 * COMPLETE  it is all
 *
 * Rules, not parsers: where a language would need one, the text counts as complete and the runtime
 * says what is wrong.
 *   python      brackets, strings, a backslash at the end; after a line that opens a block, or a
 *               decorator, BLOCK; a cell of a notebook, as %%bash, BLOCK; a line of one, as !ls,
 *               goes on behind a backslash only
 *   javascript  brackets, strings, templates, comments
 *   sql         until a ; at the end, or a line that begins with a point
 *   shell       strings, a backslash, | && || at the end, if/fi, do/done, case/esac, { }
 */
enum statement_state { STATEMENT_COMPLETE, STATEMENT_MORE, STATEMENT_BLOCK };

enum statement_state statement_look(const char *runtime, const char *text);

/* Is @text a notebook cell, which an empty line ends? */
bool statement_is_cell(const char *runtime, const char *text);

/* May @line, which is not indented, continue a block of Python? "else:", "except …:" */
bool statement_goes_on(const char *line);

/* Does @text mean to leave? "exit()" in Python, "exit" in a shell, ".quit" in SQL. */
bool statement_leaves(const char *runtime, const char *text);

/* Does @text end within a string, where names of the language are not completed? They are behind $
 * and {, as in f"{name", `${name` and "$name"; and SQL quotes names. */
bool statement_is_in_string(const char *runtime, const char *text);
