/*
 * The transfer functions of the run: label the result of each instruction, operation and built-in.
 * All functions follow one scheme: compute the label of the operands, do the operation without
 * labels, label the result. The label of an operand depends on what the operation reads of it:
 *
 *	shape	type, length, keys (flow_shape()): len(), iteration, list()
 *	whole	everything reachable (flow_whole()): str(), ==, json.dumps()
 *	choice	the operand only selects (flow_choice()): an index, a key, a separator
 *
 * For built-ins the table builtin/builtin.def says which of the three applies (enum native_flow),
 * and how a method changes its receiver (enum native_change). The label is computed *before* the
 * operation runs, because the operation may change its operands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/flow.h"

#include "plan/machine/compile.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/table.h"

/* Compute a binary operation. The result is labelled as a newly computed value, even if
 * op_binary() returns an operand itself. */
int flow_binary(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out)
{
	bool is_whole = op == NUM_MOD && a.type == T_STRING;
	uint32_t label =
		flow_join(vm, flow_shape(vm, a), is_whole ? flow_whole(vm, b) : flow_shape(vm, b));
	struct val made = VAL_NONE;
	if (label == LABEL_FAILED || op_binary(vm, op, a, b, &made) < 0)
		return -1;
	made.label = 0;
	flow_new(vm, &made, label);
	*out = made;
	return 0;
}

static int augment(struct vm *vm, const struct ins *i, struct val *a, struct val b)
{
	uint32_t before = a->label;
	bool is_list = a->type == T_LIST && i->c == NUM_ADD;
	bool is_table =
		(a->type == T_DICT || a->type == T_SET) && a->type == b.type && i->c == NUM_OR;
	if (!is_list && !is_table)
		return flow_binary(vm, i->c, *a, b, a);
	if (flow_change(vm, *a, flow_shape(vm, b)) < 0 || op_augment(vm, i->c, *a, b, a) < 0)
		return -1;
	a->label = before;
	return 0;
}

int flow_compare(struct vm *vm, uint32_t op, struct val a, struct val b, uint32_t *label)
{
	bool is_keyed = (op == CMP_IN || op == CMP_NOT_IN) && (b.type == T_DICT || b.type == T_SET);
	if (op == CMP_IS || op == CMP_IS_NOT)
		*label = flow_join(vm, a.label, b.label);
	else
		*label = flow_join(
			vm, flow_whole(vm, a), is_keyed ? flow_shape(vm, b) : flow_whole(vm, b));
	return *label == LABEL_FAILED ? -1 : 0;
}

/*
 * Label @v, a value that is stored under an index or key, as in x[i] = v. @label is the label of
 * the index or key.
 *
 * The index selected the place at which @v is stored. So if @v is a list, dict or set, join @label
 * to the label of the structure of @v. But if the current guard forbids to change @v, do nothing.
 *
 * Join @label only as a presumption, which is a label that may or may not apply (see
 * label/foreseen.h). The reason: other variables may contain the same object @v, and a use of @v
 * through such a variable does not depend on the index.
 */
static void placed(struct vm *vm, struct val v, uint32_t label)
{
	if (label && flow_may_change(vm, v))
		flow_new(vm, &v, flow_presumed(vm, label));
}

static int set_index(struct vm *vm, struct val x, struct val i, struct val v)
{
	uint32_t label = flow_choice(vm, flow_whole(vm, i));
	if (label == LABEL_FAILED || flow_change(vm, x, label) < 0)
		return -1;
	placed(vm, v, label);
	return op_set_index(vm, x, i, v);
}

static int unpack(struct vm *vm, struct val x, struct val *out, const struct ins *i)
{
	uint32_t label = flow_shape(vm, x);
	if (op_unpack(vm, x, out, i->c, i->x) < 0)
		return -1;
	for (uint32_t k = 0; k < i->c; k++)
		if (k + 1 == i->x)
			flow_new(vm, &out[k], label);
		else
			flow_old(vm, &out[k], label);
	return 0;
}

