/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/result.h"

#include "base/buf.h"
#include "base/json.h"

#include <string.h>

enum { TEXT_BYTES = 64 << 20, PARTS_MAX = 2 << 20 };

/* Return the text of a content block, or of the resource in the block. Returns: NULL if there is no
 * text. */
static const json_t *text_of(const json_t *block)
{
	if (strcmp(json_get_text(block, "type"), "resource") == 0)
		block = json_object_get(block, "resource");
	else if (strcmp(json_get_text(block, "type"), "text") != 0)
		return NULL;
	const json_t *text = json_object_get(block, "text");
	return json_is_string(text) ? text : NULL;
}

static void add_text(struct buf *out, const json_t *text)
{
	buf_add(out, out->bytes > 0 ? "\n" : "");
	buf_append(out, json_string_value(text), json_string_length(text));
}

static void add_other(json_t *images, json_t *links, const json_t *block)
{
	const char *type = json_get_text(block, "type");
	if (strcmp(type, "image") == 0 || strcmp(type, "audio") == 0)
		json_add_new(images,
			json_need(json_pack("{s:s, s:O*, s:O*}", "type", type, "mimeType",
				json_object_get(block, "mimeType"), "data",
				json_object_get(block, "data"))));
	else if (strcmp(type, "resource_link") == 0)
		json_add_shared(links, block);
	else if (strcmp(type, "resource") == 0)
		json_add_shared(links, json_object_get(block, "resource"));
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

static void read_blocks(const json_t *blocks, struct buf *text, json_t *images, json_t *links)
{
	const json_t *block;
	size_t i;
	json_array_foreach(blocks, i, block)
	{
		const json_t *one = text_of(block);
		if (one)
			add_text(text, one);
		else
			add_other(images, links, block);
	}
}

int result_read(const json_t *result, json_t **value, bool *is_error, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
	cleanup_json json_t *images = json_need(json_array()), *links = json_need(json_array());
	const json_t *blocks = json_object_get(result, "content");
	json_t *structured = json_object_get(result, "structuredContent"), *out;
	bool fails = json_get_bool(result, "isError");
	if ((blocks && !json_is_array(blocks)) || json_array_size(blocks) > RESULT_BLOCKS_MAX ||
		(!blocks && !structured))
		return err_set(err, ERR_PROTOCOL, "its answer has no content");
	read_blocks(blocks, &text, images, links);
	if (fails)
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
	if (!out || buf_error(&text) < 0) {
		json_decref(out);
		return err_set(err, ERR_NO_MEMORY, "no memory for an answer");
	}
	*value = out;
	*is_error = fails;
	return 0;
}
