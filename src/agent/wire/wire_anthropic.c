/* The wire format of Anthropic Messages. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/reduction.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* The API requires a maximum number of tokens. All models of the API allow this number. */
enum { MAX_TOKENS_DEFAULT = 8192 };

/* ---- writing a request ---- */

static json_t *write_image(const struct part *p)
{
	return json_pack("{s:s, s:{s:s, s:o, s:o}}", "type", "image", "source", "type", "base64",
		"media_type", format_text(p->mime ? p->mime : "image/png"), "data",
		format_text(p->text));
}

static json_t *write_result(const struct part *p)
{
	json_t *out = json_pack("{s:s, s:o, s:o}", "type", "tool_result", "tool_use_id",
		format_text(p->id), "content", format_text(p->text));
	if (p->is_error)
		json_object_set_new(out, "is_error", json_true());
	return out;
}

/* Return a reasoning block to send back, or NULL if the API would reject it: if its stream was
 * cut, so that it has no signature, or if another wire format made it. */
static json_t *write_reasoning(const struct part *p)
{
	bool is_whole = p->wire == wire_anthropic.name &&
		(json_string_length(json_object_get(p->opaque, "signature")) > 0 ||
			json_object_get(p->opaque, "data"));
	return is_whole ? json_deep_copy(p->opaque) : NULL;
}

/* Return a part as a content block, or NULL if the part is not sent. An empty text is not sent,
 * because the API rejects an empty text block. */
static json_t *write_block(const struct part *p)
{
	switch (p->kind) {
	case PART_TEXT:
		return p->text && *p->text
			? json_pack("{s:s, s:o}", "type", "text", "text", format_text(p->text))
			: NULL;
	case PART_IMAGE:
		return write_image(p);
	case PART_TOOL_CALL:
		return json_pack("{s:s, s:o, s:o, s:o}", "type", "tool_use", "id",
			format_text(p->id), "name", format_text(p->name), "input",
			format_arguments(p));
	case PART_TOOL_RESULT:
		return write_result(p);
	case PART_REASONING:
		return write_reasoning(p);
	}
	return NULL;
}

static void write_message(json_t *out, const struct message *m)
{
	cleanup_json json_t *content = json_array();
	/* The API requires that the results of tools come first. */
	for (int is_result = 1; is_result >= 0; is_result--)
		for (size_t i = 0; i < m->n_parts; i++) {
			if ((m->parts[i].kind == PART_TOOL_RESULT) != is_result)
				continue;
			json_t *block = write_block(&m->parts[i]);
			if (block)
				json_array_append_new(content, block);
		}
	if (json_array_size(content) > 0)
		json_array_append_new(out,
			json_pack("{s:s, s:O}", "role",
				m->role == ROLE_ASSISTANT ? "assistant" : "user", "content",
				content));
}

static json_t *write_tools(const struct wire_request *q)
{
	json_t *out = json_array();
	for (size_t i = 0; i < q->n_tools; i++)
		json_array_append_new(out,
			json_pack("{s:o, s:o, s:O}", "name", format_text(q->tools[i].name),
				"description", format_text(q->tools[i].description), "input_schema",
				q->tools[i].schema));
	return out;
}

static json_t *build(const struct wire_request *q)
{
	const struct wire_options *o = &q->options;
	uint64_t max = o->max_tokens > 0 ? o->max_tokens : MAX_TOKENS_DEFAULT;
	json_t *messages = json_array();
	json_t *system = format_system(q);
	for (size_t i = 0; i < q->n_messages; i++)
		if (q->messages[i].role != ROLE_SYSTEM)
			write_message(messages, &q->messages[i]);
	json_t *root = json_pack("{s:o, s:I, s:b}", "model", format_text(q->model), "max_tokens",
		(json_int_t)max, "stream", 1);
	if (system)
		json_object_set_new(root, "system", system);
	json_put_new(root, "messages", messages);
	if (o->n_stop > 0)
		json_object_set_new(root, "stop_sequences", format_stop(q));
	if (q->n_tools > 0)
		json_object_set_new(root, "tools", write_tools(q));
	format_sampling(root, o);
	return root;
}

/* ---- reading a response ---- */

static const struct stop_word stops[] = {
	{"end_turn", REPLY_END},
	{"max_tokens", REPLY_LENGTH},
	{"stop_sequence", REPLY_SEQUENCE},
	{"tool_use", REPLY_TOOL},
	{"refusal", REPLY_REFUSAL},
	{"model_context_window_exceeded", REPLY_CONTEXT},
};

/* Read the numbers of tokens. In this API, the number of input tokens does not include cached
 * tokens. Add the cached tokens, because other APIs include them. */
static void read_usage(struct reduction *r, const json_t *usage)
{
	struct wire_usage *u = &r->reply.usage;
	uint64_t cached = reduction_count(usage, "cache_read_input_tokens");
	uint64_t input = reduction_count(usage, "input_tokens") + cached +
		reduction_count(usage, "cache_creation_input_tokens");
	uint64_t output = reduction_count(usage, "output_tokens");
	u->input = MAX(u->input, input);
	u->cached = MAX(u->cached, cached);
	u->output = MAX(u->output, output);
	const json_t *details = json_object_get(usage, "output_tokens_details");
	u->reasoning = MAX(u->reasoning, reduction_count(details, "thinking_tokens"));
}

