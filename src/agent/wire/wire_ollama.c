/* The wire format of Ollama's own API. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/reduction.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing a request ---- */

static void write_calls(json_t *one, const struct message *m)
{
	cleanup_json json_t *calls = json_array();
	for (size_t i = 0; i < m->n_parts; i++) {
		const struct part *p = &m->parts[i];
		if (p->kind == PART_TOOL_CALL)
			json_array_append_new(calls,
				json_pack("{s:{s:o, s:o}}", "function", "name",
					format_text(p->name), "arguments", format_arguments(p)));
	}
	if (json_array_size(calls) > 0)
		json_object_set(one, "tool_calls", calls);
}

static void write_images(json_t *one, const struct message *m)
{
	cleanup_json json_t *images = json_array();
	for (size_t i = 0; i < m->n_parts; i++)
		if (m->parts[i].kind == PART_IMAGE)
			json_array_append_new(images, format_text(m->parts[i].text));
	if (json_array_size(images) > 0)
		json_object_set(one, "images", images);
}

static void write_message(json_t *out, const struct message *m)
{
	bool is_assistant = m->role == ROLE_ASSISTANT, has_more = is_assistant;
	for (size_t i = 0; i < m->n_parts; i++) {
		const struct part *p = &m->parts[i];
		has_more |= p->kind == PART_TEXT || p->kind == PART_IMAGE;
		if (p->kind == PART_TOOL_RESULT)
			json_array_append_new(out,
				json_pack("{s:s, s:o, s:o}", "role", "tool", "tool_name",
					format_text(p->name), "content", format_text(p->text)));
	}
	if (!has_more)
		return;
	json_t *text = format_joined(m);
	json_t *one = json_pack("{s:s, s:o}", "role", is_assistant ? "assistant" : "user",
		"content", text ? text : json_string(""));
	if (is_assistant)
		write_calls(one, m);
	else
		write_images(one, m);
	json_array_append_new(out, one);
}

static json_t *write_options(const struct wire_request *q)
{
	const struct wire_options *o = &q->options;
	json_t *out = json_object();
	if (o->max_tokens > 0)
		json_object_set_new(out, "num_predict", json_integer((json_int_t)o->max_tokens));
	if (o->context_tokens > 0)
		json_object_set_new(out, "num_ctx", json_integer((json_int_t)o->context_tokens));
	if (o->n_stop > 0)
		json_object_set_new(out, "stop", format_stop(q));
	if (o->has_seed)
		json_object_set_new(out, "seed", json_integer(o->seed));
	format_sampling(out, o);
	return out;
}

static json_t *build(const struct wire_request *q)
{
	json_t *messages = json_array();
	json_t *system = format_system(q);
	if (system)
		json_array_append_new(
			messages, json_pack("{s:s, s:o}", "role", "system", "content", system));
	for (size_t i = 0; i < q->n_messages; i++)
		if (q->messages[i].role != ROLE_SYSTEM)
			write_message(messages, &q->messages[i]);
	json_t *root = json_pack("{s:o, s:o, s:b}", "model", format_text(q->model), "messages",
		messages, "stream", 1);
	json_t *options = write_options(q);
	if (json_object_size(options) > 0)
		json_object_set(root, "options", options);
	json_decref(options);
	if (q->n_tools > 0)
		json_object_set_new(root, "tools", format_tools(q));
	if (q->options.schema)
		json_object_set_new(root, "format", json_deep_copy(q->options.schema));
	format_put(root, "think", q->options.effort);
	return root;
}

/* ---- reading a response ---- */

static const struct stop_word stops[] = {{"stop", REPLY_END}, {"length", REPLY_LENGTH}};

/* Read a tool call. Calls arrive complete. Their arguments are an object, and most have no id. */
static int read_call(struct reduction *r, const json_t *call)
{
	const json_t *function = json_object_get(call, "function");
	const json_t *arguments = json_object_get(function, "arguments");
	const char *id = json_string_value(json_object_get(call, "id"));
	char made[32];
	snprintf(made, sizeof made, "call_%zu", r->reply.n_parts);
	int part = reply_add(&r->reply, PART_TOOL_CALL, id && *id ? id : made,
		json_string_value(json_object_get(function, "name")));
	if (part < 0) {
		(void)failure_set(&r->failure, FAILURE_OURS, "too many tool calls");
		return -1;
	}
	char *text = json_is_object(arguments) ? json_dumps(arguments, JSON_COMPACT) : NULL;
	cleanup_json json_t *whole = json_string(text ? text : "{}");
	int n = reduction_append(r, part, json_is_string(arguments) ? arguments : whole);
	free(text);
	return n;
}

static int read_message(struct reduction *r, const json_t *message)
{
	int n = reduction_text(r, PART_REASONING, json_object_get(message, "thinking"));
	if (n == 0)
		n = reduction_text(r, PART_TEXT, json_object_get(message, "content"));
	const json_t *calls = json_object_get(message, "tool_calls");
	for (size_t i = 0; n == 0 && i < json_array_size(calls); i++)
		n = read_call(r, json_array_get(calls, i));
	return n;
}

static int event(struct reduction *r, const char *name, const json_t *data)
{
	(void)name;
	if (json_object_get(data, "error"))
		return reduction_refuse(r, data);
	int n = read_message(r, json_object_get(data, "message"));
	if (n != 0 || !json_is_true(json_object_get(data, "done")))
		return n;
	r->reply.has_usage = json_object_get(data, "eval_count") != NULL;
	r->reply.usage.input = reduction_count(data, "prompt_eval_count");
	r->reply.usage.output = reduction_count(data, "eval_count");
	reduction_stop(r, json_object_get(data, "done_reason"), stops, ARRAY_LEN(stops));
	r->is_over = true;
	return 1;
}

const struct wire_format wire_ollama = {
	.name = "ollama", .path = "/api/chat", .is_lines = true, .build = build, .event = event};
