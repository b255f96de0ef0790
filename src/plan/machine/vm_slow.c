/*
 * Run the instructions that are not in the fast loop, because they are rare or long: creating
 * containers and functions, formatting, attributes, errors. Inside the loop, these instructions
 * would force the C compiler to spill registers.
 *
 * If values carry labels, flow_op.c calls vm_slow() to compute the result of the instruction. Then
 * flow_op.c labels the result.
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

static int make_function(struct vm *vm, const struct frame *f, const struct ins *ins)
{
	struct code *code = f->code->functions[ins->b];
	struct function *fn = heap_zero(vm->h, sizeof *fn);
	if (!fn)
		return -1;
	*fn = (struct function){.code = code,
		.globals = f->function->globals,
		.n_defaults = code->n_defaults,
		.n_cells = code->n_captures,
		.defaults = heap_alloc(vm->h, code->n_defaults * sizeof *fn->defaults),
		.cells = heap_alloc(vm->h, code->n_captures * sizeof *fn->cells)};
	if (!fn->defaults || !fn->cells)
		return -1;
	memcpy(fn->defaults, &f->base[ins->c], code->n_defaults * sizeof *fn->defaults);
	for (uint32_t i = 0; i < code->n_captures; i++) {
		const struct capture *c = &code->captures[i];
		fn->cells[i] = c->is_local ? f->base[c->index].cell : f->function->cells[c->index];
	}
	f->base[ins->a] = VAL_PTR(T_FUNCTION, fn);
	return 0;
}

static int push_iter(struct vm *vm, const struct frame *f, const struct ins *ins)
{
	if (vm->n_iters == vm->iter_room) {
		uint32_t room = vm->iter_room ? vm->iter_room * 2 : 16;
		struct iter *iters =
			heap_regrow(vm->h, vm->iters, vm->n_iters, room, sizeof *iters);
		if (!iters)
			return -1;
		heap_release(vm->h, vm->iters, vm->iter_room * sizeof *iters);
		vm->iters = iters;
		vm->iter_room = room;
	}
	if (iter_start(vm, &vm->iters[vm->n_iters], f->base[ins->a]) < 0)
		return -1;
	vm->n_iters++;
	return 0;
}

int vm_unset(struct vm *vm, struct val name, bool is_local)
{
	return heap_fail(vm->h, "%s variable %.80s referenced before assignment",
		is_local ? "local" : "global", name.str->data);
}

static int insert(struct vm *vm, struct table *set, struct val x, bool is_star)
{
	struct iter it;
	struct val one;
	int r = 0;
	if (!is_star)
		return table_put(vm->h, set, x, VAL_NONE) < 0 ? -1 : 0;
	if (iter_start(vm, &it, x) < 0)
		return -1;
	while (r == 0 && (r = iter_next(vm, &it, &one)) > 0)
		r = table_put(vm->h, set, one, VAL_NONE) < 0 || heap_pay(vm->h, 1) < 0 ? -1 : 0;
	iter_end(&it);
	return r;
}

static int put(struct vm *vm, struct val dict, struct val k, struct val v, bool is_display)
{
	int r = table_put(vm->h, dict.table, k, v);
	if (r == 0 && is_display && !vm->dialect.python_names) {
		struct text t = {.h = vm->h};
		if (format_value(vm, &t, k, true) < 0)
			return -1;
		r = heap_fail(vm->h, "duplicate key: %.*s", (int)MIN(t.n, (size_t)100), t.data);
		text_done(&t);
	}
	return r < 0 ? -1 : 0;
}

static int update(struct vm *vm, struct val dict, struct val other)
{
	if (other.type != T_DICT)
		return heap_fail(vm->h, "'%s' object is not a mapping", val_type_name(other));
	struct val same;
	return op_augment(vm, NUM_OR, dict, other, &same);
}

/* If @op adds to a container, return whether a value of @type is a container of the right type.
 * For any other @op, return true. */
static bool holds(uint32_t op, uint32_t type)
{
	return op == OP_EXTEND			  ? type == T_LIST
		: op == OP_INSERT		  ? type == T_SET
		: op == OP_PUT || op == OP_UPDATE ? type == T_DICT
						  : true;
}

/* NOLINTNEXTLINE(readability-function-size): a row per instruction, read as a table */
int vm_slow(struct vm *vm, const struct frame *f, const struct ins *i)
{
	struct val *r = f->base, *a = &r[i->a];
	const struct val *k = f->code->consts;
	bool is;
	if (!holds(i->op, a->type))
		return vm_broken(vm, f, "value");
	switch ((int)i->op) {
	case OP_CHECK:
		return vm_unset(vm, f->code->slot_names[i->a],
			vm->n_frames > 1 || f->code->n_slots <= i->a);
	case OP_NEGATE:
		if (r[i->b].type == T_FLOAT) {
			*a = VAL_FLOAT(-r[i->b].f);
			return 0;
		}
		if (val_is_int(r[i->b]))
			return int_negate(vm->h, r[i->b], a);
		return heap_fail(vm->h, "unknown unary op: -%s", val_type_name(r[i->b]));
	case OP_POSITIVE:
		if (!val_is_int(r[i->b]) && r[i->b].type != T_FLOAT)
			return heap_fail(vm->h, "unknown unary op: +%s", val_type_name(r[i->b]));
		*a = r[i->b];
		return 0;
	case OP_INVERT:
		return val_is_int(r[i->b])
			? int_invert(vm->h, r[i->b], a)
			: heap_fail(vm->h, "unknown unary op: ~%s", val_type_name(r[i->b]));
	case OP_AUGMENT:
		return op_augment(vm, i->c, *a, r[i->b], a);
	case OP_COMPARE:
		if (op_compare(vm, i->x, r[i->b], r[i->c], &is) < 0)
			return -1;
		*a = VAL_BOOL(is);
		return 0;
	case OP_LIST:
		return list_new(vm->h, (size_t)i->j, a);
	case OP_DICT:
		return table_new(vm->h, T_DICT, 0, a);
	case OP_SET:
		return table_new(vm->h, T_SET, 0, a);
	case OP_EXTEND:
		return list_extend(vm, a->list, r[i->b]);
	case OP_PUT:
		return put(vm, *a, r[i->b], r[i->c], i->x);
	case OP_UPDATE:
		return update(vm, *a, r[i->b]);
	case OP_INSERT:
		return insert(vm, a->table, r[i->b], i->x);
	case OP_SET_INDEX:
		return op_set_index(vm, *a, r[i->b], r[i->c]);
	case OP_SLICE:
		return op_slice(vm, &r[i->b], a);
	case OP_DOT:
		return op_dot(vm, r[i->b], k[i->c], a);
	case OP_FUNCTION:
		return make_function(vm, f, i);
	case OP_ITER:
		return push_iter(vm, f, i);
	case OP_UNPACK:
		return op_unpack(vm, *a, &r[i->b], i->c, i->x);
	case OP_FORMAT:
		return format_part(vm, r[i->b], i->x, i->c == NO_FORMAT ? NULL : &k[i->c], a);
	case OP_LOAD:
		if (!vm->host->load)
			return heap_fail(vm->h, "load not implemented by this application");
		return vm->host->load(vm->host->ctx, vm, k[i->b], k[i->c], a);
	case OP_SET_DOT:
		return heap_fail(vm->h, "can't assign to .%.80s field of %s", k[i->b].str->data,
			val_type_name(*a));
	default:
		return heap_fail(vm->h, "no such instruction: %d", i->op);
	}
}
