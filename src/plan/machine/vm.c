/*
 * The register machine that runs plans.
 *
 * The machine never calls a tool itself. When a plan calls a tool, vm_run() returns VM_CALLED with
 * the arguments. The host answers with vm_answer() and calls vm_run() again. So the same code runs
 * in an engine, in a test and under a fuzzer, and no C stack is in use while a tool works.
 *
 * A call of a function pushes a frame onto an array; the C stack does not grow. Only a built-in
 * that takes a function (sorted(key = …)) runs the machine recursively. NESTED_MAX limits how
 * deeply such runs may be nested. The registers of frames are in chunks that never move, because
 * frames and built-ins keep pointers to registers.
 *
 * The loop is in loop.inc and is compiled twice below: run_labels tracks the label of each value,
 * run_plain has no cost for labels. Rare or long operations are in vm_slow.c, op.c and iter.c.
 *
 * Limits are deterministic: fuel (heap_pay()), bytes of the arena, depth of calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/vm.h"

#include "plan/machine/compile.h"
#include "plan/machine/flow.h"
#include "plan/machine/format.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

enum { CHUNK_VALUES = 4096, NESTED_MAX = 40 };

/* A chunk of registers. All registers of a frame are in one chunk. */
struct stack_chunk {
	struct stack_chunk *next;
	size_t n;
	struct val item[];
};

int vm_init(struct vm *vm, struct heap *h, const struct vm_host *host,
	const struct dialect *dialect, uint32_t depth)
{
	*vm = (struct vm){.h = h, .host = host, .dialect = *dialect, .depth_max = depth};
	/* Allocate all frames now: they must not move, because the loop points to its frame while a
	 * built-in calls a function. */
	vm->frames = heap_alloc(h, (size_t)depth * sizeof *vm->frames);
	return vm->frames ? 0 : -1;
}

static struct stack_chunk *next_chunk(struct vm *vm, size_t n)
{
	struct stack_chunk *next = vm->chunk ? vm->chunk->next : NULL;
	if (next && next->n >= n)
		return next;
	size_t room = MAX(n, (size_t)CHUNK_VALUES);
	/* Clear the chunk, so that every register of a frame is a valid value. */
	next = heap_zero(vm->h, sizeof *next + room * sizeof next->item[0]);
	if (!next)
		return NULL;
	next->n = room;
	if (vm->chunk)
		vm->chunk->next = next;
	return next;
}

static int too_deep(struct vm *vm)
{
	return heap_fail_kind(
		vm->h, FAIL_DEPTH, "calls are nested deeper than %u levels", vm->depth_max);
}

/* Push a frame and its registers. Returns: NULL with the failure set if a limit is exceeded. */
static struct frame *push_frame(struct vm *vm, struct code *code)
{
	if (vm->n_frames >= vm->depth_max)
		return (void)too_deep(vm), NULL;
	struct frame *f = &vm->frames[vm->n_frames];
	*f = (struct frame){.code = code,
		.pc = code->ins,
		.chunk = vm->chunk,
		.sp = vm->sp,
		.guard = vm->h->guard,
		.first_iter = vm->n_iters};
	if (!vm->sp || (size_t)(vm->sp_end - vm->sp) < code->n_registers) {
		struct stack_chunk *chunk = next_chunk(vm, code->n_registers);
		if (!chunk)
			return NULL;
		vm->chunk = chunk;
		vm->sp = chunk->item;
		vm->sp_end = chunk->item + chunk->n;
	}
	f->base = vm->sp;
	vm->sp += code->n_registers;
	vm->n_frames++;
	return f;
}

static void end_iters(struct vm *vm, uint32_t n)
{
	while (vm->n_iters > n)
		iter_end(&vm->iters[--vm->n_iters]);
}

static void pop_frame(struct vm *vm)
{
	struct frame *f = &vm->frames[--vm->n_frames];
	end_iters(vm, f->first_iter);
	vm->h->guard = f->guard;
	f->code->n_active--;
	vm->chunk = f->chunk;
	vm->sp = f->sp;
	vm->sp_end = f->chunk ? f->chunk->item + f->chunk->n : NULL;
}

void vm_unwind(struct vm *vm, uint32_t n_frames)
{
	while (vm->n_frames > n_frames)
		pop_frame(vm);
	vm->h->kind = FAIL_NONE;
	vm->h->depth = 0;
}

/* For each variable that nested functions capture, create a cell with the value of the variable,
 * and make the register of the variable point to the cell. */
static int make_cells(struct vm *vm, const struct frame *f)
{
	for (uint32_t i = 0; i < f->code->n_cells; i++) {
		struct val *v = &f->base[f->code->cells[i]];
		struct cell *cell = heap_alloc(vm->h, sizeof *cell);
		if (!cell)
			return -1;
		cell->value = *v;
		*v = VAL_PTR(T_CELL, cell);
	}
	return 0;
}

