/* Operations on values of all types: truth, length, equality, order, hash, freezing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/value/value.h"

#include "plan/value/function.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

const char *type_name(uint32_t type)
{
	static const char *const names[N_TYPES] = {"unset", "NoneType", "bool", "int", "float",
		"int", "string", "bytes", "list", "tuple", "dict", "set", "range", "function",
		"builtin_function_or_method", "builtin_function_or_method", "string.elems",
		"struct", "cell"};
	return type < N_TYPES ? names[type] : "?";
}

const char *val_type_name(struct val v)
{
	static const char *const elems[] = {"string.elems", "string.elems", "bytes.elems",
		"string.codepoints", "string.codepoints"};
	return v.type == T_ELEMS ? elems[v.elems->kind] : type_name(v.type);
}

bool val_truth(struct val v)
{
	switch (v.type) {
	case T_UNSET:
	case T_NONE:
		return false;
	case T_BOOL:
	case T_INT:
		return v.i != 0;
	case T_FLOAT:
		return v.f != 0;
	case T_STRING:
	case T_BYTES:
		return v.str->n_bytes > 0;
	case T_LIST:
		return v.list->n > 0;
	case T_TUPLE:
		return v.tuple->n > 0;
	case T_DICT:
	case T_SET:
		return v.table->n_live > 0;
	case T_RANGE:
		return v.range->n > 0;
	default:
		return true;
	}
}

int64_t val_len(struct val v)
{
	switch (v.type) {
	case T_STRING:
		return v.str->n_chars;
	case T_BYTES:
		return v.str->n_bytes;
	case T_LIST:
		return v.list->n;
	case T_TUPLE:
		return v.tuple->n;
	case T_DICT:
	case T_SET:
		return v.table->n_live;
	case T_RANGE:
		return v.range->n;
	case T_ELEMS:
		if (v.elems->kind >= ELEMS_POINTS)
			return -1;
		return v.elems->kind == ELEMS_BYTES ? v.elems->str->n_bytes : v.elems->str->n_chars;
	default:
		return -1;
	}
}

static bool is_number(struct val v)
{
	return v.type == T_INT || v.type == T_FLOAT || v.type == T_BIG;
}

static int equal_items(struct heap *h, const struct val *a, const struct val *b, size_t n)
{
	int r = 1;
	if (heap_enter(h) < 0)
		return -1;
	for (size_t i = 0; i < n && r == 1; i++)
		r = heap_pay(h, 1) < 0 ? -1 : val_equal(h, a[i], b[i]);
	heap_leave(h);
	return r;
}

static int equal_tables(struct heap *h, const struct table *a, const struct table *b, bool is_dict)
{
	const struct entry *e;
	uint32_t at = 0;
	int r = 1;
	if (a->n_live != b->n_live)
		return 0;
	if (heap_enter(h) < 0)
		return -1;
	while (r == 1 && (e = table_next(a, &at))) {
		int64_t found = table_find_hashed(h, b, e->key, e->hash);
		r = found < 0 ? (int)found + 1 : 1;
		if (r == 1 && is_dict)
			r = val_equal(h, e->value, b->entry[found].value);
		if (heap_pay(h, 1) < 0)
			r = -1;
	}
	heap_leave(h);
	return r;
}

static int equal_records(struct heap *h, const struct record *a, const struct record *b)
{
	if (a->n != b->n || !str_equal(a->constructor.str, b->constructor.str))
		return 0;
	int r = equal_items(h, a->names, b->names, a->n);
	return r == 1 ? equal_items(h, a->values, b->values, a->n) : r;
}

static int equal_ranges(const struct range *a, const struct range *b)
{
	return a->n == b->n &&
		(a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

int val_equal(struct heap *h, struct val a, struct val b)
{
	if (is_number(a) && is_number(b))
		return num_compare(a, b) == 0;
	if (a.type != b.type)
		return 0;
	switch (a.type) {
	case T_NONE:
		return 1;
	case T_BOOL:
		return a.i == b.i;
	case T_STRING:
	case T_BYTES:
		return str_equal(a.str, b.str);
	case T_LIST:
		return a.list == b.list && a.list->n == 0 ? 1
			: a.list->n != b.list->n
			? 0
			: equal_items(h, a.list->item, b.list->item, a.list->n);
	case T_TUPLE:
		return a.tuple->n == b.tuple->n
			? equal_items(h, a.tuple->item, b.tuple->item, a.tuple->n)
			: 0;
	case T_DICT:
		return equal_tables(h, a.table, b.table, true);
	case T_SET:
		return equal_tables(h, a.table, b.table, false);
	case T_RANGE:
		return equal_ranges(a.range, b.range);
	case T_STRUCT:
		return equal_records(h, a.record, b.record);
	default:
		return a.p == b.p;
	}
}

static int compare_items(struct heap *h, const struct val a[2], const size_t n[2], int *order)
{
	const struct val *x = a[0].type == T_LIST ? a[0].list->item : a[0].tuple->item;
	const struct val *y = a[1].type == T_LIST ? a[1].list->item : a[1].tuple->item;
	int r = 1;
	if (heap_enter(h) < 0)
		return -1;
	for (size_t i = 0; i < n[0] && i < n[1] && r == 1; i++) {
		r = heap_pay(h, 1) < 0 ? -1 : val_equal(h, x[i], y[i]);
		if (r == 0 && val_compare(h, x[i], y[i], order) < 0)
			r = -1;
	}
	heap_leave(h);
	if (r == 1)
		*order = (n[0] > n[1]) - (n[0] < n[1]);
	return r < 0 ? -1 : 0;
}

static int compare_bytes(const struct str *a, const struct str *b)
{
	int r = memcmp(a->data, b->data, MIN(a->n_bytes, b->n_bytes));
	return r ? r : (a->n_bytes > b->n_bytes) - (a->n_bytes < b->n_bytes);
}

int val_compare(struct heap *h, struct val a, struct val b, int *order)
{
	if (is_number(a) && is_number(b)) {
		*order = num_compare(a, b);
		return 0;
	}
	if (a.type == b.type) {
		if (a.type == T_STRING || a.type == T_BYTES) {
			*order = compare_bytes(a.str, b.str);
			return heap_pay(h, a.str->n_bytes / 256);
		}
		if (a.type == T_BOOL) {
			*order = (int)(a.i - b.i);
			return 0;
		}
		if (a.type == T_LIST)
			return compare_items(
				h, (struct val[]){a, b}, (size_t[]){a.list->n, b.list->n}, order);
		if (a.type == T_TUPLE)
			return compare_items(
				h, (struct val[]){a, b}, (size_t[]){a.tuple->n, b.tuple->n}, order);
	}
	return heap_fail(h, "%s < %s not implemented", val_type_name(a), val_type_name(b));
}

static int hash_items(struct heap *h, const struct val *item, size_t n, uint64_t *hash)
{
	uint64_t all = h->seed[0] ^ n, one = 0;
	int r = 0;
	if (heap_enter(h) < 0)
		return -1;
	for (size_t i = 0; i < n && r == 0; i++) {
		r = val_hash(h, item[i], &one) < 0 || heap_pay(h, 1) < 0 ? -1 : 0;
		all = (all ^ one) * 0xd6e8feb86659fd93u;
		all ^= all >> 29;
	}
	heap_leave(h);
	*hash = all;
	return r;
}

int val_hash(struct heap *h, struct val v, uint64_t *hash)
{
	switch (v.type) {
	case T_INT:
	case T_BIG:
	case T_FLOAT:
		*hash = int_hash(h, v);
		return 0;
	case T_NONE:
		*hash = h->seed[0] ^ 0x9e3779b97f4a7c15u;
		return 0;
	case T_BOOL:
		*hash = h->seed[0] ^ (0xc2b2ae3d27d4eb4fu + (uint64_t)v.i);
		return 0;
	case T_STRING:
		*hash = str_hash(h, v.str);
		return 0;
	case T_BYTES:
		*hash = ~str_hash(h, v.str);
		return 0;
	case T_TUPLE:
		return hash_items(h, v.tuple->item, v.tuple->n, hash);
	case T_STRUCT:
		return hash_items(h, v.record->values, v.record->n, hash);
	case T_FUNCTION:
	case T_BOUND:
	case T_NATIVE:
		*hash = int_hash(h, VAL_INT((int64_t)(uintptr_t)v.p));
		return 0;
	default:
		return heap_fail(h, "unhashable type: %s", val_type_name(v));
	}
}

static int freeze_items(struct heap *h, const struct val *item, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (item[i].type > T_BYTES && val_freeze(h, item[i]) < 0)
			return -1;
	return 0;
}

static int freeze_table(struct heap *h, struct table *t)
{
	const struct entry *e;
	uint32_t at = 0;
	t->is_frozen = true;
	while ((e = table_next(t, &at)))
		if (val_freeze(h, e->key) < 0 || val_freeze(h, e->value) < 0)
			return -1;
	return 0;
}

static int freeze_function(struct heap *h, struct function *f)
{
	if (f->is_frozen)
		return 0;
	f->is_frozen = true;
	if (freeze_items(h, f->defaults, f->n_defaults) < 0)
		return -1;
	for (size_t i = 0; i < f->n_cells; i++)
		if (val_freeze(h, f->cells[i]->value) < 0)
			return -1;
	return 0;
}

static int freeze_inside(struct heap *h, struct val v)
{
	switch (v.type) {
	case T_LIST:
		if (v.list->is_frozen)
			return 0;
		v.list->is_frozen = true;
		return freeze_items(h, v.list->item, v.list->n);
	case T_TUPLE:
		return freeze_items(h, v.tuple->item, v.tuple->n);
	case T_DICT:
	case T_SET:
		return v.table->is_frozen ? 0 : freeze_table(h, v.table);
	case T_STRUCT:
		return freeze_items(h, v.record->values, v.record->n);
	case T_FUNCTION:
		return freeze_function(h, v.function);
	case T_BOUND:
		return val_freeze(h, v.bound->self);
	default:
		return 0;
	}
}

int val_freeze(struct heap *h, struct val v)
{
	if (v.type <= T_BYTES)
		return 0;
	if (heap_enter(h) < 0)
		return -1;
	int r = freeze_inside(h, v);
	heap_leave(h);
	return r;
}

int tuple_new(struct heap *h, size_t n, struct val *out)
{
	if (n > UINT32_MAX / 2)
		return heap_fail_kind(h, FAIL_MEMORY, "out of memory: a tuple of %zu", n);
	struct tuple *t = heap_zero(h, sizeof *t + n * sizeof t->item[0]);
	if (!t)
		return -1;
	t->n = (uint32_t)n;
	*out = VAL_PTR(T_TUPLE, t);
	return 0;
}

int list_new(struct heap *h, size_t room, struct val *out)
{
	struct list *list = heap_zero(h, sizeof *list);
	if (!list || list_reserve(h, list, room) < 0)
		return -1;
	list->guard = h->guard;
	list->seen = h->epoch;
	*out = VAL_PTR(T_LIST, list);
	return 0;
}

int list_reserve(struct heap *h, struct list *list, size_t n)
{
	size_t want = list->n + n;
	if (want <= list->room)
		return 0;
	if (want > UINT32_MAX / 4)
		return heap_fail_kind(h, FAIL_MEMORY, "out of memory: a list of %zu", want);
	size_t room = MAX(want, (size_t)list->room * 2);
	struct val *item = heap_regrow(h, list->item, list->n, room, sizeof *item);
	if (!item)
		return -1;
	heap_release(h, list->item, list->room * sizeof *item);
	list->item = item;
	list->room = (uint32_t)room;
	return 0;
}

int list_append(struct heap *h, struct list *list, struct val v)
{
	if (list->n == list->room && list_reserve(h, list, MAX(4u, list->n)) < 0)
		return -1;
	list->item[list->n++] = v;
	return 0;
}

int list_check(struct heap *h, const struct list *list)
{
	if (list->is_frozen)
		return heap_fail(h, "cannot change a frozen list");
	if (list->n_iterators > 0)
		return heap_fail(h, "cannot change a list during iteration");
	return 0;
}
