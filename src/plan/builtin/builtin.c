/* The built-in functions of Starlark. SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/inside.h"

#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FN(b_abs)
{
	if (arg[0].type == T_FLOAT) {
		*out = VAL_FLOAT(fabs(arg[0].f));
		return 0;
	}
	if (!val_is_int(arg[0]))
		return heap_fail(vm->h, "abs: got %s, want int or float", val_type_name(arg[0]));
	*out = arg[0];
	return int_sign(arg[0]) < 0 ? int_negate(vm->h, arg[0], out) : 0;
}

static int any_all(struct vm *vm, struct val x, bool stop_at, struct val *out)
{
	struct iter it;
	struct val one;
	int r = 0;
	*out = VAL_BOOL(!stop_at);
	if (iter_start(vm, &it, x) < 0)
		return -1;
	while (r == 0 && (r = iter_next(vm, &it, &one)) > 0) {
		r = heap_pay(vm->h, 1);
		if (val_truth(one) == stop_at) {
			*out = VAL_BOOL(stop_at);
			break;
		}
	}
	iter_end(&it);
	return r;
}

FN(b_any)
{
	return any_all(vm, arg[0], true, out);
}

FN(b_all)
{
	return any_all(vm, arg[0], false, out);
}

FN(b_bool)
{
	(void)vm;
	*out = VAL_BOOL(val_truth(arg[0]));
	return 0;
}

FN(b_bytes)
{
	struct text t = {.h = vm->h};
	struct iter it;
	struct val one;
	int r = 0;
	if (arg[0].type == T_BYTES || arg[0].type == T_STRING)
		return bytes_new(vm->h, arg[0].str->data, arg[0].str->n_bytes, out);
	if (iter_start(vm, &it, arg[0]) < 0)
		return -1;
	while (r == 0 && (r = iter_next(vm, &it, &one)) > 0) {
		char c = (char)one.i;
		if (one.type != T_INT || one.i < 0 || one.i > 255)
			r = heap_fail(
				vm->h, "bytes: got %s, want an int in 0..255", val_type_name(one));
		else
			r = text_add(&t, &c, 1) < 0 || heap_pay(vm->h, 1) < 0 ? -1 : 0;
	}
	iter_end(&it);
	return r < 0 ? -1 : text_take(&t, T_BYTES, out);
}

FN(b_chr)
{
	struct text t = {.h = vm->h};
	if (arg[0].type != T_INT && arg[0].type != T_BIG)
		return heap_fail(vm->h, "chr: got %s, want int", val_type_name(arg[0]));
	if (arg[0].type == T_BIG || arg[0].i < 0 || arg[0].i > 0x10ffff)
		return heap_fail(
			vm->h, "chr: Unicode code point out of range (want 0 to 0x10FFFF)");
	if (arg[0].i >= 0xd800 && arg[0].i <= 0xdfff)
		return heap_fail(
			vm->h, "chr: U+%04X is a surrogate, no character", (unsigned)arg[0].i);
	return text_char(&t, (int32_t)arg[0].i) < 0 ? -1 : text_take(&t, T_STRING, out);
}

RAW(b_dict)
{
	if (args->n > 1)
		return heap_fail(vm->h, "dict: got %zu arguments, want at most 1", args->n);
	if (table_new(vm->h, T_DICT, 0, out) < 0)
		return -1;
	return dict_update(vm, "dict", out->table, args);
}

FN(b_dir)
{
	return native_dir(vm, arg[0], out);
}

FN(b_enumerate)
{
	struct iter it;
	struct val one, pair, count = arg[1].type == T_UNSET ? VAL_INT(0) : arg[1];
	int r = 0;
	if (!val_is_int(count))
		return heap_fail(vm->h, "enumerate: for parameter start: got %s, want int",
			val_type_name(count));
	if (list_new(vm->h, 0, out) < 0 || iter_start(vm, &it, arg[0]) < 0)
		return -1;
	while (r == 0 && (r = iter_next(vm, &it, &one)) > 0) {
		r = tuple_new(vm->h, 2, &pair) < 0 || list_append(vm->h, out->list, pair) < 0 ||
				heap_pay(vm->h, 1) < 0
			? -1
			: 0;
		if (r == 0) {
			pair.tuple->item[0] = count;
			pair.tuple->item[1] = one;
			r = num_op(vm->h, NUM_ADD, count, VAL_INT(1), &count);
		}
	}
	iter_end(&it);
	return r;
}

static int joined(struct vm *vm, const struct args *args, const char *what, struct text *t)
{
	const char *sep = " ";
	size_t n_sep = 1;
	for (size_t i = 0; i < args->n_named; i++) {
		if (!str_is(args->names[i], "sep"))
			return heap_fail(vm->h, "%s: unexpected keyword argument %.80s", what,
				args->names[i].str->data);
		if (arg_string(vm, "sep", args->named[i]) < 0)
			return -1;
		sep = args->named[i].str->data;
		n_sep = args->named[i].str->n_bytes;
	}
	for (size_t i = 0; i < args->n; i++)
		if ((i > 0 && text_add(t, sep, n_sep) < 0) ||
			format_value(vm, t, args->item[i], false) < 0)
			return -1;
	return 0;
}

RAW(b_fail)
{
	struct text t = {.h = vm->h};
	(void)out;
	if (joined(vm, args, "fail", &t) < 0)
		return -1;
	(void)heap_fail(vm->h, "fail: %.*s", (int)MIN(t.n, (size_t)480), t.data ? t.data : "");
	text_done(&t);
	return -1;
}

RAW(b_print)
{
	struct text t = {.h = vm->h};
	(void)out;
	if (joined(vm, args, "print", &t) < 0 || text_puts(&t, "\n") < 0)
		return -1;
	int r = vm->host->print ? vm->host->print(vm->host->ctx, t.data, t.n) : 0;
	text_done(&t);
	return r < 0 ? heap_fail(vm->h, "print: the output cannot be written") : 0;
}

static int float_of(struct vm *vm, struct val s, struct val *out)
{
	char text[512], *stop;
	size_t n = s.str->n_bytes, at = 0;
	if (n == 0)
		return heap_fail(vm->h, "float: empty string");
	if (n >= sizeof text)
		return heap_fail(vm->h, "invalid float literal: %zu characters", n);
	memcpy(text, s.str->data, n);
	text[n] = '\0';
	bool is_sign = text[0] == '+' || text[0] == '-';
	at = is_sign;
	bool is_digit = strspn(text, "0123456789+-.eE") == n && n > at;
	double f = strtod(text, &stop);
	for (size_t i = 0; i < n; i++)
		text[i] |= text[i] >= 'A' && text[i] <= 'Z' ? 0x20 : 0;
	bool is_nan = strcmp(text + at, "nan") == 0;
	bool is_word =
		is_nan || strcmp(text + at, "inf") == 0 || strcmp(text + at, "infinity") == 0;
	if ((!is_digit && !is_word) || *stop || strlen(text) != n)
		return heap_fail(vm->h, "invalid float literal: %.80s", text);
	if (is_digit && isinf(f))
		return heap_fail(vm->h, "floating-point number too large: %.80s", text);
	*out = VAL_FLOAT(is_nan ? (double)NAN : f);
	return 0;
}

FN(b_float)
{
	double f;
	if (arg[0].type == T_UNSET)
		*out = VAL_FLOAT(0);
	else if (arg[0].type == T_BOOL)
		*out = VAL_FLOAT((double)arg[0].i);
	else if (arg[0].type == T_STRING)
		return float_of(vm, arg[0], out);
	else if (arg[0].type == T_FLOAT || val_is_int(arg[0])) {
		if (int_to_float(vm->h, arg[0], &f) < 0)
			return -1;
		*out = VAL_FLOAT(f);
	} else
		return heap_fail(
			vm->h, "float: got %s, want number or string", val_type_name(arg[0]));
	return 0;
}

static int forget(struct vm *vm)
{
	if (vm->h->kind != FAIL_ERROR)
		return -1;
	vm->h->kind = FAIL_NONE;
	return 0;
}

FN(b_getattr)
{
	if (arg_string(vm, "getattr", arg[1]) < 0)
		return -1;
	if (op_dot(vm, arg[0], arg[1], out) == 0)
		return 0;
	if (arg[2].type == T_UNSET || forget(vm) < 0)
		return -1;
	*out = arg[2];
	return 0;
}

FN(b_hasattr)
{
	struct val x;
	if (arg_string(vm, "hasattr", arg[1]) < 0)
		return -1;
	bool has = op_dot(vm, arg[0], arg[1], &x) == 0;
	if (!has && forget(vm) < 0)
		return -1;
	*out = VAL_BOOL(has);
	return 0;
}

/* Return a hash that is the same in every run: the hash that Java computes for a string, or
 * FNV-1a for bytes. */
