/* SPDX-License-Identifier: Apache-2.0 */
#include "api/row/param.h"

#include "base/json.h"
#include "base/opt.h"
#include "base/utf8.h"
#include "base/word.h"
#include "session/start/language.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 64, PLACE_BYTES = 128 };

static int check_value(
	const struct param *row, const json_t *value, const char *place, struct err *err);

const char *param_language(const char *word)
{
	return language_by_word(word);
}

const char *param_type_name(enum param_type type)
{
	static const char *const names[] = {"text", "absolute path", "text", "word",
		"true or false", "whole number", "number", "array of texts", "object of texts",
		"object", "array of objects", "JSON"};
	return (size_t)type < ARRAY_LEN(names) ? names[type] : "value";
}

const json_t *param_get(const json_t *params, const char *name)
{
	const json_t *value = json_object_get(params, name);
	return json_is_null(value) ? NULL : value;
}

const char *param_text(const json_t *params, const char *name, const char *fallback)
{
	const char *text = json_string_value(json_object_get(params, name));
	return text ? text : fallback;
}

uint64_t param_count(const json_t *params, const char *name, uint64_t fallback)
{
	const json_t *value = json_object_get(params, name);
	return json_is_integer(value) ? (uint64_t)json_integer_value(value) : fallback;
}

bool param_flag(const json_t *params, const char *name)
{
	return json_is_true(json_object_get(params, name));
}

static bool has_type(enum param_type type, const json_t *value)
{
	switch (type) {
	case PARAM_TEXT:
	case PARAM_PATH:
	case PARAM_DATA:
	case PARAM_CHOICE:
		return json_is_string(value);
	case PARAM_FLAG:
		return json_is_boolean(value);
	case PARAM_COUNT:
		return json_is_integer(value);
	case PARAM_NUMBER:
		return json_is_number(value);
	case PARAM_TEXTS:
	case PARAM_OBJECTS:
		return json_is_array(value);
	case PARAM_MAP:
	case PARAM_OBJECT:
		return json_is_object(value);
	case PARAM_ANY:
		return true;
	}
	return false;
}

/* If @row has fields, the hint names them. */
static int fail_type(const struct param *row, const char *place, const char *want, struct err *err)
{
	char names[ERR_HINT_BYTES] = "";
	size_t bytes = 0;
	for (size_t i = 0; i < row->n_fields && bytes < sizeof names - 1; i++)
		bytes += (size_t)snprintf(names + bytes, sizeof names - bytes, "%s%s",
			i == 0 ? " with " : ", ", row->fields[i].name);
	(void)err_set(err, ERR_USAGE, "%s: not of the right type", place);
	return err_hint(err, "give %s %s%s", strchr("aeiou", want[0]) ? "an" : "a", want, names);
}

static int check_text(
	const struct param *row, const json_t *value, const char *place, struct err *err)
{
	const char *text = json_string_value(value);
	size_t bytes = json_string_length(value);
	if (row->type != PARAM_DATA && strlen(text) != bytes)
		return err_fail(err, ERR_USAGE, "leave it out", "%s: holds a NUL character", place);
	if (row->type == PARAM_PATH && text[0] != '/')
		return err_fail(err, ERR_USAGE, "begin it with /",
			"%s: \"%.*s\" is not an absolute path", place,
			(int)utf8_cut(text, bytes, SHOWN_BYTES), text);
	if (bytes < row->min) {
		(void)err_set(err, ERR_USAGE, "%s: empty", place);
		return err_hint(err, "%s", row->help);
	}
	if (row->max && bytes > row->max)
		return err_fail(err, ERR_USAGE, "make it shorter", "%s: %zu bytes, limit %" PRIu64,
			place, bytes, row->max);
	return 0;
}