/*
 * How the result of an instruction is labelled:
 * B: the value in register b flows into the result. The result gets the label of this value.
 * REST: the values in the three registers after b only select what is in the result, like the
 * bounds of a slice. The result gets their labels as labels of a choice (flow_choice()).
 * OLD: the result is a value that existed before the instruction. Without OLD, it is a new value.
 */
enum { B = 1, REST = 2, OLD = 4 };
static const uint8_t rules[N_OPS] = {
	[OP_NEGATE] = B,
	[OP_POSITIVE] = B,
	[OP_INVERT] = B,
	[OP_SLICE] = B | REST,
	[OP_DOT] = B | OLD,
	[OP_LOAD] = OLD,
};

static uint32_t operands(struct vm *vm, const struct val *r, const struct ins *i)
{
	uint8_t rule = rules[i->op];
	uint32_t label = 0;
	if (rule & B)
		label = flow_shape(vm, r[i->b]);
	for (uint32_t k = 1; (rule & REST) && k < 4; k++)
		label = flow_join(vm, label, flow_choice(vm, r[i->b + k].label));
	return label;
}

/* Add to a container under construction (display or comprehension). No other alias of the new
 * container exists yet, so the change needs no check. */
static int grow(struct vm *vm, const struct frame *f, const struct ins *i)
{
	const struct val *r = f->base;
	uint32_t label = 0;
	if (i->op == OP_EXTEND || i->op == OP_UPDATE)
		label = flow_shape(vm, r[i->b]);
	else
		label = flow_choice(vm, flow_whole(vm, r[i->b]));
	if (i->op == OP_PUT)
		placed(vm, r[i->c], label);
	if (label == LABEL_FAILED || vm_slow(vm, f, i) < 0)
		return -1;
	struct val to = r[i->a];
	flow_new(vm, &to, label);
	return 0;
}

/*
 * Return the label that an element gets because it is read from the container @x. The structure of
 * a container is its length and its keys.
 * - Usually this is the label of @x, joined with the label of the structure of @x.
 * - If @x is a dict and @key is a string, as in x["a"], the label of the structure is joined only
 *   as a presumption: a label that may or may not apply (see label/foreseen.h).
 *
 * For x["a"], the structure counts less, because a missing key ends the run. So an element that is
 * found does not reveal which other keys exist.
 * But the structure does count, because a branch that was not taken might have stored another
 * element under @key. The element does not have the label of that branch's condition. Only the
 * structure has it.
 */
static uint32_t taken_from(struct vm *vm, struct val x, struct val key)
{
	if (x.type != T_DICT || key.type != T_STRING)
		return flow_shape(vm, x);
	return flow_join(vm, x.label, flow_presumed(vm, flow_shape(vm, x)));
}

/* Format a piece of an f-string. A scalar keeps its label; a container becomes a computed text. */
static int format(struct vm *vm, const struct frame *f, const struct ins *i)
{
	struct val from = f->base[i->b];
	uint32_t label = flow_whole(vm, from);
	if (label == LABEL_FAILED || vm_slow(vm, f, i) < 0)
		return -1;
	f->base[i->a].label = from.type < T_LIST ? label : flow_made(vm, label, 0);
	return 0;
}

int flow_join_texts(struct vm *vm, const struct val *item, size_t n, struct val *out)
{
	uint32_t label = 0;
	for (size_t i = 0; i < n; i++)
		label = flow_join(vm, label, item[i].label);
	if (format_join(vm, item, n, out) < 0)
		return -1;
	out->label = flow_form(vm, label);
	return 0;
}

