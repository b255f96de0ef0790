/* JSON with long strings. SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/buf.h"
#include "session/json_load.h"

#include <stdlib.h>
#include <string.h>

enum { PAD_BYTES = 70 << 10 };

static char pad[PAD_BYTES + 1];

static void check_same(const char *text, size_t bytes)
{
	json_error_t error;
	json_t *theirs = json_loadb(text, bytes, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
	json_t *ours = json_load_text(text, bytes, &error);
	CHECK((theirs == NULL) == (ours == NULL));
	if (!ours != !theirs)
		(void)fprintf(stderr, "# %.60s\n", text);
	if (theirs && ours)
		CHECK(json_equal(theirs, ours));
	json_decref(theirs);
	json_decref(ours);
}

/* With @what in a long string: at its begin, inside, at its end. */
static void check_in(const char *before, const char *what, size_t bytes, const char *after)
{
	for (int i = 0; i < 3; i++) {
		cleanup_buf struct buf b = BUF_INIT(1 << 20);
		CHECK_INT(buf_add(&b, before), 0);
		if (i > 0)
			CHECK_INT(buf_add(&b, pad), 0);
		CHECK_INT(buf_append(&b, what, bytes), 0);
		if (i < 2)
			CHECK_INT(buf_add(&b, pad), 0);
		CHECK_INT(buf_add(&b, after), 0);
		check_same(b.data, b.bytes);
	}
}

TEST(long_strings_are_read_as_the_library_reads_them)
{
	static const char *const texts[] = {"", "\\\"", "\\\\", "\\/\\b\\f\\n\\r\\t", "\\u0000",
		"\\u0041\\u00e9\\u20AC\\uffff", "\\ud83d\\ude00", "\\ud83d", "\\ud83d\\u0041",
		"\\ud83dx", "\\ude00", "\\ude00\\ud83d", "\\uD83D\\uDE0", "\\u12", "\\u12g4", "\\x",
		"\\", "\\'", "\xc3\xa9", "\xf0\x9f\x98\x80", "\xff", "\xc3", "\xc3\\u00e9",
		"\xed\xa0\x80", "\xc0\x80", "\xe2\x82", "\n", "\t", "\x7f", "\x1f", "\\u0001",
		"\", \"", "\"", "\\u0001\\u0001"};
	memset(pad, 'y', PAD_BYTES);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		check_in("[\"", texts[i], strlen(texts[i]), "\"]");
		check_in(" {\"a\" : \"", texts[i], strlen(texts[i]), "\" , \"b\":[{}]} ");
		check_in("{\"", texts[i], strlen(texts[i]), "\" :1}");
	}
	check_in("[\"", "\0", 1, "\"]");
	check_in("[\"", "\\\0", 2, "\"]");
}

TEST(what_stands_around_long_strings_is_read_as_well)
{
	static const char *const ends[] = {"\"]", "\"", "\"]]", "\"}", "\",]",
		"\",\"b\",{\"c\":[]}]", "\",7,null]", "\"\"a\"]", "\" x]", "\" :1]", ""};
	memset(pad, 'y', PAD_BYTES);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		check_in("[\"a\",\"", "\\n", 2, ends[i]);
	check_in("{\"a\":1,\"b\":\"", "", 0, "\",\"a\":2}");
	check_in("{\"a\":{\"b\":[\"", "x", 1, "\",{\"c\":\"d\"}]},\"e\":\"\"}");
	check_in("\"", "x", 1, "\"");
}

TEST(many_long_strings_keep_their_places)
{
	cleanup_buf struct buf b = BUF_INIT(8 << 20);
	memset(pad, 'y', PAD_BYTES);
	for (int i = 0; i < 20; i++)
		CHECK_INT(buf_addf(&b, "%s\"%d%s\\n\",{\"a\":[\"%s\"],\"b%d\":\"c\"}",
				  i ? "," : "[", i, pad, pad + i, i),
			0);
	CHECK_INT(buf_add(&b, "]"), 0);
	check_same(b.data, b.bytes);
}