static int check_choice(
	const struct param *row, const json_t *value, const char *place, struct err *err)
{
	const struct opt words = {.choices = row->choices};
	const char *text = json_string_value(value);
	char word[SHOWN_BYTES], best[SHOWN_BYTES], others[ERR_HINT_BYTES];
	struct word_near near = WORD_NEAR(text);
	size_t bytes;
	if (row->word && row->word(text) && strlen(text) == json_string_length(value))
		return 0;
	for (const char *w = NULL; (w = opt_choice_next(&words, w, &bytes));) {
		snprintf(word, sizeof word, "%.*s", (int)bytes, w);
		if (strcmp(word, text) == 0 && strlen(text) == json_string_length(value))
			return 0;
		word_near_try(&near, word);
		if (near.best == word)
			near.best = memcpy(best, word, sizeof best);
	}
	snprintf(others, sizeof others, "choose one of %s", row->choices);
	return err_unknown(err, ERR_USAGE, &near, others, "%s: \"%.*s\" is not allowed", place,
		(int)utf8_cut(text, strlen(text), SHOWN_BYTES), text);
}

static int check_count(
	const struct param *row, const json_t *value, const char *place, struct err *err)
{
	json_int_t n = json_integer_value(value);
	uint64_t max = row->max ? row->max : INT64_MAX;
	if (n >= 0 && (uint64_t)n >= row->min && (uint64_t)n <= max)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s: %" JSON_INTEGER_FORMAT " is out of range", place, n);
	return err_hint(err, "give %" PRIu64 " to %" PRIu64, row->min, max);
}

static int check_number(
	const struct param *row, const json_t *value, const char *place, struct err *err)
{
	double n = json_number_value(value), min = (double)row->min / 1000;
	double max = row->max ? (double)row->max / 1000 : 1e300;
	if (n >= min && n <= max)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s: %g is out of range", place, n);
	return err_hint(err, "give %g to %g", min, max);
}

static int check_size(const struct param *row, size_t n, const char *place, struct err *err)
{
	if (n >= row->min && (!row->max || n <= row->max))
		return 0;
	(void)err_set(err, ERR_USAGE, "%s: %zu elements", place, n);
	return err_hint(err, "give %" PRIu64 " to %" PRIu64, row->min, row->max);
}

static int check_array(
	const struct param *row, const json_t *value, const char *place, struct err *err)
{
	static const struct param text = {.type = PARAM_TEXT};
	char inner[PLACE_BYTES];
	int r = check_size(row, json_array_size(value), place, err);
	for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
		const json_t *item = json_array_get(value, i);
		snprintf(inner, sizeof inner, "%.*s[%zu]", PLACE_BYTES - 24, place, i);
		if (row->type == PARAM_TEXTS)
			r = check_value(&text, item, inner, err);
		else if (!json_is_object(item))
			r = fail_type(row, inner, "object", err);
		else if ((r = param_check(row->fields, row->n_fields, item, err)) < 0)
			r = err_wrap(err, "%s", inner);
	}
	return r;
}

static int check_map(
	const struct param *row, const json_t *value, const char *place, struct err *err)
{
	static const struct param text = {.type = PARAM_TEXT};
	const char *name;
	json_t *item;
	char inner[PLACE_BYTES];
	int r = check_size(row, json_object_size(value), place, err);
	json_object_foreach(json_unconst(value), name, item)
	{
		snprintf(inner, sizeof inner, "%.*s.%.*s", PLACE_BYTES / 2, place,
			(int)utf8_cut(name, strlen(name), SHOWN_BYTES - 4), name);
		if (r == 0)
			r = check_value(&text, item, inner, err);
	}
	return r;
}

static int check_value(
	const struct param *row, const json_t *value, const char *place, struct err *err)
{
	int r = 0;
	if (!has_type(row->type, value))
		return fail_type(row, place, param_type_name(row->type), err);
	switch (row->type) {
	case PARAM_TEXT:
	case PARAM_PATH:
	case PARAM_DATA:
		return check_text(row, value, place, err);
	case PARAM_CHOICE:
		return check_choice(row, value, place, err);
	case PARAM_FLAG:
	case PARAM_ANY:
		return 0;
	case PARAM_COUNT:
		return check_count(row, value, place, err);
	case PARAM_NUMBER:
		return check_number(row, value, place, err);
	case PARAM_TEXTS:
	case PARAM_OBJECTS:
		return check_array(row, value, place, err);
	case PARAM_MAP:
		return check_map(row, value, place, err);
	case PARAM_OBJECT:
		if (!row->fields)
			return 0;
		r = param_check(row->fields, row->n_fields, value, err);
		return r < 0 ? err_wrap(err, "%s", place) : 0;
	}
	return err_set(err, ERR_INTERNAL, "parameter type %d", (int)row->type);
}

