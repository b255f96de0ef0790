/* Methods of lists, dicts and sets; sorting. SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/inside.h"

#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

FN(l_append)
{
	return list_check(vm->h, self.list) < 0 ? -1 : list_append(vm->h, self.list, arg[0]);
}

FN(l_clear)
{
	if (list_check(vm->h, self.list) < 0)
		return -1;
	self.list->n = 0;
	return 0;
}

FN(l_extend)
{
	return list_check(vm->h, self.list) < 0 ? -1 : list_extend(vm, self.list, arg[0]);
}

FN(l_index)
{
	int64_t n = self.list->n, from = 0, to = n;
	if (arg_int(vm, "index", arg[1], &from) < 0 || arg_int(vm, "index", arg[2], &to) < 0)
		return -1;
	from = from < 0 ? MAX(0, from + n) : from;
	to = to < 0 ? MAX(0, to + n) : MIN(to, n);
	for (int64_t i = from; i < to; i++) {
		int r = heap_pay(vm->h, 1) < 0 ? -1 : val_equal(vm->h, self.list->item[i], arg[0]);
		if (r != 0) {
			*out = VAL_INT(i);
			return r < 0 ? -1 : 0;
		}
	}
	return heap_fail(vm->h, "index: value not in list");
}

static void remove_at(struct list *list, uint32_t i)
{
	memmove(&list->item[i], &list->item[i + 1], (list->n - i - 1) * sizeof *list->item);
	list->n--;
}

FN(l_insert)
{
	int64_t n = self.list->n, at = 0;
	if (arg_int(vm, "insert", arg[0], &at) < 0 || list_check(vm->h, self.list) < 0 ||
		list_append(vm->h, self.list, arg[1]) < 0)
		return -1;
	at = at < 0 ? MAX(0, at + n) : MIN(at, n);
	memmove(&self.list->item[at + 1], &self.list->item[at],
		(size_t)(n - at) * sizeof *self.list->item);
	self.list->item[at] = arg[1];
	return heap_pay(vm->h, (uint64_t)(n - at) / 16);
}

FN(l_pop)
{
	int64_t n = self.list->n, at = -1;
	if (arg[0].type == T_NONE)
		return heap_fail(vm->h, "pop: got NoneType, want int");
	if (arg_int(vm, "pop", arg[0], &at) < 0 || list_check(vm->h, self.list) < 0)
		return -1;
	int64_t i = at < 0 ? at + n : at;
	if (i < 0 || i >= n)
		return n == 0 ? heap_fail(vm->h, "pop: index %lld out of range: empty list",
					(long long)at)
			      : heap_fail(vm->h, "pop: index %lld out of range [%lld:%lld]",
					(long long)at, (long long)-n, (long long)n - 1);
	*out = self.list->item[i];
	remove_at(self.list, (uint32_t)i);
	return heap_pay(vm->h, (uint64_t)(n - i) / 16);
}

FN(l_remove)
{
	if (list_check(vm->h, self.list) < 0)
		return -1;
	for (uint32_t i = 0; i < self.list->n; i++) {
		int r = heap_pay(vm->h, 1) < 0 ? -1 : val_equal(vm->h, self.list->item[i], arg[0]);
		if (r > 0)
			remove_at(self.list, i);
		if (r != 0)
			return r < 0 ? -1 : 0;
	}
	return heap_fail(vm->h, "remove: element not found");
}

/* The next methods of lists exist in Python but not in Starlark. */
FN(l_copy)
{
	return list_new(vm->h, 0, out) < 0 ? -1 : list_extend(vm, out->list, self);
}

FN(l_count)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < self.list->n; i++) {
		int r = heap_pay(vm->h, 1) < 0 ? -1 : val_equal(vm->h, self.list->item[i], arg[0]);
		if (r < 0)
			return -1;
		n += r;
	}
	*out = VAL_INT(n);
	return 0;
}

FN(l_sort)
{
	if (list_check(vm->h, self.list) < 0)
		return -1;
	return list_sort(
		vm, self.list, arg[0].type == T_NONE ? VAL_UNSET : arg[0], val_truth(arg[1]));
}

