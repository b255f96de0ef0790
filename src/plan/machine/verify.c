/*
 * The bytecode verifier. The machine's loop trusts the code: the loop checks no register number and
 * no jump target. So a bug in the compiler would become a memory error that a plan might exploit.
 * This pass checks each operand of each instruction against its kind in op.def, each jump, each
 * table and each region, once, before the code runs. A failure is an internal error that ends the
 * plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/verify.h"

#include "plan/machine/vm.h"
#include "plan/value/int.h"

/* What an operand of an instruction in op.def may be. */
enum operand {
	NO,
	NUMBER,	      /* any number */
	IN,	      /* a register that is read; it must not contain a cell */
	OUT,	      /* a register that is written; it must not contain a cell */
	IN_OR_NUMBER, /* a register, or a number if c is set */
	/* The first of the registers that contain the default values of the function
	 * functions[b]. If this function has no default values, no register is read, so the
	 * operand may be any number. */
	IN_OR_END,
	CELL, /* a register that contains a cell */
	CAPTURED,
	/* The first of several registers that the instruction uses. Operand c is the number of
	 * these registers. */
	MANY,
	/* Operand b of OP_SLICE. This register contains the value that is sliced. The next three
	 * registers contain the bounds of the slice. */
	FOUR,
	/* A register that contains what is called: a function, or the receiver of a method.
	 * Operand b is the number of arguments, which are in the next b registers. */
	CALLED,
	OPERATION,
	NAME, /* the index of a string in `consts` */
	FORMAT,
	SHAPE,
	FUNCTION,
	J_NUMBER,
	J_CONST,
	J_GLOBAL,
	J_JUMP,
	J_REGION,
};

static const uint8_t operands[N_OPS][3] = {
#define X(name, a, b, c) [OP_##name] = {a, b, c},
#include "plan/machine/op.def"
};

static const char *const names[N_OPS] = {
#define X(name, a, b, c) #name,
#include "plan/machine/op.def"
};

struct verifier {
	struct heap *h;
	const struct code *file, *code;
	const struct verifier *outer; /* verifier of the enclosing function; NULL for the file */
	bool *cells;		      /* per register: whether it contains a cell */
	uint32_t at;		      /* index of the instruction that is being checked */
};

static int broken(const struct verifier *v, const char *what, uint32_t value)
{
	const struct code *code = v->code;
	const char *name = code->name.type == T_STRING ? code->name.str->data : "";
	const char *op = v->at < code->n_ins && code->ins[v->at].op < N_OPS
		? names[code->ins[v->at].op]
		: "its tables";
	return heap_fail(v->h, "internal error: the code of %.80s is wrong: %s %u at %u (%s)", name,
		what, value, v->at, op);
}

static bool is_cell(const struct verifier *v, uint32_t reg)
{
	return reg < v->code->n_registers && v->cells[reg];
}

static bool is_register(const struct verifier *v, uint32_t reg)
{
	return reg < v->code->n_registers && !v->cells[reg];
}

/* Return whether the @n registers from @from on exist and contain no cells. If @n is 0, @from
 * may be any number. */
static bool are_registers(const struct verifier *v, uint32_t from, uint64_t n)
{
	if (from + n > v->code->n_registers)
		return n == 0;
	/* Only the registers of variables may contain cells, so stop at n_slots. */
	for (uint64_t i = from; i < from + n && i < v->code->n_slots; i++)
		if (v->cells[i])
			return false;
	return true;
}

static bool is_name(const struct code *code, uint32_t at)
{
	return at < code->n_consts && code->consts[at].type == T_STRING;
}

static bool is_shape(const struct verifier *v, uint32_t at, uint32_t from)
{
	if (at >= v->code->n_shapes)
		return false;
	const struct call_shape *s = &v->code->shapes[at];
	return are_registers(v, from,
		(uint64_t)1 + s->n_positional + s->n_named + s->has_star + s->has_starstar);
}

static bool is_jump(const struct verifier *v, int32_t j)
{
	int64_t to = (int64_t)v->at + 1 + j;
	return to >= 0 && to < v->code->n_ins;
}

static bool is_operand(const struct verifier *v, enum operand kind, uint32_t x, struct ins i)
{
	const struct code *code = v->code;
	switch ((int)kind) {
	case IN:
	case OUT:
		return is_register(v, x);
	case IN_OR_NUMBER:
		return i.c || is_register(v, x);
	case IN_OR_END:
		return i.b < code->n_functions &&
			are_registers(v, x, code->functions[i.b]->n_defaults);
	case CELL:
		return is_cell(v, x);
	case CAPTURED:
		return x < code->n_captures;
	case MANY:
		return are_registers(v, x, i.c);
	case FOUR:
		return are_registers(v, x, 4);
	case CALLED:
		return are_registers(v, x, (uint64_t)1 + i.b);
	case OPERATION:
		return x <= NUM_SHR;
	case NAME:
		return is_name(code, x);
	case FORMAT:
		return x == NO_FORMAT || is_name(code, x);
	case SHAPE:
		return is_shape(v, x, i.a);
	case FUNCTION:
		return x < code->n_functions;
	case J_CONST:
		return (uint32_t)i.j < code->n_consts;
	case J_GLOBAL:
		return (uint32_t)i.j < v->file->n_slots;
	case J_JUMP:
		return is_jump(v, i.j);
	case J_REGION:
		return (uint32_t)i.j < code->n_writes;
	default:
		return true;
	}
}

