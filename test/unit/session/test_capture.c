/* Captured output against a naive model that keeps everything. SPDX-License-Identifier: Apache-2.0
 */
#include "session/box/capture.h"

#include "base/utf8.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_BYTES = 4096 };

/* The same numbers on every run: a failure can be looked at again. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void check_against_model(const struct capture *c, const char *all, size_t total)
{
	size_t limit = (size_t)c->limit_bytes, n_head = MIN(total, limit - limit / 2);
	size_t n_tail = MIN(total - n_head, limit / 2);
	cleanup_buf struct buf tail = BUF_INIT(MODEL_BYTES);
	CHECK_INT(c->total_bytes, total);
	CHECK_INT(c->head.bytes, n_head);
	CHECK(n_head == 0 || memcmp(c->head.data, all, n_head) == 0);
	CHECK_INT(capture_tail(c, &tail), 0);
	CHECK_INT(tail.bytes, n_tail);
	CHECK(n_tail == 0 || memcmp(tail.data, all + total - n_tail, n_tail) == 0);
	CHECK_INT(capture_cut_bytes(c), total - n_head - n_tail);
}

/* In pieces from each offset: the same bytes, in at most two pieces on each side of the gap. */
static void check_pieces(const struct capture *c, const char *all, size_t total, size_t from)
{
	unsigned n_pieces = 0;
	uint64_t at = from;
	size_t n;
	for (const char *data; (data = capture_at(c, &at, &n)), n > 0; at += n) {
		CHECK(at + n <= total);
		CHECK(memcmp(data, all + at, n) == 0);
		n_pieces++;
	}
	CHECK(from >= total || at == total);
	CHECK(n_pieces <= 3);
}

/* From each offset, and with little room: what was kept there, else the next kept bytes. */
static void check_reads(const struct capture *c, const char *all, size_t total)
{
	static const size_t rooms[] = {1, 3, MODEL_BYTES};
	char out[MODEL_BYTES];
	size_t limit = (size_t)c->limit_bytes, n_head = MIN(total, limit - limit / 2);
	size_t tail_at = total - MIN(total - n_head, limit / 2), step = total / 50 + 1;
	for (size_t from = 0; from <= total + 2 * step; from += step) {
		check_pieces(c, all, total, from);
		for (size_t k = 0; k < ARRAY_LEN(rooms); k++) {
			bool is_head = from < n_head;
			uint64_t at = from, want_at = is_head ? from : MAX(from, tail_at);
			size_t end = is_head ? n_head : total;
			size_t want = want_at < end ? MIN(rooms[k], end - want_at) : 0;
			CHECK_INT(capture_read(c, &at, out, rooms[k]), want);
			CHECK(want == 0 || at == want_at);
			CHECK(want == 0 || memcmp(out, all + want_at, want) == 0);
		}
	}
}

static void run_model(size_t limit, uint32_t seed, size_t max_chunk)
{
	char all[MODEL_BYTES];
	struct capture c;
	size_t total = 0, n_head = 0;
	capture_init(&c, limit);
	for (size_t i = 0; i < sizeof all; i++)
		all[i] = (char)next_random(&seed);
	for (;;) {
		size_t n = next_random(&seed) % (max_chunk + 1);
		if (total + n > sizeof all)
			break;
		int64_t r = capture_add(&c, all + total, n);
		CHECK(r >= 0);
		n_head += (size_t)r;
		total += n;
		CHECK_INT(n_head, c.head.bytes);
		check_against_model(&c, all, total);
		if (max_chunk > 5)
			check_reads(&c, all, total);
	}
	check_reads(&c, all, total);
	capture_done(&c);
}

TEST(ring_is_as_the_model)
{
	static const size_t limits[] = {0, 1, 2, 3, 7, 64, 101, 1000, MODEL_BYTES, 2 * MODEL_BYTES};
	static const size_t chunks[] = {1, 5, 50, 600};
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		for (size_t k = 0; k < ARRAY_LEN(chunks); k++)
			run_model(limits[i], (uint32_t)(i * 16 + k), chunks[k]);
}

