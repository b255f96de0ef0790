/* The code in what a model has written. SPDX-License-Identifier: Apache-2.0 */
#include "serve/front/completion.h"

#include "api/call/program.h"
#include "base/ascii.h"

#include <stdbool.h>
#include <string.h>

#define FENCE "```"
enum { FENCE_BYTES = 3, WORD_BYTES = 32 };

/* Does the line of @bytes at @line name @language? */
static bool is_named(const char *line, size_t bytes, const char *language)
{
	char word[WORD_BYTES];
	while (bytes > 0 && ascii_is_space((unsigned char)*line)) {
		line++;
		bytes--;
	}
	while (bytes > 0 && ascii_is_space((unsigned char)line[bytes - 1]))
		bytes--;
	if (bytes == 0 || bytes >= sizeof word || memchr(line, '\0', bytes))
		return false;
	memcpy(word, line, bytes);
	word[bytes] = '\0';
	const char *found = program_language(word, NULL),
		   *wanted = program_language(language, NULL);
	return found && wanted && strcmp(found, wanted) == 0;
}

static const char *find(const char *at, const char *end, const char *what)
{
	return memmem(at, (size_t)(end - at), what, strlen(what));
}

/* Find the end of the code that begins at @code: the newline before a line with a fence. Only white
 * space is between the two. @after: behind the fence. Returns: NULL if there is no such line. */
static const char *find_end(const char *code, const char *end, const char **after)
{
	for (const char *at = code; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
		const char *fence = at;
		while (fence < end && ascii_is_space((unsigned char)*fence))
			fence++;
		if ((size_t)(end - fence) < FENCE_BYTES || memcmp(fence, FENCE, FENCE_BYTES) != 0) {
			at = fence - 1; /* the newlines between have the same behind them */
			continue;
		}
		*after = fence + FENCE_BYTES;
		return at;
	}
	return NULL;
}

const char *completion_code(const char *text, size_t bytes, const char *language, size_t *n)
{
	const char *end = text + bytes, *first = NULL, *last = NULL, *code, *after;
	for (const char *at = text; (at = find(at, end, FENCE)); at = after) {
		const char *line = at + FENCE_BYTES;
		code = memchr(line, '\n', (size_t)(end - line));
		if (!code)
			break;
		const char *stop = find_end(++code, end, &after);
		if (!first) {
			first = code;
			last = stop ? stop : end;
		}
		if (!stop)
			break;
		if (is_named(line, (size_t)(code - 1 - line), language)) {
			*n = (size_t)(stop - code);
			return code;
		}
	}
	*n = first ? (size_t)(last - first) : bytes;
	return first ? first : text;
}
