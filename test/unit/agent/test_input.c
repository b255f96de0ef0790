/* Long inputs: what they may be called, the code that takes them in, what is told of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/input.h"

#include "t.h"

#include <string.h>

TEST(names)
{
	static const char *const good[] = {"context", "a", "Q3_report", "log2024"};
	static const char *const bad[] = {"", "_", "_x", "2x", "a-b", "a b", "a.b", "class",
		"yield", "let", "None", "tools", "llm_query", "final_answer", "open", "\xc3\xa4",
		"a;import os", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		CHECK(input_is_name(good[i]));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (!CHECK(!input_is_name(bad[i])))
			CHECK_STR(bad[i], "");
}

static int read_text(struct inputs *in, const char *text, struct err *err, json_t **array)
{
	*array = json_loads(text, 0, NULL);
	CHECK(*array != NULL);
	return inputs_read(in, *array, err);
}

static void check_refused(const char *text, enum err_code code, const char *part)
{
	struct inputs in = {.n = 77};
	struct err err;
	json_t *array;
	CHECK(read_text(&in, text, &err, &array) < 0);
	CHECK_INT(err.code, code);
	CHECK_HAS(err.msg, part);
	CHECK_INT(in.n, 77);
	json_decref(array);
}

TEST(what_is_refused)
{
	check_refused("[{\"name\": \"for\", \"path\": \"/a\"}]", ERR_USAGE, "for");
	check_refused("[{\"name\": \"a\"}]", ERR_USAGE, "not a valid name");
	check_refused("[{\"name\": \"a\", \"path\": \"/a\"}, {\"name\": \"a\", \"path\": \"/b\"}]",
		ERR_USAGE, "the name a is used twice");
	check_refused("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", ERR_LIMIT, "more than 16");
	struct inputs in = {.n = 77};
	struct err err;
	CHECK_INT(inputs_read(&in, NULL, &err), 0);
	CHECK_INT(in.n, 0);
}

TEST(code_and_what_is_told)
{
	struct inputs in;
	struct err err;
	json_t *array;
	cleanup_buf struct buf code = BUF_INIT(INPUTS_TEXT_BYTES);
	CHECK_INT(read_text(&in,
			  "[{\"name\": \"log\", \"path\": \"/a\\\"b\\n\"},"
			  " {\"name\": \"notes\", \"path\": \"/n\"}]",
			  &err, &array),
		0);
	CHECK_INT(inputs_code(&in, "shell", &code), 0);
	CHECK_HAS(buf_str(&code), "log = open(\"/a\\\"b\\n\", ");
	CHECK_HAS(buf_str(&code), "notes = open(\"/n\", ");
	buf_clear(&code);
	CHECK_INT(inputs_code(&in, "javascript", &code), 0);
	CHECK_HAS(buf_str(&code), "globalThis.log = require(\"fs\").readFileSync(\"/a\\\"b\\n\"");
	json_t *record = json_loads("{\"status\": \"ok\", \"value\": {\"application/json\": "
				    "[[12, 11, 3], [5, 4, 1]]}}",
		0, NULL);
	CHECK_INT(inputs_take(&in, record, &err), 0);
	json_decref(record);
	CHECK_INT(in.list[0].bytes, 12);
	CHECK_INT(in.list[1].lines, 1);
	buf_clear(&code);
	CHECK_INT(inputs_show(&in, "sql", &code), 0);
	CHECK_HAS(buf_str(&code), "in variables in python");
	CHECK_HAS(buf_str(&code), "log: 11 characters, 3 lines; the file is /a");
	CHECK_HAS(buf_str(&code), "notes: 4 characters, 1 lines; the file is /n");
	json_decref(array);
}

/* A box can say anything. */
TEST(what_the_box_says_is_checked)
{
	static const struct {
		const char *record, *part;
		enum err_code code;
	} rows[] = {
		{"{}", "error", ERR_USAGE},
		{"{\"status\": \"ok\"}", "did not report", ERR_BOX},
		{"{\"status\": \"ok\", \"value\": {\"application/json\": 5}}", "did not report",
			ERR_BOX},
		{"{\"status\": \"ok\", \"value\": {\"application/json\": [[1, 2, -3]]}}",
			"did not report", ERR_BOX},
		{"{\"status\": \"ok\", \"value\": {\"application/json\": [[1, 2, \"3\"]]}}",
			"did not report", ERR_BOX},
		{"{\"status\": \"oom\"}", "does not fit", ERR_LIMIT},
		{"{\"status\": \"error\", \"error\": {\"name\": \"MemoryError\", \"message\": \"\"}}",
			"does not fit", ERR_LIMIT},
		{"{\"status\": \"error\", \"error\": {\"name\": \"FileNotFoundError\", \"message\": "
		 "\"No such file: '/x'\"}}",
			"No such file: '/x'", ERR_USAGE},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct inputs in = {.n = 1, .list = {{.name = "a", .path = "/x"}}};
		struct err err;
		json_t *record = json_loads(rows[i].record, 0, NULL);
		CHECK(inputs_take(&in, record, &err) < 0);
		CHECK_INT(err.code, rows[i].code);
		CHECK_HAS(err.msg, rows[i].part);
		json_decref(record);
	}
}