static void check_text(
	uint64_t limit, const char *in, size_t bytes, const char *want, bool want_invalid)
{
	cleanup_buf struct buf out = BUF_INIT(4096);
	bool invalid = false;
	struct capture c;
	capture_init(&c, limit);
	CHECK(capture_add(&c, in, bytes) >= 0);
	CHECK_INT(capture_text(&c, &out, &invalid), 0);
	CHECK_STR(buf_str(&out), want);
	CHECK_INT(invalid, want_invalid);
	CHECK(utf8_is_valid(buf_str(&out), out.bytes));
	capture_done(&c);
}

TEST(text)
{
	check_text(10, "", 0, "", false);
	check_text(10, "0123456789", 10, "0123456789", false);
	check_text(10, "0123456789a", 11, "01234\n[... 1 bytes cut ...]\n6789a", false);
	check_text(0, "abc", 3, "\n[... 3 bytes cut ...]\n", false);
	check_text(0, "", 0, "", false);
	check_text(1, "abc", 3, "a\n[... 2 bytes cut ...]\n", false);
	check_text(3, "abcdef", 6, "ab\n[... 3 bytes cut ...]\nf", false);
	check_text(9,
		"a\xff"
		"b",
		3,
		"a\xef\xbf\xbd"
		"b",
		true);
}

/* Characters cut by us are no fault of the program; what it got wrong itself is. */
TEST(text_cut_inside_a_character)
{
	/* "éé…": the head's fifth byte and the tail's first are halves. */
	check_text(10, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 12,
		"\xc3\xa9\xc3\xa9\xef\xbf\xbd\n[... 2 bytes cut ...]\n\xef\xbf\xbd\xc3\xa9\xc3\xa9",
		false);
	/* Whole where nothing was dropped, although head and tail part the character. */
	check_text(6,
		"ab\xe2\x82\xac"
		"c",
		6,
		"ab\xe2\x82\xac"
		"c",
		false);
	check_text(10, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12,
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\n[... 2 bytes cut ...]\n"
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
		true);
}

/* The tail of a four-byte character cut after its first byte is three invalid parts by itself. */
TEST(text_cut_in_front_of_three_continuations)
{
	check_text(6, "abc...\xf0\x9f\x98\x80", 10,
		"abc\n[... 4 bytes cut ...]\n\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", false);
}

TEST(invalid_is_never_unset)
{
	cleanup_buf struct buf out = BUF_INIT(64);
	struct capture c;
	bool invalid = true;
	capture_init(&c, 10);
	CHECK_INT(capture_add(&c, "fine", 4), 4);
	CHECK_INT(capture_text(&c, &out, &invalid), 0);
	CHECK(invalid);
	capture_done(&c);
}

/* A byte that takes six to be told counts for six. */
TEST(what_is_dear_to_write_down_is_cut)
{
	static const struct {
		char c;
		bool is_cut;
	} rows[] = {{'x', false}, {'\n', false}, {'\0', true}, {'\xff', true}};
	enum { LIMIT = 6 << 20 };
	char *text = malloc(LIMIT);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct capture c;
		bool invalid = false;
		cleanup_buf struct buf out = BUF_INIT(4 * LIMIT);
		memset(text, rows[i].c, LIMIT);
		text[0] = 'a', text[LIMIT - 1] = 'z';
		capture_init(&c, LIMIT);
		CHECK(capture_add(&c, text, LIMIT) >= 0);
		capture_settle(&c);
		CHECK_INT(capture_cut_bytes(&c) > 0, rows[i].is_cut);
		CHECK_INT(capture_text(&c, &out, &invalid), 0);
		CHECK_INT(out.data[0], 'a');
		CHECK_INT(out.data[out.bytes - 1], 'z');
		CHECK_INT(c.total_bytes, LIMIT);
		CHECK(c.head.bytes + c.tail.bytes + capture_cut_bytes(&c) == LIMIT);
		capture_done(&c);
	}
	free(text);
}
