/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/buf.h"

#include "unit/gateway/wiped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

TEST(buf_appends_up_to_its_maximum)
{
	struct buf b cleanup_buf = BUF_INIT(5);
	CHECK_STR(buf_str(&b), "");
	CHECK_INT(buf_append(&b, "abc", 3), 0);
	CHECK_INT(buf_try(&b, "def", 3), -E2BIG);
	CHECK_STR(buf_str(&b), "abc");
	CHECK_INT(buf_add(&b, "de"), 0);
	CHECK_STR(buf_str(&b), "abcde");
	CHECK_INT(buf_try(&b, "f", 1), -E2BIG);
	CHECK_INT(buf_append(&b, "", 0), 0);
	CHECK_INT(buf_error(&b), 0);
	CHECK_INT(buf_addf(&b, "%d", 1), -E2BIG);
	CHECK_STR(buf_str(&b), "abcde");
	CHECK_INT(b.bytes, 5);
}

TEST(buf_remembers_its_first_error)
{
	struct buf b cleanup_buf = BUF_INIT(5);
	buf_add(&b, "abc");
	CHECK_INT(buf_error(&b), 0);
	buf_add(&b, "def");
	CHECK_INT(buf_error(&b), -E2BIG);
	buf_fail(&b, -EILSEQ);
	CHECK_INT(buf_error(&b), -E2BIG);
	/* Nothing stands behind a gap, by whatever way. */
	CHECK_INT(buf_add(&b, "g"), -E2BIG);
	CHECK_INT(buf_addf(&b, "%d", 1), -E2BIG);
	CHECK_INT(buf_append(&b, "", 0), -E2BIG);
	CHECK_INT(buf_try(&b, "g", 1), -E2BIG);
	CHECK(!buf_reserve(&b, 1));
	CHECK_STR(buf_str(&b), "abc");
	buf_consume(&b, 1);
	CHECK_INT(buf_error(&b), -E2BIG);
	CHECK_STR(buf_str(&b), "bc");
}

TEST(buf_forgets_its_error_with_what_is_cut)
{
	struct buf b cleanup_buf = BUF_INIT(5);
	buf_cut(&b, 0);
	CHECK_STR(buf_str(&b), "");
	buf_add(&b, "abc");
	size_t before = b.bytes;
	buf_add(&b, "d");
	buf_fail(&b, -EILSEQ);
	CHECK_INT(buf_add(&b, "e"), -EILSEQ);
	CHECK_STR(buf_str(&b), "abcd");
	buf_cut(&b, before);
	CHECK_INT(buf_error(&b), 0);
	CHECK_STR(buf_str(&b), "abc");
	CHECK_INT(buf_add(&b, "xy"), 0);
	buf_cut(&b, 9);
	CHECK_STR(buf_str(&b), "abcxy");
	buf_fail(&b, -ENOMEM);
	buf_clear(&b);
	CHECK_INT(buf_add(&b, "12345"), 0);
	buf_fail(&b, -ENOMEM);
	buf_done(&b);
	CHECK_INT(buf_add(&b, "1"), 0);
	buf_fail(&b, -ENOMEM);
	free(buf_take(&b));
	CHECK_INT(buf_error(&b), 0);
}

TEST(buf_of_no_bytes_holds_none)
{
	struct buf b cleanup_buf = BUF_INIT(0);
	CHECK_INT(buf_append(&b, NULL, 0), 0);
	CHECK_INT(buf_add(&b, "x"), -E2BIG);
	CHECK_STR(buf_str(&b), "");
}

TEST(buf_never_has_more_room_than_its_maximum_and_a_nul)
{
	struct buf b cleanup_buf = BUF_INIT(1000);
	for (int i = 0; i < 1000; i++) {
		CHECK_INT(buf_append(&b, "x", 1), 0);
		CHECK(b.room <= 1001 && b.bytes < b.room);
	}
	CHECK_INT(buf_append(&b, "x", 1), -E2BIG);
	CHECK_INT(strlen(buf_str(&b)), 1000);
}

TEST(buf_refuses_sizes_that_overflow)
{
	struct buf b cleanup_buf = BUF_INIT(SIZE_MAX);
	CHECK_INT(buf_add(&b, "abc"), 0);
	CHECK(!buf_reserve(&b, SIZE_MAX));
	CHECK(!buf_reserve(&b, SIZE_MAX - 3));
	CHECK(!buf_reserve(&b, SIZE_MAX / 2 + 1));
	CHECK_STR(buf_str(&b), "abc");
}

TEST(buf_formats)
{
	struct buf b cleanup_buf = BUF_INIT(200);
	CHECK_INT(buf_addf(&b, "%s-%d", "abc", 42), 0);
	CHECK_INT(buf_addf(&b, "%100d|", 7), 0);
	CHECK_INT(b.bytes, 6 + 101);
	CHECK_HAS(buf_str(&b), "abc-42 ");
	CHECK_HAS(buf_str(&b), " 7|");
}

TEST(buf_consumes_from_the_front)
{
	struct buf b cleanup_buf = BUF_INIT(100);
	buf_consume(&b, 3);
	CHECK_INT(b.bytes, 0);
	CHECK_INT(buf_add(&b, "abcdef"), 0);
	buf_consume(&b, 0);
	CHECK_STR(buf_str(&b), "abcdef");
	buf_consume(&b, 2);
	CHECK_STR(buf_str(&b), "cdef");
	buf_consume(&b, 9);
	CHECK_STR(buf_str(&b), "");
	CHECK_INT(b.bytes, 0);
}

TEST(buf_reserves_and_grows)
{
	struct buf b cleanup_buf = BUF_INIT(10);
	char *at = buf_reserve(&b, 10);
	CHECK(at != NULL);
	CHECK_STR(buf_str(&b), ""); /* also while nothing is written */
	CHECK(!buf_reserve(&b, 11));
	if (at)
		memcpy(at, "0123456789", 10);
	buf_grown(&b, 4);
	CHECK_STR(buf_str(&b), "0123");
	CHECK(!buf_reserve(&b, 7));
	CHECK(buf_reserve(&b, 6) != NULL);
}

TEST(buf_hands_over)
{
	struct buf b cleanup_buf = BUF_INIT(10);
	CHECK(!buf_take(&b));
	CHECK_INT(buf_add(&b, "abc"), 0);
	char *data = buf_take(&b);
	CHECK_STR(data, "abc");
	free(data);
	CHECK_INT(b.bytes, 0);
	CHECK_INT(b.max_bytes, 10);
	CHECK_INT(buf_add(&b, "again"), 0);
	CHECK_STR(buf_str(&b), "again");
	buf_clear(&b);
	CHECK_STR(buf_str(&b), "");
	buf_done(&b);
	buf_done(&b);
	CHECK_STR(buf_str(&b), "");
}

TEST(buf_wipes)
{
	struct buf b = BUF_INIT(1000);
	size_t n_freed;
	buf_wipe(&b);
	wiped_begin("hunter22");
	CHECK(buf_reserve(&b, 1000) != NULL);
	for (int i = 0; i < 100; i++)
		CHECK_INT(buf_add(&b, "hunter22"), 0);
	buf_cut(&b, 3);
	buf_fail(&b, -E2BIG);
	buf_wipe(&b);
	CHECK_INT(wiped_end(&n_freed), 0);
	CHECK_INT(n_freed, 1);
	CHECK_STR(buf_str(&b), "");
	CHECK_INT(buf_error(&b), 0);
	CHECK_INT(b.max_bytes, 1000);
}