int flow_slow(struct vm *vm, struct frame *f, const struct ins *i)
{
	struct val *r = f->base;
	uint32_t label;
	bool is_part;
	switch ((int)i->op) {
	case OP_AUGMENT:
		return augment(vm, i, &r[i->a], r[i->b]);
	case OP_SET_INDEX:
		return set_index(vm, r[i->a], r[i->b], r[i->c]);
	case OP_UNPACK:
		return unpack(vm, r[i->a], &r[i->b], i);
	case OP_EXTEND:
	case OP_PUT:
	case OP_UPDATE:
	case OP_INSERT:
		return grow(vm, f, i);
	case OP_ITER:
		label = flow_shape(vm, r[i->a]);
		if (vm_slow(vm, f, i) < 0)
			return -1;
		vm->iters[vm->n_iters - 1].label = label;
		return 0;
	case OP_FORMAT:
		return format(vm, f, i);
	case OP_COMPARE:
		if (flow_compare(vm, i->x, r[i->b], r[i->c], &label) < 0)
			return -1;
		break;
	case OP_INDEX:
		label = flow_choice(vm, flow_whole(vm, r[i->c]));
		label = flow_join(vm, taken_from(vm, r[i->b], r[i->c]), label);
		is_part = r[i->b].type < T_LIST;
		if (label == LABEL_FAILED || op_index(vm, r[i->b], r[i->c], &r[i->a]) < 0)
			return -1;
		if (is_part)
			flow_part(vm, &r[i->a], label);
		else
			flow_old(vm, &r[i->a], label);
		return 0;
	case OP_CHECK:
	case OP_SET_DOT:
		return vm_slow(vm, f, i);
	default:
		label = operands(vm, r, i);
		break;
	}
	if (label == LABEL_FAILED || vm_slow(vm, f, i) < 0)
		return -1;
	if (rules[i->op] & OLD)
		flow_old(vm, &r[i->a], label);
	else if (i->op == OP_SLICE && r[i->a].type < T_LIST)
		flow_part(vm, &r[i->a], label);
	else
		flow_new(vm, &r[i->a], label);
	return 0;
}

bool flow_may_tell(struct vm *vm)
{
	const struct frame *f = vm->n_frames ? &vm->frames[vm->n_frames - 1] : NULL;
	if (!vm->flow.all || !f || f->pc == f->code->ins)
		return false;
	const struct ins *i = f->pc - 1;
	bool is_call = i->op == OP_CALL || i->op == OP_CALL_SHAPE || i->op == OP_METHOD;
	uint32_t n = f->code->n_registers, label = 0;
	const uint32_t at[] = {i->a, i->b, i->c};
	for (size_t k = 0; k < 3; k++)
		if (at[k] < n)
			label = flow_join(vm, label, flow_whole(vm, f->base[at[k]]));
	/* OP_CALL and OP_METHOD: operand b is the number of arguments, which are in the b
	 * registers after a. OP_CALL_SHAPE: operand b is the index of a call shape, not a number
	 * of arguments, so look at all registers from a on. */
	uint32_t end = i->op == OP_CALL_SHAPE ? n : MIN(n, i->a + 1u + i->b);
	for (uint32_t k = i->a; is_call && k < end; k++)
		label = flow_join(vm, label, flow_whole(vm, f->base[k]));
	return label == LABEL_FAILED || flow_guard(vm, label) != 0;
}

static inline uint32_t items_label(
	struct vm *vm, const struct val *v, size_t n, uint32_t label, bool is_whole)
{
	for (size_t i = 0; i < n; i++)
		label = flow_join(
			vm, label, is_whole ? flow_whole(vm, v[i]) : flow_shape(vm, v[i]));
	return label;
}

/* Join the labels of all arguments, positional and named, to @label, and return the result. With
 * @is_whole, each argument counts with the labels of everything reachable from it
 * (flow_whole()). Otherwise it counts with the label of its type, length and keys
 * (flow_shape()). */
static inline uint32_t args_label(
	struct vm *vm, const struct args *args, uint32_t label, bool is_whole)
{
	label = items_label(vm, args->item, args->n, label, is_whole);
	return items_label(vm, args->named, args->n_named, label, is_whole);
}

static uint32_t dated(struct vm *vm, uint32_t label)
{
	if (label == 0 || label == LABEL_FAILED)
		return label;
	struct label l = label_get(vm->flow.all, label);
	if (l.kind.rank <= KIND_DATE)
		return label;
	l.kind = (struct kind){.rank = KIND_DATE};
	return label_intern(vm->flow.all, &l);
}

