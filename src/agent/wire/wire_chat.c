/* The wire format of OpenAI Chat Completions, which many servers support. SPDX-License-Identifier:
 * Apache-2.0 */
#include "agent/wire/reduction.h"

#include <string.h>

/* ---- writing a request ---- */

static json_t *write_call(const struct part *p)
{
	return json_pack("{s:o, s:s, s:{s:o, s:o}}", "id", format_text(p->id), "type", "function",
		"function", "name", format_text(p->name), "arguments",
		format_text(p->text && *p->text ? p->text : "{}"));
}

static void write_assistant(json_t *out, const struct message *m)
{
	json_t *calls = json_array();
	json_t *text = format_joined(m);
	for (size_t i = 0; i < m->n_parts; i++)
		if (m->parts[i].kind == PART_TOOL_CALL)
			json_array_append_new(calls, write_call(&m->parts[i]));
	bool has_calls = json_array_size(calls) > 0;
	json_t *one = json_pack("{s:s, s:o}", "role", "assistant", "content",
		text		    ? text
			: has_calls ? json_null()
				    : json_string(""));
	if (has_calls)
		json_object_set(one, "tool_calls", calls);
	json_decref(calls);
	json_array_append_new(out, one);
}

static json_t *write_content(const struct message *m)
{
	json_t *out = json_array();
	bool has_image = false;
	for (size_t i = 0; i < m->n_parts; i++) {
		const struct part *p = &m->parts[i];
		has_image |= p->kind == PART_IMAGE;
		if (p->kind == PART_TEXT && p->text && *p->text)
			json_array_append_new(out,
				json_pack("{s:s, s:o}", "type", "text", "text",
					format_text(p->text)));
		if (p->kind == PART_IMAGE)
			json_array_append_new(out,
				json_pack("{s:s, s:{s:o}}", "type", "image_url", "image_url", "url",
					format_data_url(p)));
	}
	if (has_image)
		return out;
	/* Send the content as a list only if it has images, and otherwise as a text. Servers
	 * that cannot read images often reject lists. */
	json_t *text = json_array_size(out) > 0 ? format_joined(m) : NULL;
	json_decref(out);
	return text;
}

static void write_user(json_t *out, const struct message *m)
{
	for (size_t i = 0; i < m->n_parts; i++) {
		const struct part *p = &m->parts[i];
		if (p->kind == PART_TOOL_RESULT)
			json_array_append_new(out,
				json_pack("{s:s, s:o, s:o}", "role", "tool", "tool_call_id",
					format_text(p->id), "content", format_text(p->text)));
	}
	json_t *content = write_content(m);
	if (content)
		json_array_append_new(
			out, json_pack("{s:s, s:o}", "role", "user", "content", content));
}

static json_t *write_messages(const struct wire_request *q)
{
	json_t *out = json_array();
	json_t *system = format_system(q);
	if (system)
		json_array_append_new(
			out, json_pack("{s:s, s:o}", "role", "system", "content", system));
	for (size_t i = 0; i < q->n_messages; i++) {
		if (q->messages[i].role == ROLE_ASSISTANT)
			write_assistant(out, &q->messages[i]);
		else if (q->messages[i].role == ROLE_USER)
			write_user(out, &q->messages[i]);
	}
	return out;
}

static json_t *build(const struct wire_request *q)
{
	const struct wire_options *o = &q->options;
	json_t *root = json_pack("{s:o, s:o, s:b, s:{s:b}}", "model", format_text(q->model),
		"messages", write_messages(q), "stream", 1, "stream_options", "include_usage", 1);
	if (o->max_tokens > 0)
		json_object_set_new(root, q->is_classic ? "max_tokens" : "max_completion_tokens",
			json_integer((json_int_t)o->max_tokens));
	if (o->n_stop > 0)
		json_object_set_new(root, "stop", format_stop(q));
	if (q->n_tools > 0)
		json_object_set_new(root, "tools", format_tools(q));
	format_put(root, "reasoning_effort", o->effort);
	if (o->has_seed)
		json_object_set_new(root, "seed", json_integer(o->seed));
	if (o->schema)
		json_object_set_new(root, "response_format",
			json_pack("{s:s, s:{s:s, s:b, s:O}}", "type", "json_schema", "json_schema",
				"name", "answer", "strict", 1, "schema", o->schema));
	format_sampling(root, o);
	return root;
}

/* ---- reading a response ---- */

static const struct stop_word stops[] = {
	{"stop", REPLY_END},
	{"length", REPLY_LENGTH},
	{"tool_calls", REPLY_TOOL},
	{"function_call", REPLY_TOOL},
	{"content_filter", REPLY_REFUSAL},
};

