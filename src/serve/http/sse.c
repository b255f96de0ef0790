/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/sse.h"

#include <string.h>
#include <strings.h>

int sse_put(struct buf *out, const char *name, const char *data, size_t bytes)
{
	size_t before = out->bytes;
	const char *end = data + bytes;
	int r = name ? buf_addf(out, "event: %s\n", name) : 0;
	for (const char *at = data; r == 0 && at;) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		r = buf_add(out, "data: ");
		if (r == 0)
			r = buf_append(out, at, (size_t)((line ? line : end) - at));
		if (r == 0)
			r = buf_add(out, "\n");
		at = line ? line + 1 : NULL;
	}
	if (r == 0)
		r = buf_add(out, "\n");
	if (r < 0)
		buf_cut(out, before);
	return r;
}

/* Return whether the parameters from @text to @end contain "q=0", which means that the type is
 * refused. */
static bool is_refused(const char *text, const char *end)
{
	for (const char *at = text; at < end; at++) {
		if (*at != ';')
			continue;
		at += 1 + strspn(at + 1, " \t");
		size_t left = at < end ? (size_t)(end - at) : 0;
		if (left >= 3 && strncasecmp(at, "q=0", 3) == 0)
			return left == 3 || strspn(at + 3, ".0") >= strcspn(at + 3, " \t;,");
		at--;
	}
	return false;
}

bool sse_is_accepted(const char *accept)
{
	size_t bytes = sizeof SSE_TYPE - 1;
	for (const char *at = accept; at && *at;) {
		at += strspn(at, " \t,");
		const char *end = at + strcspn(at, ",");
		if (strncasecmp(at, SSE_TYPE, bytes) == 0 && strchr(" \t;,", at[bytes]) &&
			!is_refused(at, end))
			return true;
		at = end;
	}
	return false;
}
