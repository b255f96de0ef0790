/* Base64. SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 1 << 16 };

/* Source: RFC 4648, section 10. */
static const char *const known[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
	{"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
	{"\xff\xfb\xbf", "//u/"}};

TEST(known_texts)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		cleanup_buf struct buf text = BUF_INIT(MAX), data = BUF_INIT(MAX);
		struct err err;
		CHECK_INT(base64_write(&text, known[i][0], strlen(known[i][0])), 0);
		CHECK_STR(buf_str(&text), known[i][1]);
		CHECK_INT(base64_read(&data, known[i][1], strlen(known[i][1]), &err), 0);
		CHECK_STR(buf_str(&data), known[i][0]);
	}
}

TEST(all_bytes_at_all_lengths)
{
	char bytes[600];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 7 + i / 256);
	for (size_t n = 0; n < sizeof bytes; n++) {
		cleanup_buf struct buf text = BUF_INIT(MAX), data = BUF_INIT(MAX);
		struct err err;
		CHECK_INT(base64_write(&text, bytes, n), 0);
		CHECK_INT(base64_read(&data, text.data, text.bytes, &err), 0);
		CHECK(data.bytes == n && memcmp(buf_str(&data), bytes, n) == 0);
	}
}

TEST(what_is_not_base64)
{
	static const char *const wrong[] = {"Z", "Zg",
		"Zg=", "Zh==", "Zm9=", "Zm9v=", "====", "Zg==Zg==", "Zm8=Zm9v",
		"Z===", "=g==", "Zm v", "Zm9v\n", "Zm-_", "Zm9\x80", "\xc3\xa9ZZ", "Zg=v"};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		cleanup_buf struct buf data = BUF_INIT(MAX);
		struct err err = {0};
		if (!CHECK(base64_read(&data, wrong[i], strlen(wrong[i]), &err) < 0))
			printf("# %s\n", wrong[i]);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK_INT(data.bytes, 0);
	}
	cleanup_buf struct buf small = BUF_INIT(5);
	struct err err = {0};
	CHECK(base64_read(&small, "Zm9vYmFy", 8, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
}