int vm_start(struct vm *vm, struct code *code, struct val *globals)
{
	struct function *fn = heap_zero(vm->h, sizeof *fn);
	struct frame *f = fn ? push_frame(vm, code) : NULL;
	if (!f)
		return -1;
	fn->code = code;
	fn->globals = globals;
	f->function = fn;
	f->base = globals;
	f->is_entry = true;
	code->n_active++;
	return make_cells(vm, f);
}

static int enter(struct vm *vm, struct function *fn, const struct args *args, struct val *dest)
{
	struct code *code = fn->code;
	if (code->n_active > 0 && !vm->dialect.recursion)
		return heap_fail(vm->h, "function %.80s called recursively", code->name.str->data);
	if (heap_pay(vm->h, 1) < 0)
		return -1;
	/* The arguments are in registers of older frames, which do not move when a frame is
	 * pushed. */
	struct frame *f = push_frame(vm, code);
	if (!f)
		return -1;
	code->n_active++;
	f->function = fn;
	f->dest = dest;
	bool is_exact = args->n == code->n_positional && args->n_named == 0 &&
		code->n_named_only == 0 && !code->has_args && !code->has_kwargs;
	uint32_t n = is_exact ? code->n_positional : 0;
	for (uint32_t i = 0; i < n; i++)
		f->base[i] = args->item[i];
	for (uint32_t i = n; i < code->n_slots; i++)
		f->base[i] = VAL_UNSET;
	if (!is_exact && bind_args(vm, fn, args, f->base) < 0) {
		pop_frame(vm);
		return -1;
	}
	return code->n_cells ? make_cells(vm, &vm->frames[vm->n_frames - 1]) : 0;
}

static int suspend(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *dest)
{
	if (vm->n_nested > 1)
		return heap_fail(vm->h,
			"%s cannot be called from within a built-in: call it in a loop before",
			native->name);
	size_t n = args->n + 2 * args->n_named;
	struct val *copy = heap_alloc(vm->h, n * sizeof *copy);
	if (!copy)
		return -1;
	memcpy(copy, args->item, args->n * sizeof *copy);
	if (args->n_named > 0) {
		memcpy(copy + args->n, args->names, args->n_named * sizeof *copy);
		memcpy(copy + args->n + args->n_named, args->named, args->n_named * sizeof *copy);
	}
	vm->called = native;
	vm->call_self = self;
	vm->call_dest = dest;
	vm->call_args = (struct args){
		copy, args->n, copy + args->n, copy + args->n + args->n_named, args->n_named};
	return 1;
}

/* Call the function @fn, which untrusted data may have chosen. If this data had chosen another
 * function, that function might have changed any object. So raise the guard, and record that any
 * object may have been changed. */
static int enter_chosen(struct vm *vm, struct val fn, const struct args *args, struct val *dest)
{
	uint32_t guard = flow_guard(vm, fn.label);
	if (!flow_is_below(vm, guard, vm->h->guard) && flow_unknown(vm, guard) < 0)
		return -1;
	if (enter(vm, fn.function, args, dest) < 0)
		return -1;
	vm->h->guard = flow_join(vm, vm->h->guard, guard);
	return 1;
}

static int native_call(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out)
{
	return vm->flow.all ? flow_native(vm, native, self, args, out)
			    : native_run(vm, native, self, args, out);
}

/* Call a value of any type. Returns: 0 if the result is in *dest; 1 if a frame was pushed or the
 * host must answer; -1 on failure. */
static int call_value(struct vm *vm, struct val fn, const struct args *args, struct val *dest)
{
	const struct native *native = fn.type == T_BOUND ? fn.bound->native : fn.native;
	struct val self = fn.type == T_BOUND ? fn.bound->self : VAL_UNSET, result;
	if (fn.type == T_FUNCTION && fn.label)
		return enter_chosen(vm, fn, args, dest);
	if (fn.type == T_FUNCTION)
		return enter(vm, fn.function, args, dest) < 0 ? -1 : 1;
	if (fn.type != T_NATIVE && fn.type != T_BOUND)
		return heap_fail(vm->h, "invalid call of non-function (%s)", val_type_name(fn));
	if (heap_pay(vm->h, 1) < 0)
		return -1;
	if (native->suspends)
		return suspend(vm, native, self, args, dest);
	if (native_call(vm, native, self, args, &result) < 0)
		return -1;
	*dest = result;
	return 0;
}

/* In a call such as f(*from) or f(**from), the structure of @from (length and keys) determines
 * which arguments the call has. So join the label of the structure to each of the @n values in
 * @item, which are arguments of the call or names of arguments. What the called function does
 * depends on the structure, too. Returns: the label that the caller must therefore join to the
 * guard of the called function; 0 if values carry no labels. */
