/* What each wire writes, to the byte. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/format.h"
#include "agent/wire/question.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>

/* A conversation with everything in it. */
struct sample {
	json_t *schema, *thinking, *encrypted;
	struct part system[1], asked[2], said[4], results[3];
	struct message messages[4];
	struct model_tool tools[1];
	struct wire_request request;
};

static void sample_init(struct sample *s)
{
	*s = (struct sample){
		.schema = json_pack("{s:s}", "type", "object"),
		.thinking = json_pack(
			"{s:s, s:s, s:s}", "type", "thinking", "thinking", "hm", "signature", "S"),
		.encrypted = json_pack("{s:s, s:s, s:s}", "type", "reasoning", "id", "r",
			"encrypted_content", "E"),
		.system = {{.kind = PART_TEXT, .text = "Be \"brief\"."}},
		.asked = {{.kind = PART_TEXT, .text = "what?"},
			{.kind = PART_IMAGE, .mime = "image/png", .text = "AAAA"}},
		.results = {{.kind = PART_TEXT, .text = "and now?"},
			{.kind = PART_TOOL_RESULT,
				.id = "c1",
				.name = "run",
				.text = "bad",
				.is_error = true}},
		.tools = {{"run", "Run it.", NULL}},
	};
	s->said[0] = (struct part){.kind = PART_REASONING,
		.text = "hm",
		.opaque = s->thinking,
		.wire = wire_anthropic.name};
	s->said[1] = (struct part){.kind = PART_REASONING,
		.text = "hm",
		.opaque = s->encrypted,
		.wire = wire_responses.name};
	s->said[2] = (struct part){.kind = PART_TEXT, .text = "I run."};
	s->said[3] = (struct part){
		.kind = PART_TOOL_CALL, .id = "c1", .name = "run", .text = "{\"a\":1}"};
	s->messages[0] = (struct message){ROLE_SYSTEM, s->system, 1};
	s->messages[1] = (struct message){ROLE_USER, s->asked, 2};
	s->messages[2] = (struct message){ROLE_ASSISTANT, s->said, 4};
	s->messages[3] = (struct message){ROLE_USER, s->results, 2};
	s->tools[0].schema = s->schema;
	s->request = (struct wire_request){.model = "m",
		.messages = s->messages,
		.n_messages = 4,
		.tools = s->tools,
		.n_tools = 1};
}

static void sample_done(struct sample *s)
{
	json_decref(s->schema);
	json_decref(s->thinking);
	json_decref(s->encrypted);
}

static void check_body(
	const struct wire_format *format, const struct wire_request *q, const char *want)
{
	char *got = format_body(format, q);
	CHECK_STR(got, want);
	free(got);
}

TEST(chat_is_written)
{
	struct sample s;
	sample_init(&s);
	check_body(&wire_chat, &s.request,
		"{\"model\":\"m\",\"messages\":["
		"{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\"},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"what?\"},{\"type\":"
		"\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}}]},"
		"{\"role\":\"assistant\",\"content\":\"I run.\",\"tool_calls\":[{\"id\":\"c1\",\"type\":"
		"\"function\",\"function\":{\"name\":\"run\",\"arguments\":\"{\\\"a\\\":1}\"}}]},"
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"bad\"},"
		"{\"role\":\"user\",\"content\":\"and now?\"}],"
		"\"stream\":true,\"stream_options\":{\"include_usage\":true},"
		"\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"run\",\"description\":"
		"\"Run it.\",\"parameters\":{\"type\":\"object\"}}}]}");
	sample_done(&s);
}

TEST(responses_is_written)
{
	struct sample s;
	sample_init(&s);
	check_body(&wire_responses, &s.request,
		"{\"model\":\"m\",\"input\":["
		"{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
		"\"what?\"},{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,AAAA\"}]},"
		"{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_content\":\"E\"},"
		"{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
		"\"text\":\"I run.\"}]},"
		"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"run\",\"arguments\":"
		"\"{\\\"a\\\":1}\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"bad\"},"
		"{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
		"\"and now?\"}]}],"
		"\"stream\":true,\"store\":false,\"instructions\":\"Be \\\"brief\\\".\","
		"\"tools\":[{\"type\":\"function\",\"name\":\"run\",\"description\":\"Run it.\","
		"\"parameters\":{\"type\":\"object\"},\"strict\":false}]}");
	sample_done(&s);
}

