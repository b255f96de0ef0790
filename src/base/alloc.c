/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void xdie(const char *what)
{
	fprintf(stderr, "retort: no memory for %s\n", what);
	abort();
}

void *xcalloc(size_t n, size_t bytes)
{
	void *made = calloc(n, bytes);
	if (!made && n > 0 && bytes > 0)
		xdie("what the engine keeps");
	return made;
}

char *xstrdup(const char *text)
{
	char *made = strdup(text);
	if (!made)
		xdie("a name");
	return made;
}