static uint32_t chosen(struct vm *vm, struct val from, struct val *item, size_t n)
{
	uint32_t label = vm->flow.all ? flow_shape(vm, from) : 0;
	for (size_t i = 0; i < n && label; i++)
		item[i].label = flow_join(vm, item[i].label, label);
	return label ? flow_guard(vm, label) : 0;
}

/* Append the elements of @from to the positional arguments, as the call f(*from) does. The
 * length of @from decides which arguments the called function gets. So set *guard to the label
 * that the caller must join to the guard of the called function. */
static int spread_list(struct vm *vm, struct args *args, struct val from, uint32_t *guard)
{
	struct val all;
	if (list_new(vm->h, args->n, &all) < 0)
		return -1;
	for (size_t i = 0; i < args->n; i++)
		all.list->item[all.list->n++] = args->item[i];
	if (val_len(from) < 0 || from.type == T_STRING)
		return heap_fail(
			vm->h, "argument after * must be iterable, not %s", val_type_name(from));
	if (list_extend(vm, all.list, from) < 0)
		return -1;
	args->item = all.list->item;
	args->n = all.list->n;
	*guard = chosen(vm, from, all.list->item, args->n);
	return 0;
}

static int check_keyword(struct vm *vm, const struct args *args, struct val name)
{
	if (name.type != T_STRING)
		return heap_fail(vm->h, "keywords must be strings, not %s", val_type_name(name));
	for (size_t i = 0; i < args->n_named; i++)
		if (str_equal(args->names[i].str, name.str))
			return heap_fail(vm->h, "duplicate keyword arg: \"%.80s\"", name.str->data);
	return 0;
}

/* Append the entries of @from to the named arguments, as the call f(**from) does. The keys of
 * @from decide which arguments the called function gets. So join the label of the structure of
 * @from (length and keys) to *guard. The caller must join *guard to the guard of the called
 * function. */
static int spread_dict(struct vm *vm, struct args *args, struct val from, uint32_t *guard)
{
	if (from.type != T_DICT)
		return heap_fail(
			vm->h, "argument after ** must be a mapping, not %s", val_type_name(from));
	size_t n = args->n_named + from.table->n_live;
	struct val *both = heap_alloc(vm->h, 2 * n * sizeof *both);
	const struct entry *e;
	uint32_t next = 0;
	if (!both)
		return -1;
	for (size_t i = 0; i < args->n_named; i++) {
		both[i] = args->names[i];
		both[n + i] = args->named[i];
	}
	for (size_t i = args->n_named; (e = table_next(from.table, &next)); i++) {
		if (check_keyword(vm, args, e->key) < 0)
			return -1;
		both[i] = e->key;
		both[n + i] = e->value;
	}
	/* The keys of @from become the names of the new arguments. So join the label of the
	 * structure of @from (length and keys) to these names, and then to the values of the
	 * named arguments. */
	(void)chosen(vm, from, both + args->n_named, n - args->n_named);
	*guard = flow_join(vm, *guard, chosen(vm, from, both + n, n));
	args->names = both;
	args->named = both + n;
	args->n_named = n;
	return 0;
}

static int call_shape(struct vm *vm, const struct frame *f, const struct ins *ins)
{
	uint32_t guard = 0;
	const struct call_shape *shape = &f->code->shapes[ins->b];
	struct val *at = &f->base[ins->a + 1], *named = at + shape->n_positional,
		   *star = named + shape->n_named;
	struct args args = {at, shape->n_positional, shape->names, named, shape->n_named};
	if (shape->has_star && spread_list(vm, &args, *star, &guard) < 0)
		return -1;
	if (shape->has_starstar && spread_dict(vm, &args, star[shape->has_star], &guard) < 0)
		return -1;
	int r = call_value(vm, f->base[ins->a], &args, &f->base[ins->c]);
	if (r > 0 && !vm->called)
		vm->h->guard = flow_join(vm, vm->h->guard, guard);
	return r;
}

static int make_tuple(struct vm *vm, struct val *a, const struct val *from, size_t n)
{
	struct val t;
	if (tuple_new(vm->h, n, &t) < 0)
		return -1;
	memcpy(t.tuple->item, from, n * sizeof *from);
	*a = t;
	return 0;
}

