/* Recorded answers of every wire: whole, in pieces, cut anywhere. SPDX-License-Identifier:
 * Apache-2.0
 */
#include "agent/wire/reduction.h"

#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char chat_text[] =
	"data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":"
	"{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n"
	": keep-alive\n\n"
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Thought: 3 \xe2\x82\xac\"}}]}\r\n\r\n"
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" \\ud83d\\ude00\"}}]}\n\n"
	"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":10,"
	"\"prompt_tokens_details\":{\"cached_tokens\":32},\"completion_tokens_details\":"
	"{\"reasoning_tokens\":4}}}\n\n"
	"data: [DONE]\n\n";

static const char chat_tools[] =
	"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":"
	"\"function\",\"function\":{\"name\":\"run_code\",\"arguments\":\"\"}}]}}]}\n\n"
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
	"\"{\\\"lang\"}}]}}]}\n\n"
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"call_2\",\"function\":"
	"{\"name\":\"look\",\"arguments\":\"{}\"}}]}}]}\n\n"
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
	"\"uage\\\":1}\"}}]}}]}\n\n"
	"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}],\"usage\":"
	"{\"prompt_tokens\":4,\"completion_tokens\":5}}\n\n"
	"data: [DONE]\n\n";

static const char responses_text[] =
	"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n"
	"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\","
	"\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs\",\"encrypted_content\":\"x\","
	"\"summary\":[]}}\n\n"
	"event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\","
	"\"output_index\":1,\"item\":{\"type\":\"message\",\"content\":[]}}\n\n"
	"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","
	"\"output_index\":1,\"delta\":\"Hel\"}\n\n"
	"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","
	"\"output_index\":1,\"delta\":\"lo\"}\n\n"
	"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\","
	"\"output_index\":1,\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"output_text\","
	"\"text\":\"Hello\"}]}}\n\n"
	"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":"
	"\"completed\",\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":3},"
	"\"output_tokens\":7,\"output_tokens_details\":{\"reasoning_tokens\":2}}}}\n\n";

/* No deltas: items alone must do. */
static const char responses_tool[] =
	"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":"
	"\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"A\"},{\"type\":"
	"\"output_text\",\"text\":\"B\"}]}}\n\n"
	"data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":"
	"\"function_call\",\"call_id\":\"f1\",\"name\":\"run\",\"arguments\":\"\"}}\n\n"
	"data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":1,\"delta\":"
	"\"{\\\"a\\\"\"}\n\n"
	"data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":"
	"\"function_call\",\"call_id\":\"f1\",\"name\":\"run\",\"arguments\":\"{\\\"a\\\":1}\"}}\n\n"
	"data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":"
	"\"max_output_tokens\"},\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n\n";

static const char anthropic_text[] =
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":"
	"{\"input_tokens\":10,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":5,"
	"\"output_tokens\":1}}}\n\n"
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
	"\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n"
	"event: ping\ndata: {\"type\":\"ping\"}\n\n"
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
	"{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n"
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
	"{\"type\":\"signature_delta\",\"signature\":\"sig\"}}\n\n"
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,"
	"\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":"
	"{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n"
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,"
	"\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"run\",\"input\":{}}}\n\n"
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":"
	"{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}}\n\n"
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":"
	"{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}}\n\n"
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n"
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,"
	"\"content_block\":{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"list\",\"input\":{}}}\n\n"
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n"
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
	"\"tool_use\"},\"usage\":{\"output_tokens\":15}}\n\n"
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

static const char ollama_text[] =
	"{\"model\":\"q\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"hm\"},"
	"\"done\":false}\n"
	"{\"message\":{\"role\":\"assistant\",\"content\":\"Hel\"},\"done\":false}\n"
	"{\"message\":{\"role\":\"assistant\",\"content\":\"lo\"},\"done\":false}\r\n"
	"{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":"
	"\"run\",\"arguments\":{\"a\":1}}}]},\"done\":false}\n"
	"{\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":26,\"eval_count\":9,"
	"\"total_duration\":5}\n";

