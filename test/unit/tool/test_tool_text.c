/* Names, schemas and results of tools. SPDX-License-Identifier: Apache-2.0 */
#include "tool/fit.h"
#include "tool/hosts.h"
#include "tool/identifier.h"
#include "tool/param_header.h"
#include "tool/result.h"

#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *json(const char *text)
{
	json_error_t wrong;
	json_t *out = json_loads(text, JSON_DECODE_ANY, &wrong);
	if (!CHECK(out != NULL))
		fprintf(stderr, "%s: %s\n", text, wrong.text);
	return out;
}

TEST(names_become_identifiers)
{
	static const struct {
		const char *name, *python, *javascript;
	} rows[] = {
		{"read_file", "read_file", "read_file"},
		{"read-file.now", "read_file_now", "read_file_now"},
		{"2nd", "_2nd", "_2nd"},
		{"", "_", "_"},
		{"from", "from_", "from"},
		{"function", "function", "function_"},
		{"class", "class_", "class_"},
		{"\xc3\xa9", "__", "__"},
		{"None", "None_", "None"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[IDENTIFIER_BYTES];
		identifier_make(IDENTIFIER_PYTHON, rows[i].name, out);
		CHECK_STR(out, rows[i].python);
		identifier_make(IDENTIFIER_JAVASCRIPT, rows[i].name, out);
		CHECK_STR(out, rows[i].javascript);
	}
	char longest[1000], out[IDENTIFIER_BYTES];
	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	identifier_make(IDENTIFIER_PYTHON, longest, out);
	CHECK_INT(strlen(out), IDENTIFIER_BYTES - 8);
}

TEST(camel_case_has_a_second_name)
{
	static const struct {
		const char *name, *snake;
	} rows[] = {{"readFile", "read_file"}, {"getHTTPPage", "get_http_page"}, {"A", "a"},
		{"read_file", NULL}, {"x2Y", "x2_y"}, {"", NULL}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[IDENTIFIER_BYTES];
		CHECK_INT(identifier_snake(rows[i].name, out), rows[i].snake != NULL);
		if (rows[i].snake)
			CHECK_STR(out, rows[i].snake);
	}
}

#define SIXTY "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct fitting {
	const char *schema, *value, *says; /* NULL: it fits */
};

static void check_fitting(const struct fitting *row)
{
	struct err err = {0};
	json_t *schema = json(row->schema), *value = json(row->value);
	int r = fit_check(schema, value, &err);
	if (!CHECK_INT(r < 0, row->says != NULL))
		fprintf(stderr, "%s %s\n", row->schema, row->value);
	if (row->says)
		CHECK_HAS(err.msg, row->says);
	json_decref(schema);
	json_decref(value);
}

