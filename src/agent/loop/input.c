/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/input.h"

#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Names that an input cannot have: keywords of Python and JavaScript, and names that an agent's
 * session already has. */
static const char *const taken[] = {"False", "Infinity", "NaN", "None", "True", "and", "arguments",
	"as", "assert", "async", "await", "break", "case", "catch", "class", "const", "continue",
	"debugger", "def", "default", "del", "delete", "display", "do", "elif", "else", "enum",
	"eval", "except", "export", "extends", "false", "final_answer", "finally", "for", "from",
	"function", "global", "globalThis", "if", "implements", "import", "in", "instanceof",
	"interface", "is", "lambda", "len", "let", "llm_query", "llm_query_batched", "new",
	"nonlocal", "not", "null", "open", "or", "package", "pass", "private", "protected",
	"public", "raise", "require", "retort", "return", "static", "super", "switch", "this",
	"throw", "tools", "true", "try", "typeof", "undefined", "var", "void", "while", "with",
	"yield"};

bool input_is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t bytes = strlen(name);
	if (bytes >= INPUT_NAME_BYTES || strspn(name, letters) == 0 || strspn(name, more) != bytes)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		if (strcmp(taken[i], name) == 0)
			return false;
	return true;
}

static bool has(const struct inputs *in, const char *name)
{
	for (size_t i = 0; i < in->n; i++)
		if (strcmp(in->list[i].name, name) == 0)
			return true;
	return false;
}

int inputs_read(struct inputs *out, const json_t *array, struct err *err)
{
	struct inputs in = {.n = 0};
	size_t i;
	json_t *row;
	if (json_array_size(array) > INPUTS_MAX)
		return err_set(err, ERR_LIMIT, "context: more than %d inputs", INPUTS_MAX);
	json_array_foreach(array, i, row)
	{
		const char *name = json_string_value(json_object_get(row, "name"));
		const char *path = json_string_value(json_object_get(row, "path"));
		if (!name || !path || !input_is_name(name))
			return err_fail(err, ERR_USAGE,
				"use letters, digits and _, but not a keyword of a language",
				"context: %.60s: not a valid name of a variable", name ? name : "");
		if (has(&in, name))
			return err_set(err, ERR_USAGE, "context: the name %s is used twice", name);
		if (strlen(path) > INPUT_PATH_BYTES)
			return err_set(err, ERR_LIMIT,
				"context: %s: the path is longer than %d bytes", name,
				INPUT_PATH_BYTES);
		in.list[in.n++] = (struct input){.name = name, .path = path};
	}
	*out = in;
	return 0;
}

const char *inputs_runtime(const char *runtime)
{
	return strcmp(runtime, "javascript") == 0 ? "javascript" : "python";
}

/* ---- writing the code that reads the inputs into variables ---- */

/* Return @text as a string literal that is valid in Python and in JavaScript. Owns: the caller
 * frees. */
static char *quote(const char *text)
{
	cleanup_json json_t *json = json_string(text);
	return json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
}

static void python_make(const struct input *in, const char *path, struct buf *out)
{
	buf_addf(out, "%s = open(%s, encoding=\"utf-8\", errors=\"replace\").read()\n", in->name,
		path);
}

static void python_measure(const struct input *in, const char *path, struct buf *out)
{
	buf_addf(out,
		"[__import__(\"os\").path.getsize(%s), len(%s), %s.count(\"\\n\") + (%s[-1:] not in "
		"(\"\", \"\\n\"))],\n",
		path, in->name, in->name, in->name);
}

static void javascript_make(const struct input *in, const char *path, struct buf *out)
{
	buf_addf(out, "globalThis.%s = require(\"fs\").readFileSync(%s, \"utf8\");\n", in->name,
		path);
}

static void javascript_measure(const struct input *in, const char *path, struct buf *out)
{
	buf_addf(out,
		"((text) => {\n"
		"  let lines = text !== \"\" && !text.endsWith(\"\\n\") ? 1 : 0;\n"
		"  for (let at = text.indexOf(\"\\n\"); at >= 0; at = text.indexOf(\"\\n\", at + 1)) "
		"lines++;\n"
		"  return [require(\"fs\").statSync(%s).size, text.length, lines];\n"
		"})(%s),\n",
		path, in->name);
}

typedef void write_fn(const struct input *in, const char *path, struct buf *out);

static void write_each(const struct inputs *in, write_fn *write, struct buf *out)
{
	for (size_t i = 0; i < in->n; i++) {
		char *path = quote(in->list[i].path);
		if (path)
			write(&in->list[i], path, out);
		else
			buf_fail(out, -ENOMEM);
		free(path);
	}
}

int inputs_code(const struct inputs *in, const char *runtime, struct buf *out)
{
	bool is_python = strcmp(inputs_runtime(runtime), "python") == 0;
	write_each(in, is_python ? python_make : javascript_make, out);
	buf_add(out, "[\n");
	write_each(in, is_python ? python_measure : javascript_measure, out);
	buf_add(out, "]\n");
	return buf_error(out);
}

/* ---- taking the lengths of the inputs from the record of a step ---- */

static int explain(const json_t *record, struct err *err)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *error = json_object_get(record, "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	const char *message = json_string_value(json_object_get(error, "message"));
	bool is_large = status &&
		(strcmp(status, "oom") == 0 || strcmp(status, "killed") == 0 ||
			(name && strcmp(name, "MemoryError") == 0));
	if (is_large)
		return err_fail(err, ERR_LIMIT, "give the box more memory, or a shorter text",
			"context: the text does not fit in the box's memory");
	return err_fail(err, ERR_USAGE, "a path must name a readable file in the box",
		"context: %s%s%.150s", status ? status : "error", message ? ": " : "",
		message ? message : "");
}

int inputs_take(struct inputs *in, const json_t *record, struct err *err)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *rows = json_object_get(json_object_get(record, "value"), "application/json");
	if (!status || strcmp(status, "ok") != 0)
		return explain(record, err);
	for (size_t i = 0; i < in->n; i++) {
		const json_t *row = json_array_get(rows, i);
		uint64_t *const to[] = {
			&in->list[i].bytes, &in->list[i].characters, &in->list[i].lines};
		for (size_t k = 0; k < ARRAY_LEN(to); k++) {
			const json_t *n = json_array_get(row, k);
			if (!json_is_integer(n) || json_integer_value(n) < 0)
				return err_set(
					err, ERR_BOX, "context: the box did not report its length");
			*to[k] = (uint64_t)json_integer_value(n);
		}
	}
	return 0;
}

json_t *input_event(const struct input *in)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "event", "input", "name", in->name,
		"path", in->path, "characters", (json_int_t)in->characters, "lines",
		(json_int_t)in->lines, "bytes", (json_int_t)in->bytes);
}

int inputs_show(const struct inputs *in, const char *runtime, struct buf *out)
{
	if (in->n == 0)
		return 0;
	buf_addf(out,
		"\n\nWhat the task is about is too long to be shown to you. It is in %s in %s, as text:\n",
		in->n == 1 ? "a variable" : "variables", inputs_runtime(runtime));
	for (size_t i = 0; i < in->n; i++)
		buf_addf(out, "%s: %" PRIu64 " characters, %" PRIu64 " lines; the file is %s\n",
			in->list[i].name, in->list[i].characters, in->list[i].lines,
			in->list[i].path);
	buf_add(out,
		"Look at it by code: print its start, search it, cut it in parts. "
		"Never print all of it.\n");
	return buf_error(out);
}