static const struct {
	const struct wire_format *format;
	const char *bytes, *want;
} recordings[] = {
	{&wire_chat, chat_text,
		"{\"text\":\"Thought: 3 \xe2\x82\xac \xf0\x9f\x98\x80\",\"stop\":\"end\",\"usage\":"
		"{\"input\":40,\"output\":10,\"cached\":32,\"reasoning\":4}}"},
	{&wire_chat, chat_tools,
		"{\"reasoning\":\"hm\",\"tool_calls\":[{\"id\":\"call_1\",\"name\":\"run_code\","
		"\"arguments\":\"{\\\"language\\\":1}\"},{\"id\":\"call_2\",\"name\":\"look\","
		"\"arguments\":\"{}\"}],\"stop\":\"tool\",\"usage\":{\"input\":4,\"output\":5,"
		"\"cached\":0,\"reasoning\":0}}"},
	{&wire_responses, responses_text,
		"{\"text\":\"Hello\",\"stop\":\"end\",\"usage\":{\"input\":9,\"output\":7,\"cached\":3,"
		"\"reasoning\":2}}"},
	{&wire_responses, responses_tool,
		"{\"text\":\"AB\",\"tool_calls\":[{\"id\":\"f1\",\"name\":\"run\",\"arguments\":"
		"\"{\\\"a\\\":1}\"}],\"stop\":\"length\",\"usage\":{\"input\":1,\"output\":2,"
		"\"cached\":0,\"reasoning\":0}}"},
	{&wire_anthropic, anthropic_text,
		"{\"text\":\"Hello\",\"reasoning\":\"hm\",\"tool_calls\":[{\"id\":\"t1\",\"name\":"
		"\"run\",\"arguments\":\"{\\\"a\\\":1}\"},{\"id\":\"t2\",\"name\":\"list\","
		"\"arguments\":\"{}\"}],\"stop\":\"tool\",\"usage\":{\"input\":115,\"output\":15,"
		"\"cached\":100,\"reasoning\":0}}"},
	{&wire_ollama, ollama_text,
		"{\"text\":\"Hello\",\"reasoning\":\"hm\",\"tool_calls\":[{\"id\":\"call_2\",\"name\":"
		"\"run\",\"arguments\":\"{\\\"a\\\":1}\"}],\"stop\":\"tool\",\"usage\":{\"input\":26,"
		"\"output\":9,\"cached\":0,\"reasoning\":0}}"},
};

/* @bytes of an answer, @step at a time. Returns: what reduction_finish() does, or -1. */
static int reduce(struct reduction *r, const char *data, size_t bytes, size_t step)
{
	int n = 0;
	for (size_t at = 0; at < bytes && n == 0; at += step)
		n = reduction_feed(r, data + at, MIN(step, bytes - at));
	return n < 0 ? -1 : reduction_finish(r, 100);
}

static char *show(const struct reduction *r)
{
	json_t *json = reply_json(&r->reply);
	char *text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

TEST(recorded_answers_are_understood)
{
	static const size_t steps[] = {1, 2, 3, 7, 100, 100000};
	for (size_t i = 0; i < ARRAY_LEN(recordings); i++)
		for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
			struct reduction r;
			const char *bytes = recordings[i].bytes;
			reduction_init(&r, recordings[i].format, NULL, NULL, NULL);
			CHECK_INT(reduce(&r, bytes, strlen(bytes), steps[k]), 0);
			char *got = show(&r);
			CHECK_STR(got, recordings[i].want);
			free(got);
			reduction_done(&r);
		}
}

static bool is_same(const json_t *a, const json_t *b, const char *name)
{
	const json_t *x = json_object_get(a, name), *y = json_object_get(b, name);
	return x == y || json_equal(x, y);
}

/* A connection that breaks after any byte: never a success that says something else. */
TEST(an_answer_that_breaks_off_is_none)
{
	for (size_t i = 0; i < ARRAY_LEN(recordings); i++) {
		const char *bytes = recordings[i].bytes;
		size_t n_good = 0, length = strlen(bytes);
		json_t *want = json_loads(recordings[i].want, 0, NULL);
		for (size_t cut = 0; cut < length; cut++) {
			struct reduction r;
			reduction_init(&r, recordings[i].format, NULL, NULL, NULL);
			if (reduce(&r, bytes, cut, length) < 0) {
				CHECK_INT(r.failure.class, FAILURE_STREAM);
				CHECK(r.failure.err.msg[0]);
				CHECK(failure_is_retried(&r.failure));
			} else {
				json_t *got = reply_json(&r.reply);
				CHECK(is_same(got, want, "text"));
				CHECK(is_same(got, want, "tool_calls"));
				CHECK(is_same(got, want, "stop"));
				json_decref(got);
				n_good++;
			}
			reduction_done(&r);
		}
		/* Behind the reason to stop there is nothing but usage and last words. */
		CHECK(n_good < length / 2);
		json_decref(want);
	}
}

