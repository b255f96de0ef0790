/* Statements, of as many lines as they have. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "cli/editor.h"

struct reader {
	struct editor *editor;
	char *ahead; /* a line that was read and begins the next statement. Owns: free() */
};

/*
 * Read a statement of @runtime into @text, all its lines. What is there at the end is one.
 *
 * @prompt: before its first line.
 * Returns: as editor_read(), or -E2BIG when @text takes no more.
 */
int reader_statement(
	struct reader *reader, const char *runtime, const char *prompt, struct buf *text);