struct keyed {
	struct val key, value;
};

static int order_of(struct heap *h, struct val a, struct val b, int *order)
{
	if (a.type != T_INT || b.type != T_INT)
		return val_compare(h, a, b, order);
	*order = (a.i > b.i) - (a.i < b.i);
	return 0;
}

/* Sort by merging: the order of equal elements is kept. Stop at the first comparison that fails. */
static int merge(struct heap *h, struct keyed *item, struct keyed *spare, size_t n, int sign)
{
	size_t half = n / 2, a = 0, b = half, to = 0;
	int order;
	if (n < 2)
		return 0;
	if (merge(h, item, spare, half, sign) < 0 ||
		merge(h, item + half, spare, n - half, sign) < 0)
		return -1;
	if (order_of(h, item[half].key, item[half - 1].key, &order) < 0 || heap_pay(h, n) < 0)
		return -1;
	if (order * sign >= 0)
		return 0;
	while (a < half && b < n) {
		if (order_of(h, item[b].key, item[a].key, &order) < 0)
			return -1;
		spare[to++] = order * sign < 0 ? item[b++] : item[a++];
	}
	while (a < half)
		spare[to++] = item[a++];
	memcpy(item, spare, to * sizeof *item);
	return 0;
}

int list_sort(struct vm *vm, struct list *list, struct val key, bool is_reversed)
{
	uint32_t n = list->n;
	struct keyed *item = heap_alloc(vm->h, 2 * (size_t)n * sizeof *item);
	int r = item ? 0 : -1;
	list->n_iterators++;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct args one = {&list->item[i], 1, NULL, NULL, 0};
		item[i] = (struct keyed){list->item[i], list->item[i]};
		if (key.type != T_UNSET)
			r = vm_call(vm, key, &one, &item[i].key);
	}
	if (r == 0)
		r = merge(vm->h, item, item + n, n, is_reversed ? -1 : 1);
	list->n_iterators--;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		list->item[i] = item[i].value;
	if (item)
		heap_release(vm->h, item, 2 * (size_t)n * sizeof *item);
	return r;
}

static int add_pair(struct vm *vm, const char *what, struct table *to, struct val pair, int64_t i)
{
	struct val kv[2];
	int64_t n = pair.type == T_STRING ? -1 : val_len(pair);
	if (n < 0)
		return heap_fail(vm->h,
			"%s: dictionary update sequence element #%lld is not iterable (%s)", what,
			(long long)i, val_type_name(pair));
	if (n != 2)
		return heap_fail(vm->h,
			"%s: dictionary update sequence element #%lld has length %lld, want 2",
			what, (long long)i, (long long)n);
	if (op_unpack(vm, pair, kv, 2, 0) < 0)
		return -1;
	return table_put(vm->h, to, kv[0], kv[1]) < 0 ? -1 : 0;
}

int dict_update(struct vm *vm, const char *what, struct table *to, const struct args *args)
{
	struct iter it;
	struct val one;
	int r = 0;
	if (args->n > 1)
		return heap_fail(vm->h, "%s: got %zu arguments, want at most 1", what, args->n);
	if (args->n == 1 && args->item[0].type == T_DICT) {
		const struct entry *e;
		uint32_t at = 0;
		while (r == 0 && (e = table_next(args->item[0].table, &at)))
			r = table_put(vm->h, to, e->key, e->value) < 0 || heap_pay(vm->h, 1) < 0
				? -1
				: 0;
	} else if (args->n == 1) {
		if (iter_start(vm, &it, args->item[0]) < 0)
			return -1;
		for (int64_t i = 0; r == 0 && (r = iter_next(vm, &it, &one)) > 0; i++)
			r = heap_pay(vm->h, 1) < 0 ? -1 : add_pair(vm, what, to, one, i);
		iter_end(&it);
	}
	for (size_t i = 0; r == 0 && i < args->n_named; i++)
		r = table_put(vm->h, to, args->names[i], args->named[i]) < 0 ? -1 : 0;
	return r;
}

