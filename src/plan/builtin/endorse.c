/* Apply the endorsements approve(), matches() and member() in a run. SPDX-License-Identifier:
 * Apache-2.0 */
#include "plan/builtin/endorse.h"

#include "plan/builtin/inside.h"
#include "plan/machine/flow.h"
#include "plan/value/pattern.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

static uint32_t endorsed(struct vm *vm, uint32_t label, const char *word)
{
	struct labels *all = vm->flow.all;
	if (!all || label == 0 || label == LABEL_FAILED)
		return label;
	struct label l = label_get(all, label);
	uint32_t atom = label_atom(all, word, strlen(word));
	l.endorsements = label_union(all, l.endorsements, label_set(all, atom));
	l.presumed = endorsed(vm, l.presumed, word);
	return l.presumed == LABEL_FAILED ? LABEL_FAILED : label_intern(all, &l);
}

static int copy_table(struct vm *vm, struct val v, const char *word, struct val *out)
{
	const struct entry *e;
	struct val key, value;
	uint32_t at = 0;
	if (table_new(vm->h, v.type, v.table->n_live, out) < 0)
		return -1;
	while ((e = table_next(v.table, &at)))
		if (endorse(vm, e->key, word, &key) < 0 ||
			endorse(vm, e->value, word, &value) < 0 ||
			table_put(vm->h, out->table, key, value) < 0)
			return -1;
	out->table->is_frozen = true;
	return 0;
}

static int copy_items(
	struct vm *vm, const struct val *from, struct val *to, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (heap_pay(vm->h, 1) < 0 || endorse(vm, from[i], word, &to[i]) < 0)
			return -1;
	return 0;
}

static int copy_record(struct vm *vm, struct val v, const char *word, struct val *out)
{
	struct record *r = heap_zero(vm->h, sizeof *r);
	if (!r)
		return -1;
	*r = *v.record;
	r->mark = 0;
	r->values = heap_alloc(vm->h, r->n * sizeof *r->values);
	*out = VAL_PTR(T_STRUCT, r);
	return r->values ? copy_items(vm, v.record->values, r->values, r->n, word) : -1;
}

static int copy_inside(struct vm *vm, struct val v, const char *word, struct val *out)
{
	switch (v.type) {
	case T_LIST:
		if (list_new(vm->h, v.list->n, out) < 0 ||
			copy_items(vm, v.list->item, out->list->item, v.list->n, word) < 0)
			return -1;
		out->list->n = v.list->n;
		out->list->is_frozen = true;
		return 0;
	case T_TUPLE:
		return tuple_new(vm->h, v.tuple->n, out) < 0
			? -1
			: copy_items(vm, v.tuple->item, out->tuple->item, v.tuple->n, word);
	case T_DICT:
	case T_SET:
		return copy_table(vm, v, word, out);
	case T_STRUCT:
		return copy_record(vm, v, word, out);
	default:
		*out = v;
		return 0;
	}
}

int endorse(struct vm *vm, struct val v, const char *word, struct val *out)
{
	bool is_shaped = v.type == T_LIST || v.type == T_DICT || v.type == T_SET;
	uint32_t shape = is_shaped && vm->flow.all ? flow_shape(vm, v) : v.label;
	if (heap_enter(vm->h) < 0)
		return -1;
	int r = copy_inside(vm, v, word, out);
	heap_leave(vm->h);
	if (r < 0)
		return -1;
	out->label = is_shaped ? 0 : endorsed(vm, v.label, word);
	if (v.type == T_LIST)
		out->list->label = endorsed(vm, shape, word);
	else if (is_shaped)
		out->table->label = endorsed(vm, shape, word);
	return 0;
}

/* Check that the plan itself wrote @by, the list or pattern with which a value is compared. If
 * data from a tool could be @by, the data could endorse itself. */
static int is_own(struct vm *vm, const char *what, struct val by)
{
	uint32_t label = vm->flow.all ? flow_whole(vm, by) : 0;
	if (label == LABEL_FAILED)
		return -1;
	return flow_guard(vm, label) == 0
		? 0
		: heap_fail(vm->h,
			  "%s: the list or pattern comes from a tool: the plan has to write it",
			  what);
}

static int named(struct vm *vm, const char *kind, struct val by, struct val v, struct val *out)
{
	struct text t = {.h = vm->h};
	const struct val *item = by.type == T_LIST ? by.list->item
		: by.type == T_TUPLE		   ? by.tuple->item
						   : &by;
	size_t n = by.type == T_LIST ? by.list->n : by.type == T_TUPLE ? by.tuple->n : 1;
	int r = text_puts(&t, kind);
	for (size_t i = 0; i < n && r == 0 && t.n < 200; i++)
		if (item[i].type == T_STRING)
			r = (i > 0 && text_puts(&t, ",") < 0)
				? -1
				: text_add(&t, item[i].str->data, MIN(item[i].str->n_bytes, 200u));
	if (r == 0)
		r = text_add(&t, "", 1);
	return r < 0 ? -1 : endorse(vm, v, t.data, out);
}

FN(b_matches)
{
	if (arg_string(vm, "matches", arg[0]) < 0 || arg_string(vm, "matches", arg[1]) < 0 ||
		is_own(vm, "matches", arg[1]) < 0)
		return -1;
	int r = pattern_matches(vm->h, arg[1].str->data, arg[1].str->n_bytes, arg[0].str->data,
		arg[0].str->n_bytes);
	if (r == 0)
		return heap_fail(
			vm->h, "matches: the value is not of the form %.80s", arg[1].str->data);
	return r < 0 ? -1 : named(vm, "matched:", arg[1], arg[0], out);
}

FN(b_member)
{
	bool is;
	if (is_own(vm, "member", arg[1]) < 0 || op_in(vm, arg[0], arg[1], &is) < 0)
		return -1;
	if (!is)
		return heap_fail(vm->h, "member: the value is not in the list");
	return named(vm, "member:", arg[1], arg[0], out);
}
