/* Frames: every boundary, arriving in every way bytes can arrive. SPDX-License-Identifier:
 * Apache-2.0 */
#include "runtime/frame.h"

#include "t.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct buf bytes_of(const char *data, size_t bytes)
{
	struct buf b = BUF_INIT(FRAME_MAX_BYTES + 64);
	CHECK_INT(buf_append(&b, data, bytes), 0);
	return b;
}

TEST(heads)
{
	static const struct {
		const char *data;
		size_t bytes;
		ssize_t want;
	} rows[] = {
		{"", 0, 0},
		{"\0", 1, 0},
		{"\0\0\0", 3, 0},
		{"\0\0\0\0", 4, -EPROTO},
		{"\0\0\0\1", 4, 0},
		{"\0\0\0\1\x15", 5, 5},
		{"\0\0\0\1\x15\0", 6, 5},
		{"\0\0\0\2\x15", 5, 0},
		{"\0\0\0\2\x15x", 6, 6},
		{"\2\0\0\0", 4, 0},	  /* the limit, not here yet */
		{"\2\0\0\1", 4, -EPROTO}, /* one over: refused before it arrives */
		{"\xff\xff\xff\xff", 4, -EPROTO},
		{"HTTP/1.1", 8, -EPROTO},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_buf struct buf in = bytes_of(rows[i].data, rows[i].bytes);
		struct frame frame = {.type = 99};
		struct err err = {0};
		CHECK_INT(frame_parse(&in, &frame, &err), rows[i].want);
		CHECK_INT(frame.type, rows[i].want > 0 ? FRAME_RESULT : 99);
		CHECK_INT(err.code, rows[i].want < 0 ? ERR_PROTOCOL : ERR_NONE);
	}
}

TEST(empty_buffer_without_storage)
{
	struct buf in = BUF_INIT(64);
	struct frame frame;
	struct err err;
	CHECK_INT(frame_parse(&in, &frame, &err), 0);
}

TEST(written_is_read)
{
	cleanup_buf struct buf b = BUF_INIT(1024);
	struct frame frame;
	struct err err;
	CHECK_INT(frame_write(&b, FRAME_STEP, "hello", 5), 0);
	CHECK_INT(b.bytes, FRAME_HEAD_BYTES + 5);
	CHECK(memcmp(b.data, "\0\0\0\6\1hello", 10) == 0);
	CHECK_INT(frame_parse(&b, &frame, &err), 10);
	CHECK_INT(frame.type, FRAME_STEP);
	CHECK_INT(frame.bytes, 5);
	CHECK(frame.data == b.data + FRAME_HEAD_BYTES);
	CHECK(memcmp(frame.data, "hello", 5) == 0);
}

/* Three frames cut in two at each byte: the same three come out, none before it is whole. */
TEST(split_at_each_byte)
{
	static const struct {
		enum frame_type type;
		const char *text;
	} rows[] = {{FRAME_READY, "{}"}, {FRAME_BEGIN, ""}, {FRAME_RESULT, "{\"status\":\"ok\"}"}};
	cleanup_buf struct buf all = BUF_INIT(1024);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(frame_write(&all, rows[i].type, rows[i].text, strlen(rows[i].text)), 0);
	for (size_t cut = 0; cut <= all.bytes; cut++) {
		cleanup_buf struct buf in = BUF_INIT(1024);
		const size_t ends[] = {cut, all.bytes};
		size_t n_seen = 0, at = 0, consumed = 0;
		for (size_t part = 0; part < ARRAY_LEN(ends); part++) {
			struct frame frame;
			struct err err;
			ssize_t n;
			CHECK_INT(buf_append(&in, all.data + at, ends[part] - at), 0);
			at = ends[part];
			while ((n = frame_parse(&in, &frame, &err)) > 0 &&
				n_seen < ARRAY_LEN(rows)) {
				CHECK_INT(frame.type, rows[n_seen].type);
				CHECK_INT(frame.bytes, strlen(rows[n_seen].text));
				CHECK(memcmp(frame.data, rows[n_seen].text, frame.bytes) == 0);
				n_seen++;
				consumed += (size_t)n;
				buf_consume(&in, (size_t)n);
			}
			CHECK_INT(n, 0);
			CHECK_INT(consumed + in.bytes, at);
		}
		CHECK_INT(n_seen, ARRAY_LEN(rows));
		CHECK_INT(in.bytes, 0);
	}
}

TEST(longest)
{
	struct buf b = BUF_INIT((size_t)FRAME_MAX_BYTES + FRAME_HEAD_BYTES);
	struct frame frame;
	struct err err;
	size_t most = FRAME_MAX_BYTES - 1;
	char *data = calloc(1, most + 1);
	CHECK(data != NULL);
	CHECK_INT(frame_write(&b, FRAME_STEP, data, most + 1), -E2BIG);
	CHECK_INT(b.bytes, 0);
	CHECK_INT(frame_write(&b, FRAME_STEP, data, most), 0);
	CHECK_INT(frame_parse(&b, &frame, &err), (ssize_t)most + FRAME_HEAD_BYTES);
	CHECK_INT(frame.bytes, most);
	free(data);
	buf_done(&b);
}

TEST(over_the_buffers_maximum_leaves_it_as_it_was)
{
	cleanup_buf struct buf b = BUF_INIT(9);
	CHECK_INT(frame_write(&b, FRAME_STEP, "hello", 5), -E2BIG);
	CHECK_INT(b.bytes, 0);
	CHECK_INT(frame_write(&b, FRAME_STEP, "hell", 4), 0);
	CHECK_INT(frame_write(&b, FRAME_STEP, "", 0), -E2BIG);
	CHECK_INT(b.bytes, 9);
}
