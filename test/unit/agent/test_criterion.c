/* What an answer has to meet. SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/criterion.h"

#include "t.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

TEST(each_kind_has_a_word)
{
	static const struct {
		const char *written;
		enum criterion_kind kind;
		const char *text;
	} rows[] = {{"make test", CRITERION_COMMAND, "make test"},
		{"shell: python: is no command", CRITERION_COMMAND, "python: is no command"},
		{"python:answer > 3", CRITERION_PYTHON, "answer > 3"},
		{"schema: {\"type\": \"number\"}", CRITERION_SCHEMA, "{\"type\": \"number\"}"},
		{"schema:true", CRITERION_SCHEMA, "true"},
		{"python3 -m unittest", CRITERION_COMMAND, "python3 -m unittest"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct criterion c;
		struct err err;
		CHECK_INT(criterion_parse(&c, rows[i].written, &err), 0);
		CHECK_INT(c.kind, rows[i].kind);
		CHECK_STR(c.text, rows[i].text);
		criterion_done(&c);
	}
}

TEST(what_is_none_is_refused)
{
	static const char *const rows[] = {"", "  ", "python:", "shell: \n",
		"schema:", "schema:[1]", "schema:{", "schema:{\"a\": 1, \"a\": 2}", "schema:3"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct criterion c = {0};
		struct err err;
		CHECK(criterion_parse(&c, rows[i], &err) < 0);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK(err.hint[0] != '\0');
		CHECK(c.text == NULL);
	}
}

static bool fits(const char *schema, const char *answer, const char *value)
{
	struct criterion c;
	struct err err;
	CHECK_INT(criterion_parse(&c, schema, &err), 0);
	json_t *json = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
	bool is_good = criterion_fit(&c, answer, json, &err) == 0;
	if (!is_good)
		CHECK(strncmp(err.msg, "the answer", 10) == 0);
	json_decref(json);
	criterion_done(&c);
	return is_good;
}

TEST(schemas)
{
	CHECK(fits("schema:{\"type\": \"number\"}", "42", "42"));
	CHECK(fits("schema:{\"type\": \"number\"}", "42", NULL));
	CHECK(fits("schema:{\"type\": \"string\"}", "42", NULL));
	CHECK(!fits("schema:{\"type\": \"string\"}", "42", "42"));
	CHECK(!fits("schema:{\"type\": \"number\"}", "It is 42.", NULL));
	CHECK(fits(
		"schema:{\"required\": [\"a\"], \"properties\": {\"a\": {\"type\": \"integer\"}}}",
		"", "{\"a\": 1}"));
	CHECK(!fits("schema:{\"required\": [\"a\"], \"properties\": {\"a\": {\"type\": "
		    "\"integer\"}}}",
		"", "{\"a\": \"1\"}"));
	CHECK(fits("schema:true", "anything", NULL));
	CHECK(!fits("schema:false", "anything", NULL));
}

static void check_code(
	const char *written, const char *answer, const char *value, const char *wanted)
{
	struct criterion c;
	struct err err;
	cleanup_buf struct buf code = BUF_INIT(10000);
	CHECK_INT(criterion_parse(&c, written, &err), 0);
	json_t *json = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
	CHECK(criterion_code(&c, answer, json, &code) != NULL);
	CHECK_HAS(buf_str(&code), wanted);
	json_decref(json);
	criterion_done(&c);
}

TEST(code)
{
	check_code("make", "x", NULL, "make");
	check_code("python:answer == 'é'", "é \"1\"\n", NULL, "b.eval(\"answer == 'é'\"");
	check_code(
		"python:answer", "é \"1\"\n", NULL, "loads(\"\\\"é \\\\\\\"1\\\\\\\"\\\\n\\\"\")");
	check_code("python:answer", "42", "42", "loads(\"42\")");
}

TEST(code_that_does_not_fit)
{
	struct criterion c;
	struct err err;
	cleanup_buf struct buf code = BUF_INIT(20);
	CHECK_INT(criterion_parse(&c, "python:answer", &err), 0);
	CHECK(criterion_code(&c, "42", NULL, &code) == NULL);
	criterion_done(&c);
}