/* Find the part of a call, or append one. Most servers send the index of the call with each
 * piece; some send only its id. */
static int find_call(struct reduction *r, const json_t *index, const char *id)
{
	for (size_t i = r->reply.n_parts; i-- > 0;) {
		const struct part *p = &r->reply.parts[i];
		if (p->kind != PART_TOOL_CALL)
			continue;
		bool is_other = id && *id && p->id && strcmp(p->id, id) != 0;
		if (!is_other && (!index || json_integer_value(index) == r->keys[i]))
			return (int)i;
	}
	int n = reply_add(&r->reply, PART_TOOL_CALL, NULL, NULL);
	if (n < 0)
		return n;
	r->keys[n] = index ? json_integer_value(index) : n;
	return n;
}

static int read_call(struct reduction *r, const json_t *call)
{
	const json_t *index = json_object_get(call, "index");
	const json_t *function = json_object_get(call, "function");
	const json_t *id = json_object_get(call, "id");
	const json_t *name = json_object_get(function, "name");
	bool is_new = !json_is_integer(index) && json_string_length(name) > 0 &&
		json_string_length(id) == 0;
	int part = is_new
		? reply_add(&r->reply, PART_TOOL_CALL, NULL, NULL)
		: find_call(r, json_is_integer(index) ? index : NULL, json_string_value(id));
	if (part < 0) {
		(void)failure_set(&r->failure, FAILURE_OURS, "too many tool calls");
		return -1;
	}
	if (reduction_rename(r, part, id, name) < 0)
		return -1;
	const json_t *arguments = json_object_get(function, "arguments");
	if (json_is_string(arguments))
		return reduction_append(r, part, arguments);
	return 0;
}

/* Read the content of a message: a text, or a list of parts with texts. */
static int read_content(struct reduction *r, const json_t *content)
{
	int n = reduction_text(r, PART_TEXT, content);
	for (size_t i = 0; n == 0 && i < json_array_size(content); i++)
		n = reduction_text(
			r, PART_TEXT, json_object_get(json_array_get(content, i), "text"));
	return n;
}

static int read_delta(struct reduction *r, const json_t *delta)
{
	static const char *const reasoning[] = {"reasoning_content", "reasoning"};
	int n = 0;
	for (size_t i = 0; n == 0 && i < ARRAY_LEN(reasoning); i++) {
		const json_t *text = json_object_get(delta, reasoning[i]);
		if (json_string_length(text) > 0) {
			n = reduction_text(r, PART_REASONING, text);
			break;
		}
	}
	if (n == 0)
		n = read_content(r, json_object_get(delta, "content"));
	if (n == 0)
		n = reduction_text(r, PART_TEXT, json_object_get(delta, "refusal"));
	const json_t *calls = json_object_get(delta, "tool_calls");
	for (size_t i = 0; n == 0 && i < json_array_size(calls); i++)
		n = read_call(r, json_array_get(calls, i));
	return n;
}

static void read_usage(struct reduction *r, const json_t *usage)
{
	struct wire_usage *u = &r->reply.usage;
	if (!json_is_object(usage))
		return;
	r->reply.has_usage = true;
	u->input = reduction_count(usage, "prompt_tokens");
	u->output = reduction_count(usage, "completion_tokens");
	u->cached =
		reduction_count(json_object_get(usage, "prompt_tokens_details"), "cached_tokens");
	u->reasoning = reduction_count(
		json_object_get(usage, "completion_tokens_details"), "reasoning_tokens");
}

static int event(struct reduction *r, const char *name, const json_t *data)
{
	const json_t *error = json_object_get(data, "error");
	if (strcmp(name, "error") == 0 || (error && !json_is_null(error)))
		return reduction_refuse(r, data);
	read_usage(r, json_object_get(data, "usage"));
	const json_t *choice = json_array_get(json_object_get(data, "choices"), 0);
	const json_t *delta = json_object_get(choice, "delta");
	int n = read_delta(r, delta ? delta : json_object_get(choice, "message"));
	reduction_stop(r, json_object_get(choice, "finish_reason"), stops, ARRAY_LEN(stops));
	if (n == 0 && json_string_length(json_object_get(delta, "refusal")) > 0)
		r->reply.stop = REPLY_REFUSAL;
	return n;
}

const struct wire_format wire_chat = {.name = "chat",
	.path = "/chat/completions",
	.last = "[DONE]",
	.build = build,
	.event = event};
