/*
 * Apply operators to values of any type, without labels. These are the slow paths of the machine's
 * loop, which itself does only int and float arithmetic. flow_op.c wraps these functions to track
 * labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/vm.h"

#include "plan/machine/compile.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

static const char *const op_names[] = {
	"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"};

static int unknown(struct vm *vm, uint32_t op, struct val a, struct val b)
{
	const char *hint = "";
	if (op == NUM_ADD && (a.type == T_STRING) != (b.type == T_STRING))
		hint = ": use str(x), or an f-string";
	if (op == NUM_ADD && a.type == T_DICT)
		hint = ": use |";
	return heap_fail(vm->h, "unknown binary op: %s %s %s%s", val_type_name(a), op_names[op],
		val_type_name(b), vm->dialect.f_strings ? hint : "");
}

static int concat_lists(struct vm *vm, const struct list *a, const struct list *b, struct val *out)
{
	if (list_new(vm->h, (size_t)a->n + b->n, out) < 0 ||
		heap_pay(vm->h, (a->n + b->n) / 16) < 0)
		return -1;
	if (a->n > 0)
		memcpy(out->list->item, a->item, a->n * sizeof *a->item);
	if (b->n > 0)
		memcpy(out->list->item + a->n, b->item, b->n * sizeof *b->item);
	out->list->n = a->n + b->n;
	return 0;
}

static int concat_tuples(
	struct vm *vm, const struct tuple *a, const struct tuple *b, struct val *out)
{
	if (tuple_new(vm->h, (size_t)a->n + b->n, out) < 0 ||
		heap_pay(vm->h, (a->n + b->n) / 16) < 0)
		return -1;
	memcpy(out->tuple->item, a->item, a->n * sizeof *a->item);
	memcpy(out->tuple->item + a->n, b->item, b->n * sizeof *b->item);
	return 0;
}

static int add(struct vm *vm, struct val a, struct val b, struct val *out)
{
	if (a.type == b.type) {
		if (a.type == T_STRING || a.type == T_BYTES)
			return str_concat(vm->h, a, b, out);
		if (a.type == T_LIST)
			return concat_lists(vm, a.list, b.list, out);
		if (a.type == T_TUPLE)
			return concat_tuples(vm, a.tuple, b.tuple, out);
	}
	return unknown(vm, NUM_ADD, a, b);
}

static int repeat_items(struct vm *vm, struct val v, int64_t n, struct val *out)
{
	const struct val *from = v.type == T_LIST ? v.list->item : v.tuple->item;
	size_t one = v.type == T_LIST ? v.list->n : v.tuple->n,
	       times = n < 0 || one == 0 ? 0 : (size_t)n;
	if (times > 0 && times > (1u << 28) / one)
		return heap_fail_kind(vm->h, FAIL_MEMORY,
			"out of memory: excessive repeat (%zu * %lld elements)", one, (long long)n);
	if (heap_pay(vm->h, one * times / 16) < 0)
		return -1;
	if ((v.type == T_LIST ? list_new(vm->h, one * times, out)
			      : tuple_new(vm->h, one * times, out)) < 0)
		return -1;
	struct val *to = v.type == T_LIST ? out->list->item : out->tuple->item;
	for (size_t i = 0; i < times; i++)
		memcpy(to + i * one, from, one * sizeof *from);
	if (v.type == T_LIST)
		out->list->n = (uint32_t)(one * times);
	return 0;
}

static int multiply(struct vm *vm, struct val a, struct val b, struct val *out)
{
	if (val_is_int(a)) {
		struct val swap = a;
		a = b;
		b = swap;
	}
	if (!val_is_int(b) || a.type < T_STRING || a.type > T_TUPLE)
		return unknown(vm, NUM_MUL, a, b);
	if (b.type == T_BIG && int_sign(b) > 0 && val_len(a) > 0)
		return heap_fail_kind(vm->h, FAIL_MEMORY, "out of memory: excessive repeat");
	int64_t n = b.type == T_BIG ? 0 : b.i;
	return a.type == T_STRING || a.type == T_BYTES ? str_repeat(vm->h, a, n, out)
						       : repeat_items(vm, a, n, out);
}

static int put_all(struct vm *vm, struct table *to, const struct table *from)
{
	const struct entry *e;
	uint32_t at = 0;
	while ((e = table_next(from, &at)))
		if (table_put(vm->h, to, e->key, e->value) < 0 || heap_pay(vm->h, 1) < 0)
			return -1;
	return 0;
}

/* Copy those elements of @from to @to that are also in @other; with @is_in false, copy those that
 * are not in @other. */
