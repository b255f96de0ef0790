/* Call built-ins, and match arguments to parameters, with messages for wrong arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/inside.h"

#include "base/utf8.h"
#include "base/word.h"
#include "plan/builtin/date.h"
#include "plan/builtin/json.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

enum { PARAMS_MAX = 8 };

struct param {
	const char *name;
	size_t bytes;
	bool is_optional, has_name, is_positional;
};

static size_t read_params(const char *text, struct param *out)
{
	size_t n = 0, first_named = 0;
	bool is_positional = true;
	while (*text) {
		size_t bytes = strcspn(text, " ");
		bool is_optional = text[bytes - 1] == '?';
		if (bytes == 1 && *text == '/')
			first_named = n;
		else if (bytes == 1 && *text == '*')
			is_positional = false;
		else
			out[n++] = (struct param){
				text, bytes - is_optional, is_optional, true, is_positional};
		text += bytes + (text[bytes] == ' ');
	}
	for (size_t i = 0; i < first_named; i++)
		out[i].has_name = false;
	return n;
}

static int named_arg(struct vm *vm, const struct native *native, const struct param *params,
	size_t n, struct val name)
{
	for (size_t i = 0; i < n; i++)
		if (params[i].has_name && params[i].bytes == name.str->n_bytes &&
			memcmp(params[i].name, name.str->data, name.str->n_bytes) == 0)
			return (int)i;
	return heap_fail(
		vm->h, "%s: unexpected keyword argument %.80s", native->name, name.str->data);
}

static int sort_args(
	struct vm *vm, const struct native *native, const struct args *args, struct val *out)
{
	struct param params[PARAMS_MAX];
	size_t n = read_params(native->params, params), n_positional = 0;
	for (size_t i = 0; i < n; i++) {
		n_positional += params[i].is_positional;
		out[i] = VAL_UNSET;
	}
	if (args->n > n_positional)
		return heap_fail(vm->h, "%s: got %zu arguments, want at most %zu", native->name,
			args->n, n_positional);
	for (size_t i = 0; i < args->n; i++)
		out[i] = args->item[i];
	for (size_t i = 0; i < args->n_named; i++) {
		int at = named_arg(vm, native, params, n, args->names[i]);
		if (at < 0)
			return -1;
		if (out[at].type != T_UNSET)
			return heap_fail(vm->h,
				"%s: got multiple values for keyword argument \"%.80s\"",
				native->name, args->names[i].str->data);
		out[at] = args->named[i];
	}
	for (size_t i = 0; i < n; i++)
		if (out[i].type == T_UNSET && !params[i].is_optional)
			return heap_fail(vm->h, "%s: missing argument for %.*s", native->name,
				(int)params[i].bytes, params[i].name);
	return 0;
}

/* If this function were inlined, the compiler would clear `params` at each call of a built-in. */
static attr_noinline void read_arity(const struct native *native, struct arity *known)
{
	struct param params[PARAMS_MAX];
	size_t n = read_params(native->params, params);
	*known = (struct arity){.native = native, .n = (uint8_t)n};
	for (size_t i = 0; i < n; i++) {
		known->n_positional += params[i].is_positional;
		if (!params[i].is_optional)
			known->n_required = (uint8_t)(i + 1);
	}
}

static attr_noinline int call_anew(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out);

static attr_noinline int call_sorted(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out)
{
	struct val sorted[PARAMS_MAX];
	return sort_args(vm, native, args, sorted) < 0 ? -1 : native->fn(vm, self, sorted, out);
}

enum { FEW = 4 };

/* Call a built-in with fewer arguments than parameters. The missing parameters are optional and are
 * passed as T_UNSET. */
static attr_noinline int call_few(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out)
{
	struct val few[FEW] = {VAL_UNSET};
	for (size_t i = 0; i < args->n; i++)
		few[i] = args->item[i];
	return native->fn(vm, self, few, out);
}

/* This function runs at every call of a built-in. It makes only tail calls, so that it needs no
 * stack frame. */
int native_run(struct vm *vm, const struct native *native, struct val self, const struct args *args,
	struct val *out)
{
	struct arity *arity = &vm->arities[((uintptr_t)native >> 5) % VM_METHODS];
	*out = VAL_NONE;
	if (native->raw)
		return native->raw(vm, self, args, out);
	if (arity->native != native)
		return call_anew(vm, native, self, args, out);
	if (args->n_named > 0 || args->n < arity->n_required || args->n > arity->n_positional ||
		arity->n > FEW)
		return call_sorted(vm, native, self, args, out);
	if (args->n == arity->n)
		return native->fn(vm, self, args->item, out);
	return call_few(vm, native, self, args, out);
}

static int call_anew(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out)
{
	read_arity(native, &vm->arities[((uintptr_t)native >> 5) % VM_METHODS]);
	return native_run(vm, native, self, args, out);
}

