/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/param_header.h"

#include "base/base64.h"
#include "base/json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 128, VALUE_BYTES = 4096 };

struct scan {
	json_t *out;  /* {name of the header: value} */
	json_t *seen; /* {name of the header in lower case: true} */
};

static bool is_token(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text >= 0x7f ||
			(!isalnum((unsigned char)*text) && !strchr("!#$%&'*+-.^_`|~", *text)))
			return false;
	return true;
}

static bool is_plain(const char *text, size_t bytes)
{
	static const char mark[] = "=?base64?";
	for (size_t i = 0; i < bytes; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	/* An empty value is encoded, because an empty header would not be sent. */
	return bytes > 0 &&
		(text[0] != ' ' && text[bytes - 1] != ' ' &&
			strncmp(text, mark, sizeof mark - 1) != 0);
}

/* Make the text of a header. Returns: NULL if the value gets no header. */
static json_t *header_value(const json_t *value)
{
	cleanup_buf struct buf out = BUF_INIT(2 * VALUE_BYTES);
	const char *text = json_string_value(value);
	size_t bytes = json_string_length(value);
	if (json_is_boolean(value))
		return json_string(json_is_true(value) ? "true" : "false");
	if (json_is_number(value))
		buf_addf(&out, "%.0f", json_number_value(value));
	else if (!text || bytes > VALUE_BYTES)
		return NULL;
	else if (is_plain(text, bytes))
		buf_append(&out, text, bytes);
	else {
		buf_add(&out, "=?base64?");
		base64_write(&out, text, bytes);
		buf_add(&out, "?=");
	}
	return json_string(buf_str(&out));
}

static bool is_simple(const json_t *schema)
{
	const char *type = json_string_value(json_object_get(schema, "type"));
	return type &&
		(strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 ||
			strcmp(type, "boolean") == 0);
}

static int take(struct scan *s, const json_t *schema, const json_t *asked, const json_t *value)
{
	char full[NAME_BYTES + 16], lower[NAME_BYTES + 1];
	const char *name = json_string_value(asked);
	if (!name || !is_token(name) || strlen(name) > NAME_BYTES || !is_simple(schema) ||
		json_object_size(s->seen) == PARAM_HEADERS_MAX)
		return -1;
	snprintf(full, sizeof full, "Mcp-Param-%s", name);
	snprintf(lower, sizeof lower, "%s", name);
	for (char *c = lower; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (json_object_get(s->seen, lower))
		return -1;
	json_put_bool(s->seen, lower, true);
	json_put_new(s->out, full, value ? header_value(value) : NULL);
	return 0;
}

/*
 * Collect the headers of a schema and of the schemas inside it.
 * @value: the argument that the schema describes; NULL if it is missing.
 * @is_reached: true if the path from the root schema to this schema uses no other keyword than
 * "properties". If the path uses another keyword, such as "items", this schema may not have the
 * member x-mcp-header.
 * @depth: length of this path. It is 0 for the root schema, which may not have x-mcp-header either.
 * Returns: 0; -1 if x-mcp-header is used wrongly, or if schemas are nested too deeply.
 */
static int look(
	struct scan *s, const json_t *schema, const json_t *value, bool is_reached, int depth)
{
	static const char data[] = " default const enum examples x-mcp-header ";
	const json_t *asked = json_object_get(schema, "x-mcp-header"), *item;
	char word[NAME_BYTES];
	const char *key, *name;
	json_t *one, *below;
	size_t i;
	if (depth > PARAM_HEADER_DEPTH_MAX)
		return -1;
	if (asked && (!is_reached || depth == 0 || take(s, schema, asked, value) < 0))
		return -1;
	json_array_foreach(schema, i, item)
	{
		if (look(s, item, NULL, false, depth + 1) < 0)
			return -1;
	}
	json_object_foreach(json_unconst(schema), key, one)
	{
		snprintf(word, sizeof word, " %s ", key);
		if (strstr(data, word))
			continue;
		if (strcmp(key, "properties") != 0 && look(s, one, NULL, false, depth + 1) < 0)
			return -1;
		if (strcmp(key, "properties") != 0)
			continue;
		json_object_foreach(one, name, below)
		{
			if (look(s, below, json_object_get(value, name), is_reached, depth + 1) < 0)
				return -1;
		}
	}
	return 0;
}

json_t *param_headers(const json_t *schema, const json_t *arguments)
{
	cleanup_json json_t *out = json_need(json_object()), *seen = json_need(json_object());
	struct scan s = {out, seen};
	return look(&s, schema, arguments, true, 0) == 0 ? take_ptr(out) : NULL;
}
