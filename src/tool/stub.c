/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/stub.h"

#include "base/json.h"
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

static void put(const struct writer *w, const char *text)
{
	buf_add(w->out, text);
}

/* ---- writing values as literals ---- */

/* Write a value as a literal of the language. A literal of JSON is also a literal of JavaScript.
 * Only for true, false and null, Python has other words. The output is ASCII without characters
 * that control a terminal. */
static void put_literal(const struct writer *w, const json_t *value)
{
	if (is_python(w) && (json_is_boolean(value) || json_is_null(value))) {
		put(w, json_is_true(value) ? "True" : json_is_false(value) ? "False" : "None");
		return;
	}
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII), *at = text;
	if (!text) {
		buf_fail(w->out, -ENOMEM);
		return;
	}
	/* The library jansson does not escape DEL, which is a control character of ASCII. */
	for (char *del; (del = strchr(at, 0x7f)); at = del + 1) {
		buf_append(w->out, at, (size_t)(del - at));
		put(w, "\\u007f");
	}
	put(w, at);
	free(text);
}

static bool is_plain(const json_t *value)
{
	return json_is_string(value) ? json_string_length(value) <= LITERAL_BYTES
				     : !json_is_object(value) && !json_is_array(value);
}

/* ---- writing schemas as types ---- */

static void put_type(const struct writer *w, const json_t *schema, int depth);

static void put_any(const struct writer *w)
{
	put(w, is_python(w) ? "Any" : "unknown");
}

static bool are_literals(const json_t *values)
{
	const json_t *one;
	size_t i;
	json_array_foreach(values, i, one)
	{
		if (!is_plain(one) || json_is_real(one))
			return false;
	}
	return json_array_size(values) > 0 && json_array_size(values) <= CHOICES_MAX;
}

static void put_choices(const struct writer *w, const json_t *values)
{
	const json_t *one;
	size_t i;
	if (!are_literals(values)) {
		put_any(w);
		return;
	}
	put(w, is_python(w) ? "Literal[" : "");
	json_array_foreach(values, i, one)
	{
		if (i > 0)
			put(w, is_python(w) ? ", " : " | ");
		put_literal(w, one);
	}
	put(w, is_python(w) ? "]" : "");
}