int arg_int(struct vm *vm, const char *what, struct val v, int64_t *out)
{
	if (v.type == T_UNSET || v.type == T_NONE)
		return 0;
	if (v.type == T_BIG)
		*out = int_sign(v) < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
	else if (v.type == T_INT)
		*out = v.i;
	else
		return heap_fail(vm->h, "%s: got %s, want int", what, val_type_name(v));
	return 0;
}

int arg_string(struct vm *vm, const char *what, struct val v)
{
	if (v.type == T_STRING)
		return 0;
	return heap_fail(vm->h, "%s: got %s, want string", what, val_type_name(v));
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static int too_many(struct vm *vm, const struct code *code, size_t n)
{
	bool has_optional = code->n_defaults > code->n_named_only;
	if (code->n_positional == 0)
		return heap_fail(vm->h, "function %.80s accepts no arguments (%zu given)",
			code->name.str->data, n);
	return heap_fail(vm->h, "function %.80s accepts %s%u positional argument%s (%zu given)",
		code->name.str->data, has_optional ? "at most " : "", code->n_positional,
		plural(code->n_positional), n);
}

static int missing(struct vm *vm, const struct code *code, const struct val *base, uint32_t n)
{
	struct text t = {.h = vm->h};
	size_t count = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool is_rest = code->has_args && i == code->n_positional;
		if (is_rest || base[i].type != T_UNSET)
			continue;
		if ((count++ && text_puts(&t, ", ") < 0) ||
			text_add(&t, code->params[i].str->data, code->params[i].str->n_bytes) < 0)
			return -1;
	}
	return heap_fail(vm->h, "function %.80s missing %zu argument%s (%.*s)",
		code->name.str->data, count, plural(count), (int)MIN(t.n, (size_t)200), t.data);
}

static int bind_named(struct vm *vm, const struct code *code, const struct args *args,
	struct val *base, struct table *kw)
{
	uint32_t n = code->n_positional + code->has_args + code->n_named_only;
	for (size_t i = 0; i < args->n_named; i++) {
		struct val name = args->names[i];
		uint32_t at = 0;
		while (at < n &&
			((code->has_args && at == code->n_positional) ||
				!str_equal(code->params[at].str, name.str)))
			at++;
		if (at < n && base[at].type != T_UNSET)
			return heap_fail(vm->h,
				"function %.80s got multiple values for parameter \"%.80s\"",
				code->name.str->data, name.str->data);
		if (at < n) {
			base[at] = args->named[i];
			continue;
		}
		int r = kw ? table_put(vm->h, kw, name, args->named[i]) : 0;
		if (!kw)
			return heap_fail(vm->h,
				"function %.80s got an unexpected keyword argument \"%.80s\"",
				code->name.str->data, name.str->data);
		if (r <= 0)
			return r < 0
				? -1
				: heap_fail(vm->h,
					  "function %.80s got multiple values for parameter \"%.80s\"",
					  code->name.str->data, name.str->data);
	}
	return 0;
}

static int bind_defaults(struct vm *vm, const struct function *f, struct val *base)
{
	const struct code *code = f->code;
	uint32_t n_tail = code->n_defaults - code->n_named_only,
		 first = code->n_positional - n_tail;
	uint32_t n = code->n_positional + code->has_args + code->n_named_only;
	bool is_missing = false;
	for (uint32_t i = 0; i < n; i++) {
		if ((code->has_args && i == code->n_positional) || base[i].type != T_UNSET)
			continue;
		if (i >= code->n_positional)
			base[i] = f->defaults[n_tail + i - code->n_positional - code->has_args];
		else if (i >= first)
			base[i] = f->defaults[i - first];
		is_missing |= base[i].type == T_UNSET;
	}
	return is_missing ? missing(vm, code, base, n) : 0;
}

int bind_args(struct vm *vm, const struct function *f, const struct args *args, struct val *base)
{
	const struct code *code = f->code;
	uint32_t n = (uint32_t)MIN(args->n, (size_t)code->n_positional);
	uint32_t kwargs = code->n_positional + code->has_args + code->n_named_only;
	struct val kw = VAL_UNSET, rest;
	if (args->n > n && !code->has_args)
		return too_many(vm, code, args->n);
	for (uint32_t i = 0; i < n; i++)
		base[i] = args->item[i];
	if (code->has_args) {
		if (tuple_new(vm->h, args->n - n, &rest) < 0)
			return -1;
		memcpy(rest.tuple->item, args->item + n, (args->n - n) * sizeof rest);
		base[code->n_positional] = rest;
	}
	if (code->has_kwargs && table_new(vm->h, T_DICT, 0, &kw) < 0)
		return -1;
	if (bind_named(vm, code, args, base, code->has_kwargs ? kw.table : NULL) < 0)
		return -1;
	if (code->has_kwargs)
		base[kwargs] = kw;
	return bind_defaults(vm, f, base);
}
