/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/format.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 64 << 20 };

char *format_body(const struct wire_format *format, const struct wire_request *q)
{
	cleanup_json json_t *root = format->build(q);
	return root ? json_dumps(root, JSON_COMPACT) : NULL;
}

static json_t *text_json(const char *text, size_t bytes)
{
	if (utf8_is_valid(text, bytes))
		return json_stringn(text, bytes);
	cleanup_buf struct buf repaired = BUF_INIT(bytes * 3);
	if (utf8_repair(&repaired, text, bytes, NULL) < 0)
		return NULL;
	return json_stringn(buf_str(&repaired), repaired.bytes);
}

json_t *format_text(const char *text)
{
	return text ? text_json(text, strlen(text)) : json_string("");
}

void format_put(json_t *object, const char *name, const char *text)
{
	if (text && *text)
		json_object_set_new(object, name, format_text(text));
}

static void join(const struct message *m, const char *between, struct buf *out)
{
	for (size_t i = 0; i < m->n_parts; i++) {
		const struct part *p = &m->parts[i];
		if (p->kind != PART_TEXT || !p->text || !*p->text)
			continue;
		if (out->bytes > 0)
			buf_add(out, between);
		buf_add(out, p->text);
	}
}

json_t *format_joined(const struct message *m)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES_MAX);
	join(m, "", &text);
	return text.bytes > 0 ? text_json(text.data, text.bytes) : NULL;
}

json_t *format_system(const struct wire_request *q)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES_MAX);
	for (size_t i = 0; i < q->n_messages; i++)
		if (q->messages[i].role == ROLE_SYSTEM)
			join(&q->messages[i], "\n\n", &text);
	return text.bytes > 0 ? text_json(text.data, text.bytes) : NULL;
}

json_t *format_arguments(const struct part *call)
{
	json_t *out = call->text ? json_loads(call->text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (json_is_object(out))
		return out;
	json_decref(out);
	return json_object();
}

json_t *format_stop(const struct wire_request *q)
{
	json_t *out = q->options.n_stop > 0 ? json_array() : NULL;
	for (size_t i = 0; i < q->options.n_stop; i++)
		json_array_append_new(out, format_text(q->options.stop[i]));
	return out;
}

json_t *format_data_url(const struct part *image)
{
	return json_sprintf("data:%s;base64,%s", image->mime ? image->mime : "image/png",
		image->text ? image->text : "");
}

void format_sampling(json_t *object, const struct wire_options *o)
{
	if (o->has_temperature)
		json_object_set_new(object, "temperature", json_real(o->temperature));
	if (o->has_top_p)
		json_object_set_new(object, "top_p", json_real(o->top_p));
}

json_t *format_tools(const struct wire_request *q)
{
	json_t *out = json_array();
	for (size_t i = 0; i < q->n_tools; i++)
		json_array_append_new(out,
			json_pack("{s:s, s:{s:o, s:o, s:O}}", "type", "function", "function",
				"name", format_text(q->tools[i].name), "description",
				format_text(q->tools[i].description), "parameters",
				q->tools[i].schema));
	return out;
}