RAW(d_update)
{
	return table_check(vm->h, self.table, T_DICT) < 0
		? -1
		: dict_update(vm, "update", self.table, args);
}

FN(t_clear)
{
	/* Clearing an empty set changes nothing, so it is allowed even if the set is frozen. */
	if (self.type == T_SET && self.table->n_live == 0)
		return 0;
	if (table_check(vm->h, self.table, self.type) < 0)
		return -1;
	table_clear(self.table);
	return 0;
}

FN(d_get)
{
	int64_t at = table_find(vm->h, self.table, arg[0]);
	if (at >= 0)
		*out = self.table->entry[at].value;
	else if (arg[1].type != T_UNSET)
		*out = arg[1];
	return at == -2 ? -1 : 0;
}

static int views(struct vm *vm, struct val self, int what, struct val *out)
{
	const struct entry *e;
	uint32_t at = 0;
	if (list_new(vm->h, self.table->n_live, out) < 0 || heap_pay(vm->h, self.table->n_live) < 0)
		return -1;
	while ((e = table_next(self.table, &at))) {
		struct val one = what == 0 ? e->key : e->value;
		if (what == 2) {
			if (tuple_new(vm->h, 2, &one) < 0)
				return -1;
			one.tuple->item[0] = e->key;
			one.tuple->item[1] = e->value;
		}
		if (list_append(vm->h, out->list, one) < 0)
			return -1;
	}
	return 0;
}

FN(d_items)
{
	return views(vm, self, 2, out);
}

FN(d_keys)
{
	return views(vm, self, 0, out);
}

FN(d_values)
{
	return views(vm, self, 1, out);
}

FN(d_pop)
{
	if (table_check(vm->h, self.table, T_DICT) < 0)
		return -1;
	int64_t at = table_find(vm->h, self.table, arg[0]);
	if (at >= 0) {
		*out = self.table->entry[at].value;
		table_remove(self.table, (uint32_t)at);
	} else if (at == -1 && arg[1].type != T_UNSET) {
		*out = arg[1];
	} else {
		return at == -2 ? -1 : heap_fail(vm->h, "pop: missing key");
	}
	return 0;
}

FN(d_popitem)
{
	uint32_t at = 0;
	if (table_check(vm->h, self.table, T_DICT) < 0)
		return -1;
	const struct entry *e = table_next(self.table, &at);
	if (!e)
		return heap_fail(vm->h, "popitem: empty dict");
	if (tuple_new(vm->h, 2, out) < 0 || heap_pay(vm->h, at / 4) < 0)
		return -1;
	out->tuple->item[0] = e->key;
	out->tuple->item[1] = e->value;
	table_remove(self.table, at - 1);
	return 0;
}

FN(d_setdefault)
{
	int64_t at = table_find(vm->h, self.table, arg[0]);
	*out = arg[1].type == T_UNSET ? VAL_NONE : arg[1];
	if (at >= 0)
		*out = self.table->entry[at].value;
	if (at != -1)
		return at == -2 ? -1 : 0;
	if (table_check(vm->h, self.table, T_DICT) < 0)
		return -1;
	return table_put(vm->h, self.table, arg[0], *out) < 0 ? -1 : 0;
}

static int copy_table(struct vm *vm, struct val self, struct val *out)
{
	const struct entry *e;
	uint32_t at = 0;
	struct val made;
	if (table_new(vm->h, self.type, self.table->n_live, &made) < 0 ||
		heap_pay(vm->h, self.table->n_live) < 0)
		return -1;
	while ((e = table_next(self.table, &at)))
		if (table_put(vm->h, made.table, e->key, e->value) < 0)
			return -1;
	*out = made;
	return 0;
}

FN(t_copy)
{
	return copy_table(vm, self, out);
}

/* Add an element. This is an error if the set is frozen or being iterated, even if the element
 * already exists. */
FN(set_add)
{
	if (table_check(vm->h, self.table, T_SET) < 0)
		return -1;
	return table_put(vm->h, self.table, arg[0], VAL_NONE) < 0 ? -1 : 0;
}

