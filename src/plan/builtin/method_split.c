/* Methods of strings that split, trim, join and replace. SPDX-License-Identifier: Apache-2.0 */
#include "plan/builtin/inside.h"

#include "base/utf8.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

static bool is_cut(struct val set, int32_t c)
{
	if (set.type != T_STRING)
		return char_is_space(c);
	for (size_t at = 0; at < set.str->n_bytes;)
		if (char_next(set.str, &at) == c)
			return true;
	return false;
}

static size_t char_before(const struct str *s, size_t at)
{
	do
		at--;
	while (at > 0 && ((unsigned char)s->data[at] & 0xc0) == 0x80);
	return at;
}

static int strip(struct vm *vm, struct val self, struct val set, int sides, struct val *out)
{
	size_t from = 0, to = self.str->n_bytes;
	if (set.type != T_UNSET && set.type != T_NONE && set.type != T_STRING)
		return heap_fail(vm->h, "strip: got %s, want string", val_type_name(set));
	while ((sides & 1) && from < to) {
		size_t next = from;
		if (!is_cut(set, char_next(self.str, &next)))
			break;
		from = next;
	}
	while ((sides & 2) && to > from) {
		size_t before = char_before(self.str, to), next = before;
		if (!is_cut(set, char_next(self.str, &next)))
			break;
		to = before;
	}
	return heap_pay(vm->h, self.str->n_bytes / 64) < 0 ? -1
							   : str_part(vm->h, self, from, to, out);
}

FN(s_strip)
{
	return strip(vm, self, arg[0], 3, out);
}

FN(s_lstrip)
{
	return strip(vm, self, arg[0], 1, out);
}

FN(s_rstrip)
{
	return strip(vm, self, arg[0], 2, out);
}

static int add_part(struct vm *vm, struct val list, struct val self, size_t from, size_t to)
{
	struct val one;
	return str_part(vm->h, self, from, to, &one) < 0 || heap_pay(vm->h, 1) < 0
		? -1
		: list_append(vm->h, list.list, one);
}

static int split_space(struct vm *vm, struct val self, int64_t max, struct val *out)
{
	size_t at = 0, n = self.str->n_bytes, next;
	for (;;) {
		for (next = at; at < n && char_is_space(char_next(self.str, &next)); at = next)
			;
		if (at >= n)
			return 0;
		size_t from = at;
		for (next = at; at < n && !char_is_space(char_next(self.str, &next)); at = next)
			;
		/* When the maximum number of splits is reached, the rest of the string is the
		 * last part. As in Python, the white space at its end is kept. */
		if (max >= 0 && out->list->n >= max)
			return add_part(vm, *out, self, from, n);
		if (add_part(vm, *out, self, from, at) < 0)
			return -1;
	}
}

static int rsplit_space(struct vm *vm, struct val self, int64_t max, struct val *out)
{
	size_t end = self.str->n_bytes, next, before = 0;
	for (;;) {
		while (end > 0 &&
			(before = next = char_before(self.str, end),
				char_is_space(char_next(self.str, &next))))
			end = before;
		if (end == 0)
			return 0;
		size_t from = end;
		while (from > 0 &&
			(before = next = char_before(self.str, from),
				!char_is_space(char_next(self.str, &next))))
			from = before;
		if (out->list->n >= max)
			return add_part(vm, *out, self, 0, end);
		if (add_part(vm, *out, self, from, end) < 0)
			return -1;
		end = from;
	}
}

static void reverse(struct list *list)
{
	for (uint32_t i = 0; i < list->n / 2; i++) {
		struct val swap = list->item[i];
		list->item[i] = list->item[list->n - 1 - i];
		list->item[list->n - 1 - i] = swap;
	}
}

static int split_by(
	struct vm *vm, struct val self, struct val sep, int64_t max, bool is_last, struct val *out)
{
	size_t from = 0, to = self.str->n_bytes, n = sep.str->n_bytes;
	int64_t at;
	while (max < 0 || out->list->n < max) {
		at = is_last ? str_rfind(self.str, sep.str, from, to)
			     : str_find(self.str, sep.str, from, to);
		if (at < 0)
			break;
		if (add_part(vm, *out, self, is_last ? (size_t)at + n : from,
			    is_last ? to : (size_t)at) < 0)
			return -1;
		if (is_last)
			to = (size_t)at;
		else
			from = (size_t)at + n;
	}
	return add_part(vm, *out, self, from, to);
}

