/* The wire format of OpenAI Responses. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/reduction.h"
#include "base/json.h"

#include <string.h>

/* ---- writing a request ---- */

static json_t *write_content(const struct message *m)
{
	const char *type = m->role == ROLE_ASSISTANT ? "output_text" : "input_text";
	json_t *out = json_array();
	for (size_t i = 0; i < m->n_parts; i++) {
		const struct part *p = &m->parts[i];
		if (p->kind == PART_TEXT && p->text && *p->text)
			json_array_append_new(out,
				json_pack(
					"{s:s, s:o}", "type", type, "text", format_text(p->text)));
		if (p->kind == PART_IMAGE && m->role == ROLE_USER)
			json_array_append_new(out,
				json_pack("{s:s, s:o}", "type", "input_image", "image_url",
					format_data_url(p)));
	}
	return out;
}

/* Some parts are sent as items of their own and not as pieces of a message. Return the item of
 * such a part; for other parts, return NULL. */
static json_t *write_item(const struct part *p)
{
	if (p->kind == PART_TOOL_CALL)
		return json_pack("{s:s, s:o, s:o, s:o}", "type", "function_call", "call_id",
			format_text(p->id), "name", format_text(p->name), "arguments",
			format_text(p->text && *p->text ? p->text : "{}"));
	if (p->kind == PART_TOOL_RESULT)
		return json_pack("{s:s, s:o, s:o}", "type", "function_call_output", "call_id",
			format_text(p->id), "output", format_text(p->text));
	/* The server stores no reasoning (`store` is false), so it can be sent back only with
	 * its encrypted content. */
	if (p->kind == PART_REASONING && p->opaque && p->wire == wire_responses.name &&
		json_is_string(json_object_get(p->opaque, "encrypted_content")))
		return json_deep_copy(p->opaque);
	return NULL;
}

static void write_message(json_t *out, const struct message *m)
{
	cleanup_json json_t *content = write_content(m);
	cleanup_json json_t *calls = json_array();
	for (size_t i = 0; i < m->n_parts; i++) {
		json_t *item = write_item(&m->parts[i]);
		/* The order of the items is: reasoning and results, then the message, then
		 * calls. */
		if (item && m->parts[i].kind == PART_TOOL_CALL)
			json_array_append_new(calls, item);
		else if (item)
			json_array_append_new(out, item);
	}
	if (json_array_size(content) > 0)
		json_array_append_new(out,
			json_pack("{s:s, s:s, s:O}", "type", "message", "role",
				m->role == ROLE_ASSISTANT ? "assistant" : "user", "content",
				content));
	json_array_extend(out, calls);
}

static json_t *write_tools(const struct wire_request *q)
{
	json_t *out = json_array();
	for (size_t i = 0; i < q->n_tools; i++)
		json_array_append_new(out,
			json_pack("{s:s, s:o, s:o, s:O, s:b}", "type", "function", "name",
				format_text(q->tools[i].name), "description",
				format_text(q->tools[i].description), "parameters",
				q->tools[i].schema, "strict", 0));
	return out;
}

static json_t *build(const struct wire_request *q)
{
	const struct wire_options *o = &q->options;
	json_t *input = json_array();
	json_t *system = format_system(q);
	for (size_t i = 0; i < q->n_messages; i++)
		if (q->messages[i].role != ROLE_SYSTEM)
			write_message(input, &q->messages[i]);
	json_t *root = json_pack("{s:o, s:o, s:b, s:b}", "model", format_text(q->model), "input",
		input, "stream", 1, "store", 0);
	if (system)
		json_object_set_new(root, "instructions", system);
	if (o->max_tokens > 0)
		json_object_set_new(
			root, "max_output_tokens", json_integer((json_int_t)o->max_tokens));
	if (q->n_tools > 0)
		json_object_set_new(root, "tools", write_tools(q));
	if (o->effort && *o->effort) {
		json_put_new(
			root, "reasoning", json_pack("{s:o}", "effort", format_text(o->effort)));
		json_put_new(root, "include", json_pack("[s]", "reasoning.encrypted_content"));
	}
	if (o->schema)
		json_object_set_new(root, "text",
			json_pack("{s:{s:s, s:s, s:b, s:O}}", "format", "type", "json_schema",
				"name", "answer", "strict", 1, "schema", o->schema));
	format_sampling(root, o);
	return root;
}

/* ---- reading a response ---- */

static int64_t item_key(const json_t *data)
{
	return json_integer_value(json_object_get(data, "output_index"));
}

static int on_text(struct reduction *r, const json_t *data)
{
	int part = reduction_part(r, PART_TEXT, item_key(data));
	return part < 0 ? -1 : reduction_append(r, part, json_object_get(data, "delta"));
}

static int on_refusal(struct reduction *r, const json_t *data)
{
	r->reply.stop = REPLY_REFUSAL;
	return on_text(r, data);
}

static int on_reasoning(struct reduction *r, const json_t *data)
{
	int part = reduction_part(r, PART_REASONING, item_key(data));
	return part < 0 ? -1 : reduction_append(r, part, json_object_get(data, "delta"));
}

static int on_arguments(struct reduction *r, const json_t *data)
{
	int part = reduction_part(r, PART_TOOL_CALL, item_key(data));
	return part < 0 ? -1 : reduction_append(r, part, json_object_get(data, "delta"));
}

