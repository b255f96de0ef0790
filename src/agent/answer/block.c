/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/block.h"

#include "agent/answer/extract.h"
#include "base/ascii.h"
#include "base/attr.h"
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 40, PARTS_MAX = 10000 };

/* Names of tools that run code. `runtime` is the language of the code if the arguments of the
 * call do not name one. */
static const struct {
	const char *name, *runtime;
} tools[] = {
	{"run_code", NULL},
	{"execute_code", NULL},
	{"code_interpreter", "python"},
	{"execute", NULL},
	{"exec", NULL},
	{"repl", "python"},
	{"python", "python"},
	{"ipython", "python"},
	{"run_python", "python"},
	{"python_interpreter", "python"},
	{"execute_python", "python"},
	{"execute_ipython", "python"},
	{"execute_ipython_cell", "python"},
	{"javascript", "javascript"},
	{"node", "javascript"},
	{"execute_javascript", "javascript"},
	{"sql", "sql"},
	{"execute_sql", "sql"},
	{"bash", "shell"},
	{"shell", "shell"},
	{"execute_bash", "shell"},
};

static bool find_tool(const char *name, size_t bytes, const char **runtime)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (strlen(tools[i].name) == bytes && memcmp(tools[i].name, name, bytes) == 0) {
			*runtime = tools[i].runtime;
			return true;
		}
	return false;
}

/* Return the first text among the members @names of @object, or NULL. */
static const char *first(const json_t *object, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_object_get(object, names[i]));
		if (text)
			return text;
	}
	return NULL;
}

/* Find the code and its language in the arguments of a call. Returns: as block_read(). */
static int take(struct block_call *out, const json_t *arguments, const char *runtime)
{
	static const char *const codes[] = {
		"code", "source", "script", "command", "cmd", "query", "input"};
	static const char *const languages[] = {"language", "lang", "runtime"};
	const char *code = first(arguments, codes, ARRAY_LEN(codes));
	const char *language = first(arguments, languages, ARRAY_LEN(languages));
	bool is_known = !language || extract_runtime(language, strlen(language), &runtime);
	if (!code || !is_known || code[strspn(code, " \t\r\n")] == '\0')
		return 0;
	out->runtime = runtime;
	out->code = strdup(code);
	return out->code ? 1 : -ENOMEM;
}

int block_read(struct block_call *out, const char *name, const char *arguments, size_t bytes)
{
	const char *runtime = NULL;
	if (!find_tool(name, strlen(name), &runtime))
		return 0;
	cleanup_json json_t *json = json_parts(arguments, bytes) > PARTS_MAX
		? NULL
		: json_loadb(arguments, bytes, JSON_DECODE_ANY, NULL);
	int r = 0;
	if (json_is_object(json)) {
		r = take(out, json, runtime);
	} else if (json_is_string(json) || !json) {
		json_t *whole = json_pack(
			"{s:o}", "code", json ? json_incref(json) : json_stringn(arguments, bytes));
		r = whole ? take(out, whole, runtime) : 0;
		json_decref(whole);
	}
	return r;
}

/* ---- tool calls that are written in a text ---- */

/* Read the head of a call, such as "functions.run_code(", at @text, and set *@runtime. Returns:
 * the offset of the arguments; 0 if @text does not begin with a call of a tool that runs code. */
static size_t read_head(const char *text, size_t bytes, const char **runtime)
{
	static const char prefix[] = "functions.";
	size_t from = bytes > strlen(prefix) && strncmp(text, prefix, strlen(prefix)) == 0
		? strlen(prefix)
		: 0;
	size_t n = from;
	while (n < bytes && n - from < NAME_BYTES && ascii_is_name(text[n]))
		n++;
	if (n == from || !find_tool(text + from, n - from, runtime))
		return 0;
	while (n < bytes && text[n] == ' ')
		n++;
	if (n < bytes && text[n] == '(')
		n++;
	else if (from == 0)
		return 0;
	while (n < bytes && strchr(" \t\n", text[n]) && text[n])
		n++;
	return n < bytes && text[n] == '{' ? n : 0;
}

/*
 * Take the code from a JSON object in front of which no tool is named. Such an object may also be
 * the model's answer. So the object counts as a call only if it has one of these pairs of members:
 * - "name" and "arguments" (some models write "parameters" instead of "arguments");
 * - "code" and "language";
 * - "code" and "thought".
 * Returns: as block_read().
 */
static int take_alone(struct block_call *out, const json_t *object)
{
	const char *name = json_string_value(json_object_get(object, "name"));
	json_t *arguments = json_object_get(object, "arguments");
	const char *runtime = NULL;
	if (!arguments)
		arguments = json_object_get(object, "parameters");
	if (name && json_is_object(arguments))
		return find_tool(name, strlen(name), &runtime) ? take(out, arguments, runtime) : 0;
	bool is_said = json_is_string(json_object_get(object, "language")) ||
		json_is_string(json_object_get(object, "thought"));
	return is_said && json_is_string(json_object_get(object, "code")) ? take(out, object, NULL)
									  : 0;
}

