/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/digest.h"

#include <errno.h>
#include <string.h>

enum { N_DATA = 300 };

TEST(digests_are_those_of_the_standard)
{
	char text[DIGEST_BYTES];
	digest_text(text, "abc", 3); /* FIPS 180-2, appendix B.1 */
	CHECK_STR(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	digest_text(text, NULL, 0);
	CHECK_STR(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(digests_tell_lists_of_parts_apart)
{
	char a[DIGEST_BYTES], b[DIGEST_BYTES], whole[DIGEST_BYTES];
	const struct digest_part one[] = {{"ab", 2}, {"c", 1}}, two[] = {{"a", 1}, {"bc", 2}},
				 none = {NULL, 0};
	digest_parts(a, one, 2);
	digest_parts(b, two, 2);
	CHECK(strcmp(a, b) != 0);
	digest_parts(b, one, 1);
	CHECK(strcmp(a, b) != 0);
	digest_parts(a, &none, 1);
	digest_text(whole, "\0\0\0\0\0\0\0", 8);
	CHECK_STR(a, whole);
	digest_parts(a, one, 2);
	digest_text(whole, "\0\0\0\0\0\0\0\2ab\0\0\0\0\0\0\0\1c", 19);
	CHECK_STR(a, whole);
}

/* The digest of @bytes of @data, which is added in pieces of @piece bytes at most. */
static const char *in_pieces(const unsigned char *data, size_t bytes, size_t piece)
{
	static char text[DIGEST_BYTES];
	struct digest_state state;
	memset(&state, 0xa5, sizeof state);
	digest_begin(&state);
	for (size_t at = 0; at < bytes; at += piece) {
		digest_add(&state, data + at, MIN(piece, bytes - at));
		digest_add(&state, NULL, 0);
	}
	digest_end(&state, text);
	return text;
}

TEST(digests_of_pieces_are_those_of_the_whole)
{
	static unsigned char data[N_DATA];
	static const size_t sizes[] = {0, 1, 55, 56, 63, 64, 65, 127, 128, 129, N_DATA};
	char whole[DIGEST_BYTES];
	for (size_t i = 0; i < N_DATA; i++)
		data[i] = (unsigned char)(i * i >> 3);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		digest_text(whole, data, sizes[i]);
		for (size_t piece = 1; piece <= sizes[i] + 1; piece++)
			CHECK_STR(in_pieces(data, sizes[i], piece), whole);
	}
	CHECK_STR(in_pieces(NULL, 0, 1),
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(digests_of_much_data)
{
	static unsigned char data[1 << 20];
	char text[DIGEST_BYTES];
	struct digest_state state, other;
	memset(data, 'a', sizeof data);
	/* FIPS 180-2, appendix B.3 */
	CHECK_STR(in_pieces(data, 1000000, 4095),
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	/* two at a time */
	memset(data, 0, sizeof data);
	digest_begin(&state);
	digest_begin(&other);
	for (size_t n = 0; n < 16; n++) {
		digest_add(&state, data, sizeof data);
		digest_add(&other, data, n == 0 ? 1 : 0);
	}
	digest_add(&state, "x", 1);
	digest_end(&state, text);
	CHECK_STR(text, "e616c6d42ce2587e7ccf16d313e8e3a3ab34ce8e684a64f15bad547cb8a7aeb5");
	digest_end(&other, text);
	CHECK_STR(text, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
}

TEST(digests_are_read_back)
{
	unsigned char raw[DIGEST_RAW_BYTES], back[DIGEST_RAW_BYTES] = {0}, before;
	char text[DIGEST_BYTES];
	digest_raw(raw, "abc", 3);
	digest_write(text, raw);
	CHECK_INT(digest_read(back, text), 0);
	CHECK_INT(memcmp(raw, back, sizeof raw), 0);
	CHECK_INT(digest_read(
			  back, "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
		0);
	CHECK_INT(memcmp(raw, back, sizeof raw), 0);
	before = back[0];
	text[0] = 'g';
	CHECK_INT(digest_read(back, text), -EINVAL);
	CHECK_INT(digest_read(back, "00"), -EINVAL);
	CHECK_INT(digest_read(back, ""), -EINVAL);
	CHECK_INT(back[0], before);
}
