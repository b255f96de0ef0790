/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/notebook_param.h"

#include "api/text/json.h"
#include "base/ascii.h"
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 1 << 16, SHOWN = 60 };

/* ---- reading ---- */

static bool is_name(const char *name, size_t bytes)
{
	bool is = bytes > 0 && !ascii_is_digit(name[0]);
	for (size_t i = 0; i < bytes; i++)
		is = is && ascii_is_name(name[i]);
	return is;
}

static int fail_name(const char *name, size_t bytes, struct err *err)
{
	return err_fail(err, ERR_USAGE,
		"write NAME=VALUE; NAME has letters, digits and _, and begins with no digit",
		"\"%.*s\" is not a name of a variable", (int)MIN(bytes, SHOWN), name);
}

static bool is_deep(const json_t *value, int depth)
{
	const char *key;
	json_t *item;
	size_t i;
	bool is = depth > NOTEBOOK_PARAM_DEPTH;
	if (is || !(json_is_array(value) || json_is_object(value)))
		return is;
	json_array_foreach(value, i, item) is = is || is_deep(item, depth + 1);
	json_object_foreach(json_unconst(value), key, item) is = is || is_deep(item, depth + 1);
	return is;
}

static int fail_deep(const char *name, struct err *err)
{
	return err_set(err, ERR_LIMIT,
		"parameter %.*s: more than %d arrays or objects in each other", SHOWN, name,
		NOTEBOOK_PARAM_DEPTH);
}

/* Numbers out of range are not made texts: that would be a surprise. */
static int parse_value(const char *text, json_t **out, struct err *err)
{
	json_error_t why;
	size_t bytes = strlen(text);
	if (bytes > NOTEBOOK_PARAM_BYTES || json_parts(text, bytes) > PARTS_MAX)
		return err_fail(err, ERR_LIMIT, "put it into a file that the notebook reads",
			"a value over %d bytes, or of %d values", NOTEBOOK_PARAM_BYTES, PARTS_MAX);
	*out = json_loadb(text, bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	if (!*out && json_error_code(&why) == json_error_numeric_overflow)
		return err_fail(err, ERR_USAGE, "write it in quotes, as a text: '\"…\"'",
			"%.*s: a number out of range", SHOWN, text);
	if (!*out && !(*out = json_string(text)))
		return err_set(err, ERR_USAGE, "a value that is not UTF-8");
	return 0;
}

int notebook_param_set(json_t *params, const char *text, struct err *err)
{
	size_t bytes = strcspn(text, "=");
	char *name = text[bytes] == '=' && is_name(text, bytes) ? strndup(text, bytes) : NULL;
	json_t *value = NULL;
	if (!name)
		return fail_name(text, bytes, err);
	int r = parse_value(text + bytes + 1, &value, err);
	if (r == 0 && is_deep(value, 0))
		r = fail_deep(name, err);
	if (r == 0)
		json_put_shared(params, name, value);
	json_decref(value);
	free(name);
	return r;
}

int notebook_param_read(json_t *params, const char *text, size_t bytes, struct err *err)
{
	json_error_t why;
	const char *name;
	json_t *value;
	if (bytes > NOTEBOOK_PARAM_BYTES || json_parts(text, bytes) > PARTS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d bytes, or %d values",
			NOTEBOOK_PARAM_BYTES, PARTS_MAX);
	cleanup_json json_t *root = json_loadb(text, bytes, JSON_ALLOW_NUL, &why);
	if (!root)
		return err_fail(err, ERR_USAGE, "write a JSON object: {\"name\": value}",
			"line %d: %.120s", why.line, why.text);
	if (!json_is_object(root))
		return err_fail(
			err, ERR_USAGE, "write a JSON object: {\"name\": value}", "not an object");
	json_object_foreach(root, name, value)
	{
		if (!is_name(name, strlen(name)))
			return fail_name(name, strlen(name), err);
		if (is_deep(value, 0))
			return fail_deep(name, err);
	}
	(void)json_object_update(params, root);
	return 0;
}

/* ---- writing ---- */

/* What differs between the languages. All else of JSON is the same in both: numbers, texts with
 * their escapes, arrays. */
struct dialect {
	const char *runtime, *head, *end;
	const char *null_word, *true_word, *false_word;
	const char *key_open, *key_close; /* around the key of an object */
};

static const struct dialect dialects[] = {
	{"python", "# Parameters\n", "\n", "None", "True", "False", "", ""},
	/* In brackets a key is only a key: "__proto__" without them is something else. */
	{"javascript", "// Parameters\n", ";\n", "null", "true", "false", "[", "]"},
};

static void put_value(struct buf *out, const struct dialect *d, const json_t *value);

static void put_scalar(struct buf *out, const json_t *value)
{
	char *text = json_text(value, JSON_ENCODE_ANY);
	buf_add(out, text ? text : "");
	if (!text)
		buf_fail(out, -ENOMEM);
	free(text);
}

static void put_object(struct buf *out, const struct dialect *d, const json_t *object)
{
	const char *key, *comma = "";
	json_t *value;
	buf_add(out, "{");
	json_object_foreach(json_unconst(object), key, value)
	{
		cleanup_json json_t *text = json_need(json_string(key));
		buf_addf(out, "%s%s", comma, d->key_open);
		put_scalar(out, text);
		buf_addf(out, "%s: ", d->key_close);
		put_value(out, d, value);
		comma = ", ";
	}
	buf_add(out, "}");
}

static void put_array(struct buf *out, const struct dialect *d, const json_t *array)
{
	const json_t *value;
	size_t i;
	buf_add(out, "[");
	json_array_foreach(array, i, value)
	{
		buf_add(out, i > 0 ? ", " : "");
		put_value(out, d, value);
	}
	buf_add(out, "]");
}

static void put_value(struct buf *out, const struct dialect *d, const json_t *value)
{
	if (json_is_object(value))
		put_object(out, d, value);
	else if (json_is_array(value))
		put_array(out, d, value);
	else if (json_is_null(value))
		buf_add(out, d->null_word);
	else if (json_is_boolean(value))
		buf_add(out, json_is_true(value) ? d->true_word : d->false_word);
	else
		put_scalar(out, value);
}

int notebook_param_code(const json_t *params, const char *runtime, struct buf *out, struct err *err)
{
	const struct dialect *d = NULL;
	const char *name;
	json_t *value;
	for (size_t i = 0; i < ARRAY_LEN(dialects); i++)
		if (strcmp(dialects[i].runtime, runtime) == 0)
			d = &dialects[i];
	if (!d)
		return err_fail(err, ERR_USAGE, "pass values by variables of the environment: -e",
			"parameters are for notebooks of python and javascript, not of %s",
			runtime);
	buf_add(out, d->head);
	json_object_foreach(json_unconst(params), name, value)
	{
		buf_addf(out, "%s = ", name);
		put_value(out, d, value);
		buf_add(out, d->end);
	}
	return buf_error(out) == 0
		? 0
		: err_set(err, ERR_LIMIT, "parameters over %zu bytes", out->max_bytes);
}