static void put_union(const struct writer *w, const json_t *all, int depth)
{
	const json_t *one;
	size_t i;
	if (json_array_size(all) == 0)
		put_any(w);
	json_array_foreach(all, i, one)
	{
		cleanup_json json_t *type =
			json_is_string(one) ? json_need(json_pack("{s:O}", "type", one)) : NULL;
		put(w, i > 0 ? " | " : "");
		put_type(w, type ? type : one, depth + 1);
	}
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

/* Write the type of an object: {"name": T, …}. */
static void put_fields(const struct writer *w, const json_t *schema, int depth)
{
	const char *name;
	json_t *one;
	int n = 0;
	put(w, is_python(w) ? "TypedDict(\"_\", {" : "{ ");
	json_object_foreach(json_object_get(schema, "properties"), name, one)
	{
		bool is_needed = is_required(schema, name);
		cleanup_json json_t *key = json_need(json_string(name));
		if (n++ > 0)
			put(w, is_python(w) ? ", " : "; ");
		put_literal(w, key);
		if (is_python(w))
			put(w, is_needed ? ": " : ": NotRequired[");
		else
			put(w, is_needed ? ": " : "?: ");
		put_type(w, one, depth + 1);
		put(w, is_python(w) && !is_needed ? "]" : "");
	}
	put(w, is_python(w) ? "})" : " }");
}

/* Write the type of a schema that may be missing, or may be true or false. */
static void put_inner(const struct writer *w, const json_t *schema, int depth)
{
	if (json_is_object(schema))
		put_type(w, schema, depth + 1);
	else
		put_any(w);
}

static void put_object(const struct writer *w, const json_t *schema, int depth)
{
	size_t n = json_object_size(json_object_get(schema, "properties"));
	if (n > 0 && n <= STUB_PARAMS_MAX) {
		put_fields(w, schema, depth);
		return;
	}
	put(w, is_python(w) ? "dict[str, " : "Record<string, ");
	put_inner(w, json_object_get(schema, "additionalProperties"), depth);
	put(w, is_python(w) ? "]" : ">");
}

static void put_list(const struct writer *w, const json_t *schema, int depth)
{
	put(w, is_python(w) ? "list[" : "Array<");
	put_inner(w, json_object_get(schema, "items"), depth);
	put(w, is_python(w) ? "]" : ">");
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

static void put_named(const struct writer *w, const char *type, const json_t *schema, int depth)
{
	for (size_t i = 0; i < ARRAY_LEN(simple); i++)
		if (strcmp(simple[i].name, type) == 0) {
			put(w, is_python(w) ? simple[i].python : simple[i].javascript);
			return;
		}
	if (strcmp(type, "array") == 0)
		put_list(w, schema, depth);
	else if (strcmp(type, "object") == 0)
		put_object(w, schema, depth);
	else
		put_any(w);
}

static const json_t *find_union(const json_t *schema)
{
	static const char *const words[] = {"anyOf", "oneOf", "type"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (json_is_array(json_object_get(schema, words[i])))
			return json_object_get(schema, words[i]);
	return NULL;
}

/* Write the type of a schema. A $ref may be recursive, so stop when the buffer is full. */
static void put_type(const struct writer *w, const json_t *schema, int depth)
{
	const json_t *ref = json_object_get(schema, "$ref");
	const json_t *type = json_object_get(schema, "type"), *choices, *all;
	cleanup_json json_t *one = json_pack("[O*]", json_object_get(schema, "const"));
	if (buf_error(w->out) < 0)
		return;
	if (json_is_false(schema))
		put(w, is_python(w) ? "Never" : "never");
	else if (depth > STUB_DEPTH_MAX || !json_is_object(schema))
		put_any(w);
	else if (json_is_string(ref))
		put_type(w, fit_resolve(w->root, json_string_value(ref)), depth + 1);
	else if (json_array_size(one) > 0)
		put_choices(w, one);
	else if ((choices = json_object_get(schema, "enum")))
		put_choices(w, choices);
	else if ((all = find_union(schema)))
		put_union(w, all, depth);
	else if (json_is_string(type))
		put_named(w, json_string_value(type), schema, depth);
	else if (json_object_get(schema, "properties"))
		put_object(w, schema, depth);
	else
		put_any(w);
}

/* ---- writing the declaration of a tool ---- */

struct param {
	const char *name;
	char id[IDENTIFIER_BYTES];
	const json_t *schema;
	bool is_needed;
};

/* Get the parameters of the tool, required ones first. Returns: their number. */
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

static void put_param(const struct writer *w, const struct param *p)
{
	const json_t *fallback = json_object_get(p->schema, "default");
	buf_addf(w->out, ", %s: ", p->id);
	put_type(w, p->schema, 0);
	if (p->is_needed)
		return;
	put(w, fallback && is_plain(fallback) ? " = " : " | None = None");
	if (fallback && is_plain(fallback))
		put_literal(w, fallback);
}

static void put_result(const struct writer *w, const struct catalog_tool *tool)
{
	const struct writer inner = {w->out, w->language, tool->output};
	put_type(&inner, tool->output, 0);
}

static void put_head(const struct writer *w, const struct catalog_tool *tool)
{
	struct param all[STUB_PARAMS_MAX];
	const json_t *rest = json_object_get(w->root, "additionalProperties");
	put(w, is_python(w) ? tool->id : tool->js_id);
	if (!is_python(w)) {
		put(w, "(args: ");
		put_object(w, w->root, 0);
		put(w, "): Promise<");
		put_result(w, tool);
		put(w, ">");
		return;
	}
	size_t n = read_params(w, all);
	put(w, n > 0 ? "(*" : "(");
	for (size_t i = 0; i < n; i++)
		put_param(w, &all[i]);
	if (rest && !json_is_false(rest))
		put(w, n > 0 ? ", **extra: Any" : "**extra: Any");
	put(w, ") -> ");
	put_result(w, tool);
}

json_t *stub_params(const struct catalog_tool *tool, bool *has_more)
{
	cleanup_buf struct buf text = BUF_INIT(STUB_TYPE_BYTES);
	const struct writer w = {&text, IDENTIFIER_PYTHON, tool->schema};
	const json_t *rest = json_object_get(tool->schema, "additionalProperties");
	struct param all[STUB_PARAMS_MAX];
	json_t *out = json_need(json_array());
	size_t n = read_params(&w, all);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&text);
		put_type(&w, all[i].schema, 0);
		bool is_whole = buf_error(&text) == 0;
		json_add_new(out,
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
	buf_addf(out, "tools.%s.", is_python(&w) ? s->id : s->js_id);
	put_head(&w, tool);
	return buf_error(out);
}

/* Write @text into a docstring or comment. Escape what would end the docstring or comment. */
static void put_doc(const struct writer *w, const char *text, size_t max_bytes, const char *indent)
{
	size_t bytes = utf8_cut(text, strlen(text), max_bytes);
	for (size_t i = 0; i < bytes; i++) {
		char c = text[i];
		if (c == '\n')
			buf_addf(w->out, "\n%s", indent);
		else if (is_python(w) && (c == '\\' || c == '"'))
			buf_addf(w->out, "\\%c", c);
		else if (!is_python(w) && c == '/' && i > 0 && text[i - 1] == '*')
			put(w, " /");
		else if (c == '\t' || (unsigned char)c >= ' ')
			buf_append(w->out, &c, 1);
	}
	put(w, bytes < strlen(text) ? "…" : "");
}

/* Write a text from a schema without its invisible characters. */
static void put_text(const struct writer *w, const json_t *text, const char *indent)
{
	cleanup_buf struct buf shown = BUF_INIT(DOC_BYTES);
	size_t bytes = json_string_length(text);
	if (bytes > 0)
		catalog_clean(&shown, json_string_value(text), bytes);
	put_doc(w, buf_str(&shown), shown.bytes, indent);
}

/* Write the name that a parameter has at the server. This is for parameters whose identifier
 * differs from that name. */
static void put_own_name(const struct writer *w, const char *own, const char *indent)
{
	cleanup_json json_t *name = json_need(json_string(own));
	cleanup_buf struct buf literal = BUF_INIT((size_t)8 * DOC_BYTES);
	const struct writer aside = {&literal, w->language, NULL};
	put_literal(&aside, name);
	put(w, " (named ");
	put_doc(w, buf_str(&literal), DOC_BYTES, indent);
	put(w, ")");
}

static void put_args(const struct writer *w, const char *indent)
{
	struct param all[STUB_PARAMS_MAX];
	size_t n = read_params(w, all);
	char deeper[16];
	snprintf(deeper, sizeof deeper, "%s    ", indent);
	if (n > 0)
		buf_addf(w->out, "\n\n%sArgs:", indent);
	for (size_t i = 0; i < n; i++) {
		buf_addf(w->out, "\n%s%s: ", deeper, all[i].id);
		put_text(w, json_object_get(all[i].schema, "description"), deeper);
		if (strcmp(all[i].id, all[i].name) != 0)
			put_own_name(w, all[i].name, deeper);
	}
}

static void put_tool(
	struct buf *out, enum identifier_language language, const struct catalog_tool *tool)
{
	const struct writer w = {out, language, tool->schema};
	const size_t doc_bytes = CATALOG_TEXT_BYTES + 8;
	if (is_python(&w)) {
		put(&w, "\n    @staticmethod\n    def ");
		put_head(&w, tool);
		put(&w, ":\n        \"\"\"");
		put_doc(&w, tool->text, doc_bytes, "        ");
		put_args(&w, "        ");
		put(&w, "\n        \"\"\"\n        ...\n");
		return;
	}
	put(&w, "\n    /**\n     * ");
	put_doc(&w, tool->text, doc_bytes, "     * ");
	put(&w, "\n     */\n    function ");
	put_head(&w, tool);
	put(&w, ";\n");
}

int stub_write(struct buf *out, enum identifier_language language, const struct catalog_server *s,
	struct err *err)
{
	if (language == IDENTIFIER_PYTHON)
		buf_addf(out, "class %s:\n    \"\"\"tools.%s\"\"\"\n", s->id, s->id);
	else
		buf_addf(out, "declare namespace tools.%s {", s->js_id);
	for (size_t i = 0; i < s->n_tools && buf_error(out) == 0; i++)
		put_tool(out, language, &s->tool[i]);
	buf_add(out, language == IDENTIFIER_PYTHON ? "" : "}\n");
	return buf_error(out) == 0
		? 0
		: err_set(err, ERR_LIMIT, "tools: stubs over %d bytes", STUB_BYTES);
}
