/* Reads statements, which may have several lines. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "cli/repl/editor.h"

struct reader {
	struct editor *editor;
	/* A line that was read already, but begins the next statement; or NULL. Owns: free() */
	char *ahead;
};

/*
 * Read all lines of a statement in the language @runtime into @text. The end of the input ends the
 * statement too.
 *
 * @prompt: shown before the first line.
 * Returns: as editor_read(); -E2BIG if @text is full.
 */
int reader_statement(
	struct reader *reader, const char *runtime, const char *prompt, struct buf *text);