static int put_some(struct vm *vm, struct table *to, const struct table *from,
	const struct table *other, bool is_in)
{
	const struct entry *e;
	uint32_t at = 0;
	while ((e = table_next(from, &at))) {
		int64_t found = table_find_hashed(vm->h, other, e->key, e->hash);
		if (found == -2 || heap_pay(vm->h, 1) < 0)
			return -1;
		if ((found >= 0) == is_in && table_put(vm->h, to, e->key, e->value) < 0)
			return -1;
	}
	return 0;
}

static int set_op(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out)
{
	struct val made;
	bool is_dict = a.type == T_DICT;
	if (a.type != b.type || (!is_dict && a.type != T_SET) || (is_dict && op != NUM_OR))
		return unknown(vm, op, a, b);
	if (table_new(vm->h, a.type, 0, &made) < 0)
		return -1;
	int r = 0;
	if (op == NUM_OR)
		r = put_all(vm, made.table, a.table) < 0 ? -1 : put_all(vm, made.table, b.table);
	else if (op == NUM_AND)
		r = put_some(vm, made.table, a.table, b.table, true);
	else
		r = put_some(vm, made.table, a.table, b.table, false);
	if (r == 0 && op == NUM_XOR)
		r = put_some(vm, made.table, b.table, a.table, false);
	if (r == 0)
		*out = made;
	return r;
}

int op_binary(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out)
{
	int r = num_op(vm->h, (enum num_op)op, a, b, out);
	if (r <= 0)
		return r;
	switch (op) {
	case NUM_ADD:
		return add(vm, a, b, out);
	case NUM_MUL:
		return multiply(vm, a, b, out);
	case NUM_MOD:
		return a.type == T_STRING ? format_percent(vm, a, b, out) : unknown(vm, op, a, b);
	case NUM_OR:
	case NUM_AND:
	case NUM_XOR:
	case NUM_SUB:
		return set_op(vm, op, a, b, out);
	default:
		return unknown(vm, op, a, b);
	}
}

/* Compute an augmented assignment. += extends a list in place and |= updates a dict or set in
 * place, visible through all aliases. */
int op_augment(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out)
{
	*out = a;
	if (op == NUM_ADD && a.type == T_LIST) {
		if (list_check(vm->h, a.list) < 0)
			return -1;
		return list_extend(vm, a.list, b);
	}
	if ((a.type == T_DICT || a.type == T_SET) && a.type == b.type && op == NUM_OR)
		return table_check(vm->h, a.table, a.type) < 0 ? -1 : put_all(vm, a.table, b.table);
	return op_binary(vm, op, a, b, out);
}

static int in_items(struct vm *vm, struct val x, const struct val *item, size_t n, bool *out)
{
	*out = false;
	for (size_t i = 0; i < n && !*out; i++) {
		int r = heap_pay(vm->h, 1) < 0 ? -1 : val_equal(vm->h, item[i], x);
		if (r < 0)
			return -1;
		*out = r;
	}
	return 0;
}

static int in_bytes(struct vm *vm, struct val x, struct val bytes, bool *out)
{
	if (x.type == T_INT && (x.i < 0 || x.i > 255))
		return heap_fail(vm->h, "int in bytes: %lld out of range", (long long)x.i);
	if (x.type == T_INT)
		*out = bytes.str->n_bytes > 0 &&
			memchr(bytes.str->data, (int)x.i, bytes.str->n_bytes) != NULL;
	else if (x.type == T_BYTES)
		*out = str_find(bytes.str, x.str, 0, bytes.str->n_bytes) >= 0;
	else
		return heap_fail(vm->h, "'in bytes' requires bytes or int as left operand, not %s",
			val_type_name(x));
	return 0;
}

