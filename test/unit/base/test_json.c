/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static char *text_of(const json_t *json)
{
	return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}

#define CHECK_JSON(json, expected)                                                                 \
	do {                                                                                       \
		char *text_ = text_of(json);                                                       \
		CHECK_STR(text_, expected);                                                        \
		free(text_);                                                                       \
	} while (0)

TEST(json_reads_what_is_there)
{
	cleanup_json json_t *object = json_need(
		json_pack("{s:s, s:i, s:b, s:n}", "text", "abc", "number", 7, "is", 1, "null"));
	CHECK_STR(json_get_text(object, "text"), "abc");
	CHECK_INT(json_get_int(object, "number"), 7);
	CHECK(json_get_bool(object, "is"));
}

TEST(json_reads_nothing_as_empty)
{
	cleanup_json json_t *object =
		json_need(json_pack("{s:i, s:s, s:n}", "n", 1, "s", "1", "null"));
	static const char *const keys[] = {"n", "null", "missing"};
	for (size_t i = 0; i < 3; i++)
		CHECK_STR(json_get_text(object, keys[i]), "");
	CHECK_INT(json_get_int(object, "s"), 0);
	CHECK_INT(json_get_int(object, "missing"), 0);
	CHECK(!json_get_bool(object, "n"));
	CHECK_STR(json_get_text(NULL, "n"), "");
	CHECK_INT(json_get_int(NULL, "n"), 0);
	CHECK(!json_get_bool(NULL, "n"));
}

TEST(json_puts_members)
{
	cleanup_json json_t *object = json_need(json_object()), *list = json_need(json_array());
	json_put_text(object, "a", "text");
	json_put_textn(object, "b", "t\0xy", 3);
	json_put_int(object, "c", INT64_MIN);
	json_put_bool(object, "d", true);
	json_put_bool(object, "e", false);
	json_put_new(object, "f", json_need(json_real(0.5)));
	json_put_shared(object, "g", list);
	json_add_text(list, "x");
	CHECK_JSON(object,
		"{\"a\":\"text\",\"b\":\"t\\u0000x\",\"c\":-9223372036854775808,\"d\":true,"
		"\"e\":false,\"f\":0.5,\"g\":[\"x\"]}");
}

TEST(json_leaves_out_what_is_null)
{
	cleanup_json json_t *object = json_need(json_object()), *list = json_need(json_array());
	json_put_text(object, "a", NULL);
	json_put_textn(object, "b", NULL, 0);
	json_put_new(object, "c", NULL);
	json_put_shared(object, "d", NULL);
	json_add_new(list, NULL);
	json_add_shared(list, NULL);
	CHECK_INT(json_object_size(object), 0);
	CHECK_INT(json_array_size(list), 0);
}

TEST(json_repairs_what_is_not_utf8)
{
	cleanup_json json_t *object = json_need(json_object()), *list = json_need(json_array());
	json_put_text(object, "a", "x\xffy");
	json_add_text(list, "\xc3");
	CHECK_JSON(object, "{\"a\":\"x\xef\xbf\xbdy\"}");
	CHECK_JSON(list, "[\"\xef\xbf\xbd\"]");
}

/* Names of programs become keys: none of them may end the process. */
TEST(json_leaves_out_keys_that_it_cannot_hold)
{
	cleanup_json json_t *object = json_need(json_object()), *list = json_need(json_array());
	json_put_int(object, "\xff", 1);
	json_put_int(NULL, "a", 1);
	json_put_int(list, "a", 1);
	json_add_text(object, "a");
	json_add_text(NULL, "a");
	CHECK_INT(json_object_size(object), 0);
	CHECK_INT(json_array_size(list), 0);
}

TEST(json_adds_elements)
{
	cleanup_json json_t *list = json_need(json_array()), *one = json_need(json_integer(1));
	json_add_shared(list, one);
	json_add_new(list, json_need(json_integer(2)));
	json_add_text(list, "");
	CHECK_JSON(list, "[1,2,\"\"]");
	CHECK_INT(one->refcount, 2);
}
