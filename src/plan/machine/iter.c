/*
 * Iterate, unpack and read attributes: operations on containers that are not operators.
 *
 * An iterator is a value in the machine, not an object of the language: a plan cannot name it.
 * While an iterator is open, the container counts it in n_iterators, and a change of the container
 * is an error. Every successful iter_start() needs an iter_end(), even after a failure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/vm.h"

#include "base/word.h"
#include "plan/value/native.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <stdio.h>
#include <string.h>

int iter_start(struct vm *vm, struct iter *it, struct val x)
{
	*it = (struct iter){.kind = x.type};
	switch (x.type) {
	case T_LIST:
		it->list = x.list;
		x.list->n_iterators++;
		return 0;
	case T_TUPLE:
		it->tuple = x.tuple;
		return 0;
	case T_DICT:
	case T_SET:
		it->table = x.table;
		x.table->n_iterators++;
		return 0;
	case T_RANGE:
		it->at = x.range->start;
		it->step = x.range->step;
		it->left = x.range->n;
		it->label = x.label;
		return 0;
	case T_ELEMS:
		it->elems = x.elems;
		it->label = x.label;
		return 0;
	default:
		break;
	}
	it->kind = T_UNSET;
	if (x.type == T_STRING)
		return heap_fail(vm->h, "string value is not iterable: use .elems()");
	return heap_fail(vm->h, "%s value is not iterable", val_type_name(x));
}

static int next_elem(struct vm *vm, struct iter *it, struct val *out)
{
	const struct str *s = it->elems->str;
	if (it->at >= s->n_bytes)
		return 0;
	if (it->elems->kind == ELEMS_BYTES) {
		*out = VAL_INT((unsigned char)s->data[it->at++]);
		return 1;
	}
	size_t to = (size_t)it->at + 1;
	while (to < s->n_bytes && ((unsigned char)s->data[to] & 0xc0) == 0x80)
		to++;
	struct val one;
	if (str_new(vm->h, s->data + it->at, to - (size_t)it->at, &one) < 0)
		return -1;
	it->at = (int64_t)to;
	*out = it->elems->kind == ELEMS_ORDS || it->elems->kind == ELEMS_POINT_ORDS
		? VAL_INT(str_ord(one))
		: one;
	return 1;
}

int iter_next(struct vm *vm, struct iter *it, struct val *out)
{
	const struct entry *e;
	uint32_t at;
	switch (it->kind) {
	case T_LIST:
		if (it->at >= it->list->n)
			return 0;
		*out = it->list->item[it->at++];
		return 1;
	case T_TUPLE:
		if (it->at >= it->tuple->n)
			return 0;
		*out = it->tuple->item[it->at++];
		return 1;
	case T_RANGE:
		if (it->left <= 0)
			return 0;
		*out = VAL_INT(it->at);
		out->label = it->label;
		if (--it->left > 0)
			it->at += it->step;
		return 1;
	case T_DICT:
	case T_SET:
		at = (uint32_t)it->at;
		e = table_next(it->table, &at);
		it->at = at;
		if (e)
			*out = e->key;
		return e != NULL;
	case T_ELEMS:
		if (next_elem(vm, it, out) <= 0)
			return it->at < it->elems->str->n_bytes ? -1 : 0;
		out->label = it->label;
		return 1;
	default:
		return 0;
	}
}

void iter_end(struct iter *it)
{
	if (it->kind == T_LIST)
		it->list->n_iterators--;
	if (it->kind == T_DICT || it->kind == T_SET)
		it->table->n_iterators--;
	it->kind = T_UNSET;
}

int list_extend(struct vm *vm, struct list *list, struct val x)
{
	struct iter it;
	struct val one;
	int r = 0;
	int64_t n = val_len(x);
	if (x.type == T_LIST) {
		/* @x may be @list itself, so read its length before the list grows. */
		uint32_t n_more = x.list->n;
		if (list_reserve(vm->h, list, n_more) < 0 || heap_pay(vm->h, n_more / 16) < 0)
			return -1;
		if (n_more > 0)
			memcpy(list->item + list->n, x.list->item, n_more * sizeof one);
		list->n += n_more;
		return 0;
	}
	if (iter_start(vm, &it, x) < 0 ||
		(n > 0 && list_reserve(vm->h, list, (size_t)MIN(n, 1 << 20)) < 0))
		return -1;
	while (r == 0 && (r = iter_next(vm, &it, &one)) > 0)
		r = list_append(vm->h, list, one) < 0 || heap_pay(vm->h, 1) < 0 ? -1 : 0;
	iter_end(&it);
	return r;
}

int op_unpack(struct vm *vm, struct val x, struct val *out, size_t n, size_t star)
{
	struct val all;
	int64_t len = val_len(x);
	size_t want = n - (star > 0);
	if (x.type == T_STRING || (len < 0 && x.type != T_ELEMS))
		return heap_fail(vm->h, "got %s in sequence assignment", val_type_name(x));
	if (len < (int64_t)want)
		return heap_fail(vm->h, "too few values to unpack (got %lld, want %s%zu)",
			(long long)len, star ? "at least " : "", want);
	if (len > (int64_t)want && !star)
		return heap_fail(vm->h, "too many values to unpack (got %lld, want %zu)",
			(long long)len, want);
	if (list_new(vm->h, 0, &all) < 0 || list_extend(vm, all.list, x) < 0)
		return -1;
	size_t rest = (size_t)len - want, from = 0;
	for (size_t i = 0; i < n; i++) {
		if (i + 1 != star) {
			out[i] = all.list->item[from++];
			continue;
		}
		if (list_new(vm->h, rest, &out[i]) < 0)
			return -1;
		for (size_t k = 0; k < rest; k++)
			out[i].list->item[k] = all.list->item[from++];
		out[i].list->n = (uint32_t)rest;
	}
	return 0;
}

int op_dot(struct vm *vm, struct val x, struct val name, struct val *out)
{
	if (x.type == T_STRUCT)
		for (uint32_t i = 0; i < x.record->n; i++)
			if (str_equal(x.record->names[i].str, name.str)) {
				*out = x.record->values[i];
				return 0;
			}
	const struct native *m = native_method(vm, x.type, name);
	if (!m) {
		char word[WORD_MAX_BYTES];
		snprintf(word, sizeof word, "%.60s", name.str->data);
		const char *near = native_near(x.type, word);
		return heap_fail(vm->h, "%s has no .%.80s field or method%s%s%s", val_type_name(x),
			name.str->data, near ? " (did you mean ." : "", near ? near : "",
			near ? "?)" : "");
	}
	struct bound *b = heap_alloc(vm->h, sizeof *b);
	if (!b)
		return -1;
	*b = (struct bound){.self = x, .native = m};
	*out = VAL_PTR(T_BOUND, b);
	return 0;
}