static bool in_range(struct val x, const struct range *r)
{
	if (x.type == T_FLOAT && x.f >= -0x1p63 && x.f < 0x1p63 && (double)(int64_t)x.f == x.f)
		x = VAL_INT((int64_t)x.f);
	if (x.type != T_INT || r->n == 0)
		return false;
	__int128 off = (__int128)x.i - r->start;
	return off % r->step == 0 && off / r->step >= 0 && off / r->step < r->n;
}

int op_in(struct vm *vm, struct val x, struct val c, bool *out)
{
	int64_t at;
	switch (c.type) {
	case T_LIST:
		return in_items(vm, x, c.list->item, c.list->n, out);
	case T_TUPLE:
		return in_items(vm, x, c.tuple->item, c.tuple->n, out);
	case T_DICT:
	case T_SET:
		at = table_find(vm->h, c.table, x);
		*out = at >= 0;
		return at == -2 ? -1 : 0;
	case T_STRING:
		if (x.type != T_STRING)
			return heap_fail(vm->h,
				"'in <string>' requires string as left operand, not %s",
				val_type_name(x));
		*out = str_find(c.str, x.str, 0, c.str->n_bytes) >= 0;
		return heap_pay(vm->h, c.str->n_bytes / 64);
	case T_BYTES:
		return in_bytes(vm, x, c, out);
	case T_RANGE:
		*out = in_range(x, c.range);
		return 0;
	default:
		return heap_fail(
			vm->h, "unknown binary op: %s in %s", val_type_name(x), val_type_name(c));
	}
}

/* Set *out to whether every element of @a is in @b. Returns: 0 or -1. */
static int is_subset(struct vm *vm, const struct table *a, const struct table *b, bool *out)
{
	const struct entry *e;
	uint32_t at = 0;
	*out = a->n_live <= b->n_live;
	while (*out && (e = table_next(a, &at))) {
		int64_t found = table_find_hashed(vm->h, b, e->key, e->hash);
		if (found == -2 || heap_pay(vm->h, 1) < 0)
			return -1;
		*out = found >= 0;
	}
	return 0;
}

static int compare_sets(
	struct vm *vm, uint32_t op, const struct table *a, const struct table *b, bool *out)
{
	bool is_less = op == CMP_LT || op == CMP_LE;
	int r = is_less ? is_subset(vm, a, b, out) : is_subset(vm, b, a, out);
	if (op == CMP_LT || op == CMP_GT)
		*out = *out && a->n_live != b->n_live;
	return r;
}

int op_compare(struct vm *vm, uint32_t op, struct val a, struct val b, bool *out)
{
	static const char *const names[] = {"==", "!=", "<", "<=", ">", ">="};
	int order, r;
	switch (op) {
	case CMP_EQ:
	case CMP_NE:
		r = val_equal(vm->h, a, b);
		*out = (r == 1) == (op == CMP_EQ);
		return r < 0 ? -1 : 0;
	case CMP_IN:
		return op_in(vm, a, b, out);
	case CMP_NOT_IN:
		r = op_in(vm, a, b, out);
		*out = !*out;
		return r;
	case CMP_IS:
	case CMP_IS_NOT:
		*out = (a.type == b.type &&
			       (a.type == T_NONE || (a.type == T_BOOL && a.i == b.i))) ==
			(op == CMP_IS);
		return 0;
	default:
		break;
	}
	if (a.type == T_SET && b.type == T_SET)
		return compare_sets(vm, op, a.table, b.table, out);
	if (val_compare(vm->h, a, b, &order) < 0) {
		/* Replace the message of val_compare() by one that names the operator. */
		if (vm->h->kind == FAIL_ERROR && (a.type != b.type || a.type < T_STRING)) {
			vm->h->kind = FAIL_NONE;
			return heap_fail(vm->h, "unknown comparison: %s %s %s not implemented",
				val_type_name(a), names[op], val_type_name(b));
		}
		return -1;
	}
	*out = op == CMP_LT    ? order < 0
		: op == CMP_LE ? order <= 0
		: op == CMP_GT ? order > 0
			       : order >= 0;
	return 0;
}