/*
 * Return whether both conditions hold:
 * - The field x of the instruction @i is valid.
 * - If @i is OP_JUMP_CMP or OP_NEXT, the next instruction is a jump.
 */
static bool is_rest(const struct verifier *v, struct ins i)
{
	const struct code *code = v->code;
	switch (i.op) {
	case OP_INT:
		return i.x < 4;
	case OP_ADD_INT:
		return i.x >> 1 < 4;
	case OP_COMPARE:
		return i.x <= CMP_IS_NOT;
	case OP_UNPACK:
		return i.x <= i.c;
	case OP_JUMP_CMP:
	case OP_NEXT:
		return (i.op == OP_NEXT || i.x >> 1 <= CMP_IS_NOT) && v->at + 1 < code->n_ins &&
			code->ins[v->at + 1].op == OP_JUMP;
	default:
		return true;
	}
}

static int verify_ins(struct verifier *v)
{
	struct ins i = v->code->ins[v->at];
	if (i.op >= N_OPS)
		return broken(v, "instruction", i.op);
	const uint32_t x[] = {i.a, i.b, i.c};
	for (size_t k = 0; k < ARRAY_LEN(x); k++)
		if (!is_operand(v, (enum operand)operands[i.op][k], x[k], i))
			return broken(v, "operand", x[k]);
	return is_rest(v, i) ? 0 : broken(v, "detail", i.x);
}

static bool is_place(const struct verifier *v, struct write w)
{
	switch (w.where) {
	case IN_REGISTER:
		return is_register(v, w.index);
	case IN_CELL:
		return is_cell(v, w.index);
	case IN_CAPTURED:
		return w.index < v->code->n_captures;
	case IN_GLOBAL:
		return w.index < v->file->n_slots;
	default:
		return false;
	}
}

static int verify_region(const struct verifier *v, const struct writes *w)
{
	if (w->outer >= v->code->n_writes)
		return broken(v, "region", w->outer);
	/* A region is code that depends on a condition. Most regions save the guard in the
	 * register w->saved, and restore the guard at their end. The exception is writes[0], the
	 * region of the whole function. It ends only when the function returns, and a return
	 * restores the guard from the frame. So do not check the register for writes[0]. */
	if (w != v->code->writes && !is_register(v, w->saved))
		return broken(v, "saved register", w->saved);
	for (uint32_t i = 0; i < w->n; i++)
		if (!is_place(v, w->item[i]))
			return broken(v, "written variable", w->item[i].index);
	return 0;
}

static int verify_tables(struct verifier *v)
{
	const struct code *code = v->code;
	uint64_t n_params = (uint64_t)code->n_positional + code->n_named_only + code->has_args +
		code->has_kwargs;
	if (code->n_slots > code->n_registers || n_params > code->n_slots)
		return broken(v, "number of registers", code->n_registers);
	v->cells = heap_zero(v->h, code->n_registers + 1);
	if (!v->cells)
		return -1;
	for (uint32_t i = 0; i < code->n_cells; i++) {
		if (code->cells[i] >= code->n_slots)
			return broken(v, "cell", code->cells[i]);
		v->cells[code->cells[i]] = true;
	}
	for (uint32_t i = 0; i < code->n_captures; i++) {
		const struct capture *c = &code->captures[i];
		bool is_there = v->outer &&
			(c->is_local ? is_cell(v->outer, c->index)
				     : c->index < v->outer->code->n_captures);
		if (!is_there)
			return broken(v, "captured variable", c->index);
	}
	for (uint32_t i = 0; i < code->n_writes; i++)
		if (verify_region(v, &code->writes[i]) < 0)
			return -1;
	return code->n_ins && code->ins[code->n_ins - 1].op == OP_RETURN
		? 0
		: broken(v, "end", code->n_ins);
}

static int verify(struct verifier *v)
{
	if (heap_enter(v->h) < 0 || verify_tables(v) < 0)
		return -1;
	for (v->at = 0; v->at < v->code->n_ins; v->at++)
		if (verify_ins(v) < 0)
			return -1;
	for (uint32_t i = 0; i < v->code->n_functions; i++) {
		struct verifier inner = {.h = v->h,
			.file = v->file,
			.code = v->code->functions[i],
			.outer = v,
			.at = UINT32_MAX};
		if (verify(&inner) < 0)
			return -1;
	}
	heap_release(v->h, v->cells, v->code->n_registers + 1);
	heap_leave(v->h);
	return 0;
}

int code_verify(struct heap *h, const struct code *file)
{
	struct verifier v = {.h = h, .file = file, .code = file, .at = UINT32_MAX};
	return verify(&v);
}
