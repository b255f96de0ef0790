/*
 * Sets of tools. A set is an array that is sorted by name. So a tool is found by binary search, and
 * tools whose names have the same prefix ("mail.send", "mail.search") are neighbours.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "label/tool.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const struct tool *x = a, *y = b;
	return strcmp(x->name, y->name);
}

int tool_sort(struct tool *tool, size_t n)
{
	if (n > 0)
		qsort(tool, n, sizeof *tool, compare);
	for (size_t i = 1; i < n; i++)
		if (strcmp(tool[i - 1].name, tool[i].name) == 0)
			return -1;
	return 0;
}

/* Find the index of the first tool whose name is not less than @name, by binary search. */
static size_t lower(const struct tool_set *set, const char *name)
{
	size_t from = 0, to = set->n;
	while (from < to) {
		size_t mid = from + (to - from) / 2;
		if (strcmp(set->tool[mid].name, name) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

const struct tool *tool_find(const struct tool_set *set, const char *name)
{
	size_t at = lower(set, name);
	return at < set->n && strcmp(set->tool[at].name, name) == 0 ? &set->tool[at] : NULL;
}

bool tool_is_prefix(const struct tool_set *set, const char *prefix)
{
	char text[TOOL_NAME_MAX_BYTES + 2];
	size_t n = strlen(prefix);
	if (n > TOOL_NAME_MAX_BYTES)
		return false;
	memcpy(text, prefix, n);
	text[n] = '.';
	text[n + 1] = '\0';
	size_t at = lower(set, text);
	return at < set->n && strncmp(set->tool[at].name, text, n + 1) == 0;
}

int tool_param(const struct tool *tool, const char *name)
{
	for (uint32_t i = 0; i < tool->n_params; i++)
		if (strcmp(tool->param[i].name, name) == 0)
			return (int)i;
	return -1;
}
