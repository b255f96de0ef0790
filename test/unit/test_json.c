/* JSON as it is sent. SPDX-License-Identifier: Apache-2.0 */
#include "api/json.h"

#include "t.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static json_t *load(const char *text, size_t bytes)
{
	return json_loadb(text, bytes, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
}

TEST(what_is_put_is_what_jansson_writes)
{
	static const char *const texts[] = {"{}", "[]", "null", "true", "false", "\"\"", "0", "-1",
		"9223372036854775807", "-9223372036854775808", "0.1", "1.0", "-0.0", "2.5e-7",
		"1e15", "1e16", "1e300", "-1.7976931348623157e308", "5e-324", "0.30000000000000004",
		"123456789012345678.5", "100000.0", "3.0000000000000001e-5",
		"\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t\\u0000\\u0001\\u001f\x7f\"",
		"\"\\u00fc \\u20ac \\ud83d\\ude00 end\"", "\"\\u0000\"", "[\"\\\\\"]",
		"{\"b\":[1,[],{},[2,{\"c\":null}]],\"a\":{\"x\\ny\":\"z\",\"\":0.25},\"0\":true}"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_buf struct buf out = BUF_INIT(1000);
		json_t *json = load(texts[i], strlen(texts[i]));
		char *want = json_text(json, JSON_COMPACT | JSON_ENCODE_ANY);
		CHECK(want != NULL);
		CHECK_INT(json_put(&out, json), 0);
		CHECK_STR(buf_str(&out), want);
		free(want);
		json_decref(json);
	}
}

TEST(every_character_comes_back)
{
	char all[257];
	for (int i = 0; i < 256; i++)
		all[i] = (char)(i < 128 ? i : 'a');
	json_t *json = json_stringn(all, 256);
	cleanup_buf struct buf out = BUF_INIT(2000);
	CHECK_INT(json_put(&out, json), 0);
	json_t *back = load(buf_str(&out), out.bytes);
	CHECK(json_equal(json, back));
	json_decref(json);
	json_decref(back);
}

TEST(what_does_not_fit_is_refused)
{
	json_t *json = json_pack("{s:[i, s, f]}", "key", 12, "text\n", 0.5);
	char *want = json_text(json, JSON_COMPACT);
	for (size_t room = 0; room <= strlen(want); room++) {
		cleanup_buf struct buf out = BUF_INIT(room);
		CHECK_INT(json_put(&out, json), room < strlen(want) ? -E2BIG : 0);
	}
	free(want);
	json_decref(json);
}

TEST(what_is_too_deep_is_refused)
{
	enum { DEEP = 5000, READ = 2000 }; /* jansson reads 2,048 */
	cleanup_buf struct buf out = BUF_INIT(1 << 20);
	json_t *json = json_array();
	for (int i = 0; i < DEEP; i++) {
		json = json_pack("[o]", json);
		if (i == READ)
			CHECK_INT(json_put(&out, json), 0);
	}
	buf_clear(&out);
	CHECK_INT(json_put(&out, json), -E2BIG);
	json_decref(json);
}
