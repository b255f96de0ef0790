/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/frame.h"

#include "base/json.h"
#include "gateway/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert((size_t)FRAME_BYTES < CHANNEL_BYTES, "a box may have more than a message can say");

json_t *frame_new(const char *verb, const char *word, uint32_t box)
{
	return json_pack("{s:s, s:I}", verb, word, "box", (json_int_t)box);
}

/* Read a number from 0 to @max. */
static bool read_count(uint64_t *out, const json_t *object, const char *key, uint64_t max)
{
	const json_t *value = json_object_get(object, key);
	json_int_t n = json_integer_value(value);
	if (!json_is_integer(value) || n < 0 || (uint64_t)n > max)
		return false;
	*out = (uint64_t)n;
	return true;
}

/* Read a text of printable ASCII. */
static bool read_text(char *out, size_t max_bytes, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);
	if (!text || json_string_length(value) >= max_bytes)
		return false;
	for (const char *at = text; *at; at++)
		if (*at < ' ' || *at > '~')
			return false;
	memcpy(out, text, json_string_length(value) + 1);
	return true;
}

bool frame_box(const json_t *message, uint32_t *out)
{
	uint64_t n;
	if (!read_count(&n, message, "box", UINT32_MAX))
		return false;
	*out = (uint32_t)n;
	return true;
}

bool frame_read_place(char name[RULE_HOST_BYTES], uint16_t *port, const json_t *message)
{
	char text[RULE_HOST_BYTES];
	uint64_t n;
	if (!read_text(text, sizeof text, message, "name") ||
		!rule_name(name, text, strlen(text)) ||
		!read_count(&n, message, "port", UINT16_MAX) || n == 0)
		return false;
	*port = (uint16_t)n;
	return true;
}

void frame_put_place(json_t *message, const char *name, uint16_t port)
{
	json_put_text(message, "name", name);
	json_put_int(message, "port", port);
}

json_t *frame_rules(const struct rules *rules)
{
	json_t *texts = json_array();
	for (size_t i = 0; i < rules->n; i++) {
		char text[RULE_TEXT_BYTES];
		rule_write(&rules->v[i], text);
		(void)json_array_append_new(texts, json_string(text));
	}
	return texts;
}

int frame_read_rules(struct rules *out, const json_t *texts, struct err *err)
{
	size_t i;
	const json_t *one;
	out->n = 0;
	if (!json_is_array(texts) || json_array_size(texts) > RULES_MAX)
		return err_set(err, ERR_PROTOCOL, "rules: no list of up to %d", RULES_MAX);
	json_array_foreach(json_unconst(texts), i, one)
	{
		const char *text = json_string_value(one);
		int r = text ? rule_parse(&out->v[out->n], text, err)
			     : err_set(err, ERR_PROTOCOL, "rules: not a text");
		if (r < 0)
			return r;
		out->n++;
	}
	return 0;
}

json_t *frame_secrets(const struct secrets *secrets)
{
	json_t *all = json_array();
	for (size_t i = 0; i < secrets->n; i++) {
		const struct secret *s = &secrets->v[i];
		json_t *one = json_pack("{s:s, s:s, s:i, s:i, s:s, s:s*}", "name", s->name, "host",
			s->host, "port", (int)s->port, "places", (int)s->places, "placeholder",
			s->placeholder, "value", s->value);
		(void)json_array_append_new(all, one);
	}
	return all;
}

int frame_read_secrets(struct secrets *out, const json_t *list, struct err *err)
{
	size_t i;
	const json_t *one;
	*out = (struct secrets){.n = 0};
	json_array_foreach(json_unconst(list), i, one)
	{
		uint64_t port = 0, places = 0;
		const char *value = json_string_value(json_object_get(one, "value"));
		struct secret *s = &out->v[out->n];
		if (out->n == SECRETS_MAX || !read_text(s->name, sizeof s->name, one, "name") ||
			!read_text(s->host, sizeof s->host, one, "host") ||
			!read_text(s->placeholder, sizeof s->placeholder, one, "placeholder") ||
			!secret_is_placeholder(s->placeholder) ||
			!read_count(&port, one, "port", UINT16_MAX) ||
			!read_count(&places, one, "places", SECRET_IN_QUERY | SECRET_IN_BODY))
			return err_set(
				err, ERR_PROTOCOL, "secrets: no list of up to %d", SECRETS_MAX);
		s->port = (uint16_t)port;
		s->places = (unsigned)places;
		out->n++;
		if (value)
			secret_set_value(s, value);
	}
	return 0;
}

json_t *frame_row(const struct gateway_row *row)
{
	return json_pack("{s:s, s:i, s:i, s:s, s:I, s:I, s:I}", "name", row->name, "port",
		(int)row->port, "verdict", (int)row->verdict, "reason", row->reason, "n",
		(json_int_t)row->n, "in", (json_int_t)row->bytes_in, "out",
		(json_int_t)row->bytes_out);
}

/* The gateway names hosts and addresses only. */
static bool is_name(const char *text)
{
	struct ip ip;
	char name[RULE_HOST_BYTES];
	return (rule_name(name, text, strlen(text)) && strcmp(name, text) == 0) ||
		ip_parse(&ip, text);
}

bool frame_read_row(struct gateway_row *out, const json_t *json)
{
	struct gateway_row row = {0};
	uint64_t port, verdict;
	if (!read_text(row.name, sizeof row.name, json, "name") || !is_name(row.name) ||
		!read_text(row.reason, sizeof row.reason, json, "reason") ||
		!read_count(&port, json, "port", UINT16_MAX) ||
		!read_count(&verdict, json, "verdict", GATEWAY_VERDICT_END_ - 1) ||
		!read_count(&row.n, json, "n", INT64_MAX) ||
		!read_count(&row.bytes_in, json, "in", INT64_MAX) ||
		!read_count(&row.bytes_out, json, "out", INT64_MAX))
		return false;
	row.port = (uint16_t)port;
	row.verdict = (enum gateway_verdict)verdict;
	/* What is refused has a reason, and only that. */
	if ((row.verdict == GATEWAY_ALLOWED) != (row.reason[0] == '\0'))
		return false;
	*out = row;
	return true;
}

json_t *frame_error(const struct err *err)
{
	return json_pack(
		"{s:i, s:s, s:s}", "code", (int)err->code, "message", err->msg, "hint", err->hint);
}

bool frame_read_error(struct err *out, const json_t *json)
{
	struct err err = {.code = ERR_INTERNAL};
	uint64_t code;
	if (!read_count(&code, json, "code", ERR_END_ - 1) ||
		!read_text(err.msg, sizeof err.msg, json, "message") ||
		!read_text(err.hint, sizeof err.hint, json, "hint"))
		return false;
	err.code = code == ERR_NONE ? ERR_INTERNAL : (enum err_code)code;
	*out = err;
	return true;
}