TEST(anthropic_is_written)
{
	struct sample s;
	sample_init(&s);
	check_body(&wire_anthropic, &s.request,
		"{\"model\":\"m\",\"max_tokens\":8192,\"stream\":true,\"system\":\"Be \\\"brief\\\".\","
		"\"messages\":["
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"what?\"},{\"type\":"
		"\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":"
		"\"AAAA\"}}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\","
		"\"signature\":\"S\"},{\"type\":\"text\",\"text\":\"I run.\"},{\"type\":\"tool_use\","
		"\"id\":\"c1\",\"name\":\"run\",\"input\":{\"a\":1}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\","
		"\"content\":\"bad\",\"is_error\":true},{\"type\":\"text\",\"text\":\"and now?\"}]}],"
		"\"tools\":[{\"name\":\"run\",\"description\":\"Run it.\",\"input_schema\":{\"type\":"
		"\"object\"}}]}");
	sample_done(&s);
}

TEST(ollama_is_written)
{
	struct sample s;
	sample_init(&s);
	check_body(&wire_ollama, &s.request,
		"{\"model\":\"m\",\"messages\":["
		"{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\"},"
		"{\"role\":\"user\",\"content\":\"what?\",\"images\":[\"AAAA\"]},"
		"{\"role\":\"assistant\",\"content\":\"I run.\",\"tool_calls\":[{\"function\":{\"name\":"
		"\"run\",\"arguments\":{\"a\":1}}}]},"
		"{\"role\":\"tool\",\"tool_name\":\"run\",\"content\":\"bad\"},"
		"{\"role\":\"user\",\"content\":\"and now?\"}],\"stream\":true,"
		"\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"run\",\"description\":"
		"\"Run it.\",\"parameters\":{\"type\":\"object\"}}}]}");
	sample_done(&s);
}

TEST(options_are_sent_only_when_they_are_set)
{
	static const char *const stop[] = {"END"};
	static const struct part hi = {.kind = PART_TEXT, .text = "hi"};
	static const struct message message = {ROLE_USER, &hi, 1};
	json_t *schema = json_pack("{s:s}", "type", "object");
	struct wire_request q = {.model = "m",
		.messages = &message,
		.n_messages = 1,
		.options = {.max_tokens = 9,
			.context_tokens = 32768,
			.stop = stop,
			.n_stop = 1,
			.effort = "low",
			.has_seed = true,
			.seed = 7,
			.has_temperature = true,
			.temperature = 0.5,
			.has_top_p = true,
			.top_p = 1.0,
			.schema = schema}};
	check_body(&wire_chat, &q,
		"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"stream\":true,"
		"\"stream_options\":{\"include_usage\":true},\"max_completion_tokens\":9,\"stop\":"
		"[\"END\"],\"reasoning_effort\":\"low\",\"seed\":7,\"response_format\":{\"type\":"
		"\"json_schema\",\"json_schema\":{\"name\":\"answer\",\"strict\":true,\"schema\":{"
		"\"type\":\"object\"}}},\"temperature\":0.5,\"top_p\":1.0}");
	q.is_classic = true;
	char *classic = format_body(&wire_chat, &q);
	CHECK_HAS(classic, "\"max_tokens\":9");
	free(classic);
	check_body(&wire_responses, &q,
		"{\"model\":\"m\",\"input\":[{\"type\":\"message\",\"role\":\"user\",\"content\":[{"
		"\"type\":\"input_text\",\"text\":\"hi\"}]}],\"stream\":true,\"store\":false,"
		"\"max_output_tokens\":9,\"reasoning\":{\"effort\":\"low\"},\"include\":"
		"[\"reasoning.encrypted_content\"],\"text\":{\"format\":{\"type\":\"json_schema\","
		"\"name\":\"answer\",\"strict\":true,\"schema\":{\"type\":\"object\"}}},"
		"\"temperature\":0.5,\"top_p\":1.0}");
	check_body(&wire_anthropic, &q,
		"{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,\"messages\":[{\"role\":\"user\","
		"\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}],\"stop_sequences\":[\"END\"],"
		"\"temperature\":0.5,\"top_p\":1.0}");
	check_body(&wire_ollama, &q,
		"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"stream\":true,"
		"\"options\":{\"num_predict\":9,\"num_ctx\":32768,\"stop\":[\"END\"],\"seed\":7,"
		"\"temperature\":0.5,\"top_p\":1.0},\"format\":{\"type\":\"object\"},\"think\":"
		"\"low\"}");
	json_decref(schema);
}

