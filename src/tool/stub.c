/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/stub.h"

#include "base/utf8.h"
#include "tool/fit.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICES_MAX = 40, LITERAL_BYTES = 200, DOC_BYTES = 400, DEFAULT_BYTES = 120 };

struct writer {
	struct buf *out;
	enum identifier_language language;
	const json_t *root;
};

static bool is_python(const struct writer *w)
{
	return w->language == IDENTIFIER_PYTHON;
}

static int put(const struct writer *w, const char *text)
{
	return buf_add(w->out, text);
}

/* ---- values ---- */

/* JSON is a literal of JavaScript; of Python it is but for three words. ASCII: nothing to be obeyed
 * by who reads it. */
static int put_literal(const struct writer *w, const json_t *value)
{
	if (is_python(w) && (json_is_boolean(value) || json_is_null(value)))
		return put(w,
			json_is_true(value)	       ? "True"
				: json_is_false(value) ? "False"
						       : "None");
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII), *at = text;
	int r = text ? 0 : -ENOMEM;
	/* DEL is ASCII, and no text. */
	for (char *del; r == 0 && (del = strchr(at, 0x7f)); at = del + 1) {
		r = buf_append(w->out, at, (size_t)(del - at));
		if (r == 0)
			r = put(w, "\\u007f");
	}
	if (r == 0)
		r = put(w, at);
	free(text);
	return r;
}

static bool is_plain(const json_t *value)
{
	return json_is_string(value) ? json_string_length(value) <= LITERAL_BYTES
				     : !json_is_object(value) && !json_is_array(value);
}

/* ---- types ---- */

static int put_type(const struct writer *w, const json_t *schema, int depth);

static int put_any(const struct writer *w)
{
	return put(w, is_python(w) ? "Any" : "unknown");
}

static int put_choices(const struct writer *w, const json_t *values)
{
	const json_t *one;
	size_t i;
	int r = 0;
	json_array_foreach(values, i, one)
	{
		if (!is_plain(one) || json_is_real(one))
			return put_any(w);
	}
	if (json_array_size(values) == 0 || json_array_size(values) > CHOICES_MAX)
		return put_any(w);
	if (is_python(w))
		r = put(w, "Literal[");
	json_array_foreach(values, i, one)
	{
		if (r == 0 && i > 0)
			r = put(w, is_python(w) ? ", " : " | ");
		if (r == 0)
			r = put_literal(w, one);
	}
	return r < 0 || !is_python(w) ? r : put(w, "]");
}

static int put_union(const struct writer *w, const json_t *all, int depth)
{
	const json_t *one;
	size_t i;
	int r = json_array_size(all) > 0 ? 0 : put_any(w);
	json_array_foreach(all, i, one)
	{
		if (r == 0 && i > 0)
			r = put(w, " | ");
		if (r == 0 && json_is_string(one)) {
			json_t *type = json_pack("{s:O}", "type", one);
			r = put_type(w, type, depth + 1);
			json_decref(type);
		} else if (r == 0) {
			r = put_type(w, one, depth + 1);
		}
	}
	return r;
}

static bool is_required(const json_t *schema, const char *name)
{
	const json_t *one;
	size_t i;
	json_array_foreach(json_object_get(schema, "required"), i, one)
	{
		if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
			return true;
	}
	return false;
}

/* {"name": T, …} */
static int put_fields(const struct writer *w, const json_t *schema, int depth)
{
	const char *name;
	json_t *one;
	int n = 0;
	int r = put(w, is_python(w) ? "TypedDict(\"_\", {" : "{ ");
	json_object_foreach(json_object_get(schema, "properties"), name, one)
	{
		bool is_needed = is_required(schema, name);
		json_t *key = json_string(name);
		if (r == 0 && n++ > 0)
			r = put(w, is_python(w) ? ", " : "; ");
		if (r == 0)
			r = put_literal(w, key);
		json_decref(key);
		if (r == 0)
			r = put(w,
				is_python(w) ? (is_needed ? ": " : ": NotRequired[")
					     : (is_needed ? ": " : "?: "));
		if (r == 0)
			r = put_type(w, one, depth + 1);
		if (r == 0 && is_python(w) && !is_needed)
			r = put(w, "]");
	}
	return r < 0 ? r : put(w, is_python(w) ? "})" : " }");
}

