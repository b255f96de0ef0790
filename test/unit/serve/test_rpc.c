/* JSON-RPC messages: what is one, and what is answered. SPDX-License-Identifier: Apache-2.0 */
#include "serve/rpc.h"

#include "api/text/json.h"
#include "base/json.h"
#include "t.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST cleanup(rpc_request_done) struct rpc_request

static int parse(const char *line, struct rpc_request *out, struct err *err)
{
	*err = (struct err){0};
	return rpc_parse(line, strlen(line), out, err);
}

TEST(requests_are_understood)
{
	static const struct {
		const char *line, *id;
	} rows[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", "1"},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a b\",\"method\":\"m\",\"params\":{}}", "\"a b\""},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", "null"},
		{"{\"jsonrpc\":\"2.0\",\"id\":-1.5,\"method\":\"m\"}", "-1.5"},
		{"{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,\"method\":\"m\"}",
			"9223372036854775807"},
		{"  {\"method\":\"m\",\"jsonrpc\":\"2.0\",\"id\":0} ", "0"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		REQUEST q;
		struct err err;
		CHECK_INT(parse(rows[i].line, &q, &err), 0);
		CHECK_STR(q.method, "m");
		char *id = json_dumps(q.id, JSON_ENCODE_ANY);
		CHECK_STR(id, rows[i].id);
		free(id);
		cleanup_buf struct buf out = BUF_INIT(1000);
		json_t *result = json_object();
		CHECK_INT(rpc_put_result(&out, q.id, result), 0);
		CHECK_HAS(buf_str(&out), rows[i].id);
		json_decref(result);
	}
	REQUEST q;
	struct err err;
	CHECK_INT(parse("{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", &q, &err), 0);
	CHECK(q.id == NULL);
}