static int on_start(struct reduction *r, const json_t *data)
{
	read_usage(r, json_object_get(json_object_get(data, "message"), "usage"));
	return 0;
}

static int64_t block_key(const json_t *data)
{
	return json_integer_value(json_object_get(data, "index"));
}

/* Find the part of the reply that belongs to the content block with the "index" in @data.
 * Returns: the index of the part, or -1 if there is none. */
static int find_block(const struct reduction *r, const json_t *data)
{
	for (size_t i = r->reply.n_parts; i-- > 0;)
		if (r->keys[i] == block_key(data))
			return (int)i;
	return -1;
}

static int on_block(struct reduction *r, const json_t *data)
{
	static const struct {
		const char *type;
		enum part_kind kind;
		const char *text;
	} kinds[] = {
		{"text", PART_TEXT, "text"},
		{"tool_use", PART_TOOL_CALL, NULL},
		{"thinking", PART_REASONING, "thinking"},
		{"redacted_thinking", PART_REASONING, NULL},
	};
	const json_t *block = json_object_get(data, "content_block");
	const char *type = json_string_value(json_object_get(block, "type"));
	for (size_t i = 0; type && i < ARRAY_LEN(kinds); i++) {
		if (strcmp(type, kinds[i].type) != 0)
			continue;
		int part = reduction_part(r, kinds[i].kind, block_key(data));
		const json_t *id = json_object_get(block, "id");
		if (part < 0 || reduction_rename(r, part, id, json_object_get(block, "name")) < 0)
			return -1;
		if (kinds[i].kind != PART_TEXT)
			reply_set_opaque(&r->reply, (size_t)part, json_deep_copy(block),
				wire_anthropic.name);
		return kinds[i].text
			? reduction_append(r, part, json_object_get(block, kinds[i].text))
			: 0;
	}
	return 0;
}

/* Append a piece of the signature, which is kept but not shown. */
static int add_signature(struct reduction *r, int part, const json_t *text)
{
	json_t *block = (json_t *)(uintptr_t)r->reply.parts[part].opaque;
	const char *had = json_string_value(json_object_get(block, "signature"));
	if (block && json_is_string(text))
		json_object_set_new(block, "signature",
			json_sprintf("%s%s", had ? had : "", json_string_value(text)));
	return 0;
}

static int on_delta(struct reduction *r, const json_t *data)
{
	static const char *const texts[] = {"text", "partial_json", "thinking"};
	const json_t *delta = json_object_get(data, "delta");
	int part = find_block(r, data);
	if (part < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const json_t *text = json_object_get(delta, texts[i]);
		if (json_is_string(text))
			return reduction_append(r, part, text);
	}
	return add_signature(r, part, json_object_get(delta, "signature"));
}

static int finish_call(struct reduction *r, int part)
{
	const json_t *input = json_object_get(r->reply.parts[part].opaque, "input");
	char *text = json_object_size(input) > 0 ? json_dumps(input, JSON_COMPACT) : NULL;
	json_t *whole = json_string(text ? text : "{}");
	free(text);
	int n = r->reply.texts[part].bytes == 0 ? reduction_append(r, part, whole) : 0;
	json_decref(whole);
	reply_set_opaque(&r->reply, (size_t)part, NULL, NULL);
	return n;
}

static int on_block_end(struct reduction *r, const json_t *data)
{
	int part = find_block(r, data);
	if (part < 0)
		return 0;
	const struct part *p = &r->reply.parts[part];
	if (p->kind == PART_TOOL_CALL)
		return p->opaque ? finish_call(r, part) : 0;
	/* A reasoning block is sent back with its signature, so it must contain the whole text. */
	if (p->kind == PART_REASONING && json_object_get(p->opaque, "thinking"))
		json_object_set_new(json_unconst(p->opaque), "thinking", format_text(p->text));
	return 0;
}

static int on_message(struct reduction *r, const json_t *data)
{
	const json_t *usage = json_object_get(data, "usage");
	const json_t *reason = json_object_get(json_object_get(data, "delta"), "stop_reason");
	if (json_is_object(usage)) {
		read_usage(r, usage);
		r->reply.has_usage = true;
	}
	reduction_stop(r, reason, stops, ARRAY_LEN(stops));
	return 0;
}

static int on_over(struct reduction *r, const json_t *data)
{
	(void)data;
	r->is_over = true;
	return 1;
}

static const struct {
	const char *type;
	int (*on)(struct reduction *r, const json_t *data);
} events[] = {
	{"message_start", on_start},
	{"content_block_start", on_block},
	{"content_block_delta", on_delta},
	{"content_block_stop", on_block_end},
	{"message_delta", on_message},
	{"message_stop", on_over},
	{"error", reduction_refuse},
};

static int event(struct reduction *r, const char *name, const json_t *data)
{
	const char *type = json_string_value(json_object_get(data, "type"));
	if (!type)
		type = name;
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (strcmp(type, events[i].type) == 0)
			return events[i].on(r, data);
	return 0;
}

const struct wire_format wire_anthropic = {
	.name = "anthropic", .path = "/v1/messages", .build = build, .event = event};