static int drop(struct vm *vm, struct val self, struct val x, bool must)
{
	if (table_check(vm->h, self.table, T_SET) < 0)
		return -1;
	int64_t at = table_find(vm->h, self.table, x);
	if (at < 0)
		return at == -2 ? -1 : must ? heap_fail(vm->h, "remove: missing key") : 0;
	table_remove(self.table, (uint32_t)at);
	return 0;
}

FN(set_discard)
{
	return drop(vm, self, arg[0], false);
}

FN(set_remove)
{
	return drop(vm, self, arg[0], true);
}

FN(set_pop)
{
	uint32_t at = 0;
	if (table_check(vm->h, self.table, T_SET) < 0)
		return -1;
	const struct entry *e = table_next(self.table, &at);
	if (!e)
		return heap_fail(vm->h, "pop: empty set");
	*out = e->key;
	table_remove(self.table, at - 1);
	return heap_pay(vm->h, at / 4);
}

/* Convert any iterable to a set. A set is returned itself, without a copy. */
static int as_set(struct vm *vm, struct val x, struct val *out)
{
	struct iter it;
	struct val one;
	int r = 0;
	if (x.type == T_SET) {
		*out = x;
		return 0;
	}
	if (table_new(vm->h, T_SET, 0, out) < 0 || iter_start(vm, &it, x) < 0)
		return -1;
	while (r == 0 && (r = iter_next(vm, &it, &one)) > 0)
		r = table_put(vm->h, out->table, one, VAL_NONE) < 0 || heap_pay(vm->h, 1) < 0 ? -1
											      : 0;
	iter_end(&it);
	return r;
}

static int combine(
	struct vm *vm, struct val self, const struct args *args, uint32_t op, struct val *out)
{
	struct val other, now = self;
	if (args->n_named > 0)
		return heap_fail(vm->h, "set: unexpected keyword arguments");
	if (args->n == 0 && copy_table(vm, self, &now) < 0)
		return -1;
	for (size_t i = 0; i < args->n; i++)
		if (as_set(vm, args->item[i], &other) < 0 ||
			op_binary(vm, op, now, other, &now) < 0)
			return -1;
	*out = now;
	return 0;
}

#define COMBINE(name, op)                                                                          \
	RAW(name)                                                                                  \
	{                                                                                          \
		return combine(vm, self, args, op, out);                                           \
	}                                                                                          \
	RAW(name##_update)                                                                         \
	{                                                                                          \
		struct val now;                                                                    \
		*out = VAL_NONE;                                                                   \
		if (combine(vm, self, args, op, &now) < 0)                                         \
			return -1;                                                                 \
		return replace(vm, self, now);                                                     \
	}

static int replace(struct vm *vm, struct val self, struct val now)
{
	bool same = val_len(self) == val_len(now) && val_equal(vm->h, self, now) == 1;
	if (same || now.table == self.table)
		return 0;
	if (table_check(vm->h, self.table, T_SET) < 0)
		return -1;
	/* Replace the entries, but keep the labels of the set. */
	const struct table was = *self.table;
	*self.table = *now.table;
	self.table->label = was.label;
	self.table->seen = was.seen;
	self.table->guard = was.guard;
	return 0;
}

COMBINE(set_union, NUM_OR)
COMBINE(set_intersection, NUM_AND)
COMBINE(set_difference, NUM_SUB)
COMBINE(set_symmetric, NUM_XOR)

static int relation(struct vm *vm, struct val self, struct val x, uint32_t op, struct val *out)
{
	struct val other;
	bool is;
	if (as_set(vm, x, &other) < 0)
		return -1;
	if (op == 99) {
		if (op_binary(vm, NUM_AND, self, other, &other) < 0)
			return -1;
		is = val_len(other) == 0;
	} else if (op_compare(vm, op, self, other, &is) < 0) {
		return -1;
	}
	*out = VAL_BOOL(is);
	return 0;
}

FN(set_issubset)
{
	return relation(vm, self, arg[0], 3, out);
}

FN(set_issuperset)
{
	return relation(vm, self, arg[0], 5, out);
}

FN(set_isdisjoint)
{
	return relation(vm, self, arg[0], 99, out);
}