static const struct param *find(const struct param *rows, size_t n_rows, const char *name)
{
	for (size_t i = 0; i < n_rows; i++)
		if (strcmp(rows[i].name, name) == 0 ||
			(rows[i].also && strcmp(rows[i].also, name) == 0))
			return &rows[i];
	return NULL;
}

/* Suggest a field of an object parameter whose name is similar to the unknown @name:
 * limits.memory_bytes for "memory". */
static void hint_inside(const struct param *rows, size_t n_rows, const char *name, struct err *err)
{
	for (size_t i = 0; i < n_rows; i++) {
		struct word_near near = WORD_NEAR(name);
		if (rows[i].type != PARAM_OBJECT)
			continue;
		WORD_NEAR_ROWS(&near, rows[i].fields, rows[i].n_fields, name);
		if (near.best) {
			err_hint(err, "did you mean %s.%s, as in {\"%s\": {\"%s\": …}}?",
				rows[i].name, near.best, rows[i].name, near.best);
			return;
		}
	}
}

static int fail_unknown(const struct param *rows, size_t n_rows, const char *name, struct err *err)
{
	struct word_near near = WORD_NEAR(name);
	WORD_NEAR_ROWS(&near, rows, n_rows, name);
	int r = err_unknown(err, ERR_USAGE, &near,
		n_rows == 0 ? "the operation has no parameters: leave it out" : "leave it out",
		"%.*s: unknown parameter", (int)utf8_cut(name, strlen(name), SHOWN_BYTES), name);
	if (!near.best)
		hint_inside(rows, n_rows, name, err);
	return r;
}

int param_check(const struct param *rows, size_t n_rows, const json_t *params, struct err *err)
{
	const char *name;
	json_t *value;
	if (params && !json_is_object(params))
		return err_fail(err, ERR_USAGE, "give them by name: {\"session\": …}",
			"the parameters are not an object");
	json_object_foreach(json_unconst(params), name, value)
	{
		const struct param *row = find(rows, n_rows, name);
		if (!row)
			return fail_unknown(rows, n_rows, name, err);
		bool is_other = strcmp(row->name, name) != 0;
		int r = json_is_null(value) ? 0 : check_value(row, value, name, err);
		if (r < 0)
			return r;
		if (is_other && param_get(params, row->name))
			return err_fail(err, ERR_USAGE, "give one of the two",
				"%s: means the same as %s, which is given too", name, row->name);
	}
	for (size_t i = 0; i < n_rows; i++) {
		if (!rows[i].is_required || param_get(params, rows[i].name))
			continue;
		(void)err_set(err, ERR_USAGE, "%s: missing", rows[i].name);
		return rows[i].choices ? err_hint(err, "choose one of %s", rows[i].choices)
				       : err_hint(err, "give it (%s)", rows[i].help);
	}
	return 0;
}

json_t *param_usual(const struct param *rows, size_t n_rows, json_t *params)
{
	json_t *out = json_incref(params);
	for (size_t i = 0; i < n_rows && params; i++) {
		const json_t *other = rows[i].also ? param_get(params, rows[i].also) : NULL;
		const json_t *given = other ? other : param_get(params, rows[i].name);
		const char *text = json_string_value(given);
		const char *word = text && rows[i].word ? rows[i].word(text) : NULL;
		if (!other && (!word || strcmp(word, text) == 0))
			continue;
		if (out == params) {
			json_decref(out);
			out = json_copy(params);
		}
		json_t *value = word ? json_string(word) : json_incref(json_unconst(given));
		json_put_new(out, rows[i].name, value);
		if (other)
			(void)json_object_del(out, rows[i].also);
	}
	return out;
}
