/* Lines and server-sent events, whole and in pieces. SPDX-License-Identifier: Apache-2.0 */
#include "net/sse.h"

#include "t.h"

#include <errno.h>
#include <string.h>

static int put_line(void *arg, const char *line, size_t bytes)
{
	struct buf *out = arg;
	return buf_append(out, line, bytes) < 0 || buf_add(out, "|") < 0 ? -1 : 0;
}

/* The lines of @text, each followed by "|", the stream coming @step bytes at a time. */
static void split(enum lines_end end, const char *text, size_t step, struct buf *out)
{
	struct lines l = LINES_INIT(end, 1000);
	struct err err = {0};
	buf_clear(out);
	for (size_t at = 0, bytes = strlen(text); at < bytes; at += step)
		CHECK_INT(lines_feed(&l, text + at, MIN(step, bytes - at), put_line, out, &err), 0);
	CHECK_INT(lines_finish(&l, put_line, out), 0);
	buf_done(&l.part);
}

TEST(lines_end_as_they_may)
{
	static const struct {
		enum lines_end end;
		const char *text, *want;
	} rows[] = {
		{LINES_LF, "a\nb\r\n\nc", "a|b||c|"},
		{LINES_LF, "a\rb\n", "a\rb|"},
		{LINES_CR, "a\rb\r\nc\n\rd\n", "a|b|c||d|"},
		{LINES_CR, "a\r\r\n\r\n", "a|||"},
		{LINES_LF, "", ""},
	};
	cleanup_buf struct buf out = BUF_INIT(1000);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t step = 1; step < 9; step++) {
			split(rows[i].end, rows[i].text, step, &out);
			CHECK_STR(buf_str(&out), rows[i].want);
		}
}

TEST(a_line_has_a_maximum)
{
	struct lines l = LINES_INIT(LINES_LF, 4);
	cleanup_buf struct buf out = BUF_INIT(1000);
	struct err err = {0};
	CHECK_INT(lines_feed(&l, "1234\n", 5, put_line, &out, &err), 0);
	CHECK_INT(lines_feed(&l, "12345", 5, put_line, &out, &err), -E2BIG);
	CHECK_INT(err.code, ERR_LIMIT);
	buf_done(&l.part);
}

static int put_event(void *arg, const struct sse_event *e)
{
	CHECK_INT(strlen(e->data), e->data_bytes);
	return buf_addf(arg, "<%s %s %s>", e->name, e->data, e->id);
}

static void read_events(const char *text, size_t step, struct buf *out, bool *is_inside)
{
	struct sse s;
	struct err err = {0};
	buf_clear(out);
	sse_init(&s, 1000, put_event, out);
	for (size_t at = 0, bytes = strlen(text); at < bytes; at += step)
		CHECK_INT(sse_feed(&s, text + at, MIN(step, bytes - at), &err), 0);
	*is_inside = sse_is_inside(&s);
	sse_done(&s);
}

TEST(events_are_what_the_standard_says)
{
	static const struct {
		const char *text, *want;
		bool is_inside;
	} rows[] = {
		{"data: a\n\n", "<message a >", false},
		{"data:a\r\n\r\ndata:  b\r\r", "<message a ><message  b >", false},
		{"event: x\ndata: 1\ndata: 2\nid: 7\n\ndata: 3\n\n", "<x 1\n2 7><message 3 7>",
			false},
		{": a comment\n\n:\ndata\n\n", "<message  >", false},
		{"event: ping\n\ndata: a\n\n", "<message a >", false},
		{"\xef\xbb\xbf"
		 "data: a\n\n",
			"<message a >", false},
		{"data: a\n\ndata: b\n", "<message a >", true},
		{"data: a\n\ndata: b", "<message a >", true},
		{"data: \xe2\x82\xac\n\n", "<message \xe2\x82\xac >", false},
		{"unknown: 1\nretry: 20\nretry: x\nData: no\n\n", "", false},
		{"", "", false},
	};
	cleanup_buf struct buf out = BUF_INIT(1000);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t step = 1; step < 12; step++) {
			bool is_inside;
			read_events(rows[i].text, step, &out, &is_inside);
			CHECK_STR(buf_str(&out), rows[i].want);
			CHECK_INT(is_inside, rows[i].is_inside);
		}
}

TEST(retry_is_kept)
{
	struct sse s;
	struct err err = {0};
	sse_init(&s, 100, put_event, NULL);
	CHECK_INT(s.retry_ms, -1);
	CHECK_INT(sse_feed(&s, "retry: 1500\nretry: 12345678901\nretry:\n", 39, &err), 0);
	CHECK_INT(s.retry_ms, 1500);
	sse_done(&s);
}

TEST(an_event_has_a_maximum)
{
	struct sse s;
	struct err err = {0};
	cleanup_buf struct buf out = BUF_INIT(1000);
	sse_init(&s, 20, put_event, &out);
	CHECK_INT(sse_feed(&s, "data: 0123456789\ndata: 012345678\n\n", 34, &err), 0);
	CHECK_INT(sse_feed(&s, "data: 0123456789\ndata: 0123456789\n\n", 35, &err), -E2BIG);
	CHECK_INT(err.code, ERR_LIMIT);
	sse_done(&s);
}

static int stop(void *arg, const struct sse_event *e)
{
	(void)e;
	++*(int *)arg;
	return 7;
}

TEST(a_callback_can_stop)
{
	struct sse s;
	struct err err = {0};
	int n = 0;
	sse_init(&s, 100, stop, &n);
	CHECK_INT(sse_feed(&s, "data: 1\n\ndata: 2\n\n", 18, &err), 7);
	CHECK_INT(n, 1);
	sse_done(&s);
}