/* Convert an index, which may be negative, to *out in [0, @n). Returns: 0 or -1. */
static int index_of(struct vm *vm, const char *type, struct val i, int64_t n, int64_t *out)
{
	if (i.type == T_BIG)
		return heap_fail(vm->h, "%s index out of range", type);
	if (i.type != T_INT)
		return heap_fail(vm->h, "%s index: got %s, want int", type, val_type_name(i));
	int64_t at = i.i < 0 ? i.i + n : i.i;
	if (at < 0 || at >= n) {
		if (n == 0)
			return heap_fail(vm->h, "%s index %lld out of range: empty %s", type,
				(long long)i.i, type);
		return heap_fail(vm->h, "%s index %lld out of range [%lld:%lld]", type,
			(long long)i.i, (long long)-n, (long long)(n - 1));
	}
	*out = at;
	return 0;
}

static int key_error(struct vm *vm, struct val key)
{
	struct text t = {.h = vm->h};
	if (format_value(vm, &t, key, true) < 0)
		return -1;
	int r = heap_fail(vm->h, "key %.*s not in dict", (int)MIN(t.n, (size_t)120), t.data);
	text_done(&t);
	return r;
}

static int char_at(struct vm *vm, struct val s, int64_t i, struct val *out)
{
	size_t from = str_offset(s, (size_t)i), to = from + 1;
	while (to < s.str->n_bytes && ((unsigned char)s.str->data[to] & 0xc0) == 0x80)
		to++;
	if (s.str->n_bytes != s.str->n_chars && heap_pay(vm->h, from / 64) < 0)
		return -1;
	return str_part(vm->h, s, from, to, out);
}

int op_index(struct vm *vm, struct val x, struct val i, struct val *out)
{
	int64_t at;
	const char *type = val_type_name(x);
	if (x.type == T_DICT) {
		at = table_find(vm->h, x.table, i);
		if (at < 0)
			return at == -2 ? -1 : key_error(vm, i);
		*out = x.table->entry[at].value;
		return 0;
	}
	if (x.type < T_STRING || x.type > T_ELEMS || x.type == T_SET || val_len(x) < 0)
		return heap_fail(vm->h, "unhandled index operation %s[%s]", type, val_type_name(i));
	if (index_of(vm, type, i, val_len(x), &at) < 0)
		return -1;
	switch (x.type) {
	case T_LIST:
		*out = x.list->item[at];
		return 0;
	case T_TUPLE:
		*out = x.tuple->item[at];
		return 0;
	case T_RANGE:
		*out = VAL_INT(x.range->start + at * x.range->step);
		return 0;
	case T_BYTES:
		*out = VAL_INT((unsigned char)x.str->data[at]);
		return 0;
	case T_STRING:
		return char_at(vm, x, at, out);
	default:
		break;
	}
	if (x.elems->kind == ELEMS_BYTES) {
		*out = VAL_INT((unsigned char)x.elems->str->data[at]);
		return 0;
	}
	if (char_at(vm, VAL_PTR(T_STRING, x.elems->str), at, out) < 0)
		return -1;
	if (x.elems->kind == ELEMS_ORDS)
		*out = VAL_INT(str_ord(*out));
	return 0;
}

int op_set_index(struct vm *vm, struct val x, struct val i, struct val v)
{
	int64_t at;
	if (x.type == T_DICT) {
		if (x.table->n_iterators > 0 || x.table->is_frozen) {
			if (table_check(vm->h, x.table, T_DICT) < 0)
				return -1;
		}
		return table_put(vm->h, x.table, i, v) < 0 ? -1 : 0;
	}
	if (x.type != T_LIST)
		return heap_fail(
			vm->h, "%s value does not support item assignment", val_type_name(x));
	if (index_of(vm, "list", i, x.list->n, &at) < 0 || list_check(vm->h, x.list) < 0)
		return -1;
	x.list->item[at] = v;
	return 0;
}

/* Convert a bound of a slice to an index in @range. If the bound is None, *out remains
 * unchanged. */
static int bound(struct vm *vm, struct val v, int64_t n, const int64_t range[2], int64_t *out)
{
	if (v.type == T_NONE)
		return 0;
	if (v.type == T_BIG) {
		*out = int_sign(v) < 0 ? range[0] : range[1];
		return 0;
	}
	if (v.type != T_INT)
		return heap_fail(vm->h, "slice index: got %s, want int", val_type_name(v));
	int64_t at = v.i < 0 ? (v.i < -n ? -1 : v.i + n) : v.i;
	*out = MAX(range[0], MIN(range[1], at));
	return 0;
}