static int put_object(const struct writer *w, const json_t *schema, int depth)
{
	const json_t *rest = json_object_get(schema, "additionalProperties");
	size_t n = json_object_size(json_object_get(schema, "properties"));
	if (n > 0 && n <= STUB_PARAMS_MAX)
		return put_fields(w, schema, depth);
	int r = put(w, is_python(w) ? "dict[str, " : "Record<string, ");
	if (r == 0)
		r = json_is_object(rest) ? put_type(w, rest, depth + 1) : put_any(w);
	return r < 0 ? r : put(w, is_python(w) ? "]" : ">");
}

static int put_list(const struct writer *w, const json_t *schema, int depth)
{
	const json_t *items = json_object_get(schema, "items");
	int r = put(w, is_python(w) ? "list[" : "Array<");
	if (r == 0)
		r = json_is_object(items) ? put_type(w, items, depth + 1) : put_any(w);
	return r < 0 ? r : put(w, is_python(w) ? "]" : ">");
}

static const struct {
	const char *name, *python, *javascript;
} simple[] = {
	{"string", "str", "string"},
	{"integer", "int", "number"},
	{"number", "float", "number"},
	{"boolean", "bool", "boolean"},
	{"null", "None", "null"},
};

static int put_named(const struct writer *w, const char *type, const json_t *schema, int depth)
{
	for (size_t i = 0; i < ARRAY_LEN(simple); i++)
		if (strcmp(simple[i].name, type) == 0)
			return put(w, is_python(w) ? simple[i].python : simple[i].javascript);
	if (strcmp(type, "array") == 0)
		return put_list(w, schema, depth);
	return strcmp(type, "object") == 0 ? put_object(w, schema, depth) : put_any(w);
}

static int put_type(const struct writer *w, const json_t *schema, int depth)
{
	const json_t *ref = json_object_get(schema, "$ref");
	const json_t *type = json_object_get(schema, "type"),
		     *one = json_object_get(schema, "const");
	if (json_is_false(schema))
		return put(w, is_python(w) ? "Never" : "never");
	if (depth > STUB_DEPTH_MAX || !json_is_object(schema))
		return put_any(w);
	if (json_is_string(ref))
		return put_type(w, fit_resolve(w->root, json_string_value(ref)), depth + 1);
	if (one) {
		json_t *list = json_pack("[O]", one);
		int r = put_choices(w, list);
		json_decref(list);
		return r;
	}
	static const char *const unions[] = {"anyOf", "oneOf"};
	if (json_object_get(schema, "enum"))
		return put_choices(w, json_object_get(schema, "enum"));
	for (size_t i = 0; i < ARRAY_LEN(unions); i++)
		if (json_is_array(json_object_get(schema, unions[i])))
			return put_union(w, json_object_get(schema, unions[i]), depth);
	if (json_is_array(type))
		return put_union(w, type, depth);
	if (json_is_string(type))
		return put_named(w, json_string_value(type), schema, depth);
	return json_object_get(schema, "properties") ? put_object(w, schema, depth) : put_any(w);
}

/* ---- one tool ---- */

struct param {
	const char *name;
	char id[IDENTIFIER_BYTES];
	const json_t *schema;
	bool is_needed;
};