/*
 * Return the label of a date that was formatted as text. @label is the joined label of all
 * arguments. @form is the label of the choice of the format string. Foreign data is data that does
 * not come from the plan, its user or the policy.
 * - Foreign data did not choose the format string (@form is 0): the text can only be a date. Return
 *   @label, with the kind lowered to date.
 * - Foreign data chose the format string: the text may be any text. Return @label.
 * - Foreign data chose the format string only if a presumption is true (see label/foreseen.h):
 *   return @label, with the kind lowered to date. Also join the unchanged @label to it, as a
 *   presumption.
 */
static uint32_t written(struct vm *vm, uint32_t label, uint32_t form)
{
	if (form == 0)
		return dated(vm, label);
	if (form != flow_presumed(vm, form))
		return label;
	return flow_join(vm, dated(vm, label), flow_presumed(vm, label));
}

/* A built-in such as dict() uses the names of its named arguments as keys. In a call dict(**d),
 * untrusted data may have chosen these names. Return the label of this choice. */
static uint32_t names_choice(struct vm *vm, const struct args *args)
{
	return flow_choice(vm, items_label(vm, args->names, args->n_named, 0, true));
}

/* The named arguments key= and reverse= only determine the order of the result. Return the label
 * that the order gets from them. */
static uint32_t named_choice(struct vm *vm, const struct args *args)
{
	return flow_choice(vm, items_label(vm, args->named, args->n_named, 0, true));
}

static uint32_t native_label(
	struct vm *vm, const struct native *native, struct val self, const struct args *args)
{
	bool is_whole = native->flow != FLOW_SHAPE && native->flow != FLOW_PLACES;
	if (native->flow == FLOW_NOTHING)
		return 0;
	if (native->flow == FLOW_PICK)
		return flow_join(vm, flow_shape(vm, self),
			args->n > 0 ? flow_choice(vm, flow_whole(vm, args->item[0])) : 0);
	if (native->flow == FLOW_PART)
		return flow_join(
			vm, flow_whole(vm, self), flow_choice(vm, args_label(vm, args, 0, true)));
	uint32_t label = is_whole ? flow_whole(vm, self) : flow_shape(vm, self);
	if (native->flow == FLOW_NAMED || native->flow == FLOW_ORDER)
		label = items_label(vm, args->item, args->n, label, true);
	if (native->flow == FLOW_NAMED)
		return flow_join(vm, label, names_choice(vm, args));
	if (native->flow == FLOW_ORDER)
		return flow_join(vm, label, named_choice(vm, args));
	label = args_label(vm, args, label, is_whole);
	if (native->flow == FLOW_DATE_TEXT && args->n > 1)
		return written(vm, label, flow_choice(vm, args->item[1].label));
	bool is_date = native->flow == FLOW_DATE || native->flow == FLOW_DATE_MADE;
	return is_date ? dated(vm, label) : label;
}

static int change(
	struct vm *vm, const struct native *native, struct val self, const struct args *args)
{
	uint32_t label = 0;
	if (native->change == CHANGE_FIRST && args->n > 0) {
		label = flow_choice(vm, flow_whole(vm, args->item[0]));
		for (size_t i = 1; i < args->n; i++)
			placed(vm, args->item[i], label);
	}
	if (native->change == CHANGE_SHAPE)
		label = items_label(vm, args->item, args->n, 0, false);
	if (native->change == CHANGE_ARGS)
		label = items_label(vm, args->item, args->n, names_choice(vm, args), true);
	if (native->change == CHANGE_WHOLE)
		label = items_label(vm, args->item, args->n,
			flow_join(vm, flow_whole(vm, self), named_choice(vm, args)), true);
	/* @label will be joined to the label of the receiver's structure. A structure (length,
	 * order, keys) reveals at most as much as a number, so lower the kind of @label to that
	 * of a number. */
	if (native->change >= CHANGE_ARGS)
		label = flow_cap(vm, label, T_INT);
	return label == LABEL_FAILED ? -1 : flow_change(vm, self, label);
}

