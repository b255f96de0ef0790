/* Lines and server-sent events of a hostile server. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "net/sse.h"

#include <string.h>

enum { EVENT_MAX = 4096 };

static int put_event(void *arg, const struct sse_event *e)
{
	MUST(e->data_bytes <= EVENT_MAX && e->data[e->data_bytes] == '\0');
	MUST(e->name[0] && !strpbrk(e->name, "\r\n") && !strpbrk(e->id, "\r\n"));
	MUST(buf_addf(arg, "%s/%s/", e->name, e->id) == 0);
	MUST(buf_append(arg, e->data, e->data_bytes) == 0);
	return buf_append(arg, "", 1);
}

static int put_line(void *arg, const char *line, size_t bytes)
{
	MUST(!memchr(line, '\n', bytes));
	MUST(buf_append(arg, line, bytes) == 0);
	return buf_append(arg, "\n", 1);
}

/* All of it, @step bytes at a time. */
static void read_all(const char *data, size_t bytes, size_t step, struct buf *out)
{
	struct sse s;
	struct lines l = LINES_INIT(LINES_LF, EVENT_MAX);
	struct err err = {0};
	int r = 0;
	sse_init(&s, EVENT_MAX, put_event, out);
	for (size_t at = 0; at < bytes && r == 0; at += step)
		r = sse_feed(&s, data + at, step < bytes - at ? step : bytes - at, &err);
	MUST(r == 0 || err.code == ERR_LIMIT);
	sse_done(&s);
	r = 0;
	for (size_t at = 0; at < bytes && r == 0; at += step)
		r = lines_feed(
			&l, data + at, step < bytes - at ? step : bytes - at, put_line, out, &err);
	MUST(r == 0 || err.code == ERR_LIMIT);
	if (r == 0)
		MUST(lines_finish(&l, put_line, out) == 0);
	buf_done(&l.part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	cleanup_buf struct buf whole = BUF_INIT((bytes + 16) * 2100);
	cleanup_buf struct buf parts = BUF_INIT((bytes + 16) * 2100);
	read_all((const char *)data, bytes, bytes, &whole);
	read_all((const char *)data, bytes, 1, &parts);
	MUST(whole.bytes == parts.bytes);
	MUST(memcmp(buf_str(&whole), buf_str(&parts), whole.bytes) == 0);
	return 0;
}
