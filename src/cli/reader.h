/* Reads statements, which may have several lines. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "cli/editor.h"

struct reader {
	struct editor *editor;
	char *ahead; /* a line that was read and belongs to the next statement. Owns: free() */
};

/*
 * Read all lines of a statement of @runtime into @text. At the end of the input, the rest is a
 * statement.
 *
 * @prompt: before its first line.
 * Returns: as editor_read(), or -E2BIG when @text takes no more.
 */
int reader_statement(
	struct reader *reader, const char *runtime, const char *prompt, struct buf *text);
