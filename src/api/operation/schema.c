/* SPDX-License-Identifier: Apache-2.0 */
#include "api/operation/schema.h"

#include "base/json.h"
#include "base/opt.h"

#include <inttypes.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 256, BOUND_BYTES = 64 };

/* Errors that every operation can have, in addition to its own. */
static const char common_errors[] = "usage|no_memory|internal";

/* Return the JSON Schema word for a type; NULL: any type. */
static const char *type_word(enum param_type type)
{
	static const char *const words[] = {[PARAM_TEXT] = "string",
		[PARAM_PATH] = "string",
		[PARAM_DATA] = "string",
		[PARAM_CHOICE] = "string",
		[PARAM_FLAG] = "boolean",
		[PARAM_COUNT] = "integer",
		[PARAM_NUMBER] = "number",
		[PARAM_TEXTS] = "array",
		[PARAM_MAP] = "object",
		[PARAM_OBJECT] = "object",
		[PARAM_OBJECTS] = "array",
		[PARAM_ANY] = NULL};
	return words[type];
}

/* Convert "a|b" to the array ["a", "b"]. */
static json_t *words_json(const char *text)
{
	const struct opt words = {.choices = text};
	json_t *all = json_array();
	size_t bytes;
	for (const char *w = NULL; text && (w = opt_choice_next(&words, w, &bytes));)
		(void)json_array_append_new(all, json_stringn(w, bytes));
	return all;
}

static json_t *object_schema(const struct param *row)
{
	return row->fields ? schema_rows(row->fields, row->n_fields)
			   : json_pack("{s:s}", "type", "object");
}

static void set_range(json_t *out, const struct param *row)
{
	bool is_number = row->type == PARAM_NUMBER;
	if (row->type != PARAM_COUNT && !is_number)
		return;
	json_t *min =
		is_number ? json_real((double)row->min / 1000) : json_integer((json_int_t)row->min);
	(void)json_object_set_new(out, "minimum", min);
	if (row->max == 0 || row->max > INT64_MAX / 2)
		return;
	json_t *max =
		is_number ? json_real((double)row->max / 1000) : json_integer((json_int_t)row->max);
	(void)json_object_set_new(out, "maximum", max);
}

/* Return the default of a parameter as JSON of its type. */
static json_t *fallback_json(const struct param *row)
{
	if (row->type == PARAM_FLAG)
		return json_boolean(strcmp(row->fallback, "true") == 0);
	if (row->type == PARAM_COUNT)
		return json_integer(strtoll(row->fallback, NULL, 10));
	return json_string(row->fallback);
}

json_t *schema_row(const struct param *row)
{
	const char *type = type_word(row->type);
	json_t *out = row->type == PARAM_OBJECT ? object_schema(row) : json_object();
	if (type)
		(void)json_object_set_new(out, "type",
			row->is_nullable ? json_pack("[s, s]", type, "null") : json_string(type));
	if (row->type == PARAM_TEXTS)
		(void)json_object_set_new(out, "items", json_pack("{s:s}", "type", "string"));
	if (row->type == PARAM_OBJECTS)
		(void)json_object_set_new(out, "items", object_schema(row));
	if (row->type == PARAM_MAP)
		(void)json_object_set_new(
			out, "additionalProperties", json_pack("{s:s}", "type", "string"));
	if (row->choices)
		(void)json_object_set_new(out, "enum", words_json(row->choices));
	if (row->fallback)
		(void)json_object_set_new(out, "default", fallback_json(row));
	set_range(out, row);
	json_put_text(out, "description", row->help);
	return out;
}

json_t *schema_rows(const struct param *rows, size_t n_rows)
{
	json_t *properties = json_object(), *required = json_array();
	for (size_t i = 0; i < n_rows; i++) {
		(void)json_object_set_new(properties, rows[i].name, schema_row(&rows[i]));
		if (rows[i].is_required)
			(void)json_array_append_new(required, json_string(rows[i].name));
	}
	json_t *out = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
	if (json_array_size(required) > 0)
		(void)json_object_set(out, "required", required);
	json_put_bool(out, "additionalProperties", false);
	json_decref(required);
	return out;
}

json_t *operation_schema(const struct operation *op)
{
	return schema_rows(op->params, op->n_params);
}

json_t *operation_param_schema(const struct operation *op, const char *name)
{
	for (size_t i = 0; i < op->n_params; i++)
		if (strcmp(op->params[i].name, name) == 0)
			return schema_row(&op->params[i]);
	return NULL;
}

/* Parse JSON in which strings are written with ' instead of ". */
static json_t *sample(const char *text)
{
	char *copy = strdup(text ? text : "{}");
	for (char *at = copy; at && *at; at++)
		*at = (char)(*at == '\'' ? '"' : *at);
	json_t *out = copy ? json_loads(copy, 0, NULL) : NULL;
	free(copy);
	return out;
}

/* Add the maximum lengths of texts and lists, by path: "volumes[].src": "1 to 4095 bytes". They
 * are not in the schema, because JSON Schema counts characters, not bytes. */
static void add_bounds(json_t *out, const char *prefix, const struct param *rows, size_t n_rows)
{
	char path[PATH_MAX_BYTES], text[BOUND_BYTES], inner[PATH_MAX_BYTES];
	for (size_t i = 0; i < n_rows; i++) {
		const struct param *row = &rows[i];
		bool is_text = row->type <= PARAM_DATA;
		bool is_list = row->type >= PARAM_TEXTS && row->type != PARAM_OBJECT;
		snprintf(path, sizeof path, "%s%s", prefix, row->name);
		if ((is_text || is_list) && row->max > 0) {
			snprintf(text, sizeof text, "%s%" PRIu64 "%s",
				row->min > 0 ? "1 to " : "at most ", row->max,
				is_text ? " bytes" : " of them");
			json_put_text(out, path, text);
		}
		snprintf(inner, sizeof inner, "%.*s%s", PATH_MAX_BYTES - 4, path,
			is_list ? "[]." : ".");
		add_bounds(out, inner, row->fields, row->n_fields);
	}
}

static json_t *bounds_json(const struct operation *op)
{
	json_t *out = json_object();
	add_bounds(out, "", op->params, op->n_params);
	return out;
}

static json_t *describe(const struct operation *op)
{
	json_t *errors = words_json(common_errors), *own = words_json(op->errors);
	(void)json_array_extend(errors, own);
	json_decref(own);
	json_t *out = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s*, s:o, s:o, s:b, s:o, s:o}", "name",
		op->name, "summary", op->summary, "params", operation_schema(op), "result",
		schema_rows(op->result, op->n_result), "label", operation_label_word(op->label),
		"limits", op->limits, "bounds", bounds_json(op), "errors", errors, "events",
		op->has_events, "example", sample(op->example), "answer", sample(op->answer));
	return out;
}

json_t *schema_operations(void)
{
	const struct operation *op;
	json_t *all = json_array();
	for (size_t i = 0; (op = operation_at(i)); i++)
		(void)json_array_append_new(all, describe(op));
	return json_pack("{s:o}", "operations", all);
}