TEST(values_fit_or_say_where_not)
{
	static const struct fitting rows[] = {
		{"{}", "{}", NULL},
		{"true", "1", NULL},
		{"false", "1", "no value is allowed here"},
		{"{\"type\": \"integer\"}", "1.0", NULL},
		{"{\"type\": \"integer\"}", "1.5", "arguments: it has to be of type integer"},
		{"{\"type\": \"strin\"}", "\"x\"", "arguments: it has to be of type strin"},
		{"{\"type\": [\"strin\", 7]}", "\"x\"", "arguments: it is of none of the types"},
		{"{\"type\": {}}", "1", "arguments: it is of none of the types"},
		{"{\"type\": \"number\"}", "1", NULL},
		{"{\"type\": \"boolean\"}", "0", "of type boolean"},
		{"{\"type\": \"null\"}", "null", NULL},
		{"{\"type\": \"what\"}", "1", "of type what"},
		{"{\"type\": [\"string\", \"null\"]}", "null", NULL},
		{"{\"type\": [\"string\", \"null\"]}", "1", "none of the types"},
		{"{\"enum\": [1, \"a\"]}", "1.0", NULL},
		{"{\"enum\": [1, \"a\"]}", "\"b\"", "one of 1, \"a\""},
		{"{\"enum\": [\"" SIXTY SIXTY "\", 1, \"a\"]}", "\"b\"", "one of 1, \"a\", …"},
		{"{\"enum\": [\"" SIXTY SIXTY "\"]}", "1", "one of …"},
		{"{\"const\": [1]}", "[1]", NULL},
		{"{\"const\": [1]}", "[2]", "the only allowed value"},
		{"{\"required\": [\"a\"]}", "{}", "missing: a"},
		{"{\"required\": [\"a\"]}", "[]", NULL},
		{"{\"properties\": {\"a\": {\"items\": {\"type\": \"string\"}}}}",
			"{\"a\": [\"x\", 1]}", "a[1]: it has to be of type string"},
		{"{\"prefixItems\": [{\"type\": \"string\"}], \"items\": false}", "[\"a\"]", NULL},
		{"{\"prefixItems\": [{\"type\": \"string\"}], \"items\": false}", "[\"a\", 1]",
			"[1]: no value is allowed here"},
		{"{\"additionalProperties\": false}", "{\"x\": 1}", "there is no x"},
		{"{\"additionalProperties\": {\"type\": \"string\"}}", "{\"x\": 1}", "x: it has"},
		{"{\"additionalProperties\": false, \"patternProperties\": {\"^x\": {}}}",
			"{\"x\": 1}", NULL},
		{"{\"minimum\": 1}", "1", NULL},
		{"{\"minimum\": 1}", "0.5", "beyond minimum 1"},
		{"{\"exclusiveMinimum\": 1}", "1", "beyond exclusiveMinimum 1"},
		{"{\"maximum\": 3}", "\"long\"", NULL},
		{"{\"maxLength\": 2}", "\"\xc3\xa9\xc3\xa9\"", NULL},
		{"{\"maxLength\": 1}", "\"\xc3\xa9\xc3\xa9\"", "beyond maxLength 1"},
		{"{\"minItems\": 1}", "[]", "beyond minItems 1"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_fitting(&rows[i]);
}

TEST(schemas_of_schemas)
{
	static const struct fitting rows[] = {
		{"{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}", "null", NULL},
		{"{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}", "1",
			"none of the alternatives"},
		{"{\"oneOf\": [{\"type\": \"string\"}]}", "1", "of type string"},
		{"{\"allOf\": [{\"minimum\": 1}, {\"maximum\": 2}]}", "3", "beyond maximum"},
		{"{\"not\": {\"type\": \"string\"}}", "\"a\"", "must not match"},
		{"{\"not\": {\"type\": \"string\"}}", "1", NULL},
		{"{\"$ref\": \"#/$defs/a~1b\", \"$defs\": {\"a/b\": {\"type\": \"string\"}}}", "1",
			"of type string"},
		{"{\"$ref\": \"http://127.0.0.1/schema\"}", "1", NULL},
		{"{\"$ref\": \"#/none\"}", "1", NULL},
		{"{\"$ref\": \"#\"}", "1", "too deep"},
		{"{\"pattern\": \"^(a+)+$\", \"x\": 1, \"enum\": 1, \"required\": 2}", "\"b\"",
			NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_fitting(&rows[i]);
}

TEST(a_schema_that_explodes_is_given_up)
{
	struct err err = {0};
	json_t *schema = json("{\"$defs\": {}, \"$ref\": \"#/$defs/d0\"}");
	for (int i = 0; i < 20; i++) {
		char text[200], name[8];
		snprintf(text, sizeof text,
			"{\"anyOf\": [{\"$ref\": \"#/$defs/d%d\"}, {\"$ref\": \"#/$defs/d%d\"}]}",
			i + 1, i + 1);
		snprintf(name, sizeof name, "d%d", i);
		(void)json_object_set_new(json_object_get(schema, "$defs"), name, json(text));
	}
	(void)json_object_set_new(json_object_get(schema, "$defs"), "d20", json_false());
	json_t *value = json_integer(1);
	CHECK(fit_check(schema, value, &err) < 0);
	json_decref(value);
	json_decref(schema);
}

TEST(results_come_to_one_value)
{
#define TEXT(s) "{\"type\": \"text\", \"text\": \"" s "\"}"
	static const struct {
		const char *result, *value; /* NULL: an error */
	} rows[] = {
		{"{\"content\": [" TEXT("a") "]}", "\"a\""},
		{"{\"content\": [" TEXT("a") ", " TEXT("b") "]}", "\"a\\nb\""},
		{"{\"content\": [" TEXT(" {\\\"x\\\": 1}") "]}", "{\"x\": 1}"},
		{"{\"content\": [" TEXT("{x") "]}", "\"{x\""},
		{"{\"content\": [" TEXT("12") "]}", "\"12\""},
		{"{\"content\": [" TEXT("[1]") "], \"isError\": true}", "\"[1]\""},
		{"{\"content\": []}", "\"\""},
		{"{\"content\": [" TEXT("a") "], \"structuredContent\": [1]}", "[1]"},
		{"{\"content\": [" TEXT("a") "], \"structuredContent\": null}", "\"a\""},
		{"{\"content\": [{\"type\": \"resource\", \"resource\": {\"uri\": \"u\", \"text\": \"t\"}}]}",
			"\"t\""},
		{"{\"content\": [{\"type\": \"resource_link\", \"uri\": \"u\"}]}",
			"{\"text\": \"\", \"images\": [], \"links\": [{\"type\": \"resource_link\", \"uri\": "
			"\"u\"}]}"},
		{"{\"content\": [{\"type\": \"image\"}, {}, 5]}", "{\"type\": \"image\"}"},
		{"{\"content\": [" TEXT("a") ", {\"type\": \"image\"}]}",
			"{\"text\": \"a\", \"images\": [{\"type\": \"image\"}], \"links\": []}"},
		{"{\"content\": 1}", NULL},
		{"{}", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		json_t *result = json(rows[i].result), *value = NULL;
		bool is_error = false;
		int r = result_read(result, &value, &is_error, &err);
		CHECK_INT(r < 0, rows[i].value == NULL);
		CHECK_INT(is_error, strstr(rows[i].result, "isError") != NULL);
		if (rows[i].value) {
			char *text = json_dumps(value, JSON_ENCODE_ANY);
			CHECK_STR(text, rows[i].value);
			free(text);
		}
		json_decref(value);
		json_decref(result);
	}
}

TEST(arguments_go_into_headers)
{
	json_t *schema = json(
		"{\"properties\": {\"a\": {\"type\": \"string\", \"x-mcp-header\": \"A\"}, "
		"\"o\": {\"properties\": {\"n\": {\"type\": \"integer\", \"x-mcp-header\": "
		"\"N\"}}}, \"b\": {\"type\": \"boolean\", \"x-mcp-header\": \"B\"}, \"c\": {}}}");
	static const struct {
		const char *arguments, *headers;
	} rows[] = {
		{"{}", "{}"},
		{"{\"a\": \"x y\", \"c\": \"z\"}", "{\"Mcp-Param-A\": \"x y\"}"},
		{"{\"a\": null}", "{}"},
		{"{\"a\": \"\"}", "{\"Mcp-Param-A\": \"=?base64?\?=\"}"},
		{"{\"a\": \" x\"}", "{\"Mcp-Param-A\": \"=?base64?IHg=?=\"}"},
		{"{\"a\": \"a\\r\\nB: c\"}", "{\"Mcp-Param-A\": \"=?base64?YQ0KQjogYw==?=\"}"},
		{"{\"a\": \"=?base64?eA==?=\"}",
			"{\"Mcp-Param-A\": \"=?base64?PT9iYXNlNjQ/ZUE9PT89?=\"}"},
		{"{\"o\": {\"n\": 42}}", "{\"Mcp-Param-N\": \"42\"}"},
		{"{\"b\": false}", "{\"Mcp-Param-B\": \"false\"}"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *arguments = json(rows[i].arguments);
		json_t *headers = param_headers(schema, arguments);
		char *text = json_dumps(headers, JSON_SORT_KEYS);
		CHECK_STR(text, rows[i].headers);
		free(text);
		json_decref(headers);
		json_decref(arguments);
	}
	json_decref(schema);
}

TEST(headers_that_may_not_be_asked_for)
{
	static const char *const rows[] = {
		"{\"x-mcp-header\": \"A\"}",
		"{\"properties\": {\"a\": {\"type\": \"string\", \"x-mcp-header\": \"A B\"}}}",
		"{\"properties\": {\"a\": {\"type\": \"string\", \"x-mcp-header\": \"\"}}}",
		"{\"properties\": {\"a\": {\"type\": \"number\", \"x-mcp-header\": \"A\"}}}",
		"{\"properties\": {\"a\": {\"x-mcp-header\": \"A\"}}}",
		"{\"properties\": {\"a\": {\"type\": \"string\", \"x-mcp-header\": \"A\"}, \"b\": "
		"{\"type\": \"string\", \"x-mcp-header\": \"a\"}}}",
		"{\"properties\": {\"a\": {\"items\": {\"type\": \"string\", \"x-mcp-header\": "
		"\"A\"}}}}",
		"{\"anyOf\": [{\"properties\": {\"a\": {\"type\": \"string\", \"x-mcp-header\": "
		"\"A\"}}}]}",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *schema = json(rows[i]), *headers = param_headers(schema, NULL);
		if (!CHECK(headers == NULL))
			fprintf(stderr, "%s\n", rows[i]);
		json_decref(headers);
		json_decref(schema);
	}
}

/* Check what becomes of a "_meta", once and again. */
static void check_hosts(const char *text, const char *want)
{
	json_t *meta = json(text), *kept = hosts_meta(meta), *again = hosts_meta(kept);
	char *out = kept ? json_dumps(kept, JSON_COMPACT) : NULL;
	struct tool_shelf shelf = {0};
	struct tool tool = {0};
	CHECK_STR(out ? out : "", want);
	CHECK_INT(json_equal(again, kept), kept != NULL);
	CHECK_INT(hosts_read(&shelf, meta, &tool), 0);
	const json_t *list = json_object_get(kept, "retort/net");
	CHECK_INT(tool.n_hosts, json_array_size(list));
	for (uint32_t i = 0; i < tool.n_hosts; i++)
		CHECK_STR(tool.host[i], json_string_value(json_array_get(list, i)));
	shelf_done(&shelf);
	free(out);
	json_decref(again);
	json_decref(kept);
	json_decref(meta);
}

TEST(hosts_that_are_not_understood_are_any)
{
	static const char any[] = "{\"retort/net\":[\"any\"]}";
	static const char *const rows[][2] = {
		{"null", ""},
		{"{}", ""},
		{"{\"other\": 5}", ""},
		{"{\"retort/net\": []}", ""},
		{"{\"retort/net\": [\"b\", \"a\", \"b\"], \"x\": [1]}",
			"{\"retort/net\":[\"a\",\"b\"]}"},
		{"{\"retort/net\": [\"10.0.0.0/8\", \"*.a_b-c.example\", \"any\"]}",
			"{\"retort/net\":[\"*.a_b-c.example\",\"10.0.0.0/8\",\"any\"]}"},
		{"5", any},
		{"[]", any},
		{"{\"retort/net\": null}", any},
		{"{\"retort/net\": false}", any},
		{"{\"retort/net\": \"a.example\"}", any},
		{"{\"retort/net\": {}}", any},
		{"{\"retort/net\": [\"a.example\", null]}", any},
		{"{\"retort/net\": [\"\"]}", any},
		{"{\"retort/net\": [\"A.example\"]}", any},
		{"{\"retort/net\": [\"a.example:80\"]}", any},
		{"{\"retort/net\": [\"a.example#b\"]}", any},
		{"{\"retort/net\": [\"a b\"]}", any},
		{"{\"retort/net\": [\"a\\u00e9\"]}", any},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_hosts(rows[i][0], rows[i][1]);
}

TEST(hosts_are_bounded)
{
	for (size_t n = TOOL_HOSTS_MAX; n <= TOOL_HOSTS_MAX + 1; n++) {
		json_t *list = json_array(), *meta = json_pack("{s:O}", "retort/net", list);
		char host[TOOL_HOST_MAX_BYTES + 2] = "";
		for (size_t i = 0; i < n; i++) {
			memset(host, 'a', TOOL_HOST_MAX_BYTES);
			(void)snprintf(host, 4, "%03zu", i);
			host[3] = '.';
			(void)json_array_append_new(list, json_string(host));
		}
		json_t *kept = hosts_meta(meta);
		CHECK_INT(json_array_size(json_object_get(kept, "retort/net")),
			n > TOOL_HOSTS_MAX ? 1 : n);
		json_decref(kept);
		host[TOOL_HOST_MAX_BYTES] = 'a';
		(void)json_array_clear(list);
		(void)json_array_append_new(list, json_string(host));
		kept = hosts_meta(meta);
		CHECK_STR(json_string_value(json_array_get(json_object_get(kept, "retort/net"), 0)),
			"any");
		json_decref(kept);
		json_decref(meta);
		json_decref(list);
	}
}
