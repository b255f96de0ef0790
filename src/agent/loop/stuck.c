/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/stuck.h"

#include "base/ascii.h"

#include <stdbool.h>
#include <string.h>

/* FNV-1a is good enough: a model that found a collision would only harm itself. */
static uint64_t add(uint64_t hash, char c)
{
	return (hash ^ (unsigned char)c) * UINT64_C(1099511628211);
}

/* Extend @hash by the code without its white space and comments. A comment begins with "#", or
 * with "//" behind white space. There are no comments within quotes. */
static uint64_t hash_code(uint64_t hash, const char *code, size_t bytes)
{
	char quote = 0;
	for (size_t i = 0; i < bytes; i++) {
		char c = code[i];
		bool is_comment = !quote &&
			(c == '#' ||
				(c == '/' && i + 1 < bytes && code[i + 1] == '/' && i > 0 &&
					ascii_is_space(code[i - 1])));
		if (is_comment) {
			while (i < bytes && code[i] != '\n')
				i++;
			continue;
		}
		if (c == '\n' || (quote && c == quote))
			quote = 0;
		else if (!quote && (c == '"' || c == '\''))
			quote = c;
		if (!ascii_is_space(c))
			hash = add(hash, c);
	}
	return hash;
}

unsigned stuck_note(struct stuck *s, const char *code, size_t bytes, const char *end)
{
	uint64_t hash = hash_code(UINT64_C(14695981039346656037), code, bytes);
	hash = add(hash, '\0');
	for (; *end; end++)
		hash = add(hash, *end);
	for (size_t i = 0; i < s->n; i++)
		if (s->seen[i].hash == hash)
			return ++s->seen[i].n;
	s->seen[s->next].hash = hash;
	s->seen[s->next].n = 1;
	s->next = (s->next + 1) % STUCK_SEEN_MAX;
	s->n += s->n < STUCK_SEEN_MAX;
	return 1;
}
