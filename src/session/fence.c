/*
 * Finds the Markdown fence around the code of a step. Models often write code as Markdown:
 *
 *   ```sql
 *   SELECT 1;
 *   ```
 *
 * A line that begins with three or more backquotes or tildes is called a mark. The first and the
 * last line of the code decide whether there is a fence. Marks on other lines do not, since they
 * may belong to a string in the code.
 *
 * The lines within the fence are checked for marks, too:
 *
 * - A mark without a language would close the fence before its last line. The lines after this mark
 *   would be prose that runs as code, so the step is refused.
 * - A mark with a language, such as ```json, opens an inner fence. The inner fence belongs to a
 *   string in the code. The next mark without a language closes only the inner fence.
 *
 * For Python nothing is done here: its driver finds more forms of fences, see notebook.py.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/fence.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MARK_MIN = 3, WORD_BYTES = 24 };

static const char spaces[] = " \t\r\f\v";

struct line {
	/* Offsets in the code: start and end of the line, start of the next line. */
	size_t at, end, next;
};

/* A line that opens or closes a fence: three or more backquotes or tildes, and possibly the name
 * of a language. */
struct mark {
	char of;
	size_t n;
	char word[WORD_BYTES]; /* name of the language, or "" */
	bool is_bare;
};

static struct line line_at(const char *code, size_t bytes, size_t at)
{
	const char *end = memchr(code + at, '\n', bytes - at);
	size_t n = end ? (size_t)(end - code) : bytes;
	return (struct line){at, n, end ? n + 1 : bytes};
}

static size_t skip(const char *code, size_t at, size_t end, const char *set)
{
	while (at < end && code[at] && strchr(set, code[at]))
		at++;
	return at;
}

static bool read_mark(const char *code, const struct line *line, struct mark *out)
{
	size_t at = skip(code, line->at, line->end, spaces), from = at;
	*out = (struct mark){.of = at < line->end ? code[at] : '\0'};
	if (out->of != '`' && out->of != '~')
		return false;
	at = skip(code, at, line->end, out->of == '`' ? "`" : "~");
	out->n = at - from;
	/* A mark such as ```x``` that also ends on this line is inline code and no fence. */
	if (out->n < MARK_MIN || memchr(code + at, '`', line->end - at))
		return false;
	at = skip(code, at, line->end, " \t\r\f\v{.");
	out->is_bare = at == line->end;
	for (size_t i = 0;
		at < line->end && i + 1 < sizeof out->word && !strchr(" \t\r},:", code[at]);)
		out->word[i++] = code[at++];
	return true;
}

static bool closes(const struct mark *mark, const struct mark *open)
{
	return mark->is_bare && mark->of == open->of && mark->n >= open->n;
}

/*
 * Check the marks in the lines within a fence. A mark is a line that begins with three or more
 * backquotes or tildes. @open is the mark that begins the fence. The lines within the fence are the
 * bytes of @code from offset @from up to offset @to.
 *
 * - A mark that is shorter than @open, or that consists of the other character, is skipped.
 * - A mark with a language, such as ```json, opens an inner fence. The inner fence belongs to a
 *   string in the code.
 * - A mark without a language closes the innermost fence that is open.
 *
 * Returns: true if a mark closes the fence of @open itself, since that is too early. Also true if
 * an inner fence is still open at @to.
 */
static bool is_closed_between(const char *code, size_t from, size_t to, const struct mark *open)
{
	size_t depth = 0;
	struct line line;
	struct mark mark;
	for (size_t at = from; at < to; at = line.next) {
		line = line_at(code, to, at);
		if (!read_mark(code, &line, &mark) || mark.of != open->of || mark.n < open->n)
			continue;
		if (mark.is_bare && depth == 0)
			return true;
		depth = mark.is_bare ? depth - 1 : depth + 1;
	}
	return depth > 0;
}

static int refuse(struct err *err, const char *what)
{
	return err_fail(err, ERR_USAGE,
		"send the code alone, without a fence, or one fence around all of it", "%s", what);
}

int fence_find(const struct step_order *order, const struct runtime *runtime, struct fence *out,
	struct err *err)
{
	const char *code = order->code;
	size_t bytes = order->code_bytes, first = 0, end = bytes;
	struct mark open, close;
	*out = (struct fence){0, bytes};
	if (runtime == &runtime_python || (order->filename && order->filename[0] != '<'))
		return 0;
	first = skip(code, 0, bytes, " \t\r\f\v\n");
	while (end > first && strchr(" \t\r\f\v\n", code[end - 1]) && code[end - 1])
		end--;
	if (first == end)
		return 0;
	size_t last = end;
	while (last > first && code[last - 1] != '\n')
		last--;
	struct line head = line_at(code, end, first), tail = line_at(code, end, last);
	bool has_tail = read_mark(code, &tail, &close) && close.is_bare;
	if (!read_mark(code, &head, &open))
		return has_tail ? refuse(err, "there is text in front of the fence") : 0;
	if (last <= first || !closes(&close, &open) || !has_tail) {
		/* The first line may be JavaScript, which has an operator ~: ~~~x is an
		 * expression. */
		if (open.of == '~')
			return 0;
		return refuse(err,
			memmem(code + head.end, end - head.end, "\n```", 4)
				? "there is text behind the fence"
				: "the fence is not closed");
	}
	const struct runtime *said = open.word[0] ? runtime_by_name(open.word) : NULL;
	if (said && said != runtime) {
		(void)err_set(err, ERR_USAGE, "the fence says %s, and this step runs %s", open.word,
			runtime->name);
		return err_hint(err, "give it the runtime \"%s\"", said->name);
	}
	if (is_closed_between(code, head.next, last, &open))
		return refuse(err, "there are several fences, or text beside one");
	*out = (struct fence){head.next, last};
	return 0;
}

json_t *fence_taken_off(const struct step_order *order, const struct fence *fence)
{
	char *text = malloc(fence->to + 1);
	if (!text)
		return NULL;
	memcpy(text, order->code, fence->to);
	for (size_t i = 0; i < fence->from; i++)
		if (text[i] != '\n')
			text[i] = ' ';
	json_t *json = json_stringn(text, fence->to);
	free(text);
	return json;
}
