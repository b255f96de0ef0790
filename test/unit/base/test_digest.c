/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/digest.h"

#include <errno.h>
#include <string.h>

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
