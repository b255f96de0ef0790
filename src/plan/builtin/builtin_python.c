/* The built-in functions of Python that Starlark lacks. SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/inside.h"

#include "plan/value/int.h"
#include "plan/value/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FN(b_sum)
{
	struct iter it;
	struct val one;
	int r = 0;
	*out = arg[1].type == T_UNSET ? VAL_INT(0) : arg[1];
	if (out->type == T_STRING)
		return heap_fail(vm->h, "sum: cannot sum strings: use \"\".join(list)");
	if (iter_start(vm, &it, arg[0]) < 0)
		return -1;
	while (r == 0 && (r = iter_next(vm, &it, &one)) > 0)
		r = heap_pay(vm->h, 1) < 0 ? -1 : op_binary(vm, NUM_ADD, *out, one, out);
	iter_end(&it);
	return r;
}

/* Round as CPython does, with ties to even. To round to digits behind the point, use snprintf(),
 * which rounds the exact decimal value of the float. */
FN(b_round)
{
	int64_t digits = 0;
	if (arg_int(vm, "round", arg[1], &digits) < 0)
		return -1;
	if (val_is_int(arg[0]) && digits >= 0) {
		*out = arg[0];
		return 0;
	}
	if (arg[0].type != T_FLOAT)
		return heap_fail(vm->h, "round: got %s, want float, or int without digits",
			val_type_name(arg[0]));
	if (arg[1].type == T_UNSET || arg[1].type == T_NONE)
		return int_from_float(vm->h, nearbyint(arg[0].f), out);
	if (!isfinite(arg[0].f) || digits > 300 || digits < -300) {
		*out = digits < -300 ? VAL_FLOAT(0) : arg[0];
		return 0;
	}
	char text[700];
	double scale = pow(10, (double)-digits);
	if (digits < 0) {
		*out = VAL_FLOAT(nearbyint(arg[0].f / scale) * scale);
		return 0;
	}
	snprintf(text, sizeof text, "%.*f", (int)digits, arg[0].f);
	*out = VAL_FLOAT(strtod(text, NULL));
	return 0;
}

static bool is_instance(struct val x, const struct native *type)
{
	const char *name = type->name;
	if (strcmp(name, "str") == 0)
		return x.type == T_STRING;
	if (strcmp(name, "int") == 0)
		return val_is_int(x) || x.type == T_BOOL;
	return strcmp(val_type_name(x), name) == 0;
}

FN(b_isinstance)
{
	const struct val *types = arg[1].type == T_TUPLE ? arg[1].tuple->item : &arg[1];
	uint32_t n = arg[1].type == T_TUPLE ? arg[1].tuple->n : 1;
	*out = VAL_BOOL(false);
	for (uint32_t i = 0; i < n; i++) {
		if (types[i].type != T_NATIVE)
			return heap_fail(vm->h,
				"isinstance: got %s, want a type: str, int, float, bool, list, dict, tuple, set",
				val_type_name(types[i]));
		if (is_instance(arg[0], types[i].native))
			*out = VAL_BOOL(true);
	}
	return 0;
}

RAW(b_struct)
{
	if (args->n > 0)
		return heap_fail(vm->h, "struct: unexpected positional arguments");
	struct record *r = heap_zero(vm->h, sizeof *r);
	if (!r || str_of(vm->h, "struct", &r->constructor) < 0)
		return -1;
	r->n = (uint32_t)args->n_named;
	r->names = heap_alloc(vm->h, r->n * sizeof *r->names);
	r->values = heap_alloc(vm->h, r->n * sizeof *r->values);
	if (!r->names || !r->values)
		return -1;
	for (uint32_t i = 0; i < r->n; i++) {
		r->names[i] = args->names[i];
		r->values[i] = args->named[i];
	}
	*out = VAL_PTR(T_STRUCT, r);
	return 0;
}