static int slice_items(struct vm *vm, struct val x, const int64_t at[3], struct val *out)
{
	const struct val *from = x.type == T_LIST ? x.list->item : x.tuple->item;
	int64_t n = at[2];
	if (heap_pay(vm->h, (uint64_t)n / 16) < 0 ||
		(x.type == T_LIST ? list_new(vm->h, (size_t)n, out)
				  : tuple_new(vm->h, (size_t)n, out)) < 0)
		return -1;
	struct val *to = x.type == T_LIST ? out->list->item : out->tuple->item;
	for (int64_t i = 0; i < n; i++)
		to[i] = from[at[0] + i * at[1]];
	if (x.type == T_LIST)
		out->list->n = (uint32_t)n;
	return 0;
}

static int slice_text(struct vm *vm, struct val x, const int64_t at[3], struct val *out)
{
	struct text t = {.h = vm->h};
	if (at[2] == 0)
		return str_part(vm->h, x, 0, 0, out);
	if (at[1] == 1) {
		size_t from = x.type == T_BYTES ? (size_t)at[0] : str_offset(x, (size_t)at[0]);
		size_t to = x.type == T_BYTES ? (size_t)(at[0] + at[2])
					      : str_offset(x, (size_t)(at[0] + at[2]));
		return heap_pay(vm->h, x.str->n_bytes == x.str->n_chars ? 0 : to / 64) < 0
			? -1
			: str_part(vm->h, x, from, to, out);
	}
	for (int64_t i = 0; i < at[2]; i++) {
		struct val one;
		size_t from = (size_t)(at[0] + i * at[1]);
		int r = x.type == T_BYTES ? text_add(&t, x.str->data + from, 1)
					  : char_at(vm, x, (int64_t)from, &one);
		if (r < 0 ||
			(x.type == T_STRING && text_add(&t, one.str->data, one.str->n_bytes) < 0) ||
			heap_pay(vm->h, 1) < 0)
			return -1;
	}
	return text_take(&t, x.type, out);
}

int op_slice(struct vm *vm, const struct val part[4], struct val *out)
{
	struct val x = part[0];
	int64_t n = val_len(x), step = 1;
	if (x.type < T_STRING || x.type > T_RANGE || x.type == T_DICT || x.type == T_SET)
		return heap_fail(vm->h, "invalid slice operand %s", val_type_name(x));
	if (part[3].type == T_BIG)
		step = int_sign(part[3]) * INT64_MAX;
	else if (part[3].type == T_INT)
		step = part[3].i == INT64_MIN ? -INT64_MAX : part[3].i;
	else if (part[3].type != T_NONE)
		return heap_fail(vm->h, "slice index: got %s, want int", val_type_name(part[3]));
	if (step == 0)
		return heap_fail(vm->h, "zero is not a valid slice step");
	int64_t range[2] = {step < 0 ? -1 : 0, step < 0 ? n - 1 : n};
	int64_t from = step < 0 ? range[1] : range[0], to = step < 0 ? range[0] : range[1];
	if (bound(vm, part[1], n, range, &from) < 0 || bound(vm, part[2], n, range, &to) < 0)
		return -1;
	int64_t gap = step < 0 ? from - to : to - from, by = step < 0 ? -step : step;
	int64_t at[3] = {from, step, gap <= 0 ? 0 : (gap - 1) / by + 1};
	if (at[2] == 0)
		at[0] = 0;
	if (x.type == T_LIST || x.type == T_TUPLE)
		return slice_items(vm, x, at, out);
	if (x.type != T_RANGE)
		return slice_text(vm, x, at, out);
	struct range *r = heap_alloc(vm->h, sizeof *r);
	if (!r)
		return -1;
	__int128 wide = (__int128)x.range->step * step;
	*r = (struct range){.start = x.range->start + from * x.range->step, .n = at[2]};
	r->step = wide > INT64_MAX ? INT64_MAX : wide < -INT64_MAX ? -INT64_MAX : (int64_t)wide;
	r->stop = x.range->start + to * x.range->step;
	*out = VAL_PTR(T_RANGE, r);
	return 0;
}
