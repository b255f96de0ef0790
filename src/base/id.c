/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void id_random(void *out, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t n = getrandom((char *)out + at, bytes - at, 0);
		if (n < 0 && errno != EINTR) {
			perror("retort: getrandom");
			abort();
		}
		at += n > 0 ? (size_t)n : 0;
	}
}

void id_make(char *out, size_t bytes, const char *prefix)
{
	size_t at = strlen(prefix);
	memcpy(out, prefix, at);
	id_random(out + at, bytes - at);
	for (; at + 1 < bytes; at++)
		out[at] = ID_CHARACTERS[(unsigned char)out[at] % 32];
	out[at] = '\0';
}

bool id_is_like(const char *text, size_t bytes, const char *prefix, size_t min_random)
{
	size_t n = strlen(prefix);
	if (strncmp(text, prefix, n) != 0)
		return false;
	size_t random = strspn(text + n, ID_CHARACTERS);
	return text[n + random] == '\0' && random >= min_random && n + random < bytes;
}
