/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/e2b/code_result.h"

#include "base/attr.h"
#include "base/buf.h"
#include "base/json.h"

#include <string.h>

enum { TRACEBACK_BYTES = 4 << 20 };

/* Members of a result for media types; all others are members of `extra`. Source:
 * e2b-dev/code-interpreter, template/server/api/models/result.py. */
static const struct format {
	const char *mime, *member;
	bool is_tree; /* only an object or an array is told */
} formats[] = {
	{"text/plain", "text", false},
	{"text/html", "html", false},
	{"text/markdown", "markdown", false},
	{"image/svg+xml", "svg", false},
	{"image/png", "png", false},
	{"image/jpeg", "jpeg", false},
	{"application/pdf", "pdf", false},
	{"text/latex", "latex", false},
	{"application/json", "json", true},
	{"application/javascript", "javascript", false},
	{"application/vnd.retort.data+json", "data", true},
	{"application/vnd.retort.chart+json", "chart", true},
};

static const struct format *find_format(const char *mime)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (strcmp(formats[i].mime, mime) == 0)
			return &formats[i];
	return NULL;
}

/* Return a text without one pair of quotes around it: a client wants the text itself, not its repr.
 * Source: as above. */
static json_t *without_quotes(json_t *value)
{
	const char *text = json_string_value(value);
	size_t n = json_string_length(value);
	bool is_quoted =
		text && n >= 2 && (text[0] == '\'' || text[0] == '"') && text[n - 1] == text[0];
	return is_quoted ? json_stringn(text + 1, n - 2) : json_incref(value);
}

/* Does the text of a display only repeat another format? A program that shows formats of its own
 * has not asked for a text. */
static bool is_repeated(const json_t *types)
{
	static const char *const others[] = {"text/latex", "text/markdown", "image/svg+xml"};
	const json_t *text = json_object_get(types, "text/plain");
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (text && json_equal(text, json_object_get(types, others[i])))
			return true;
	return false;
}

static json_t *result_event(const json_t *types, bool is_main)
{
	const char *mime;
	json_t *value, *extra = json_object();
	bool has_text = is_main || !is_repeated(types);
	json_t *out = json_pack("{s:s}", "type", "result");
	json_object_foreach(json_unconst(types), mime, value)
	{
		const struct format *f = find_format(mime);
		bool is_tree = json_is_object(value) || json_is_array(value);
		if (f == &formats[0] && has_text)
			(void)json_object_set_new(out, f->member, without_quotes(value));
		else if (f && f != &formats[0] && (is_tree || !f->is_tree))
			(void)json_object_set(out, f->member, value);
		else if (!f && strncmp(mime, "application/vnd.retort.", 23) != 0)
			(void)json_object_set(extra, mime, value);
	}
	(void)json_object_set_new(out, "extra", extra);
	(void)json_object_set_new(out, "is_main_result", json_boolean(is_main));
	return out;
}

static json_t *error_event(const json_t *output)
{
	const json_t *line, *lines = json_object_get(output, "traceback");
	cleanup_buf struct buf text = BUF_INIT(TRACEBACK_BYTES);
	size_t i;
	json_array_foreach(lines, i, line)
	{
		if (i > 0)
			buf_add(&text, "\n");
		buf_append(&text, json_string_value(line), json_string_length(line));
	}
	return json_pack("{s:s, s:O, s:O, s:o}", "type", "error", "name",
		json_object_get(output, "ename"), "value", json_object_get(output, "evalue"),
		"traceback", json_new_text(buf_str(&text), text.bytes));
}

json_t *code_event(const json_t *output, const char *date)
{
	const char *type = json_get_text(output, "output_type");
	const json_t *data = json_object_get(output, "data");
	if (strcmp(type, "stream") == 0)
		return json_pack("{s:O, s:O, s:s}", "type", json_object_get(output, "name"), "text",
			json_object_get(output, "text"), "timestamp", date);
	if (strcmp(type, "error") == 0)
		return error_event(output);
	bool is_main = strcmp(type, "execute_result") == 0;
	return data ? result_event(data, is_main) : NULL;
}