static int call_method(struct vm *vm, const struct frame *f, const struct ins *ins)
{
	struct val *a = &f->base[ins->a], name = f->code->consts[ins->c], fn, result;
	struct args args = {a + 1, ins->b, NULL, NULL, 0};
	struct method_cache *cache =
		&vm->methods[((uintptr_t)name.str >> 4 ^ a->type) % VM_METHODS];
	const struct native *m = cache->native;
	if (cache->name != name.str || cache->type != a->type) {
		m = a->type == T_STRUCT ? NULL : native_method(vm, a->type, name);
		*cache = (struct method_cache){name.str, a->type, m};
	}
	if (!m) {
		if (op_dot(vm, *a, name, &fn) < 0)
			return -1;
		return call_value(vm, fn, &args, a);
	}
	if (m->suspends)
		return suspend(vm, m, *a, &args, a);
	if (heap_pay(vm->h, 1) < 0 || native_call(vm, m, *a, &args, &result) < 0)
		return -1;
	*a = result;
	return 0;
}

static void record_trace(struct vm *vm, uint32_t first)
{
	bool is_said = vm->h->kind == FAIL_ERROR || vm->h->kind == FAIL_TOOL;
	vm->is_private |= is_said && flow_may_tell(vm);
	vm->n_trace = 0;
	for (uint32_t i = vm->n_frames; i > first && vm->n_trace < VM_TRACE_MAX; i--) {
		const struct frame *f = &vm->frames[i - 1];
		size_t at = (size_t)(f->pc - f->code->ins);
		vm->trace[vm->n_trace++] =
			(struct trace){f->code->name, f->code->at[at > 0 ? at - 1 : 0]};
	}
}

static bool small_compare(uint32_t op, int64_t a, int64_t b)
{
	switch (op) {
	case CMP_EQ:
		return a == b;
	case CMP_NE:
		return a != b;
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_GT:
		return a > b;
	default:
		return a >= b;
	}
}

int vm_broken(struct vm *vm, const struct frame *f, const char *what)
{
	return heap_fail(vm->h, "internal error: the %s of instruction %td of %.80s is wrong", what,
		f->pc - f->code->ins - 1, f->code->name.str->data);
}

#define NEXT()                                                                                     \
	do {                                                                                       \
		i = pc++;                                                                          \
		goto *labels[i->op];                                                               \
	} while (0)
#define TRY(call)                                                                                  \
	do {                                                                                       \
		f->pc = pc;                                                                        \
		if ((call) < 0)                                                                    \
			return -1;                                                                 \
	} while (0)
#define FRAME()                                                                                    \
	do {                                                                                       \
		f = &vm->frames[vm->n_frames - 1];                                                 \
		pc = f->pc;                                                                        \
		r = f->base;                                                                       \
	} while (0)
#define CALLED(call)                                                                               \
	do {                                                                                       \
		f->pc = pc;                                                                        \
		int rc_ = (call);                                                                  \
		if (rc_ < 0)                                                                       \
			return -1;                                                                 \
		if (rc_ > 0 && vm->called)                                                         \
			return 1;                                                                  \
		if (rc_ > 0)                                                                       \
			FRAME();                                                                   \
	} while (0)

#define LABELS 0
#include "plan/machine/loop.inc"
#define LABELS 1
#include "plan/machine/loop.inc"

static enum vm_state go(struct vm *vm, uint32_t first, struct val *out)
{
	vm->n_nested++;
	int rc = vm->flow.all ? run_labels(vm, out) : run_plain(vm, out);
	/* If a label could not be created, the result may lack labels, so discard it. */
	if (rc >= 0 && vm->flow.all && labels_has_failed(vm->flow.all))
		rc = heap_fail_kind(vm->h, FAIL_MEMORY, "out of memory: too many different labels");
	vm->n_nested--;
	if (rc < 0 && vm->n_nested == 0)
		record_trace(vm, first);
	return rc < 0 ? VM_FAILED : rc > 0 ? VM_CALLED : VM_DONE;
}

enum vm_state vm_run(struct vm *vm, struct val *out)
{
	vm->called = NULL;
	return go(vm, 0, out);
}

void vm_trace(struct vm *vm)
{
	record_trace(vm, 0);
}

void vm_answer(struct vm *vm, struct val value)
{
	*vm->call_dest = value;
	vm->called = NULL;
}

int vm_call(struct vm *vm, struct val fn, const struct args *args, struct val *out)
{
	if (vm->n_nested >= NESTED_MAX)
		return heap_fail_kind(vm->h, FAIL_DEPTH,
			"built-ins call functions deeper than %d levels", NESTED_MAX / 2);
	struct val result = VAL_NONE;
	vm->n_nested++;
	int r = call_value(vm, fn, args, &result);
	if (r > 0) {
		vm->frames[vm->n_frames - 1].is_entry = true;
		r = go(vm, 0, &result) == VM_DONE ? 0 : -1;
	}
	vm->n_nested--;
	if (r == 0)
		*out = result;
	if (r == 0 && vm->flow.all)
		vm->flow.called = flow_join(vm, vm->flow.called, flow_whole(vm, result));
	return r;
}
