/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/result.h"

#include "api/text/observation.h"
#include "api/text/printable.h"
#include "base/attr.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/mcp/call.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 10000, PLAIN_MAX = 64 << 20, TEXT_MAX = 1 << 20 };

static bool is_good(const json_t *record)
{
	const char *status = json_get_text(record, "status");
	return strcmp(status, "ok") == 0 || strcmp(status, "running") == 0;
}

json_t *mcp_result_text(const char *text, size_t bytes)
{
	return json_pack(
		"{s:[{s:s, s:o}]}", "content", "type", "text", "text", mcp_text(text, bytes));
}

/* ---- links to files ---- */

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("-._~/", c));
}

json_t *mcp_file_uri(const char *session, const char *path)
{
	struct buf b = BUF_INIT(3 * strlen(path) + 200);
	buf_addf(&b, "retort://session/%.100s/files/", session);
	for (; *path; path++)
		(void)(is_unreserved(*path) ? buf_append(&b, path, 1)
					    : buf_addf(&b, "%%%02X", (unsigned char)*path));
	json_t *uri = json_stringn(buf_str(&b), b.bytes);
	buf_done(&b);
	return uri;
}

static void add_link(json_t *content, const json_t *record, const json_t *file)
{
	json_t *link = json_pack("{s:s, s:o, s:O*, s:O*, s:O*}", "type", "resource_link", "uri",
		mcp_file_uri(json_get_text(record, "session"), json_get_text(file, "path")), "name",
		json_object_get(file, "path"), "mimeType", json_object_get(file, "mime"), "size",
		json_object_get(file, "size"));
	if (link)
		json_add_new(content, link);
}

static void add_links(json_t *content, const json_t *record)
{
	size_t i;
	json_t *file;
	unsigned n = 0;
	json_array_foreach(json_object_get(record, "files"), i, file)
	{
		bool is_there = strcmp(json_get_text(file, "change"), "deleted") != 0;
		if (is_there && n++ < MCP_LINKS_MAX)
			add_link(content, record, file);
	}
}

/* ---- the record in _meta ---- */

/* If the member @name of a record is longer than KEPT_BYTES, shorten it to @characters. */
static void keep_text(json_t *out, const char *name, size_t characters)
{
	struct buf b = BUF_INIT(TEXT_MAX), plain = BUF_INIT(PLAIN_MAX);
	const json_t *text = json_object_get(out, name);
	if (json_string_length(text) <= KEPT_BYTES)
		return;
	(void)printable_add(&plain, json_string_value(text), json_string_length(text));
	(void)printable_cut(&b, buf_str(&plain), plain.bytes, characters, NULL);
	json_put_new(out, name, mcp_text(buf_str(&b), b.bytes));
	buf_done(&b);
	buf_done(&plain);
}

/* Return a copy of a bundle {MIME type: data} without long data, and without images, which the
 * result shows anyway. */
static json_t *slim(const json_t *bundle)
{
	const char *mime;
	json_t *data, *out = json_object();
	json_object_foreach(json_unconst(bundle), mime, data)
	{
		size_t bytes = json_is_string(data) ? json_string_length(data)
						    : json_dumpb(data, NULL, 0, JSON_ENCODE_ANY);
		if (bytes <= KEPT_BYTES && strncmp(mime, "image/", 6) != 0)
			json_put_shared(out, mime, data);
	}
	return out;
}

static json_t *slim_record(const json_t *record, const struct observation *seen)
{
	json_t *out = json_copy(json_unconst(record));
	json_t *displays = json_array(), *value = json_object_get(record, "value"), *one;
	size_t i;
	keep_text(out, "stdout", seen->stdout_characters);
	keep_text(out, "stderr", seen->stderr_characters);
	if (value)
		json_put_new(out, "value", slim(value));
	json_array_foreach(json_object_get(record, "displays"), i, one)(void)
		json_array_append_new(displays, slim(one));
	json_put_new(out, "displays", displays);
	return out;
}

/* ---- the whole result of a tool call ---- */

static json_t *content_of(const json_t *record, const struct observation *seen, const char *version)
{
	json_t *image;
	size_t i;
	json_t *content = json_pack("[{s:s, s:o}]", "type", "text", "text",
		mcp_text(buf_str(&seen->text), seen->text.bytes));
	json_array_foreach(seen->images, i, image)(void) json_array_append_new(content,
		json_pack("{s:s, s:O, s:O}", "type", "image", "data",
			json_object_get(image, "data"), "mimeType",
			json_object_get(image, "mime")));
	if (strcmp(version, "2025-06-18") >= 0)
		add_links(content, record);
	return content;
}

json_t *mcp_result_make(const json_t *record, const struct mcp_result_options *options)
{
	const struct observation_options how = {
		.is_new = options->is_new, .has_tools = true, .packages = options->packages};
	struct observation seen;
	observation_make(record, &how, &seen);
	json_t *kept = slim_record(record, &seen);
	json_t *result = json_pack("{s:o, s:b, s:{s:O}}", "content",
		content_of(record, &seen, options->version), "isError", !is_good(record), "_meta",
		"retort/result", kept);
	if (options->is_structured)
		json_put_shared(result, "structuredContent", kept);
	json_decref(kept);
	observation_done(&seen);
	return result;
}
