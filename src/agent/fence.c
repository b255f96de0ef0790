/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/fence.h"

#include "base/attr.h"

#include <string.h>
#include <strings.h>

enum { MARKS_MIN = 3, INDENT_MORE = 3 };

static const struct {
	const char *name, *runtime;
} languages[] = {
	{"python", "python"},
	{"py", "python"},
	{"python3", "python"},
	{"ipython", "python"},
	{"repl", "python"},
	{"tool_code", "python"},
	{"javascript", "javascript"},
	{"js", "javascript"},
	{"node", "javascript"},
	{"typescript", "javascript"},
	{"ts", "javascript"},
	{"sql", "sql"},
	{"sqlite", "sql"},
	{"bash", "shell"},
	{"sh", "shell"},
	{"shell", "shell"},
	{"zsh", "shell"},
};

static const struct {
	const char *opening, *closing, *runtime;
} tags[] = {
	{"<code>", "</code>", "python"},
	{"<execute>", "</execute>", "python"},
	{"<execute_python>", "</execute_python>", "python"},
	{"<execute_ipython>", "</execute_ipython>", "python"},
	{"<execute_bash>", "</execute_bash>", "shell"},
};

const char *fence_runtime(const char *name, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (strlen(languages[i].name) == bytes &&
			strncasecmp(name, languages[i].name, bytes) == 0)
			return languages[i].runtime;
	return NULL;
}

/* A line that begins with marks, taken apart. */
struct marks {
	char mark;
	size_t n, indent;
	const char *rest; /* what follows them */
	size_t rest_bytes;
};

static bool read_marks(const struct fence *f, struct marks *out)
{
	size_t bytes = MIN(f->line_bytes, FENCE_LINE_BYTES), at = 0, n = 0;
	while (at < bytes && (f->line[at] == ' ' || f->line[at] == '\t'))
		at++;
	char mark = at < bytes ? f->line[at] : '\0';
	if (mark != '`' && mark != '~')
		return false;
	while (at + n < bytes && f->line[at + n] == mark)
		n++;
	*out = (struct marks){.mark = mark,
		.n = n,
		.indent = at,
		.rest = f->line + at + n,
		.rest_bytes = bytes - at - n};
	return n >= MARKS_MIN;
}

static bool is_blank(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

/* The first word of what stands behind the marks: "python", "{.python}", "py title=x". */
static size_t find_word(const char **text, size_t bytes)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t n = 0;
	while (bytes > 0 && **text && strchr(" \t{.", **text))
		(*text)++, bytes--;
	while (n < bytes && (*text)[n] && strchr(letters, (*text)[n]))
		n++;
	return n;
}

static void open_block(struct fence *f, const struct marks *m)
{
	const char *word = m->rest;
	size_t n = find_word(&word, m->rest_bytes);
	f->mark = m->mark;
	f->n_marks = m->n;
	f->indent = m->indent;
	f->runtime = fence_runtime(word, n);
	f->begin = f->at;
	f->is_plain = n == 0 && !f->has_plain && is_blank(m->rest, m->rest_bytes);
	if (f->is_plain)
		f->plain_begin = f->at;
}

static void close_block(struct fence *f)
{
	f->mark = '\0';
	if (f->runtime) {
		f->end = f->line_at;
		f->is_closed = true;
	}
	if (f->is_plain) {
		f->plain_end = f->line_at;
		f->has_plain = true;
	}
	f->is_plain = false;
}

/* The line is over; `at` is behind its end. */
static void end_line(struct fence *f)
{
	struct marks m;
	bool is_short = f->line_bytes < FENCE_LINE_BYTES;
	bool has_marks = read_marks(f, &m);
	if (!f->mark) {
		/* An info string with "`" in it is code in a line. */
		if (has_marks && !(m.mark == '`' && memchr(m.rest, '`', m.rest_bytes)))
			open_block(f, &m);
	} else if (has_marks && is_short && m.mark == f->mark && m.n >= f->n_marks &&
		m.indent <= f->indent + INDENT_MORE && is_blank(m.rest, m.rest_bytes)) {
		close_block(f);
	}
	f->line_bytes = 0;
	f->line_at = f->at;
}

/* A ">" came: is the line an opening tag? */
static void look_for_tag(struct fence *f)
{
	size_t bytes = MIN(f->line_bytes, FENCE_LINE_BYTES), at = 0;
	while (at < bytes && (f->line[at] == ' ' || f->line[at] == '\t'))
		at++;
	for (size_t i = 0; i < ARRAY_LEN(tags) && !f->mark; i++)
		if (f->line_bytes == bytes && strlen(tags[i].opening) == bytes - at &&
			memcmp(f->line + at, tags[i].opening, bytes - at) == 0) {
			f->closing = tags[i].closing;
			f->n_matched = 0;
			f->runtime = tags[i].runtime;
			f->begin = f->at;
		}
}

/* In a tag: look for its end. "<" stands only at the beginning of one. */
static void match_closing(struct fence *f, char c)
{
	f->n_matched = c == f->closing[f->n_matched] ? f->n_matched + 1 : c == '<';
	if (f->closing[f->n_matched])
		return;
	f->end = f->at - f->n_matched;
	f->is_closed = true;
}

ssize_t fence_feed(struct fence *f, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes && !f->is_closed; i++) {
		f->at++;
		if (f->closing) {
			match_closing(f, text[i]);
		} else if (text[i] == '\n') {
			end_line(f);
		} else {
			if (f->line_bytes < FENCE_LINE_BYTES)
				f->line[f->line_bytes] = text[i];
			f->line_bytes++;
			if (text[i] == '>')
				look_for_tag(f);
		}
		if (f->is_closed)
			return (ssize_t)i + 1;
	}
	return f->is_closed ? 0 : -1;
}
