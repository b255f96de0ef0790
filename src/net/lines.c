/* SPDX-License-Identifier: Apache-2.0 */
#include "net/lines.h"

#include "base/num.h"

#include <errno.h>
#include <string.h>

/* Find the end of the line that begins at @data. Returns: its offset; @bytes if the line goes
 * on. */
static size_t find_end(const struct lines *l, const char *data, size_t bytes)
{
	const char *lf = memchr(data, '\n', bytes);
	size_t n = lf ? (size_t)(lf - data) : bytes;
	const char *cr = l->end == LINES_CR ? memchr(data, '\r', n) : NULL;
	return cr ? (size_t)(cr - data) : n;
}

static int keep(struct lines *l, const char *data, size_t bytes, struct err *err)
{
	int r = buf_append(&l->part, data, bytes);
	if (r == -E2BIG)
		return err_set(err, ERR_LIMIT, "a line of the stream is over %s",
			num_format_bytes(l->part.max_bytes).text);
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "no memory for a line of the stream") : 0;
}

static int give(struct lines *l, lines_fn *line, void *arg)
{
	size_t bytes = l->part.bytes;
	if (l->end == LINES_LF && bytes > 0 && l->part.data[bytes - 1] == '\r')
		bytes--;
	int r = line(arg, buf_str(&l->part), bytes);
	buf_clear(&l->part);
	return r;
}

int lines_feed(
	struct lines *l, const char *data, size_t bytes, lines_fn *line, void *arg, struct err *err)
{
	while (bytes > 0) {
		/* If "\r\n" was split between two pieces, skip the "\n" in the second one. */
		if (l->was_cr && *data == '\n') {
			l->was_cr = false;
			data++, bytes--;
			continue;
		}
		l->was_cr = false;
		size_t n = find_end(l, data, bytes);
		int r = keep(l, data, n, err);
		if (r < 0)
			return r;
		if (n == bytes)
			return 0;
		l->was_cr = data[n] == '\r';
		data += n + 1;
		bytes -= n + 1;
		r = give(l, line, arg);
		if (r != 0)
			return r;
	}
	return 0;
}

int lines_finish(struct lines *l, lines_fn *line, void *arg)
{
	return l->part.bytes > 0 ? give(l, line, arg) : 0;
}
