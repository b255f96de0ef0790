/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/fixture.h"

#include "base/alloc.h"
#include "base/json.h"
#include "tool/hosts.h"
#include "tool/number.h"
#include "tool/schema.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHERE_BYTES = 160, TEXT_MAX_BYTES = 64 << 20 };

struct fixture {
	json_t *json;
	struct tool_shelf shelf;
	struct tool_set tools;
	struct tool_provider provider;
};

static int bad(struct err *err, const char *where, const char *what)
{
	return err_set(err, ERR_USAGE, "tools: %.140s: %.100s", where, what);
}

/* Refuse members that are not in @known, so that a misspelled name is an error. */
static int only(struct err *err, const char *where, const json_t *object, const char *known)
{
	const char *name;
	json_t *one;
	if (!json_is_object(object))
		return bad(err, where, "an object is needed");
	json_object_foreach(json_unconst(object), name, one)
	{
		const char *at = strstr(known, name);
		size_t n = strlen(name);
		if (n == 0 || !at || (at > known && at[-1] != ' ') || (at[n] && at[n] != ' '))
			return err_set(err, ERR_USAGE,
				"tools: %.100s: no such member \"%.40s\"; there are %.90s", where,
				name, known);
	}
	return 0;
}

static bool is_name(const char *text)
{
	bool is_start = true;
	size_t n = 0;
	for (; text[n]; n++) {
		unsigned char c = (unsigned char)text[n];
		if (c == '.' ? is_start : !(isalpha(c) || c == '_' || (!is_start && isdigit(c))))
			return false;
		is_start = c == '.';
	}
	return n > 0 && n <= TOOL_NAME_MAX_BYTES && !is_start;
}

static bool hint(const json_t *tool, const char *name, bool otherwise)
{
	const json_t *h = json_object_get(json_object_get(tool, "annotations"), name);
	return json_is_boolean(h) ? json_is_true(h) : otherwise;
}

