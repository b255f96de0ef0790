/* Search for tools by words. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/catalog.h"

/* Compute how well @tool matches the words of @query. Returns: 0 when no word matches. */
int catalog_rank(const struct catalog_tool *tool, const char *query);

/* Find the tools that match @query, at most @max, the best first. Returns: how many. */
enum { CATALOG_FOUND_MAX = 100 };
size_t catalog_search(const struct catalog *r, const char *query,
	const struct catalog_tool *found[CATALOG_FOUND_MAX], size_t max);