FN(b_hash)
{
	if (arg[0].type == T_BYTES) {
		uint32_t hash = 2166136261u;
		for (uint32_t i = 0; i < arg[0].str->n_bytes; i++)
			hash = (hash ^ (unsigned char)arg[0].str->data[i]) * 16777619u;
		*out = VAL_INT(hash);
		return 0;
	}
	if (arg[0].type != T_STRING)
		return heap_fail(
			vm->h, "hash: got %s, want string or bytes", val_type_name(arg[0]));
	uint32_t hash = 0;
	struct elems e = {arg[0].str, ELEMS_ORDS};
	struct iter it;
	struct val one;
	(void)iter_start(vm, &it, VAL_PTR(T_ELEMS, &e));
	int r;
	while ((r = iter_next(vm, &it, &one)) > 0) {
		uint32_t c = (uint32_t)one.i;
		if (c >= 0x10000)
			hash = hash * 31 + (0xd7c0 + (c >> 10)), c = 0xdc00 + (c & 0x3ff);
		hash = hash * 31 + c;
	}
	*out = VAL_INT((int32_t)hash);
	return r;
}

FN(b_len)
{
	int64_t n = val_len(arg[0]);
	if (n < 0)
		return heap_fail(vm->h, "len: value of type %s has no len", val_type_name(arg[0]));
	*out = VAL_INT(n);
	return 0;
}