static int answers(const struct tool *tool, const json_t *json, struct err *err)
{
	const json_t *all = json_object_get(json, "answers"), *one;
	char where[WHERE_BYTES];
	size_t i;
	int r = 0;
	if (all && !json_is_array(all))
		return bad(err, tool->name, "answers: a list is needed");
	json_array_foreach(all, i, one)
	{
		snprintf(where, sizeof where, "%.100s.answers[%zu]", tool->name, i);
		r = only(err, where, one, "arguments result error");
		if (r == 0 && !json_object_get(one, "result") == !json_object_get(one, "error"))
			r = bad(err, where, "a result or an error is needed");
		if (r == 0 && json_object_get(one, "error") &&
			!json_is_string(json_object_get(one, "error")))
			r = bad(err, where, "error: a text is needed");
		if (r == 0 && json_object_get(one, "result"))
			r = schema_check(tool->result, json_object_get(one, "result"), where, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_tool(
	struct fixture *f, const char *name, const json_t *json, struct tool *out, struct err *err)
{
	const struct tool_type *input = NULL;
	if (!is_name(name))
		return bad(err, name,
			"not a tool's name: words of letters, digits and _, joined by dots");
	int r = only(
		err, name, json, "description inputSchema outputSchema annotations answers _meta");
	*out = (struct tool){.name = shelf_text(&f->shelf, name),
		.text = json_string_value(json_object_get(json, "description")),
		.is_read_only = hint(json, "readOnlyHint", false),
		.is_destructive = hint(json, "destructiveHint", true),
		.is_open_world = hint(json, "openWorldHint", true)};
	if (r == 0 &&
		(!out->name || hosts_read(&f->shelf, json_object_get(json, "_meta"), out) < 0))
		r = err_set(err, ERR_NO_MEMORY, "tools: no memory for them");
	if (r == 0)
		r = schema_type(&f->shelf, json_object_get(json, "inputSchema"), name, &input, err);
	if (r == 0)
		r = schema_type(
			&f->shelf, json_object_get(json, "outputSchema"), name, &out->result, err);
	if (r == 0 && input && input->shape != TOOL_DICT)
		r = bad(err, name, "inputSchema: its type must be object");
	if (r == 0 && input && input->n_fields > TOOL_PARAMS_MAX)
		r = bad(err, name, "inputSchema: too many parameters");
	if (r < 0)
		return r;
	out->param = input ? input->field : NULL;
	out->n_params = input ? input->n_fields : 0;
	return answers(out, json, err);
}

/* Return whether @whole has each member of @part, with an equal value. */
static bool is_part(const json_t *part, const json_t *whole)
{
	const char *name;
	json_t *one;
	json_object_foreach(json_unconst(part), name, one)
	{
		if (!json_equal(one, json_object_get(whole, name)))
			return false;
	}
	return true;
}

/* Parse JSON. Integers beyond 64 bits are replaced as in tool/number.h. Returns: NULL and @wrong on
 * failure. */
static json_t *load(const char *text, size_t bytes, json_error_t *wrong)
{
	cleanup_buf struct buf hidden = BUF_INIT(TEXT_MAX_BYTES);
	*wrong = (json_error_t){.line = 1, .text = "no memory for it"};
	if (number_hide(text, bytes, &hidden) < 0)
		return NULL;
	return json_loadb(buf_str(&hidden), hidden.bytes, JSON_REJECT_DUPLICATES, wrong);
}

/* Return @outcome; or an error if writing to @out has failed. */
static int given(const struct buf *out, int outcome, struct err *err)
{
	return buf_error(out) < 0 ? err_set(err, ERR_NO_MEMORY, "tools: no memory for a result")
				  : outcome;
}

static int give(const json_t *value, struct buf *out, struct err *err)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (text)
		(void)number_show(text, strlen(text), out);
	else
		buf_fail(out, -ENOMEM);
	free(text);
	return given(out, TOOL_RESULT, err);
}

static int call(
	void *ctx, const struct tool *tool, const char *arguments, struct buf *out, struct err *err)
{
	const struct fixture *f = ctx;
	json_error_t wrong;
	cleanup_json json_t *known = load(arguments, strlen(arguments), &wrong);
	const json_t *one,
		*all = json_object_get(
			json_object_get(json_object_get(f->json, "tools"), tool->name), "answers");
	size_t i;
	json_array_foreach(all, i, one)
	{
		if (!is_part(json_object_get(one, "arguments"), known))
			continue;
		if (json_object_get(one, "result"))
			return give(json_object_get(one, "result"), out, err);
		buf_add(out, json_get_text(one, "error"));
		return given(out, TOOL_ERROR, err);
	}
	buf_add(out, "the file of tools has no answer for these arguments");
	return given(out, TOOL_ERROR, err);
}

static int ask(void *ctx, const struct tool_question *question, struct buf *out, struct err *err)
{
	const struct fixture *f = ctx;
	const json_t *one, *all = json_object_get(f->json, "ask");
	size_t i;
	json_array_foreach(all, i, one)
	{
		const char *text = json_string_value(json_object_get(one, "question"));
		if (!text || strstr(question->question, text))
			return give(json_object_get(one, "answer"), out, err);
	}
	buf_add(out, "the file of tools has no answer to this question");
	return given(out, TOOL_ERROR, err);
}

static int read_all(struct fixture *f, struct err *err)
{
	json_t *all = json_object_get(f->json, "tools"), *one;
	const json_t *asked = json_object_get(f->json, "ask");
	const char *name;
	size_t n = 0, i;
	int r = only(err, "the file", f->json, "tools ask");
	if (r == 0 && !json_is_object(all))
		r = bad(err, "tools", "an object of tools is needed");
	struct tool *tool = shelf_take(&f->shelf, json_object_size(all) * sizeof *tool);
	if (r == 0 && !tool)
		r = err_set(err, ERR_NO_MEMORY, "tools: no memory for them");
	json_object_foreach(all, name, one)
	{
		if (r == 0)
			r = read_tool(f, name, one, &tool[n++], err);
	}
	json_array_foreach(asked, i, one)
	{
		char where[WHERE_BYTES];
		snprintf(where, sizeof where, "ask[%zu]", i);
		if (r == 0)
			r = only(err, where, one, "question answer");
		if (r == 0 && !json_object_get(one, "answer"))
			r = bad(err, where, "an answer is needed");
	}
	if (r == 0 && tool_sort(tool, n) < 0)
		r = bad(err, "tools", "two tools have the same name");
	f->tools = (struct tool_set){tool, n};
	return r;
}

int fixture_read(
	const char *text, size_t bytes, const char *name, struct fixture **out, struct err *err)
{
	json_error_t wrong;
	struct fixture *f = xnew(struct fixture);
	f->json = load(text, bytes, &wrong);
	int r = f->json
		? read_all(f, err)
		: err_set(err, ERR_USAGE, "tools: %.100s:%d: %.100s", name, wrong.line, wrong.text);
	if (r < 0) {
		fixture_free(f);
		return r;
	}
	f->provider =
		(struct tool_provider){.ctx = f, .tools = &f->tools, .call = call, .ask = ask};
	*out = f;
	return 0;
}

void fixture_free(struct fixture *f)
{
	if (!f)
		return;
	json_decref(f->json);
	shelf_done(&f->shelf);
	free(f);
}

const struct tool_provider *fixture_provider(const struct fixture *f)
{
	return &f->provider;
}