TEST(what_goes_back_is_as_it_came)
{
	struct reduction r;
	reduction_init(&r, &wire_anthropic, NULL, NULL, NULL);
	CHECK_INT(reduce(&r, anthropic_text, strlen(anthropic_text), 1), 0);
	char *text = json_dumps(r.reply.parts[0].opaque, JSON_COMPACT);
	CHECK_STR(text, "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"}");
	free(text);
	reduction_done(&r);
	reduction_init(&r, &wire_responses, NULL, NULL, NULL);
	CHECK_INT(reduce(&r, responses_text, strlen(responses_text), 9), 0);
	CHECK_STR(json_string_value(json_object_get(r.reply.parts[0].opaque, "encrypted_content")),
		"x");
	reduction_done(&r);
}

static const struct {
	const struct wire_format *format;
	const char *bytes;
	enum failure_class class;
	const char *message;
} failures[] = {
	{&wire_chat, "data: {\"error\":{\"message\":\"no luck\",\"type\":\"server_error\"}}\n\n",
		FAILURE_SERVER, "no luck"},
	{&wire_chat,
		"event: error\ndata: {\"error\":{\"code\":400,\"message\":\"the request exceeds the "
		"available context size\",\"type\":\"exceed_context_size_error\",\"n_ctx\":4096}}\n\n",
		FAILURE_CONTEXT, "exceeds"},
	{&wire_chat, "data: {\"choices\":\n\n", FAILURE_STREAM, "not a JSON object"},
	{&wire_chat, "data: 7\n\n", FAILURE_STREAM, "not a JSON object"},
	{&wire_chat, "<html>504</html>", FAILURE_STREAM, "middle"},
	{&wire_chat, "", FAILURE_STREAM, "middle"},
	{&wire_responses,
		"event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":"
		"{\"code\":\"rate_limit_exceeded\",\"message\":\"slowly\"}}}\n\n",
		FAILURE_RATE, "slowly"},
	{&wire_responses,
		"event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"x\"}\n\n",
		FAILURE_SERVER, "x"},
	{&wire_anthropic,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
		"\"message\":\"Overloaded\"}}\n\n",
		FAILURE_OVERLOADED, "Overloaded"},
	{&wire_ollama, "{\"message\":{\"content\":\"a\"}}\n{\"error\":\"it broke\"}\n",
		FAILURE_SERVER, "it broke"},
	{&wire_ollama, "{\"message\":{\"content\":\"a\"}", FAILURE_STREAM, "not a JSON object"},
	{&wire_ollama, "{\"message\":{\"content\":\"a\"}}\n", FAILURE_STREAM, "middle"},
};

TEST(failures_in_the_stream_are_told_apart)
{
	for (size_t i = 0; i < ARRAY_LEN(failures); i++)
		for (size_t step = 1; step < 40; step += 13) {
			struct reduction r;
			const char *bytes = failures[i].bytes;
			reduction_init(&r, failures[i].format, NULL, NULL, NULL);
			CHECK_INT(reduce(&r, bytes, strlen(bytes), step), -1);
			CHECK_INT(r.failure.class, failures[i].class);
			CHECK_HAS(r.failure.err.msg, failures[i].message);
			reduction_done(&r);
		}
}

/* Shapes that servers beside the originals send. */
TEST(variants_of_chat_are_understood)
{
	static const struct {
		const char *bytes, *want;
	} rows[] = {
		/* No index, all at once, one call after the other. */
		{"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"a\","
		 "\"arguments\":\"{}\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{"
		 "\"function\":{\"name\":\"b\",\"arguments\":\"{\"}}]}}]}\n\ndata: {\"choices\":[{"
		 "\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"}\"}}]},\"finish_reason\":"
		 "\"stop\"}]}\n\n",
			"\"tool_calls\":[{\"id\":\"\",\"name\":\"a\",\"arguments\":\"{}\"},{\"id\":"
			"\"\",\"name\":\"b\",\"arguments\":\"{}\"}],\"stop\":\"tool\""},
		/* The same index for all, and ids of their own. */
		{"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\","
		 "\"function\":{\"name\":\"a\",\"arguments\":\"1\"}},{\"index\":0,\"id\":\"y\","
		 "\"function\":{\"name\":\"b\",\"arguments\":\"2\"}}]},\"finish_reason\":"
		 "\"tool_calls\"}]}\n\n",
			"{\"id\":\"x\",\"name\":\"a\",\"arguments\":\"1\"},{\"id\":\"y\",\"name\":\"b\","
			"\"arguments\":\"2\"}"},
		/* A whole message where a piece was expected; a list of contents. */
		{"data: {\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},"
		 "\"finish_reason\":\"length\"}]}\n\n",
			"{\"text\":\"hi\",\"stop\":\"length\""},
		{"data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning\":\"r\","
		 "\"reasoning_content\":\"r\"},\"finish_reason\":\"stop\"}]}\n\n",
			"{\"reasoning\":\"r\",\"stop\":\"end\""},
		{"data: {\"choices\":[{\"delta\":{\"content\":\"a\\u0000b\"},\"finish_reason\":"
		 "\"stop\"}]}\n\n",
			"{\"text\":\"a\xef\xbf\xbd"
			"b\""},
		/* Half a character, then the other half, then a whole one. */
		{"data: {\"choices\":[{\"delta\":{\"content\":\"\\\\\\ud83d\"}}]}\n\ndata: {"
		 "\"choices\":[{\"delta\":{\"content\":\"\\ude00\\ud83d\\ude00\"},"
		 "\"finish_reason\":\"stop\"}]}\n\n",
			"{\"text\":\"\\\\\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80\""},
		{"data: {\"choices\":[{\"delta\":{\"refusal\":\"no\"}}]}\n\ndata: {\"choices\":[{"
		 "\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
			"{\"text\":\"no\",\"stop\":\"refusal\""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reduction r;
		reduction_init(&r, &wire_chat, NULL, NULL, NULL);
		CHECK_INT(reduce(&r, rows[i].bytes, strlen(rows[i].bytes), 5), 0);
		char *got = show(&r);
		CHECK_HAS(got, rows[i].want);
		free(got);
		reduction_done(&r);
	}
}