FN(b_list)
{
	if (list_new(vm->h, 0, out) < 0)
		return -1;
	return arg[0].type == T_UNSET ? 0 : list_extend(vm, out->list, arg[0]);
}

FN(b_tuple)
{
	struct val all;
	if (arg[0].type == T_TUPLE) {
		*out = arg[0];
		return 0;
	}
	if (b_list(vm, self, arg, &all) < 0 || tuple_new(vm->h, all.list->n, out) < 0)
		return -1;
	if (all.list->n > 0)
		memcpy(out->tuple->item, all.list->item, all.list->n * sizeof *all.list->item);
	return 0;
}

FN(b_set)
{
	struct val one;
	struct iter it;
	int r = 0;
	if (table_new(vm->h, T_SET, 0, out) < 0)
		return -1;
	if (arg[0].type == T_UNSET)
		return 0;
	if (iter_start(vm, &it, arg[0]) < 0)
		return -1;
	while (r == 0 && (r = iter_next(vm, &it, &one)) > 0)
		r = table_put(vm->h, out->table, one, VAL_NONE) < 0 || heap_pay(vm->h, 1) < 0 ? -1
											      : 0;
	iter_end(&it);
	return r;
}

/* NOLINTNEXTLINE(readability-function-cognitive-complexity): a list of cases */
static int min_max(
	struct vm *vm, const struct args *args, const char *what, int sign, struct val *out)
{
	struct val all, key = VAL_UNSET, best = VAL_UNSET, best_key = VAL_UNSET,
			fallback = VAL_UNSET;
	int order = 0;
	for (size_t i = 0; i < args->n_named; i++) {
		if (str_is(args->names[i], "key"))
			key = args->named[i].type == T_NONE ? VAL_UNSET : args->named[i];
		else if (str_is(args->names[i], "default") && vm->dialect.python_names)
			fallback = args->named[i];
		else
			return heap_fail(vm->h, "%s: unexpected keyword argument %.80s", what,
				args->names[i].str->data);
	}
	if (args->n == 0)
		return heap_fail(vm->h, "%s requires at least one positional argument", what);
	if (list_new(vm->h, 0, &all) < 0)
		return -1;
	for (size_t i = 0; args->n > 1 && i < args->n; i++)
		if (list_append(vm->h, all.list, args->item[i]) < 0)
			return -1;
	if (args->n == 1 && list_extend(vm, all.list, args->item[0]) < 0)
		return -1;
	for (uint32_t i = 0; i < all.list->n; i++) {
		struct val k = all.list->item[i];
		struct args one = {&all.list->item[i], 1, NULL, NULL, 0};
		if ((key.type != T_UNSET && vm_call(vm, key, &one, &k) < 0) ||
			heap_pay(vm->h, 1) < 0)
			return -1;
		if (best.type != T_UNSET && val_compare(vm->h, k, best_key, &order) < 0)
			return -1;
		if (best.type == T_UNSET || order * sign > 0) {
			best = all.list->item[i];
			best_key = k;
		}
	}
	*out = best.type == T_UNSET ? fallback : best;
	return out->type == T_UNSET ? heap_fail(vm->h, "%s: argument is an empty sequence", what)
				    : 0;
}

RAW(b_max)
{
	return min_max(vm, args, "max", 1, out);
}

RAW(b_min)
{
	return min_max(vm, args, "min", -1, out);
}

