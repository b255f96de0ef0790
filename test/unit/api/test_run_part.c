/* Parts of a long text, and lines found in it. SPDX-License-Identifier: Apache-2.0 */
#include "api/text/run_part.h"

#include "base/utf8.h"
#include "t.h"

#include <stdlib.h>
#include <string.h>

static void part_done(struct run_part *part)
{
	buf_done(&part->text);
}
#define PART cleanup(part_done) struct run_part

TEST(parts_put_together_are_the_text)
{
	static const char text[] = "aé€😀z\n";
	for (size_t limit = 1; limit < 8; limit++) {
		cleanup_buf struct buf all = BUF_INIT(64);
		size_t at = 0;
		for (int i = 0; i < 20; i++) {
			PART part;
			CHECK_INT(run_part_read(&part, text, strlen(text), at, limit), 0);
			CHECK_INT(part.offset, at);
			CHECK(utf8_is_valid(buf_str(&part.text), part.text.bytes));
			CHECK(part.text.bytes > 0);
			CHECK_INT(buf_add(&all, buf_str(&part.text)), 0);
			at = part.next;
			CHECK_INT(part.is_last, at == strlen(text));
			if (part.is_last)
				break;
		}
		CHECK_STR(buf_str(&all), text);
	}
}

TEST(a_part_begins_with_a_whole_character)
{
	PART inside, behind, none;
	CHECK_INT(run_part_read(&inside, "a€b", 5, 2, 9), 0);
	CHECK_STR(buf_str(&inside.text), "€b");
	CHECK_INT(inside.offset, 1);
	CHECK_INT(run_part_read(&behind, "a€b", 5, SIZE_MAX, SIZE_MAX), 0);
	CHECK_INT(behind.offset, 5);
	CHECK_INT(behind.text.bytes, 0);
	CHECK(behind.is_last);
	CHECK_INT(run_part_read(&none, "", 0, 0, 1), 0);
	CHECK(none.is_last);
}

TEST(lines_are_found_with_their_numbers)
{
	static const char text[] = "one\ntwo a\n\nthree a a\na";
	PART part, rest;
	const struct run_part_search all = {.word = "a", .limit = 1000, .is_whole = true};
	CHECK_INT(run_part_find(&part, text, strlen(text), &all), 0);
	CHECK_STR(buf_str(&part.text), "2:two a\n4:three a a\n5:a\n");
	CHECK_INT(part.n_lines, 3);
	CHECK(part.is_last);
	const struct run_part_search one = {.word = "a", .limit = 1, .is_whole = true};
	PART first;
	CHECK_INT(run_part_find(&first, text, strlen(text), &one), 0);
	CHECK_STR(buf_str(&first.text), "2:two a\n");
	CHECK_INT(first.next, 10);
	CHECK(!first.is_last);
	const struct run_part_search on = {
		.word = "a", .offset = first.next, .limit = 1000, .is_whole = true};
	CHECK_INT(run_part_find(&rest, text, strlen(text), &on), 0);
	CHECK_STR(buf_str(&rest.text), "4:three a a\n5:a\n");
}

TEST(a_line_that_is_not_whole_is_left_for_later)
{
	static const char text[] = "a\nxa";
	const struct run_part_search search = {.word = "a", .limit = 1000};
	const struct run_part_search later = {.word = "a", .offset = 2, .limit = 1000};
	PART part, none;
	CHECK_INT(run_part_find(&part, text, strlen(text), &search), 0);
	CHECK_STR(buf_str(&part.text), "1:a\n");
	CHECK_INT(part.next, 2);
	CHECK(!part.is_last);
	CHECK_INT(run_part_find(&none, text, strlen(text), &later), 0);
	CHECK_INT(none.next, 2);
	CHECK_INT(none.n_lines, 0);
}

TEST(of_a_long_line_the_part_around_the_hit_is_shown)
{
	enum { N = 100000 };
	char *text = malloc(N);
	memset(text, 'x', N);
	memcpy(text + N / 2, "HIT", 3);
	/* A cut may not split this. */
	memcpy(text + N / 2 - RUN_PART_LEAD_BYTES - 1, "é", 2);
	const struct run_part_search search = {.word = "HIT", .limit = 100, .is_whole = true};
	PART part;
	CHECK_INT(run_part_find(&part, text, N, &search), 0);
	CHECK_HAS(buf_str(&part.text), "HIT");
	CHECK_HAS(buf_str(&part.text), "1:…éxxx");
	CHECK_HAS(buf_str(&part.text), "x…\n");
	CHECK(part.text.bytes <= RUN_PART_LINE_BYTES + 16);
	CHECK(utf8_is_valid(buf_str(&part.text), part.text.bytes));
	free(text);
}
