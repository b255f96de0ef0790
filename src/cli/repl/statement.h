/* Detection of the end of a statement that is typed line by line. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * MORE the text is incomplete: a bracket, a string or a comment is open, or its end requires more
 * BLOCK the text may be complete, or may continue: an indented block of Python
 * COMPLETE the text is complete
 *
 * The states follow from rules, not from parsers: where a parser would be necessary, the text is
 * treated as complete, and the runtime reports the error. python      brackets, strings, a
 * backslash at the end; after a line that opens a block, or a decorator, BLOCK; a cell of a
 * notebook, as %%bash, BLOCK; a line of one, as !ls, continues only after a backslash javascript
 * brackets, strings, templates, comments sql         until a ; at the end, or a line that begins
 * with a point shell       strings, a backslash, | && || at the end, if/fi, do/done, case/esac, { }
 */
enum statement_state { STATEMENT_COMPLETE, STATEMENT_MORE, STATEMENT_BLOCK };

enum statement_state statement_look(const char *runtime, const char *text);

/* Is @text a notebook cell, which an empty line ends? */
bool statement_is_cell(const char *runtime, const char *text);

/* Can @line, which is not indented, continue a block of Python: "else:", "except …:"? */
bool statement_goes_on(const char *line);

/* Does @text ask to leave the REPL: "exit()" in Python, "exit" in a shell, ".quit" in SQL? */
bool statement_leaves(const char *runtime, const char *text);

/* Does @text end within a string, in which names of the language are not completed? Names behind $
 * and { are completed, as in f"{name", `${name` and "$name"; and SQL quotes names. */
bool statement_is_in_string(const char *runtime, const char *text);