static int look_at(struct block_call *out, const char *text, size_t bytes, size_t *end)
{
	const char *runtime = NULL;
	json_error_t error;
	bool is_alone = text[0] == '{';
	size_t from = is_alone ? 0 : read_head(text, bytes, &runtime);
	if (!is_alone && from == 0)
		return 0;
	json_t *object = json_parts(text + from, bytes - from) > PARTS_MAX
		? NULL
		: json_loadb(text + from, bytes - from, JSON_DISABLE_EOF_CHECK, &error);
	if (!object)
		return is_alone ? 0 : -EINVAL;
	*end = from + (size_t)error.position;
	if (!is_alone && *end < bytes && text[*end] == ')')
		(*end)++;
	int r = is_alone ? take_alone(out, object) : take(out, object, runtime);
	json_decref(object);
	return r;
}

int block_find(struct block_call *out, const char *text, size_t bytes, size_t *at, size_t *end)
{
	for (size_t i = 0; i < bytes;) {
		size_t from = i;
		while (from < bytes && (text[from] == ' ' || text[from] == '\t'))
			from++;
		int r = from < bytes ? look_at(out, text + from, bytes - from, end) : 0;
		if (r != 0) {
			*at = from;
			*end += from;
			return r;
		}
		const char *newline = memchr(text + i, '\n', bytes - i);
		i = newline ? (size_t)(newline + 1 - text) : bytes;
	}
	return 0;
}

/* ---- rewriting a tool call as a block of code ---- */

/* Return the length of a fence around the code: longer than every run of backticks in it. */
static size_t fence_length(const char *code)
{
	size_t longest = 2, n = 0;
	for (; *code; code++) {
		n = *code == '`' ? n + 1 : 0;
		longest = MAX(longest, n);
	}
	return longest + 1;
}

static int add_block(struct buf *out, const struct block_call *call)
{
	const char *before = out->bytes > 0 ? "\n" : "", *tag = call->runtime;
	if (!tag)
		return buf_addf(out, "%s<run_code>\n%s\n</run_code>\n", before, call->code);
	size_t n = fence_length(call->code);
	char *marks = malloc(n + 1);
	if (!marks)
		return -ENOMEM;
	memset(marks, '`', n);
	marks[n] = '\0';
	int r = buf_addf(out, "%s%s%s\n%s\n%s\n", before, marks, tag, call->code, marks);
	free(marks);
	return r;
}

/* Find the first tool call of @reply that runs code. Set *@is_other if the search passed a tool
 * call that runs no code. Returns: as block_read(). */
static int find_part(struct block_call *out, const struct reply *reply, bool *is_other)
{
	for (size_t i = 0; i < reply->n_parts; i++) {
		const struct part *p = &reply->parts[i];
		if (p->kind != PART_TOOL_CALL)
			continue;
		int r = block_read(out, p->name ? p->name : "", p->text, strlen(p->text));
		if (r != 0)
			return r;
		*is_other = true;
	}
	return 0;
}

/* Return whether the text contains code in a fence or tag, as the prompt requires. */
static bool has_block(const char *text)
{
	struct extract e;
	extract_code(text, strlen(text), &e);
	return e.kind == EXTRACT_CODE && !e.is_bare;
}

/*
 * Return @said, the text of @reply, with a block of code at its end:
 * - If a tool call of @reply runs code, the block has the code of the first such call.
 * - Otherwise, if a call is written in @said, such as "run_code({…})", the block has the code of
 * this call. The call itself and all text behind it are cut off.
 * - Otherwise there is no block. If @said ends in an incomplete call, the call is cut off.
 *
 * *@is_other becomes true if @reply has tool calls, but no code was found.
 * Owns: takes @said; the caller frees the result, which is NULL if memory is exhausted.
 */
static char *rewrite(char *said, const struct reply *reply, bool *is_other)
{
	struct block_call call = {0};
	cleanup_buf struct buf out = BUF_INIT((size_t)2 * REPLY_TEXT_BYTES);
	size_t at = strlen(said), end = 0;
	int r = find_part(&call, reply, is_other);
	if (r == 0)
		r = block_find(&call, said, strlen(said), &at, &end);
	if (r == -EINVAL)
		said[at] = '\0'; /* drop an incomplete call */
	*is_other = *is_other && r != 1;
	if (r == 1)
		r = buf_append(&out, said, at) < 0 || add_block(&out, &call) < 0 ? -ENOMEM : 1;
	free(call.code);
	if (r == 0 || r == -EINVAL)
		return said;
	free(said);
	return r == 1 ? buf_take(&out) : NULL;
}

char *block_text(const struct reply *reply, bool *is_other)
{
	char *said = reply_text(reply);
	*is_other = false;
	return said && !has_block(said) ? rewrite(said, reply, is_other) : said;
}
