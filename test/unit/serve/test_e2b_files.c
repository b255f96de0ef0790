/* Signatures of URLs, and packed bodies, of the front "e2b". SPDX-License-Identifier: Apache-2.0 */
#include "serve/e2b/inflate.h"
#include "serve/e2b/signature.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>

TEST(signatures_that_clients_make)
{
	struct e2b_signing s;
	char text[E2B_SIGNATURE_BYTES];
	e2b_sign_begin(&s, "hello.txt", "read", "user", NULL);
	e2b_sign(&s, "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0", text);
	CHECK_STR(text, "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
	e2b_sign_begin(&s, "/home/user/a.txt", "write", "", "1800000000");
	e2b_sign(&s, "tok_abc", text);
	CHECK_STR(text, "v1_Cm3UiBOEoP3Pu1CixGLY6AqUu+ltdGvusAi6OscVkt4");
}

TEST(one_beginning_for_many_tokens)
{
	struct e2b_signing s;
	char first[E2B_SIGNATURE_BYTES], other[E2B_SIGNATURE_BYTES], again[E2B_SIGNATURE_BYTES];
	e2b_sign_begin(&s, "a", "read", "", NULL);
	e2b_sign(&s, "one", first);
	e2b_sign(&s, "two", other);
	e2b_sign(&s, "one", again);
	CHECK_STR(first, again);
	CHECK(strcmp(first, other) != 0);
	e2b_sign_begin(&s, "a", "write", "", NULL);
	e2b_sign(&s, "one", other);
	CHECK(strcmp(first, other) != 0);
}

TEST(times_that_are_over)
{
	CHECK(!e2b_is_expired("100", 99));
	CHECK(!e2b_is_expired("100", 100));
	CHECK(e2b_is_expired("100", 101));
	CHECK(e2b_is_expired("", 1));
	CHECK(e2b_is_expired("-1", 1));
	CHECK(e2b_is_expired("1e99", 1));
	CHECK(e2b_is_expired("99999999999999999999999", 1));
}

/* "hello\n" as gzip packs it. */
static const unsigned char hello[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9,
	0xc9, 0xe7, 2, 0, 0x20, 0x30, 0x3a, 0x36, 6, 0, 0, 0};

/* Unpack @data in pieces of @piece bytes, into a room of @room bytes at a time. Returns: the length
 * of the result in @out, or a negative error. */
static long unpack(const unsigned char *data, size_t bytes, size_t piece, size_t room, char *out,
	bool *is_whole)
{
	struct e2b_inflate *f;
	struct err err;
	long all = 0, n = 0;
	if (!CHECK_INT(e2b_inflate_open(&f, &err), 0))
		return -1;
	for (size_t at = 0; at < bytes && n >= 0; at += piece) {
		e2b_inflate_put(f, (const char *)data + at, MIN(piece, bytes - at));
		while ((n = e2b_inflate_some(f, out + all, room, &err)) > 0)
			all += n;
	}
	*is_whole = e2b_inflate_is_whole(f);
	e2b_inflate_close(f);
	return n < 0 ? n : all;
}

TEST(pieces_of_any_size)
{
	char out[64];
	bool is_whole;
	for (size_t piece = 1; piece <= sizeof hello; piece++)
		for (size_t room = 1; room <= 8; room++) {
			CHECK_INT(unpack(hello, sizeof hello, piece, room, out, &is_whole), 6);
			CHECK(memcmp(out, "hello\n", 6) == 0 && is_whole);
		}
}

TEST(several_members)
{
	unsigned char twice[2 * sizeof hello];
	char out[64];
	bool is_whole;
	memcpy(twice, hello, sizeof hello);
	memcpy(twice + sizeof hello, hello, sizeof hello);
	for (size_t piece = 1; piece <= sizeof twice; piece++) {
		CHECK_INT(unpack(twice, sizeof twice, piece, 3, out, &is_whole), 12);
		CHECK(memcmp(out, "hello\nhello\n", 12) == 0 && is_whole);
	}
}

TEST(bodies_that_are_wrong)
{
	unsigned char changed[sizeof hello];
	char out[64];
	bool is_whole;
	for (size_t n = 0; n < sizeof hello; n++) {
		CHECK(unpack(hello, n, 4, 8, out, &is_whole) >= 0);
		CHECK(!is_whole);
	}
	memcpy(changed, hello, sizeof hello);
	changed[18] ^= 1; /* of the checksum */
	CHECK(unpack(changed, sizeof changed, 64, 8, out, &is_whole) < 0);
	CHECK(unpack((const unsigned char *)"no gzip", 7, 64, 8, out, &is_whole) < 0);
}