TEST(what_is_no_request_is_refused)
{
	static const struct {
		const char *line;
		int code;
		const char *message;
	} rows[] = {
		{"", RPC_PARSE, "not JSON"},
		{"garbage", RPC_PARSE, "not JSON"},
		{"{\"jsonrpc\":\"2.0\"", RPC_PARSE, "not JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}", RPC_PARSE,
			"duplicate"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"m\"}", RPC_PARSE, "not JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"m\"}", RPC_PARSE,
			"not JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", RPC_PARSE, "not JSON"},
		{"[]", RPC_INVALID, "batches"},
		{"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}]", RPC_INVALID, "batches"},
		{"1", RPC_INVALID, "not an object"},
		{"\"m\"", RPC_INVALID, "not an object"},
		{"null", RPC_INVALID, "not an object"},
		{"{}", RPC_INVALID, "jsonrpc"},
		{"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID, "jsonrpc"},
		{"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", RPC_INVALID, "jsonrpc"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID, "method"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", RPC_INVALID, "method"},
		{"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", RPC_INVALID, "the id"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":3}", RPC_INVALID,
			"params"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		REQUEST q;
		struct err err;
		CHECK_INT(parse(rows[i].line, &q, &err), rows[i].code);
		CHECK_HAS(err.msg, rows[i].message);
		CHECK(err.hint[0] != '\0');
	}
}

TEST(deep_and_wide_messages_cost_little)
{
	enum { DEEP = 100000, WIDE = 3000000 };
	char *text = malloc(WIDE);
	REQUEST q;
	struct err err;
	memset(text, '[', DEEP);
	CHECK_INT(rpc_parse(text, DEEP, &q, &err), RPC_PARSE);
	rpc_request_done(&q);
	text[0] = '[';
	memset(text + 1, ',', WIDE - 1);
	CHECK_INT(rpc_parse(text, WIDE, &q, &err), RPC_INVALID);
	CHECK_INT(err.code, ERR_LIMIT);
	free(text);
}

TEST(errors_have_code_word_and_hint)
{
	struct err err;
	cleanup_buf struct buf out = BUF_INIT(4000);
	(void)err_set(&err, ERR_NOT_FOUND, "no session \"%s\"", "x\xff\ny");
	(void)err_hint(&err, "list them");
	CHECK_INT(rpc_put_error(&out, NULL, 0, &err), 0);
	CHECK_STR(buf_str(&out),
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32004,\"message\":\"no session "
		"\\\"x\xef\xbf\xbd\\ny\\\"\",\"data\":{\"code\":\"not_found\",\"hint\":\"list "
		"them\"}}}\n");
	buf_clear(&out);
	CHECK_INT(rpc_put_error(&out, NULL, RPC_NO_METHOD, &err), 0);
	CHECK_HAS(buf_str(&out), "-32601");
}

TEST(an_answer_goes_in_whole_or_not_at_all)
{
	cleanup_buf struct buf out = BUF_INIT(60);
	json_t *result = json_string("0123456789012345678901234567890");
	CHECK_INT(buf_add(&out, "before\n"), 0);
	CHECK_INT(rpc_put_result(&out, NULL, result), -E2BIG);
	CHECK_STR(buf_str(&out), "before\n");
	/* The one byte of the line's end does not fit either. */
	cleanup_buf struct buf tight = BUF_INIT(39);
	json_t *small = json_integer(1);
	CHECK_INT(rpc_put_result(&tight, NULL, small), 0);
	tight.max_bytes = 2 * tight.bytes - 1;
	size_t before = tight.bytes;
	CHECK_INT(rpc_put_result(&tight, NULL, small), -E2BIG);
	CHECK_INT(tight.bytes, before);
	json_decref(result);
	json_decref(small);
}

TEST(events_carry_the_id_of_the_request)
{
	cleanup_buf struct buf out = BUF_INIT(400);
	json_t *id = json_string("q"),
	       *event = json_pack("{s:s, s:s}", "event", "stdout", "text", "x");
	CHECK_INT(rpc_put_event(&out, id, event), 0);
	CHECK_STR(buf_str(&out),
		"{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"id\":\"q\","
		"\"event\":\"stdout\",\"text\":\"x\"}}\n");
	json_decref(id);
	json_decref(event);
}

TEST(members_that_were_written_before)
{
	cleanup_buf struct buf out = BUF_INIT(1 << 10), small = BUF_INIT(70);
	cleanup_json json_t *id = json_string("a\"b"),
			    *event = json_pack("{s:s}", "event", "output");
	CHECK_INT(rpc_put_event(&out, id, event), 0);
	cleanup_buf struct buf same = BUF_INIT(1 << 10);
	CHECK_INT(rpc_put_members(&same, id, "\"event\":\"output\""), 0);
	CHECK_STR(buf_str(&same), buf_str(&out));
	/* All of it or nothing. */
	CHECK_INT(buf_add(&small, "before"), 0);
	CHECK(rpc_put_members(&small, id, "\"event\":\"output\"") < 0);
	CHECK_STR(buf_str(&small), "before");
}

TEST(lines_are_found_however_they_come)
{
	static const char text[] = "one\n\nthree and more\n";
	for (size_t piece = 1; piece <= sizeof text; piece++) {
		cleanup_buf struct buf in = BUF_INIT(100);
		size_t seen = 0;
		int n = 0;
		for (size_t at = 0; at < sizeof text - 1; at += piece) {
			CHECK_INT(buf_append(&in, text + at, MIN(piece, sizeof text - 1 - at)), 0);
			for (ssize_t bytes; (bytes = rpc_line(&in, &seen)) >= 0; n++) {
				static const int want[] = {3, 0, 14};
				CHECK_INT(bytes, want[n % 3]);
				buf_consume(&in, (size_t)bytes + 1);
				seen = 0;
			}
			CHECK_INT(seen, in.bytes);
		}
		CHECK_INT(n, 3);
	}
}

TEST(what_is_long_is_found_without_writing_it)
{
	char text[1000];
	memset(text, 'x', sizeof text);
	json_t *list = json_array(), *json = json_pack("{s:o}", "list", list);
	CHECK(!json_is_long(NULL, 0));
	CHECK(!json_is_long(json, 1000));
	(void)json_array_append_new(list, json_stringn(text, sizeof text));
	CHECK(json_is_long(json, 1000));
	CHECK(!json_is_long(json, 1300));
	for (int i = 0; i < 100; i++)
		(void)json_array_append_new(list, json_null());
	CHECK(json_is_long(json, 1300));
	json_decref(json);
}
