/* The table of built-ins, which is generated from builtin.def, and look-ups in the table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/inside.h"

#include "base/word.h"
#include "plan/value/native.h"
#include "plan/value/str.h"

#include <string.h>

enum { IN_ALL = false, IN_PYTHON = true };

#define BUILTIN(type, word, list, function, dialect, result, receiver, rule)                       \
	{word, list, .fn = function, .of = OF_##type, .is_python = IN_##dialect,                   \
		.flow = FLOW_##result, .change = CHANGE_##receiver, .model = MODEL_##rule},
#define BUILTIN_RAW(type, word, function, dialect, result, receiver, rule)                         \
	{word, .raw = function, .of = OF_##type, .is_python = IN_##dialect, .flow = FLOW_##result, \
		.change = CHANGE_##receiver, .model = MODEL_##rule},
#define BUILTIN_HOST(word, rule) {word, .suspends = true, .of = OF_PLAN, .model = MODEL_##rule},
const struct native builtins[] = {
#include "plan/builtin/builtin.def"
	{NULL},
};

static const char *const modules[] = {[OF_JSON] = "json", [OF_DATE] = "date"};

static bool is_module(const struct native *b)
{
	return b->of == OF_JSON || b->of == OF_DATE;
}

/* Create a struct with the functions of one module; @first is the first row of the module. Returns:
 * 0 or -1. */
static int module_new(struct heap *h, const struct native *first, struct val *out)
{
	struct record *r = heap_zero(h, sizeof *r);
	size_t n = 0;
	while (first[n].of == first->of && first[n].name)
		n++;
	if (!r || str_of(h, modules[first->of], &r->constructor) < 0)
		return -1;
	r->names = heap_alloc(h, n * sizeof *r->names);
	r->values = heap_alloc(h, n * sizeof *r->values);
	if (!r->names || !r->values)
		return -1;
	for (; r->n < n; r->n++) {
		if (str_of(h, first[r->n].name, &r->names[r->n]) < 0)
			return -1;
		r->values[r->n] = VAL_PTR(T_NATIVE, (void *)&first[r->n]);
	}
	*out = VAL_PTR(T_STRUCT, r);
	return 0;
}

static bool is_there(const struct native *b, const struct dialect *dialect, bool has_tools)
{
	return b->of == OF_FUNCTION ? !b->is_python || dialect->python_names
		: is_module(b)	    ? dialect->python_names && b->of != b[-1].of
				    : b->of == OF_PLAN && has_tools;
}

int builtin_names(struct heap *h, const struct dialect *dialect, bool has_tools,
	struct predeclared *out, size_t room)
{
	size_t n = 0;
	const struct predeclared constants[] = {
		{"None", VAL_NONE}, {"True", VAL_BOOL(true)}, {"False", VAL_BOOL(false)}};
	for (; n < ARRAY_LEN(constants) && n < room; n++)
		out[n] = constants[n];
	for (const struct native *b = builtins; b->name && n < room; b++) {
		if (!is_there(b, dialect, has_tools))
			continue;
		out[n] = (struct predeclared){b->name, VAL_PTR(T_NATIVE, (void *)b)};
		if (is_module(b)) {
			out[n] = (struct predeclared){.name = modules[b->of], .is_prefix = true};
			if (module_new(h, b, &out[n].value) < 0)
				return -1;
		}
		n++;
	}
	return (int)n;
}

static bool is_method(const struct native *b)
{
	return b->of >= OF_STRING;
}

const struct native *builtin_function(const char *name)
{
	for (const struct native *b = builtins; b->name; b++) {
		const char *module = is_module(b) ? modules[b->of] : "";
		size_t n = strlen(module);
		if (is_method(b) || strncmp(name, module, n) != 0 || (n > 0 && name[n] != '.'))
			continue;
		if (strcmp(name + n + (n > 0), b->name) == 0)
			return b;
	}
	return NULL;
}

const struct native *builtin_method(const char *name)
{
	for (const struct native *b = builtins; b->name; b++)
		if (is_method(b) && strcmp(name, b->name) == 0)
			return b;
	return NULL;
}

/* In the table of built-ins, the member `of` of a method says to which type the method belongs.
 * Return this member for the methods of @type. For T_STRING, for example, return OF_STRING. For
 * a type without methods, return OF_FUNCTION, which no method has. */
static enum native_of methods_of(uint32_t type)
{
	static const uint8_t of[N_TYPES] = {[T_STRING] = OF_STRING,
		[T_BYTES] = OF_BYTES,
		[T_LIST] = OF_LIST,
		[T_DICT] = OF_DICT,
		[T_SET] = OF_SET};
	return of[type];
}

static bool is_of(const struct native *b, uint32_t type)
{
	return is_method(b) && b->of == methods_of(type);
}

const struct native *native_method(const struct vm *vm, uint32_t type, struct val name)
{
	for (const struct native *b = builtins; b->name; b++)
		if (is_of(b, type) && str_is(name, b->name) &&
			(!b->is_python || vm->dialect.python_names))
			return b;
	return NULL;
}

bool native_is_method(struct val name)
{
	return builtin_method(name.str->data) != NULL;
}

bool native_changes(struct val name)
{
	for (const struct native *b = builtins; b->name; b++)
		if (is_method(b) && b->change != CHANGE_NONE && str_is(name, b->name))
			return true;
	return false;
}

const char *native_near(uint32_t type, const char *name)
{
	struct word_near near = WORD_NEAR(name);
	for (const struct native *b = builtins; b->name; b++)
		if (is_of(b, type))
			word_near_try(&near, b->name);
	return near.best;
}

int native_dir(struct vm *vm, struct val x, struct val *out)
{
	struct val one;
	if (list_new(vm->h, 0, out) < 0)
		return -1;
	for (const struct native *b = builtins; b->name; b++)
		if (is_of(b, x.type) && (!b->is_python || vm->dialect.python_names) &&
			(str_of(vm->h, b->name, &one) < 0 ||
				list_append(vm->h, out->list, one) < 0))
			return -1;
	for (uint32_t i = 0; x.type == T_STRUCT && i < x.record->n; i++)
		if (list_append(vm->h, out->list, x.record->names[i]) < 0)
			return -1;
	return list_sort(vm, out->list, VAL_UNSET, false);
}