/* Label the index in each pair that enumerate() returns. */
static void label_places(struct vm *vm, struct val pairs, uint32_t label)
{
	for (uint32_t i = 0; pairs.type == T_LIST && i < pairs.list->n; i++)
		flow_new(vm, &pairs.list->item[i].tuple->item[0], label);
}

/* Return the guard under which a built-in calls functions of the plan. The guard contains the
 * labels of the arguments, because they determine how many calls the built-in makes. */
static uint32_t guard_of(struct vm *vm, const struct args *args)
{
	bool calls = false;
	for (size_t i = 0; i < args->n; i++)
		calls |= args->item[i].type == T_FUNCTION;
	for (size_t i = 0; i < args->n_named; i++)
		calls |= args->named[i].type == T_FUNCTION;
	return calls ? flow_guard(vm, items_label(vm, args->item, args->n, 0, false)) : 0;
}

static bool is_among(struct val v, const struct val *item, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (item[i].type == v.type && item[i].list == v.list)
			return true;
	return false;
}

/* Return whether the result itself is one of the arguments, as may happen with sum() and
 * json.decode(). */
static bool is_given(struct val v, const struct args *args)
{
	return v.type >= T_LIST &&
		(is_among(v, args->item, args->n) || is_among(v, args->named, args->n_named));
}

static void label_result(struct vm *vm, enum native_flow flow, const struct args *args,
	struct val *out, uint32_t label)
{
	switch (flow) {
	case FLOW_PICK:
	case FLOW_NOTHING:
		flow_old(vm, out, label);
		return;
	case FLOW_CHOICE:
		flow_old(vm, out, flow_choice(vm, label));
		return;
	case FLOW_PLACES:
		label_places(vm, *out, label);
		attr_fallthrough;
	case FLOW_SHAPE:
	case FLOW_NAMED:
		flow_new(vm, out, label);
		return;
	case FLOW_PART:
		flow_part(vm, out, flow_made(vm, label, 0));
		return;
	case FLOW_DATE:
	case FLOW_DATE_TEXT:
		flow_old(vm, out, flow_made(vm, label, 0));
		return;
	case FLOW_DATE_MADE: {
		uint32_t date = flow_join(vm, flow_made(vm, label, 0), vm->flow.planned[KIND_DATE]);
		flow_old(vm, out, flow_said(vm, label, date, *out));
		return;
	}
	case FLOW_ORDER:
	case FLOW_WHOLE:
		label = flow_made(vm, label, 0);
		if (is_given(*out, args))
			flow_old(vm, out, label);
		else
			flow_new(vm, out, label);
	}
}

int flow_native(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out)
{
	uint32_t before = vm->h->guard, label = native_label(vm, native, self, args);
	uint32_t called = vm->flow.called;
	if (label == LABEL_FAILED ||
		(native->change != CHANGE_NONE && change(vm, native, self, args) < 0))
		return -1;
	vm->h->guard = flow_join(vm, before, guard_of(vm, args));
	vm->flow.called = 0;
	int r = native_run(vm, native, self, args, out);
	vm->h->guard = before;
	/* While it ran, the built-in may have called a function of the plan, such as f in
	 * sorted(x, key=f). vm->flow.called is the joined label of the values that this function
	 * returned. These values are not in the result of the built-in. They only determined the
	 * order of the result or, in max() and min(), which element is the result. So join only
	 * the label of a choice (flow_choice()). */
	uint32_t order = flow_choice(vm, vm->flow.called);
	label = flow_join(vm, label, order);
	r = label == LABEL_FAILED ? -1 : r;
	if (native->change == CHANGE_WHOLE && order && r == 0)
		r = flow_change(vm, self, order);
	vm->flow.called = called;
	if (r == 0)
		label_result(vm, native->flow, args, out, label);
	return r;
}