static int split(
	struct vm *vm, struct val self, const struct val *arg, bool is_last, struct val *out)
{
	int64_t max = -1;
	bool has_sep = arg[0].type != T_UNSET && arg[0].type != T_NONE;
	if (arg_int(vm, "split", arg[1], &max) < 0 || list_new(vm->h, 0, out) < 0)
		return -1;
	if (has_sep && arg_string(vm, "split", arg[0]) < 0)
		return -1;
	if (has_sep && arg[0].str->n_bytes == 0)
		return heap_fail(vm->h, "split: empty separator");
	int r = has_sep		      ? split_by(vm, self, arg[0], max, is_last, out)
		: is_last && max >= 0 ? rsplit_space(vm, self, max, out)
				      : split_space(vm, self, max, out);
	if (is_last && (has_sep || max >= 0))
		reverse(out->list);
	return r < 0 ? -1 : heap_pay(vm->h, self.str->n_bytes / 64);
}

FN(s_split)
{
	return split(vm, self, arg, false, out);
}

FN(s_rsplit)
{
	return split(vm, self, arg, true, out);
}

FN(s_splitlines)
{
	const struct str *s = self.str;
	bool keep = val_truth(arg[0]);
	if (arg[0].type != T_UNSET && arg[0].type != T_BOOL && !vm->dialect.python_names)
		return heap_fail(vm->h, "splitlines: got %s, want bool", val_type_name(arg[0]));
	if (list_new(vm->h, 0, out) < 0)
		return -1;
	for (size_t from = 0; from < s->n_bytes;) {
		size_t end = from;
		while (end < s->n_bytes && s->data[end] != '\n' && s->data[end] != '\r')
			end++;
		size_t next = end + (end < s->n_bytes) +
			(end + 1 < s->n_bytes && s->data[end] == '\r' && s->data[end + 1] == '\n');
		if (add_part(vm, *out, self, from, keep ? next : end) < 0)
			return -1;
		from = next;
	}
	return 0;
}

static int partition(struct vm *vm, struct val self, struct val sep, bool is_last, struct val *out)
{
	if (arg_string(vm, is_last ? "rpartition" : "partition", sep) < 0)
		return -1;
	if (sep.str->n_bytes == 0)
		return heap_fail(
			vm->h, "%s: empty separator", is_last ? "rpartition" : "partition");
	size_t n = self.str->n_bytes;
	int64_t at =
		is_last ? str_rfind(self.str, sep.str, 0, n) : str_find(self.str, sep.str, 0, n);
	if (tuple_new(vm->h, 3, out) < 0 || heap_pay(vm->h, n / 64) < 0)
		return -1;
	size_t first = at >= 0 ? (size_t)at
		: is_last      ? 0
			       : n,
	       second = at >= 0 ? first + sep.str->n_bytes : first;
	struct val *item = out->tuple->item;
	if (str_part(vm->h, self, 0, first, &item[0]) < 0 ||
		str_part(vm->h, self, first, second, &item[1]) < 0)
		return -1;
	return str_part(vm->h, self, second, n, &item[2]);
}

FN(s_partition)
{
	return partition(vm, self, arg[0], false, out);
}

FN(s_rpartition)
{
	return partition(vm, self, arg[0], true, out);
}

FN(s_replace)
{
	struct text t = {.h = vm->h};
	int64_t max = -1, at;
	if (arg_string(vm, "replace", arg[0]) < 0 || arg_string(vm, "replace", arg[1]) < 0 ||
		arg_int(vm, "replace", arg[2], &max) < 0)
		return -1;
	const struct str *s = self.str, *from = arg[0].str, *to = arg[1].str;
	size_t done = 0;
	for (int64_t n = 0; max < 0 || n < max; n++) {
		at = str_find(s, from, done, s->n_bytes);
		if (from->n_bytes == 0 && n > 0) {
			size_t next = done;
			if (done >= s->n_bytes)
				break;
			(void)char_next(s, &next);
			at = (int64_t)next;
		}
		if (at < 0)
			break;
		if (text_add(&t, s->data + done, (size_t)at - done) < 0 ||
			text_add(&t, to->data, to->n_bytes) < 0 || heap_pay(vm->h, 1) < 0)
			return -1;
		done = (size_t)at + from->n_bytes;
	}
	if (text_add(&t, s->data + done, s->n_bytes - done) < 0)
		return -1;
	return text_take(&t, T_STRING, out);
}

FN(s_join)
{
	struct text t = {.h = vm->h};
	struct iter it;
	struct val one;
	int r = 0;
	if (iter_start(vm, &it, arg[0]) < 0)
		return -1;
	for (size_t i = 0; r == 0 && (r = iter_next(vm, &it, &one)) > 0; i++) {
		if (one.type != T_STRING)
			r = heap_fail(
				vm->h, "join: in list, want string, got %s", val_type_name(one));
		else
			r = (i > 0 && text_add(&t, self.str->data, self.str->n_bytes) < 0) ||
					text_add(&t, one.str->data, one.str->n_bytes) < 0 ||
					heap_pay(vm->h, 1) < 0
				? -1
				: 0;
	}
	iter_end(&it);
	return r < 0 ? -1 : text_take(&t, T_STRING, out);
}