/* Find or append the part of a call, and set its id and name. Returns: its index, or -1. */
static int find_call(struct reduction *r, const json_t *data, const json_t *item)
{
	int part = reduction_part(r, PART_TOOL_CALL, item_key(data));
	const json_t *id = json_object_get(item, "call_id");
	if (part >= 0 && reduction_rename(r, part, id, json_object_get(item, "name")) < 0)
		return -1;
	return part;
}

static bool is_type(const json_t *item, const char *type)
{
	const char *said = json_string_value(json_object_get(item, "type"));
	return said && strcmp(said, type) == 0;
}

static int on_added(struct reduction *r, const json_t *data)
{
	const json_t *item = json_object_get(data, "item");
	if (is_type(item, "function_call"))
		return find_call(r, data, item) < 0 ? -1 : 0;
	return 0;
}

/* Concatenate the texts of a message. */
static json_t *join_texts(const json_t *item)
{
	json_t *out = json_string("");
	const json_t *content = json_object_get(item, "content");
	for (size_t i = 0; out && i < json_array_size(content); i++) {
		const json_t *part = json_array_get(content, i);
		const json_t *text = json_object_get(part, "text");
		if (!text)
			text = json_object_get(part, "refusal");
		if (!json_is_string(text))
			continue;
		json_t *more = json_string_length(text) > 0
			? json_sprintf("%s%s", json_string_value(out), json_string_value(text))
			: NULL;
		if (more) {
			json_decref(out);
			out = more;
		}
	}
	return out;
}

static int complete_message(struct reduction *r, const json_t *data, const json_t *item)
{
	cleanup_json json_t *text = join_texts(item);
	int part = json_string_length(text) > 0 ? reduction_part(r, PART_TEXT, item_key(data)) : 0;
	int n = part < 0 ? -1 : 0;
	if (json_string_length(text) > 0 && part >= 0)
		n = reduction_complete(r, part, text);
	return n;
}

static int complete_call(struct reduction *r, const json_t *data, const json_t *item)
{
	int part = find_call(r, data, item);
	return part < 0 ? -1 : reduction_complete(r, part, json_object_get(item, "arguments"));
}

static int complete_reasoning(struct reduction *r, const json_t *data, const json_t *item)
{
	int part = reduction_part(r, PART_REASONING, item_key(data));
	if (part < 0)
		return -1;
	reply_set_opaque(&r->reply, (size_t)part, json_deep_copy(item), wire_responses.name);
	return 0;
}

/* Read a complete item. Some servers send no deltas; then the text of the item arrives only
 * here. */
static int on_item(struct reduction *r, const json_t *data)
{
	const json_t *item = json_object_get(data, "item");
	if (is_type(item, "message"))
		return complete_message(r, data, item);
	if (is_type(item, "function_call"))
		return complete_call(r, data, item);
	if (is_type(item, "reasoning"))
		return complete_reasoning(r, data, item);
	return 0;
}

static void read_usage(struct reduction *r, const json_t *usage)
{
	struct wire_usage *u = &r->reply.usage;
	if (!json_is_object(usage))
		return;
	r->reply.has_usage = true;
	u->input = reduction_count(usage, "input_tokens");
	u->output = reduction_count(usage, "output_tokens");
	u->cached =
		reduction_count(json_object_get(usage, "input_tokens_details"), "cached_tokens");
	u->reasoning = reduction_count(
		json_object_get(usage, "output_tokens_details"), "reasoning_tokens");
}

static const struct stop_word stops[] = {
	{"max_output_tokens", REPLY_LENGTH},
	{"content_filter", REPLY_REFUSAL},
};

static int on_over(struct reduction *r, const json_t *data)
{
	const json_t *response = json_object_get(data, "response");
	const json_t *details = json_object_get(response, "incomplete_details");
	read_usage(r, json_object_get(response, "usage"));
	reduction_stop(r, json_object_get(details, "reason"), stops, ARRAY_LEN(stops));
	r->is_over = true;
	return 1;
}

static int on_failed(struct reduction *r, const json_t *data)
{
	const json_t *response = json_object_get(data, "response");
	return reduction_refuse(r, response ? response : data);
}

static const struct {
	const char *type;
	int (*on)(struct reduction *r, const json_t *data);
} events[] = {
	{"response.output_text.delta", on_text},
	{"response.refusal.delta", on_refusal},
	{"response.reasoning_summary_text.delta", on_reasoning},
	{"response.reasoning_text.delta", on_reasoning},
	{"response.function_call_arguments.delta", on_arguments},
	{"response.output_item.added", on_added},
	{"response.output_item.done", on_item},
	{"response.completed", on_over},
	{"response.incomplete", on_over},
	{"response.failed", on_failed},
	{"error", on_failed},
};

static int event(struct reduction *r, const char *name, const json_t *data)
{
	const char *type = json_string_value(json_object_get(data, "type"));
	if (!type || strcmp(name, "error") == 0)
		type = name;
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (strcmp(type, events[i].type) == 0)
			return events[i].on(r, data);
	return json_object_get(data, "error") ? reduction_refuse(r, data) : 0;
}

const struct wire_format wire_responses = {
	.name = "responses", .path = "/responses", .build = build, .event = event};