/* Required ones first. Returns: how many. */
static size_t read_params(const struct writer *w, struct param all[STUB_PARAMS_MAX])
{
	const json_t *properties = json_object_get(w->root, "properties");
	const char *name;
	json_t *schema;
	size_t n = 0;
	for (int needed = 1; needed >= 0; needed--)
		json_object_foreach((json_t *)properties, name, schema)
		{
			if (n == STUB_PARAMS_MAX || is_required(w->root, name) != (needed == 1))
				continue;
			struct param *p = &all[n];
			*p = (struct param){.name = name, .schema = schema, .is_needed = needed};
			identifier_make(w->language, name, p->id);
			size_t bytes = strlen(p->id);
			int count = 1;
			for (size_t i = 0; i < n; i++)
				if (strcmp(all[i].id, p->id) == 0) {
					snprintf(p->id + bytes, sizeof p->id - bytes, "_%d",
						++count);
					i = (size_t)-1;
				}
			n++;
		}
	return n;
}

static int put_param(const struct writer *w, const struct param *p)
{
	const json_t *fallback = json_object_get(p->schema, "default");
	int r = buf_addf(w->out, ", %s: ", p->id);
	if (r == 0)
		r = put_type(w, p->schema, 0);
	if (r < 0 || p->is_needed)
		return r;
	if (fallback && is_plain(fallback)) {
		r = put(w, " = ");
		return r < 0 ? r : put_literal(w, fallback);
	}
	return put(w, " | None = None");
}

static int put_python_head(const struct writer *w, const struct catalog_tool *tool)
{
	struct param all[STUB_PARAMS_MAX];
	size_t n = read_params(w, all);
	const json_t *rest = json_object_get(w->root, "additionalProperties");
	int r = put(w, n > 0 ? "(*" : "(");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_param(w, &all[i]);
	if (r == 0 && rest && !json_is_false(rest))
		r = put(w, n > 0 ? ", **extra: Any" : "**extra: Any");
	if (r == 0)
		r = put(w, ") -> ");
	const struct writer inner = {w->out, w->language, tool->output};
	return r < 0 ? r : put_type(&inner, tool->output, 0);
}

static int put_javascript_head(const struct writer *w, const struct catalog_tool *tool)
{
	int r = put(w, "(args: ");
	if (r == 0)
		r = put_object(w, w->root, 0);
	if (r == 0)
		r = put(w, "): Promise<");
	const struct writer inner = {w->out, w->language, tool->output};
	if (r == 0)
		r = put_type(&inner, tool->output, 0);
	return r < 0 ? r : put(w, ">");
}

static int put_head(const struct writer *w, const struct catalog_tool *tool)
{
	int r = put(w, is_python(w) ? tool->id : tool->js_id);
	if (r < 0)
		return r;
	return is_python(w) ? put_python_head(w, tool) : put_javascript_head(w, tool);
}

json_t *stub_params(const struct catalog_tool *tool, bool *has_more)
{
	cleanup_buf struct buf text = BUF_INIT(STUB_TYPE_BYTES);
	const struct writer w = {&text, IDENTIFIER_PYTHON, tool->schema};
	const json_t *rest = json_object_get(tool->schema, "additionalProperties");
	struct param all[STUB_PARAMS_MAX];
	json_t *out = json_array();
	size_t n = read_params(&w, all);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&text);
		bool is_whole = put_type(&w, all[i].schema, 0) == 0;
		(void)json_array_append_new(out,
			json_pack("{s:s, s:s, s:s, s:b, s:O*}", "name", all[i].name, "id",
				all[i].id, "type", is_whole ? buf_str(&text) : "Any", "required",
				all[i].is_needed, "default",
				json_object_get(all[i].schema, "default")));
	}
	*has_more = (rest && !json_is_false(rest)) ||
		json_object_size(json_object_get(tool->schema, "properties")) > n;
	return out;
}

int stub_signature(
	struct buf *out, enum identifier_language language, const struct catalog_tool *tool)
{
	const struct writer w = {out, language, tool->schema};
	const struct catalog_server *s = tool->server;
	int r = buf_addf(out, "tools.%s.", is_python(&w) ? s->id : s->js_id);
	return r < 0 ? r : put_head(&w, tool);
}

