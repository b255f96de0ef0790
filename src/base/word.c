/* SPDX-License-Identifier: Apache-2.0 */
#include "base/word.h"

#include "base/attr.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t word_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX_BYTES + 1];
	size_t n_a = strlen(a), n_b = strlen(b);
	if (n_a > WORD_MAX_BYTES || n_b > WORD_MAX_BYTES)
		return strcmp(a, b) == 0 ? 0 : MAX(n_a, n_b);
	size_t *before = rows[0], *last = rows[1], *now = rows[2];
	for (size_t j = 0; j <= n_b; j++)
		before[j] = last[j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		now[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			size_t d = last[j - 1] + (a[i - 1] != b[j - 1]);
			d = MIN(d, last[j] + 1);
			d = MIN(d, now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = MIN(d, before[j - 2] + 1);
			now[j] = d;
		}
		size_t *spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[n_b];
}

void word_near_try(struct word_near *near, const char *candidate)
{
	size_t bytes = strlen(near->word);
	bool is_beginning = bytes >= 2 && strncmp(near->word, candidate, bytes) == 0;
	size_t distance = word_distance(near->word, candidate), dash = strcspn(candidate, "-");
	char first[WORD_MAX_BYTES] = "";
	if (is_beginning)
		distance = MIN(distance, (size_t)1);
	/* Of a name of several words, only the first may have been meant. */
	if (bytes < sizeof first && candidate[dash])
		snprintf(first, sizeof first, "%.*s", (int)MIN(dash, sizeof first - 1), candidate);
	if (first[0])
		distance = MIN(distance, word_distance(near->word, first) + 1);
	size_t enough = bytes < 2 ? 0 : MAX((size_t)1, bytes / 3);
	if (distance > enough || (near->best && distance >= near->distance))
		return;
	near->best = candidate;
	near->distance = distance;
}

void word_near_hint(const struct word_near *near, const char *otherwise, char hint[ERR_HINT_BYTES])
{
	if (near->best)
		snprintf(hint, ERR_HINT_BYTES, "did you mean %s%s%s?",
			near->before ? near->before : "", near->best,
			near->after ? near->after : "");
	else
		snprintf(hint, ERR_HINT_BYTES, "%s", otherwise);
}

/* NOLINTNEXTLINE(readability-function-size): an error with its place */
int word_unknown_at(struct err *err, enum err_code code, const struct word_near *near,
	const char *otherwise, const char *file, int line, const char *fmt, ...)
{
	char hint[ERR_HINT_BYTES], msg[ERR_MSG_BYTES] = "";
	va_list ap;
	word_near_hint(near, otherwise, hint);
	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	return err_fail_at(err, code, 0, hint, file, line, "%s", msg);
}

bool word_is_in(const char *list, const char *word, size_t bytes)
{
	if (memchr(word, '|', bytes))
		return false;
	for (const char *at = list; bytes > 0 && (at = strchr(at, '|')) && at[1]; at++)
		if (strncasecmp(at + 1, word, bytes) == 0 && at[1 + bytes] == '|')
			return true;
	return false;
}
