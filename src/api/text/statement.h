/* Decides whether a statement that is typed line by line is complete. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * MORE: the text is not complete. A bracket, string or comment is open, or the text ends with
 * something that must be continued, such as "&&".
 * BLOCK: the text may be complete, but may also be continued: an indented block of Python.
 * COMPLETE: the text is complete.
 *
 * The states follow from simple rules, not from parsers. Where a parser would be necessary, the
 * text is treated as complete, and the runtime reports the error. What the rules look at:
 *
 * Python: brackets, strings, and a backslash at the end. Three things are BLOCK: a line that opens
 * a block, a decorator, and a notebook cell (%%bash). A notebook line (!ls) is MORE only after a
 * backslash.
 *
 * JavaScript: brackets, strings, templates, comments.
 *
 * SQL: the text is complete with ";" at its end, or if it begins with ".".
 *
 * Shell: strings, here-documents, a backslash at the end, a "|" or "&&" at the end, if/fi, do/done,
 * case/esac, { }.
 */
enum statement_state { STATEMENT_COMPLETE, STATEMENT_MORE, STATEMENT_BLOCK };

enum statement_state statement_look(const char *runtime, const char *text);

/* Return whether @text is a notebook cell of Python: "%%bash" or the like, and the lines after
 * it. A cell continues until an empty line. */
bool statement_is_cell(const char *runtime, const char *text);

/* Return whether @line, which is not indented, continues a block of Python, such as "else:" or
 * "except …:". */
bool statement_goes_on(const char *line);

/* Return whether @text is a request to leave the REPL: "exit()" in Python, "exit" in a shell,
 * ".quit" in SQL. */
bool statement_leaves(const char *runtime, const char *text);

/*
 * Return whether @text ends within a string, where names of the language are not completed.
 * The result is false after "$" or "{" in a string, because a name may follow, as in f"{name",
 * `${name` and "$name". It is also false after '"' in SQL, because these quotation marks are used
 * around names.
 */
bool statement_is_in_string(const char *runtime, const char *text);
