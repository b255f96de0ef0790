/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/schema.h"

#include "tool/number.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHERE_BYTES = 160 };

struct tool_piece {
	struct tool_piece *next;
	alignas(max_align_t) char data[];
};

void *shelf_take(struct tool_shelf *shelf, size_t bytes)
{
	struct tool_piece *p = calloc(1, sizeof *p + bytes);
	if (!p)
		return NULL;
	p->next = shelf->pieces;
	shelf->pieces = p;
	return p->data;
}

const char *shelf_text(struct tool_shelf *shelf, const char *text)
{
	char *copy = shelf_take(shelf, strlen(text) + 1);
	return copy ? strcpy(copy, text) : NULL;
}

void shelf_done(struct tool_shelf *shelf)
{
	while (shelf->pieces) {
		struct tool_piece *next = shelf->pieces->next;
		free(shelf->pieces);
		shelf->pieces = next;
	}
}

static int bad(struct err *err, const char *where, const char *what, const char *which)
{
	return err_set(err, ERR_USAGE, "tools: %.140s: %s%.60s", where, what, which);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NO_MEMORY, "tools: no memory for them");
}

static const struct {
	const char *name;
	enum tool_shape shape;
	enum label_kind rank;
} shapes[] = {
	{"null", TOOL_NULL, KIND_BOOL},
	{"boolean", TOOL_BOOL, KIND_BOOL},
	{"integer", TOOL_INT, KIND_NUMBER},
	{"number", TOOL_NUMBER, KIND_NUMBER},
	{"string", TOOL_STRING, KIND_TEXT},
	{"array", TOOL_LIST, KIND_TEXT},
	{"object", TOOL_DICT, KIND_TEXT},
};

/* Set the kind of a string type. The kind says how much information a value of the type can
 * carry. */
static int text_kind(
	struct tool_shelf *shelf, const json_t *schema, struct tool_type *out, struct err *err)
{
	const json_t *format = json_object_get(schema, "format");
	const json_t *handle = json_object_get(schema, "x-handle"), *of = handle ? handle : format;
	size_t n = json_array_size(json_object_get(schema, "enum"));
	if (n > 0) {
		out->kind =
			(struct kind){.rank = n == 1 ? KIND_CONST : KIND_ENUM, .size = (uint32_t)n};
		return 0;
	}
	if (json_object_get(schema, "const")) {
		out->kind.rank = KIND_CONST;
		return 0;
	}
	if (!json_is_string(of))
		return 0;
	out->name = shelf_text(shelf, json_string_value(of));
	bool is_date = !handle && strncmp(json_string_value(of), "date", 4) == 0;
	out->kind.rank = handle ? KIND_HANDLE : is_date ? KIND_DATE : KIND_NAME;
	return out->name ? 0 : no_memory(err);
}

static bool is_required(const json_t *schema, const char *name)
{
	size_t i;
	const json_t *one, *all = json_object_get(schema, "required");
	json_array_foreach(all, i, one)
	{
		if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
			return true;
	}
	return false;
}

/* The place of a schema inside the whole schema: the path, for messages, and the depth. */
struct place {
	const char *text;
	uint32_t depth;
};

static int read_type(struct tool_shelf *shelf, const json_t *schema, struct place where,
	const struct tool_type **out, struct err *err);

static int fields(struct tool_shelf *shelf, const json_t *schema, struct place where,
	struct tool_type *out, struct err *err)
{
	json_t *all = json_object_get(schema, "properties"), *one;
	const char *name;
	if (all && !json_is_object(all))
		return bad(err, where.text, "properties must be an object", "");
	struct tool_field *field = shelf_take(shelf, json_object_size(all) * sizeof *field);
	if (!field)
		return no_memory(err);
	json_object_foreach(all, name, one)
	{
		char at[WHERE_BYTES];
		struct tool_field *f = &field[out->n_fields++];
		snprintf(at, sizeof at, "%.90s.%.60s", where.text, name);
		const struct place inner = {at, where.depth + 1};
		*f = (struct tool_field){
			.name = shelf_text(shelf, name), .is_required = is_required(schema, name)};
		int r = f->name ? read_type(shelf, one, inner, &f->type, err) : no_memory(err);
		if (r < 0)
			return r;
	}
	out->field = field;
	return 0;
}