FN(b_ord)
{
	if (arg[0].type == T_BYTES && arg[0].str->n_bytes == 1) {
		*out = VAL_INT((unsigned char)arg[0].str->data[0]);
		return 0;
	}
	if (arg[0].type != T_STRING && arg[0].type != T_BYTES)
		return heap_fail(vm->h, "ord: got %s, want string or bytes", val_type_name(arg[0]));
	if (arg[0].type == T_BYTES || arg[0].str->n_chars != 1)
		return heap_fail(vm->h, "ord: %s has length %lld, want 1", val_type_name(arg[0]),
			(long long)val_len(arg[0]));
	*out = VAL_INT(str_ord(arg[0]));
	return 0;
}

FN(b_range)
{
	int64_t start = 0, stop = 0, step = 1;
	const struct val *from = arg[1].type == T_UNSET ? NULL : &arg[0];
	for (int i = 0; i < 3; i++) {
		if (arg[i].type == T_BIG)
			return heap_fail(vm->h, "range: the number is out of range");
		if (arg[i].type != T_UNSET && arg[i].type != T_INT)
			return heap_fail(vm->h, "range: got %s, want int", val_type_name(arg[i]));
	}
	stop = from ? arg[1].i : arg[0].i;
	start = from ? from->i : 0;
	step = arg[2].type == T_UNSET ? 1 : arg[2].i;
	if (step == 0 || step == INT64_MIN)
		return heap_fail(vm->h,
			step == 0 ? "range: step argument must not be zero"
				  : "range: the number is out of range");
	__int128 gap = step > 0 ? (__int128)stop - start : (__int128)start - stop,
		 by = step > 0 ? step : -step;
	__int128 n = gap <= 0 ? 0 : (gap - 1) / by + 1;
	struct range *r = heap_alloc(vm->h, sizeof *r);
	if (!r)
		return -1;
	if (n > INT64_MAX)
		return heap_fail(vm->h, "range: more than 2**63 numbers");
	*r = (struct range){start, stop, step, (int64_t)n};
	*out = VAL_PTR(T_RANGE, r);
	return 0;
}

static int as_text(struct vm *vm, struct val v, bool is_repr, struct val *out)
{
	struct text t = {.h = vm->h};
	return format_value(vm, &t, v, is_repr) < 0 ? -1 : text_take(&t, T_STRING, out);
}

FN(b_repr)
{
	return as_text(vm, arg[0], true, out);
}

FN(b_str)
{
	if (arg[0].type == T_STRING) {
		*out = arg[0];
		return 0;
	}
	if (arg[0].type == T_UNSET)
		return str_of(vm->h, "", out);
	return as_text(vm, arg[0], false, out);
}

FN(b_reversed)
{
	if (b_list(vm, self, arg, out) < 0)
		return -1;
	struct list *list = out->list;
	for (uint32_t i = 0; i < list->n / 2; i++) {
		struct val swap = list->item[i];
		list->item[i] = list->item[list->n - 1 - i];
		list->item[list->n - 1 - i] = swap;
	}
	return 0;
}

FN(b_sorted)
{
	if (b_list(vm, self, arg, out) < 0)
		return -1;
	struct val key = arg[1].type == T_NONE ? VAL_UNSET : arg[1];
	return list_sort(vm, out->list, key, val_truth(arg[2]));
}

FN(b_type)
{
	return str_of(vm->h, val_type_name(arg[0]), out);
}

static int zip_row(struct vm *vm, struct iter *its, size_t n, struct val *row)
{
	if (tuple_new(vm->h, n, row) < 0 || heap_pay(vm->h, 1) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int r = iter_next(vm, &its[i], &row->tuple->item[i]);
		if (r <= 0)
			return r;
	}
	return 1;
}

RAW(b_zip)
{
	struct val row;
	size_t n_started = 0;
	int r = 0;
	if (args->n_named > 0)
		return heap_fail(vm->h, "zip: unexpected keyword arguments");
	struct iter *its = heap_alloc(vm->h, args->n * sizeof *its);
	if (!its || list_new(vm->h, 0, out) < 0)
		return -1;
	for (; r == 0 && n_started < args->n; n_started += r == 0)
		r = iter_start(vm, &its[n_started], args->item[n_started]);
	while (r == 0 && args->n > 0 && (r = zip_row(vm, its, args->n, &row)) > 0)
		r = list_append(vm->h, out->list, row);
	for (size_t i = 0; i < n_started; i++)
		iter_end(&its[i]);
	return r;
}