/* Text inside a docstring or a comment: it cannot end it. */
static int put_doc(const struct writer *w, const char *text, size_t max_bytes, const char *indent)
{
	size_t bytes = utf8_cut(text, strlen(text), max_bytes);
	int r = 0;
	for (size_t i = 0; r == 0 && i < bytes; i++) {
		char c = text[i];
		if (c == '\n')
			r = buf_addf(w->out, "\n%s", indent);
		else if (is_python(w) && (c == '\\' || c == '"'))
			r = buf_addf(w->out, "\\%c", c);
		else if (!is_python(w) && c == '/' && i > 0 && text[i - 1] == '*')
			r = put(w, " /");
		else if (c == '\t' || (unsigned char)c >= ' ')
			r = buf_append(w->out, &c, 1);
	}
	return r < 0 || bytes == strlen(text) ? r : put(w, "…");
}

/* A text of a schema: what is hidden in it goes. */
static int put_text(const struct writer *w, const json_t *text, const char *indent)
{
	cleanup_buf struct buf shown = BUF_INIT(DOC_BYTES);
	size_t bytes = json_string_length(text);
	if (bytes > 0)
		catalog_clean(&shown, json_string_value(text), bytes);
	return put_doc(w, buf_str(&shown), shown.bytes, indent);
}

static int put_args(const struct writer *w, const char *indent)
{
	struct param all[STUB_PARAMS_MAX];
	size_t n = read_params(w, all);
	char deeper[16];
	int r = 0;
	snprintf(deeper, sizeof deeper, "%s    ", indent);
	if (n > 0)
		r = buf_addf(w->out, "\n\n%sArgs:", indent);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = buf_addf(w->out, "\n%s%s: ", deeper, all[i].id);
		if (r == 0)
			r = put_text(w, json_object_get(all[i].schema, "description"), deeper);
		if (r == 0 && is_python(w) && strcmp(all[i].id, all[i].name) != 0) {
			json_t *name = json_string(all[i].name);
			r = put(w, " (named ");
			cleanup_buf struct buf literal = BUF_INIT((size_t)8 * DOC_BYTES);
			const struct writer aside = {&literal, w->language, NULL};
			(void)put_literal(&aside, name);
			if (r == 0)
				r = put_doc(w, buf_str(&literal), DOC_BYTES, deeper);
			json_decref(name);
			if (r == 0)
				r = put(w, ")");
		}
	}
	return r;
}

static int put_tool(
	struct buf *out, enum identifier_language language, const struct catalog_tool *tool)
{
	const struct writer w = {out, language, tool->schema};
	const char *indent = is_python(&w) ? "        " : "     * ";
	int r = put(&w, is_python(&w) ? "\n    @staticmethod\n    def " : "\n    /**\n     * ");
	if (r == 0 && is_python(&w))
		r = put_head(&w, tool);
	if (r == 0 && is_python(&w))
		r = put(&w, ":\n        \"\"\"");
	if (r == 0)
		r = put_doc(&w, tool->text, CATALOG_TEXT_BYTES + 8, indent);
	if (r == 0 && is_python(&w))
		r = put_args(&w, indent);
	if (r < 0 || is_python(&w))
		return r < 0 ? r : put(&w, "\n        \"\"\"\n        ...\n");
	r = put(&w, "\n     */\n    function ");
	if (r == 0)
		r = put_head(&w, tool);
	return r < 0 ? r : put(&w, ";\n");
}

int stub_write(struct buf *out, enum identifier_language language, const struct catalog_server *s,
	struct err *err)
{
	int r = language == IDENTIFIER_PYTHON
		? buf_addf(out, "class %s:\n    \"\"\"tools.%s\"\"\"\n", s->id, s->id)
		: buf_addf(out, "declare namespace tools.%s {", s->js_id);
	for (size_t i = 0; r == 0 && i < s->n_tools; i++)
		r = put_tool(out, language, &s->tool[i]);
	if (r == 0 && language != IDENTIFIER_PYTHON)
		r = buf_add(out, "}\n");
	return r == 0 ? 0 : err_set(err, ERR_LIMIT, "tools: stubs over %d bytes", STUB_BYTES);
}
