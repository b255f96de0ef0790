/* Convert the schemas of ask() to JSON Schema, and check answers against them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/ask.h"

#include "plan/builtin/inside.h"
#include "plan/builtin/date.h"
#include "plan/machine/flow.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

enum { URL_MAX_BYTES = 2048, EMAIL_MAX_BYTES = 254 };

static const struct ask_type *type_of(struct val v)
{
	if (v.type == T_STRING && strlen(v.str->data) == v.str->n_bytes)
		return ask_type_format(v.str->data);
	if (v.type == T_NATIVE)
		return ask_type_named(v.native->name);
	/* In a schema, the module `date` stands for the type of a date. */
	return v.type == T_STRUCT && str_is(v.record->constructor, "date") ? ask_type_named("date")
									   : NULL;
}

RAW(is_no_function)
{
	return heap_fail(vm->h, "a type of ask() is not a function: ask(question, data, Email)");
}

/* enum("a", "b"): return the list ["a", "b"], which is an equivalent schema. */
RAW(b_enum)
{
	if (args->n_named > 0 || args->n == 0)
		return heap_fail(vm->h, "enum: enum(\"a\", \"b\")");
	if (list_new(vm->h, args->n, out) < 0)
		return -1;
	for (size_t i = 0; i < args->n; i++)
		if (arg_string(vm, "enum", args->item[i]) < 0 ||
			list_append(vm->h, out->list, args->item[i]) < 0)
			return -1;
	return 0;
}

static int set(struct vm *vm, struct val dict, const char *name, struct val v)
{
	struct val key;
	return str_of(vm->h, name, &key) < 0 || table_put(vm->h, dict.table, key, v) < 0 ? -1 : 0;
}

static int set_text(struct vm *vm, struct val dict, const char *name, const char *text)
{
	struct val v;
	return str_of(vm->h, text, &v) < 0 ? -1 : set(vm, dict, name, v);
}

static int type_schema(struct vm *vm, struct val v, struct val dict, struct kind *most)
{
	const struct ask_type *type = type_of(v);
	if (!type)
		return heap_fail(vm->h,
			"ask: no such schema: bool, int, float, str, date, Email, Url, a list [str], enum(\"a\", \"b\"), or {\"name\": str}");
	most->rank = type->rank;
	if (type->rank == KIND_NAME && vm->flow.all)
		most->type = label_atom(vm->flow.all, type->format, strlen(type->format));
	if (set_text(vm, dict, "type", type->json) < 0)
		return -1;
	return type->format ? set_text(vm, dict, "format", type->format) : 0;
}

static bool is_choice(const struct list *list)
{
	return list->n != 1 || list->item[0].type == T_STRING;
}

static int list_schema(struct vm *vm, struct val v, struct val dict, struct kind *most)
{
	struct val item;
	uint32_t n = v.list->n;
	if (!is_choice(v.list)) {
		if (ask_schema(vm, v.list->item[0], &item, most) < 0 ||
			set(vm, dict, "items", item) < 0)
			return -1;
		return set_text(vm, dict, "type", "array");
	}
	for (uint32_t i = 0; i < n; i++)
		if (v.list->item[i].type != T_STRING)
			return heap_fail(vm->h, "ask: what may be answered must be strings");
	if (n == 0)
		return heap_fail(vm->h, "ask: nothing may be answered");
	*most = (struct kind){.rank = KIND_ENUM, .size = MAX(n, 2u)};
	return set_text(vm, dict, "type", "string") < 0 ? -1 : set(vm, dict, "enum", v);
}

static int dict_schema(struct vm *vm, struct val v, struct val dict)
{
	struct val fields, required, one;
	struct kind inner;
	const struct entry *e;
	uint32_t at = 0;
	if (table_new(vm->h, T_DICT, 0, &fields) < 0 || list_new(vm->h, 0, &required) < 0)
		return -1;
	while ((e = table_next(v.table, &at)))
		if (ask_schema(vm, e->value, &one, &inner) < 0 ||
			table_put(vm->h, fields.table, e->key, one) < 0 ||
			list_append(vm->h, required.list, e->key) < 0)
			return -1;
	return set_text(vm, dict, "type", "object") < 0 || set(vm, dict, "properties", fields) < 0
		? -1
		: set(vm, dict, "required", required);
}

