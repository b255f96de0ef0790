/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/base64.h"
#include "session/box/json_dump.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static void check_same(const char *text, size_t flags)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	CHECK(json != NULL);
	char *theirs = json_dumps(json, flags), *ours = json_dump_text(json, flags);
	CHECK((theirs == NULL) == (ours == NULL));
	if (theirs && ours)
		CHECK_STR(ours, theirs);
	free(theirs);
	free(ours);
	json_decref(json);
}

TEST(json_dump_writes_what_the_library_writes)
{
	static const char *const texts[] = {"{}", "[]", "\"a\"", "1", "null",
		"[true,false,null,0,-7,9223372036854775807,1.5,-1e300,0.1,2.0]",
		"{\"b\":1,\"a\":{\"z\":[{}],\"\":[[]]},\"ab\":\"\",\"\\u00e9\":2,\"\\n\\\"\":3}",
		"[\"a\\u0000b\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\u007f/\\\\\\\"\"]",
		"[\"gr\\u00fc\\u00df \\u20ac \\ud83d\\ude00 \\uffff\"]"};
	static const size_t flags[] = {JSON_COMPACT, JSON_COMPACT | JSON_SORT_KEYS,
		JSON_COMPACT | JSON_ENCODE_ANY, 0, JSON_INDENT(1), JSON_ENSURE_ASCII};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		for (size_t k = 0; k < ARRAY_LEN(flags); k++)
			check_same(texts[i], flags[k]);
}

TEST(json_dump_writes_each_character_as_the_library_does)
{
	char at[5] = {0};
	for (int a = 0; a < 256; a++)
		for (int b = 0; b < 256; b += a < 0xc0 ? 255 : 1) {
			at[0] = 'x', at[1] = (char)a, at[2] = (char)b, at[3] = (char)0x80;
			json_t *json = json_pack("[o]", json_stringn_nocheck(at, 4));
			char *theirs = json_dumps(json, JSON_COMPACT);
			char *ours = json_dump_text(json, JSON_COMPACT);
			CHECK((theirs == NULL) == (ours == NULL));
			if (theirs && ours)
				CHECK_STR(ours, theirs);
			free(theirs);
			free(ours);
			json_decref(json);
		}
}

TEST(base64_writes_what_the_library_writes)
{
	unsigned char data[256];
	char ours[400], theirs[400];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 167 + 13);
	for (size_t n = 0; n <= sizeof data; n++) {
		(void)sodium_bin2base64(
			theirs, sizeof theirs, data, n, sodium_base64_VARIANT_ORIGINAL);
		base64_encode(ours, data, n);
		ours[base64_bytes(n)] = '\0';
		CHECK_STR(ours, theirs);
	}
}
