/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/question.h"

#include "agent/wire/format.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 256 << 20 };

static json_t *write_part(const struct part *p)
{
	json_t *out;
	switch (p->kind) {
	case PART_TEXT:
		return json_pack("{s:s, s:o}", "type", "text", "text", format_text(p->text));
	case PART_IMAGE:
		return json_pack("{s:s, s:o, s:o}", "type", "image", "mime", format_text(p->mime),
			"data", format_text(p->text));
	case PART_TOOL_CALL:
		return json_pack("{s:s, s:o, s:o, s:o}", "type", "tool_call", "id",
			format_text(p->id), "name", format_text(p->name), "arguments",
			format_text(p->text));
	case PART_TOOL_RESULT:
		out = json_pack("{s:s, s:o, s:o, s:o}", "type", "tool_result", "id",
			format_text(p->id), "name", format_text(p->name), "text",
			format_text(p->text));
		if (p->is_error)
			json_object_set_new(out, "is_error", json_true());
		return out;
	case PART_REASONING:
		return NULL;
	}
	return NULL;
}

static json_t *write_message(const struct message *m)
{
	static const char *const roles[] = {
		[ROLE_SYSTEM] = "system", [ROLE_USER] = "user", [ROLE_ASSISTANT] = "assistant"};
	json_t *content = json_array();
	for (size_t i = 0; i < m->n_parts; i++) {
		json_t *part = write_part(&m->parts[i]);
		if (part)
			json_array_append_new(content, part);
	}
	return json_pack("{s:s, s:o}", "role", roles[m->role], "content", content);
}

static json_t *write_options(const struct wire_request *q)
{
	const struct wire_options *o = &q->options;
	json_t *out = json_object();
	if (o->max_tokens > 0)
		json_object_set_new(out, "max_tokens", json_integer((json_int_t)o->max_tokens));
	if (o->n_stop > 0)
		json_object_set_new(out, "stop", format_stop(q));
	format_put(out, "effort", o->effort);
	if (o->has_seed)
		json_object_set_new(out, "seed", json_integer(o->seed));
	format_sampling(out, o);
	if (o->schema)
		json_object_set_new(out, "schema", json_deep_copy(o->schema));
	return out;
}

json_t *question_json(const struct wire_request *q)
{
	json_t *root = json_object();
	json_t *messages = json_array(), *tools = json_array(), *options = write_options(q);
	format_put(root, "model", q->model);
	for (size_t i = 0; i < q->n_messages; i++)
		json_array_append_new(messages, write_message(&q->messages[i]));
	for (size_t i = 0; i < q->n_tools; i++)
		json_array_append_new(tools,
			json_pack("{s:o, s:o, s:O}", "name", format_text(q->tools[i].name),
				"description", format_text(q->tools[i].description), "schema",
				q->tools[i].schema));
	json_object_set(root, "messages", messages);
	if (json_array_size(tools) > 0)
		json_object_set(root, "tools", tools);
	if (json_object_size(options) > 0)
		json_object_set(root, "options", options);
	json_decref(messages);
	json_decref(tools);
	json_decref(options);
	return root;
}

char *question_text(const struct wire_request *q, size_t first)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES_MAX);
	for (size_t i = first; i < q->n_messages; i++)
		for (size_t k = 0; k < q->messages[i].n_parts; k++) {
			const struct part *p = &q->messages[i].parts[k];
			bool is_text = p->kind != PART_IMAGE && p->kind != PART_REASONING;
			if (is_text && p->text && buf_addf(&out, "%s\n", p->text) < 0)
				return NULL;
		}
	return out.data ? buf_take(&out) : strdup("");
}
