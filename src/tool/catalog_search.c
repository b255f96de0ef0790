/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/catalog_search.h"

#include <string.h>
#include <strings.h>

enum { QUERY_WORDS_MAX = 16 };

/* Return whether @text contains @word, which has @bytes, ignoring case. */
static bool has_word(const char *text, const char *word, size_t bytes)
{
	for (; *text; text++)
		if (strncasecmp(text, word, bytes) == 0)
			return true;
	return false;
}

/* A word counts most in the tool's name, less in the server's name, least in the description. */
int catalog_rank(const struct catalog_tool *tool, const char *query)
{
	static const char blanks[] = " \t\n.,_-/";
	int rank = 0, n_words = 0;
	for (query += strspn(query, blanks); *query && n_words < QUERY_WORDS_MAX;
		query += strspn(query, blanks)) {
		size_t n = strcspn(query, blanks);
		rank += has_word(tool->tool, query, n)			 ? 12
			: has_word(tool->server->config->name, query, n) ? 8
			: has_word(tool->text, query, n)		 ? 5
									 : 0;
		query += n;
		n_words++;
	}
	return rank;
}

size_t catalog_search(const struct catalog *r, const char *query,
	const struct catalog_tool *found[CATALOG_FOUND_MAX], size_t max)
{
	int rank[CATALOG_FOUND_MAX];
	size_t n, n_found = 0;
	const struct catalog_server *s = catalog_servers(r, &n);
	max = MIN(max, (size_t)CATALOG_FOUND_MAX);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n_tools; k++) {
			const struct catalog_tool *t = &s[i].tool[k];
			int of_this = catalog_rank(t, query);
			size_t at = n_found;
			while (at > 0 && rank[at - 1] < of_this)
				at--;
			if (of_this == 0 || at == max)
				continue;
			n_found = MIN(n_found + 1, max);
			memmove(&found[at + 1], &found[at],
				(n_found - at - 1) * sizeof(const struct catalog_tool *));
			memmove(&rank[at + 1], &rank[at], (n_found - at - 1) * sizeof rank[0]);
			found[at] = t;
			rank[at] = of_this;
		}
	return n_found;
}
