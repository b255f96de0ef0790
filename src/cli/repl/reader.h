/* Input of statements, which may have several lines. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "cli/repl/editor.h"

struct reader {
	struct editor *editor;
	char *ahead; /* a line that was read but belongs to the next statement. Owns: free() */
};

/*
 * Read all lines of a statement of @runtime into @text. The end of the input ends the statement.
 *
 * @prompt: shown before the first line.
 * Returns: as editor_read(), or -E2BIG if @text is full.
 */
int reader_statement(
	struct reader *reader, const char *runtime, const char *prompt, struct buf *text);