static int typed(struct tool_shelf *shelf, const json_t *schema, struct place where,
	struct tool_type *type, struct err *err)
{
	char at[WHERE_BYTES];
	const json_t *name = json_object_get(schema, "type");
	size_t i = 0;
	while (i < ARRAY_LEN(shapes) && strcmp(shapes[i].name, json_string_value(name)) != 0)
		i++;
	if (i == ARRAY_LEN(shapes))
		return bad(err, where.text, "no such type: ", json_string_value(name));
	*type = (struct tool_type){.shape = shapes[i].shape, .kind = {.rank = shapes[i].rank}};
	snprintf(at, sizeof at, "%.150s[]", where.text);
	const struct place inner = {at, where.depth + 1};
	if (type->shape == TOOL_STRING)
		return text_kind(shelf, schema, type, err);
	if (type->shape == TOOL_LIST)
		return read_type(shelf, json_object_get(schema, "items"), inner, &type->item, err);
	return type->shape == TOOL_DICT ? fields(shelf, schema, where, type, err) : 0;
}

/* Convert a schema to a type. At more than TOOL_TYPE_DEPTH_MAX levels of nesting, any value is
 * allowed. */
static int read_type(struct tool_shelf *shelf, const json_t *schema, struct place where,
	const struct tool_type **out, struct err *err)
{
	*out = NULL;
	if (!schema || json_is_boolean(schema))
		return 0;
	if (!json_is_object(schema))
		return bad(err, where.text, "a schema must be an object", "");
	if (!json_is_string(json_object_get(schema, "type")) || where.depth > TOOL_TYPE_DEPTH_MAX)
		return 0;
	struct tool_type *type = shelf_take(shelf, sizeof *type);
	int r = type ? typed(shelf, schema, where, type, err) : no_memory(err);
	if (r == 0)
		*out = type;
	return r;
}

int schema_type(struct tool_shelf *shelf, const json_t *schema, const char *where,
	const struct tool_type **out, struct err *err)
{
	return read_type(shelf, schema, (struct place){where, 0}, out, err);
}

static bool has_shape(enum tool_shape shape, const json_t *v)
{
	switch (shape) {
	case TOOL_NULL:
		return json_is_null(v);
	case TOOL_BOOL:
		return json_is_boolean(v);
	case TOOL_INT:
		return json_is_integer(v) || number_is_hidden(v);
	case TOOL_NUMBER:
		return json_is_number(v) || number_is_hidden(v);
	case TOOL_STRING:
		return json_is_string(v) && !number_is_hidden(v);
	case TOOL_LIST:
		return json_is_array(v);
	case TOOL_DICT:
		return json_is_object(v);
	case TOOL_ANY:
	default:
		return true;
	}
}

int schema_check(
	const struct tool_type *type, const json_t *value, const char *where, struct err *err)
{
	char at[WHERE_BYTES];
	size_t i;
	const json_t *one;
	int r = 0;
	if (!type)
		return 0;
	if (!has_shape(type->shape, value))
		return bad(err, where, "it does not fit its schema, which wants ",
			type->shape == TOOL_ANY ? "" : shapes[type->shape - TOOL_NULL].name);
	snprintf(at, sizeof at, "%.150s[]", where);
	if (type->shape == TOOL_LIST)
		json_array_foreach(value, i, one)
		{
			if (r == 0)
				r = schema_check(type->item, one, at, err);
		}
	for (uint32_t k = 0; type->shape == TOOL_DICT && k < type->n_fields && r == 0; k++) {
		const struct tool_field *f = &type->field[k];
		one = json_object_get(value, f->name);
		snprintf(at, sizeof at, "%.90s.%.60s", where, f->name);
		if (!one && f->is_required)
			r = bad(err, at, "it is required", "");
		else if (one)
			r = schema_check(f->type, one, at, err);
	}
	return r;
}