static int stop_at(void *arg, struct delta *d)
{
	const char *end = memchr(d->text, *(const char *)arg, d->bytes);
	if (!end)
		return 0;
	d->keep_bytes = (size_t)(end - d->text);
	return 1;
}

TEST(who_has_heard_enough_keeps_what_was_said)
{
	struct reduction r;
	char mark = '3';
	reduction_init(&r, &wire_chat, NULL, stop_at, &mark);
	CHECK_INT(reduce(&r, chat_text, strlen(chat_text), 10), 0);
	CHECK_INT(r.reply.stop, REPLY_STOPPED);
	CHECK_STR(r.reply.parts[0].text, "Thought: ");
	/* Nobody counted: a token for four bytes. */
	CHECK(r.reply.usage.is_estimated);
	CHECK_INT(r.reply.usage.input, 25);
	CHECK_INT(r.reply.usage.output, 3);
	CHECK_INT(reduction_feed(&r, chat_text, 10), 1);
	reduction_done(&r);
}

TEST(usage_of_nothing_is_an_estimate)
{
	struct reduction r;
	static const char bytes[] =
		"{\"message\":{\"content\":\"12345678\"},\"done\":true,"
		"\"done_reason\":\"stop\",\"prompt_eval_count\":0,\"eval_count\":0}";
	reduction_init(&r, &wire_ollama, NULL, NULL, NULL);
	CHECK_INT(reduce(&r, bytes, strlen(bytes), 10), 0);
	CHECK(r.reply.usage.is_estimated);
	CHECK_INT(r.reply.usage.output, 2);
	reduction_done(&r);
}

/* Source: what ollama does to a prompt beyond its num_ctx, without a word. */
TEST(a_question_that_was_cut_is_noticed)
{
	struct reduction r;
	static const char bytes[] =
		"{\"message\":{\"content\":\"1\"},\"done\":true,\"done_reason\":"
		"\"stop\",\"prompt_eval_count\":4096,\"eval_count\":3}";
	static const struct {
		size_t asked_bytes;
		bool is_truncated;
	} rows[] = {{100000, true}, {16384, false}, {1000, false}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		reduction_init(&r, &wire_ollama, NULL, NULL, NULL);
		CHECK_INT(reduction_feed(&r, bytes, strlen(bytes)), 0);
		CHECK_INT(reduction_finish(&r, rows[i].asked_bytes), 0);
		CHECK_INT(r.reply.is_truncated, rows[i].is_truncated);
		reduction_done(&r);
	}
}

TEST(an_answer_has_a_maximum)
{
	struct reduction r;
	int n = 0;
	reduction_init(&r, &wire_chat, NULL, NULL, NULL);
	for (int i = 0; i <= REPLY_PARTS_MAX && n == 0; i++) {
		char event[200];
		snprintf(event, sizeof event,
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"i%d\",\"function\":"
			"{\"name\":\"a\"}}]}}]}\n\n",
			i);
		n = reduction_feed(&r, event, strlen(event));
	}
	CHECK_INT(n, -1);
	CHECK_INT(r.failure.class, FAILURE_OURS);
	CHECK_INT(r.reply.n_parts, REPLY_PARTS_MAX);
	reduction_done(&r);
}
