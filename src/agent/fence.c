/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/fence.h"

#include <string.h>

enum { MARKS_MIN = 3, INDENT_MAX = 3 };

/* How many marks the line begins with; *@rest is what follows them. */
static size_t count_marks(const struct fence *f, char *mark, const char **rest, size_t *left)
{
	size_t bytes = f->line_bytes < FENCE_LINE_BYTES ? f->line_bytes : FENCE_LINE_BYTES;
	size_t at = 0, n = 0;
	*rest = f->line;
	*left = 0;
	while (at < bytes && at < INDENT_MAX && f->line[at] == ' ')
		at++;
	*mark = at < bytes ? f->line[at] : '\0';
	if (*mark != '`' && *mark != '~')
		return 0;
	while (at + n < bytes && f->line[at + n] == *mark)
		n++;
	*rest = f->line + at + n;
	*left = bytes - at - n;
	return n >= MARKS_MIN ? n : 0;
}

static bool is_blank(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!strchr(" \t\r", text[i]) || text[i] == '\0')
			return false;
	return true;
}

/* Does the line close the block? */
static bool is_closing(const struct fence *f)
{
	char mark;
	const char *rest;
	size_t left, n = count_marks(f, &mark, &rest, &left);
	return f->mark && n >= f->n_marks && mark == f->mark && f->line_bytes < FENCE_LINE_BYTES &&
		is_blank(rest, left);
}

static void end_line(struct fence *f)
{
	char mark;
	const char *rest;
	size_t left, n = count_marks(f, &mark, &rest, &left);
	/* An info string with "`" in it is code in a line. */
	if (!f->mark && n > 0 && !(mark == '`' && memchr(rest, '`', left))) {
		f->mark = mark;
		f->n_marks = n;
	}
	f->line_bytes = 0;
}

ssize_t fence_feed(struct fence *f, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes && !f->is_closed; i++) {
		if (text[i] == '\n') {
			f->is_closed = is_closing(f);
			if (f->is_closed)
				return (ssize_t)i + 1;
			end_line(f);
			continue;
		}
		if (f->line_bytes < FENCE_LINE_BYTES)
			f->line[f->line_bytes] = text[i];
		f->line_bytes++;
	}
	return f->is_closed ? 0 : -1;
}