int ask_schema(struct vm *vm, struct val v, struct val *out, struct kind *most)
{
	int r;
	*most = (struct kind){.rank = KIND_TEXT};
	if (table_new(vm->h, T_DICT, 0, out) < 0 || heap_enter(vm->h) < 0)
		return -1;
	if (v.type == T_NONE || v.type == T_UNSET)
		r = set_text(vm, *out, "type", "string");
	else if (v.type == T_LIST)
		r = list_schema(vm, v, *out, most);
	else
		r = v.type == T_DICT ? dict_schema(vm, v, *out) : type_schema(vm, v, *out, most);
	heap_leave(vm->h);
	return r;
}

/* Return whether @s is a single word of printable ASCII characters without delimiters. */
static bool is_word(const struct str *s, size_t max_bytes)
{
	for (size_t i = 0; i < s->n_bytes; i++) {
		unsigned char c = (unsigned char)s->data[i];
		if (c <= ' ' || c >= 0x7f || strchr(",;<>\"'()[]\\`{}|^", c))
			return false;
	}
	return s->n_bytes > 0 && s->n_bytes <= max_bytes;
}

static bool is_email(const struct str *s)
{
	const char *at = memchr(s->data, '@', s->n_bytes), *end = s->data + s->n_bytes;
	return is_word(s, EMAIL_MAX_BYTES) && at && at > s->data && at + 1 < end &&
		!memchr(at + 1, '@', (size_t)(end - at - 1));
}

static bool is_url(const struct str *s)
{
	size_t n = strncmp(s->data, "https://", 8) == 0 ? 8
		: strncmp(s->data, "http://", 7) == 0	? 7
							: 0;
	return n > 0 && s->n_bytes > n && is_word(s, URL_MAX_BYTES);
}

static bool fits_type(const struct ask_type *type, struct val v)
{
	if (type->type == T_INT || type->type == T_FLOAT)
		return v.type == T_INT || v.type == T_BIG ||
			(type->type == T_FLOAT && v.type == T_FLOAT);
	if (v.type != type->type)
		return false;
	return type->rank == KIND_DATE ? date_is(v)
				       : type->rank != KIND_NAME ||
			(strcmp(type->format, "email") == 0 ? is_email(v.str) : is_url(v.str));
}

static int fits_list(struct vm *vm, const struct list *schema, struct val v)
{
	int r = 1;
	if (!is_choice(schema)) {
		if (v.type != T_LIST)
			return 0;
		for (uint32_t i = 0; i < v.list->n && r == 1; i++)
			r = heap_pay(vm->h, 1) < 0 ? -1
						   : ask_fits(vm, schema->item[0], v.list->item[i]);
		return r;
	}
	for (uint32_t i = 0; i < schema->n && v.type == T_STRING; i++)
		if (str_equal(schema->item[i].str, v.str))
			return 1;
	return 0;
}

/* Check whether @v is a dict with exactly the fields of the schema. Returns: 1, 0, or -1. */
static int fits_dict(struct vm *vm, const struct table *schema, struct val v)
{
	const struct entry *e;
	uint32_t at = 0;
	int r = v.type == T_DICT && v.table->n_live == schema->n_live;
	while (r == 1 && (e = table_next(schema, &at))) {
		int64_t i = table_find(vm->h, v.table, e->key);
		r = i < 0 ? 0 : ask_fits(vm, e->value, v.table->entry[i].value);
	}
	return r;
}

int ask_fits(struct vm *vm, struct val schema, struct val v)
{
	int r;
	if (heap_enter(vm->h) < 0)
		return -1;
	if (schema.type == T_NONE || schema.type == T_UNSET)
		r = v.type == T_STRING;
	else if (schema.type == T_LIST)
		r = fits_list(vm, schema.list, v);
	else if (schema.type == T_DICT)
		r = fits_dict(vm, schema.table, v);
	else
		r = type_of(schema) ? fits_type(type_of(schema), v) : 0;
	heap_leave(vm->h);
	return r;
}
