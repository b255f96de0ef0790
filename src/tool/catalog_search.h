/* Search for tools by words. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/catalog.h"

/* Return how well @tool matches the words of @query: the higher, the better; 0 if no word
 * matches. */
int catalog_rank(const struct catalog_tool *tool, const char *query);

/* Find the tools that match @query, at most @max, with the best match first. Returns: the number of
 * tools in @found. */
enum { CATALOG_FOUND_MAX = 100 };
size_t catalog_search(const struct catalog *r, const char *query,
	const struct catalog_tool *found[CATALOG_FOUND_MAX], size_t max);
