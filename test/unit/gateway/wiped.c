/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/gateway/wiped.h"

#include <malloc.h>
#include <string.h>

static const char *watched;
static size_t n_left, n_all;

void __real_free(void *p);
void __wrap_free(void *p);

void __wrap_free(void *p)
{
	if (p && watched) {
		n_all++;
		n_left += memmem(p, malloc_usable_size(p), watched, strlen(watched)) != NULL;
	}
	__real_free(p);
}

void wiped_begin(const char *text)
{
	watched = text;
	n_left = n_all = 0;
}

size_t wiped_end(size_t *n_freed)
{
	watched = NULL;
	*n_freed = n_all;
	return n_left;
}
