/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/repl/reader.h"

#include "api/text/magic.h"
#include "api/text/statement.h"

#include <stdlib.h>
#include <string.h>

static int read_line(struct reader *reader, const char *prompt, char **line)
{
	if (reader->ahead) {
		*line = take_ptr(reader->ahead);
		return 1;
	}
	return editor_read(reader->editor, prompt, line);
}

/* Return whether the block in @text ends before @line. At a terminal, and in a notebook cell, a
 * blank line ends it. In input from a pipe, a line without indentation ends it. *@is_next: set
 * to whether @line is the beginning of the next statement. */
static bool is_over(struct reader *reader, const char *runtime, const struct buf *text,
	const char *line, bool *is_next)
{
	bool is_blank = line[strspn(line, " \t")] == '\0';
	enum statement_state before = statement_look(runtime, buf_str(text));
	*is_next = false;
	if (before != STATEMENT_BLOCK)
		return false;
	if (editor_is_terminal(reader->editor) || statement_is_cell(runtime, buf_str(text)))
		return is_blank;
	*is_next = !is_blank && line[0] != ' ' && line[0] != '\t' && line[0] != '#' &&
		strchr(buf_str(text), '\n') != NULL && buf_str(text)[0] != '@' &&
		!statement_goes_on(line);
	return *is_next;
}

/* Return whether a statement in the state @state is complete. @is_whole: the last input had
 * several lines, as pasted text has. A block then needs no blank line at its end. */
static bool is_all(enum statement_state state, bool is_whole)
{
	return state == STATEMENT_COMPLETE || (is_whole && state == STATEMENT_BLOCK);
}

int reader_statement(
	struct reader *reader, const char *runtime, const char *prompt, struct buf *text)
{
	size_t n_blank = 0;
	for (bool is_first = true;; is_first = false) {
		char *line = NULL;
		bool is_next;
		int r = read_line(reader, is_first ? prompt : "... ", &line);
		if (r <= 0)
			return r == 0 && text->bytes > 0 ? 1 : r;
		n_blank = line[strspn(line, " \t")] ? 0 : n_blank + 1;
		if (!is_first && is_over(reader, runtime, text, line, &is_next)) {
			if (is_next)
				reader->ahead = line;
			else
				free(line);
			return 1;
		}
		/* An input of several lines was pasted, or comes from the history. It may have
		 * blank lines inside, and a block needs no blank line at its end. */
		bool is_whole = strchr(line, '\n') != NULL;
		r = buf_addf(text, "%s%s", text->bytes > 0 ? "\n" : "", line);
		free(line);
		if (r < 0)
			return r;
		bool is_magic = is_first && magic_is(buf_str(text), runtime);
		bool is_given_up = n_blank >= 2 && editor_is_terminal(reader->editor);
		if (is_magic || is_given_up ||
			is_all(statement_look(runtime, buf_str(text)), is_whole))
			return 1;
	}
}
