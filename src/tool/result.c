/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/result.h"

#include "base/buf.h"
#include "base/json_parts.h"

#include <string.h>

enum { TEXT_BYTES = 64 << 20, PARTS_MAX = 2 << 20 };

static const char *type_of(const json_t *block)
{
	const char *type = json_string_value(json_object_get(block, "type"));
	return type ? type : "";
}

/* Text of a block, or of a resource in it. Returns: NULL when it has none. */
static const json_t *text_of(const json_t *block)
{
	if (strcmp(type_of(block), "resource") == 0)
		block = json_object_get(block, "resource");
	else if (strcmp(type_of(block), "text") != 0)
		return NULL;
	const json_t *text = json_object_get(block, "text");
	return json_is_string(text) ? text : NULL;
}

static int add_text(struct buf *out, const json_t *text)
{
	if (out->bytes > 0 && buf_add(out, "\n") < 0)
		return -1;
	return buf_append(out, json_string_value(text), json_string_length(text));
}

static int add_other(json_t *images, json_t *links, const json_t *block)
{
	const char *type = type_of(block);
	if (strcmp(type, "image") == 0 || strcmp(type, "audio") == 0) {
		const json_t *mime = json_object_get(block, "mimeType");
		const json_t *data = json_object_get(block, "data");
		return json_array_append_new(images,
			json_pack(
				"{s:s, s:O*, s:O*}", "type", type, "mimeType", mime, "data", data));
	}
	if (strcmp(type, "resource_link") == 0)
		return json_array_append(links, (json_t *)block);
	if (strcmp(type, "resource") == 0)
		return json_array_append(links, json_object_get(block, "resource"));
	return 0;
}

static json_t *from_text(const struct buf *text)
{
	const char *s = buf_str(text);
	size_t lead = strspn(s, " \t\r\n");
	json_error_t wrong;
	bool is_json = (s[lead] == '{' || s[lead] == '[') && json_parts(s, text->bytes) < PARTS_MAX;
	json_t *json = is_json ? json_loadb(s, text->bytes, JSON_ALLOW_NUL, &wrong) : NULL;
	return json ? json : json_stringn(s, text->bytes);
}

static int read_blocks(const json_t *blocks, struct buf *text, json_t *images, json_t *links)
{
	const json_t *block;
	size_t i;
	json_array_foreach(blocks, i, block)
	{
		const json_t *one = text_of(block);
		if ((one ? add_text(text, one) : add_other(images, links, block)) < 0)
			return -1;
	}
	return 0;
}

int result_read(const json_t *result, json_t **value, bool *is_error, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
	const json_t *blocks = json_object_get(result, "content");
	json_t *structured = json_object_get(result, "structuredContent"), *out = NULL;
	json_t *images = json_array(), *links = json_array();
	bool fails = json_is_true(json_object_get(result, "isError"));
	int r = 0;
	if ((blocks && !json_is_array(blocks)) || json_array_size(blocks) > RESULT_BLOCKS_MAX ||
		(!blocks && !structured))
		r = err_set(err, ERR_PROTOCOL, "its answer has no content");
	else if (read_blocks(blocks, &text, images, links) < 0)
		r = err_set(err, ERR_NO_MEMORY, "no memory for an answer");
	else if (fails)
		out = json_stringn(buf_str(&text), text.bytes);
	else if (structured && !json_is_null(structured))
		out = json_incref(structured);
	else if (json_array_size(images) + json_array_size(links) == 0)
		out = from_text(&text);
	else if (text.bytes == 0 && json_array_size(images) == 1 && json_array_size(links) == 0)
		out = json_incref(json_array_get(images, 0));
	else
		out = json_pack("{s:s%, s:O, s:O}", "text", buf_str(&text), text.bytes, "images",
			images, "links", links);
	json_decref(images);
	json_decref(links);
	if (r == 0 && !out)
		r = err_set(err, ERR_NO_MEMORY, "no memory for an answer");
	if (r == 0) {
		*value = out;
		*is_error = fails;
	}
	return r;
}
