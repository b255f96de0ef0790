/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/criterion.h"

#include "base/attr.h"
#include "base/json.h"
#include "tool/fit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_PARTS_MAX = 20000, ANSWER_PARTS_MAX = 1000000 };

static const struct {
	const char *word;
	enum criterion_kind kind;
} words[] = {{"shell:", CRITERION_COMMAND}, {"python:", CRITERION_PYTHON},
	{"schema:", CRITERION_SCHEMA}};

static json_t *read_json(const char *text, size_t parts_max)
{
	size_t bytes = strlen(text);
	return json_parts(text, bytes) > parts_max
		? NULL
		: json_loadb(text, bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
}

static int read_schema(struct criterion *c, struct err *err)
{
	c->schema = read_json(c->text, SCHEMA_PARTS_MAX);
	if (json_is_object(c->schema) || json_is_boolean(c->schema))
		return 0;
	return err_fail(err, ERR_USAGE, "write an object, as in schema:{\"type\": \"number\"}",
		"the check's schema is not a JSON Schema: %.60s", c->text);
}

int criterion_parse(struct criterion *out, const char *text, struct err *err)
{
	struct criterion c = {.kind = CRITERION_COMMAND};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i].word);
		if (strncmp(text, words[i].word, n) != 0)
			continue;
		c.kind = words[i].kind;
		text += n;
		break;
	}
	text += strspn(text, " \t\r\n");
	if (!*text)
		return err_fail(err, ERR_USAGE,
			"a shell command, python:EXPRESSION or schema:JSON decides whether an "
			"answer is good",
			"the check is empty");
	c.text = strdup(text);
	int r = c.text ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for a check");
	if (r == 0 && c.kind == CRITERION_SCHEMA)
		r = read_schema(&c, err);
	if (r < 0)
		criterion_done(&c);
	else
		*out = c;
	return r;
}

void criterion_done(struct criterion *c)
{
	free(c->text);
	json_decref(c->schema);
	*c = (struct criterion){0};
}

/* Return @text as a string literal of Python, which is a JSON string in UTF-8. A JSON string in
 * ASCII would be wrong: it writes a character beyond U+FFFF as two escapes, which Python reads
 * as two characters. */
static char *literal(const char *text)
{
	cleanup_json json_t *string = json_string(text);
	return string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
}

/* Write Python code that evaluates the expression and fails if the result is false. The session
 * may have redefined the names of builtin functions, so the code takes these functions from the
 * module "builtins". */
static int write_python(
	const struct criterion *c, const char *answer, const json_t *value, struct buf *code)
{
	json_t *text = value ? json_incref(json_unconst(value)) : json_string(answer);
	char *json = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
	char *answer_text = json ? literal(json) : NULL, *expression = literal(c->text);
	int r = -ENOMEM;
	if (answer_text && expression)
		r = buf_addf(code,
			"if not (lambda b, answer: b.eval(%s, {**b.globals(), \"answer\": answer}))"
			"(__import__(\"builtins\"), __import__(\"json\").loads(%s)):\n"
			"    raise AssertionError(\"it is not true of the answer\")\n",
			expression, answer_text);
	json_decref(text);
	free(json);
	free(answer_text);
	free(expression);
	return r;
}

const char *criterion_code(
	const struct criterion *c, const char *answer, const json_t *value, struct buf *code)
{
	bool is_python = c->kind == CRITERION_PYTHON;
	int r = is_python ? write_python(c, answer, value, code) : buf_add(code, c->text);
	return r < 0 ? NULL : is_python ? "python" : "shell";
}

static int fit(const struct criterion *c, const json_t *value, struct err *err)
{
	static const char root[] = "arguments: ";
	struct err why;
	int r = fit_check(c->schema, value, &why);
	bool is_root = r < 0 && strncmp(why.msg, root, sizeof root - 1) == 0;
	return r < 0 ? err_set(err, ERR_USAGE, "the answer%s%s", is_root ? ": " : ".",
			       why.msg + (is_root ? sizeof root - 1 : 0))
		     : 0;
}

int criterion_fit(
	const struct criterion *c, const char *answer, const json_t *value, struct err *err)
{
	if (value)
		return fit(c, value, err);
	json_t *text = json_string(answer), *json = read_json(answer, ANSWER_PARTS_MAX);
	int r = text ? fit(c, text, err)
		     : err_set(err, ERR_NO_MEMORY, "no memory to look at the answer");
	if (r < 0 && json)
		r = fit(c, json, err);
	json_decref(text);
	json_decref(json);
	return r;
}

const char *criterion_words(const struct criterion *c)
{
	static const char *const what[] = {[CRITERION_NONE] = "",
		[CRITERION_COMMAND] = "this command, which failed",
		[CRITERION_PYTHON] = "this Python expression, which is not true of it",
		[CRITERION_SCHEMA] = "this JSON Schema, which it does not fit"};
	return what[c->kind];
}