/* What another wire keeps for itself, half a thought, empty texts, arguments that are none. */
TEST(what_cannot_be_sent_is_left_out)
{
	json_t *half =
		json_pack("{s:s, s:s, s:s}", "type", "thinking", "thinking", "", "signature", "");
	const struct part parts[] = {
		{.kind = PART_REASONING, .opaque = half, .wire = wire_anthropic.name},
		{.kind = PART_TEXT, .text = ""},
		{.kind = PART_TOOL_CALL, .id = "c", .name = "f", .text = "no JSON"}};
	const struct message messages[] = {{ROLE_ASSISTANT, parts, 3}, {ROLE_USER, parts + 1, 1}};
	const struct wire_request q = {.model = "m", .messages = messages, .n_messages = 2};
	char *got = format_body(&wire_anthropic, &q);
	CHECK_HAS(got,
		"\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
		"\"c\",\"name\":\"f\",\"input\":{}}]}]");
	free(got);
	got = format_body(&wire_responses, &q);
	CHECK_HAS(got, "\"input\":[{\"type\":\"function_call\",");
	free(got);
	got = format_body(&wire_chat, &q);
	CHECK_HAS(got, "{\"role\":\"assistant\",\"content\":null,\"tool_calls\"");
	CHECK(!strstr(got, "\"user\""));
	free(got);
	json_decref(half);
}

TEST(bytes_that_are_no_text_are_repaired)
{
	const struct part bad = {.kind = PART_TEXT, .text = "a\xff"};
	const struct message message = {ROLE_USER, &bad, 1};
	const struct wire_request q = {.model = "m", .messages = &message, .n_messages = 1};
	const struct wire_format *const formats[] = {
		&wire_chat, &wire_responses, &wire_anthropic, &wire_ollama};
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		char *got = format_body(formats[i], &q);
		CHECK_HAS(got, "a\xef\xbf\xbd");
		free(got);
	}
}

TEST(our_own_form_is_written)
{
	struct sample s;
	sample_init(&s);
	json_t *root = question_json(&s.request);
	char *got = json_dumps(root, JSON_COMPACT);
	CHECK_STR(got,
		"{\"model\":\"m\",\"messages\":["
		"{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"Be \\\"brief\\\".\"}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"what?\"},{\"type\":"
		"\"image\",\"mime\":\"image/png\",\"data\":\"AAAA\"}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I run.\"},{\"type\":"
		"\"tool_call\",\"id\":\"c1\",\"name\":\"run\",\"arguments\":\"{\\\"a\\\":1}\"}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"and now?\"},{\"type\":"
		"\"tool_result\",\"id\":\"c1\",\"name\":\"run\",\"text\":\"bad\",\"is_error\":true}]}],"
		"\"tools\":[{\"name\":\"run\",\"description\":\"Run it.\",\"schema\":{\"type\":"
		"\"object\"}}]}");
	char *text = question_text(&s.request, 3);
	CHECK_STR(text, "and now?\nbad\n");
	free(text);
	free(got);
	json_decref(root);
	sample_done(&s);
}
