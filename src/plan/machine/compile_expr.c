/*
 * Compile expressions.
 *
 * expr() emits code that leaves a value in a register, and returns that register. The caller may
 * ask for a certain register. If the caller does not, reading a variable needs no instruction: the
 * variable's own register is returned.
 *
 * Conditions are compiled to jumps (jump_when()). A comparison in a condition is one instruction
 * that compares and jumps, so that `if a < b and c` creates no bools.
 *
 * An expression whose value is needed may also contain jumps: a chained comparison such as
 * `a < b < c`, `and`, `or`, and `x if c else y`. If values carry labels, the code of such an
 * expression is a region, that is code that depends on a condition (compile_flow.c).
 *
 * The code of a display (list, dict, set) creates an empty container and adds the elements one by
 * one or in batches. A comprehension is a loop around the same instructions.
 *
 * Literals get their labels here, at compile time. The instruction for a small number contains the
 * index of the label; other literals are in the table of constants, together with their labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/inside.h"

#include "plan/value/int.h"
#include "plan/value/str.h"

#include <string.h>

enum { BATCH = 32 };

uint32_t compile_dest(struct compiler *c, int64_t want)
{
	return want == ANYWHERE ? reserve(c, 1) : (uint32_t)want;
}

uint32_t expr_into(struct compiler *c, const struct node *node, uint32_t want)
{
	uint32_t r = expr(c, node, want);
	if (r != want)
		(void)emit(c, OP_MOVE, 0, want, r, 0);
	return want;
}

/* Find the label of the literal *v, and store it in v->label. An instruction with a number does
 * not contain the label of the number, but the index of the label in the table literals->number.
 * If the label is not in this table, add it. Returns: the index; -1 if the table is full. */
static int number_label(struct compiler *c, struct val *v)
{
	if (!c->literals || v->type < T_BOOL || v->type > T_BYTES)
		return 0;
	v->label = c->literals->label(c->literals->ctx, *v);
	for (int i = 0; i < 4; i++) {
		if (i > 0 && c->literals->number[i] == 0)
			c->literals->number[i] = v->label;
		if (c->literals->number[i] == v->label)
			return i;
	}
	return -1;
}

static uint32_t constant(struct compiler *c, struct val v, int64_t want)
{
	uint32_t d = compile_dest(c, want);
	int number = number_label(c, &v);
	if (v.type == T_INT && v.i >= INT32_MIN && v.i <= INT32_MAX && number >= 0) {
		uint32_t at = emit_jump(c, OP_INT, d, (int32_t)v.i);
		if (!c->has_failed)
			c->code->ins[at].x = (uint8_t)number;
	} else
		(void)emit_jump(c, OP_CONST, d, (int32_t)add_const(c, v));
	return d;
}

static uint32_t name(struct compiler *c, const struct node *node, int64_t want)
{
	const struct symbol *s = node->symbol;
	int64_t slot = plain_slot(c, node);
	c->at = node->start;
	if (slot >= 0) {
		if (!c->is_set[slot]) {
			(void)emit(c, OP_CHECK, 0, (uint32_t)slot, 0, 0);
			set_slot(c, (uint32_t)slot);
		}
		return (uint32_t)slot;
	}
	if (s->kind == SYMBOL_PREDECLARED)
		return constant(c, s->value, want);
	uint32_t d = compile_dest(c, want), i = 0;
	if (s->kind == SYMBOL_GLOBAL) {
		(void)emit_jump(c, OP_GLOBAL, d, (int32_t)s->slot);
	} else if (s->owner == c->scope) {
		(void)emit(c, OP_CELL, 0, d, s->slot, 0);
	} else {
		while (i < c->scope->n_captured && c->scope->captured[i] != s)
			i++;
		(void)emit(c, OP_CAPTURED, 0, d, i, 0);
	}
	return d;
}

/* Return whether @node is an integer literal that fits into an instruction. *out is set to @sign
 * times the integer, plus 32768. */
static bool is_short(const struct node *node, int64_t sign, uint32_t *out)
{
	if (node->kind != NODE_CONST || node->value.type != T_INT || node->value.i < -32000 ||
		node->value.i > 32000)
		return false;
	*out = (uint32_t)(sign * node->value.i + 32768);
	return true;
}

static enum op binary_op(uint8_t token)
{
	switch (token) {
	case TOK_PLUS:
		return OP_ADD;
	case TOK_MINUS:
		return OP_SUB;
	case TOK_STAR:
		return OP_MUL;
	case TOK_SLASH:
		return OP_DIV;
	case TOK_SLASHSLASH:
		return OP_FLOORDIV;
	case TOK_PERCENT:
		return OP_MOD;
	case TOK_STARSTAR:
		return OP_POW;
	case TOK_AMP:
		return OP_AND;
	case TOK_PIPE:
		return OP_OR;
	case TOK_CARET:
		return OP_XOR;
	case TOK_SHL:
		return OP_SHL;
	default:
		return OP_SHR;
	}
}

static uint32_t binary(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top, number;
	uint32_t a = expr(c, node->kid[0], ANYWHERE);
	bool is_sum = node->op == TOK_PLUS || node->op == TOK_MINUS;
	struct val literal = node->kid[1]->value;
	int label = is_sum && node->kid[1]->kind == NODE_CONST ? number_label(c, &literal) : 0;
	if (is_sum && label >= 0 &&
		is_short(node->kid[1], node->op == TOK_PLUS ? 1 : -1, &number)) {
		c->top = top;
		uint32_t d = compile_dest(c, want);
		c->at = node->at;
		(void)emit(c, OP_ADD_INT, (uint32_t)label << 1 | (node->op == TOK_MINUS), d, a,
			number);
		return d;
	}
	uint32_t b = expr(c, node->kid[1], ANYWHERE);
	c->top = top;
	uint32_t d = compile_dest(c, want);
	c->at = node->at;
	(void)emit(c, binary_op(node->op), 0, d, a, b);
	return d;
}

static uint32_t unary(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top;
	enum op op = node->kind == NODE_NOT ? OP_NOT
		: node->op == TOK_MINUS	    ? OP_NEGATE
		: node->op == TOK_PLUS	    ? OP_POSITIVE
					    : OP_INVERT;
	const struct node *x = node->kid[0];
	if (op == OP_NEGATE && x->kind == NODE_CONST && x->value.type == T_INT)
		return constant(c, VAL_INT(-x->value.i), want);
	uint32_t a = expr(c, x, ANYWHERE);
	c->top = top;
	uint32_t d = compile_dest(c, want);
	c->at = node->start;
	(void)emit(c, op, 0, d, a, 0);
	return d;
}

static uint32_t compare(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top;
	uint32_t a = expr(c, node->kid[0], ANYWHERE);
	uint32_t b = expr(c, node->kid[1], ANYWHERE);
	c->top = top;
	uint32_t d = compile_dest(c, want);
	c->at = node->at;
	(void)emit(c, OP_COMPARE, node->op, d, a, b);
	return d;
}

static const struct node *const *kids_of(const struct node *node)
{
	return (const struct node *const *)node->kid;
}

/* Compile `and` or `or`. The right side may be skipped, so variables that it assigns are not
 * definitely assigned afterwards. */
static uint32_t short_circuit(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t d = compile_dest(c, want), region = guarded_start(c, kids_of(node), node->n);
	guarded_writes(c, region, WRITE_NAME, d);
	(void)expr_into(c, node->kid[0], d);
	uint32_t mark = c->n_trail;
	uint32_t jump = emit_jump(c, node->kind == NODE_AND ? OP_JUMP_NOT : OP_JUMP_IF, d, 0);
	(void)expr_into(c, node->kid[1], d);
	patch(c, jump);
	unset_since(c, mark);
	guarded_end(c, region);
	return d;
}

static uint32_t chain(struct compiler *c, const struct node *node, int64_t want)
{
	struct jumps ends = {0};
	uint32_t d = compile_dest(c, want), mark = c->n_trail;
	uint32_t region = guarded_start(c, kids_of(node), node->n);
	guarded_writes(c, region, WRITE_NAME, d);
	uint32_t left = expr(c, node->kid[0], ANYWHERE);
	for (uint32_t i = 1; i < node->n; i++) {
		uint32_t right = expr(c, node->kid[i], ANYWHERE);
		c->at = node->kid[i]->start;
		(void)emit(c, OP_COMPARE, node->ops[i - 1], d, left, right);
		if (i + 1 < node->n)
			jumps_add(c, &ends, emit_jump(c, OP_JUMP_NOT, d, 0));
		left = right;
	}
	patch_all(c, &ends);
	unset_since(c, mark);
	guarded_end(c, region);
	return d;
}

static uint32_t if_else(struct compiler *c, const struct node *node, int64_t want)
{
	struct jumps otherwise = {0};
	uint32_t d = compile_dest(c, want);
	uint32_t region = guarded_start(c, kids_of(node), node->n), top = c->top;
	guarded_writes(c, region, WRITE_NAME, d);
	jump_when(c, node->kid[0], false, &otherwise);
	uint32_t mark = c->n_trail;
	(void)expr_into(c, node->kid[1], d);
	unset_since(c, mark);
	uint32_t end = emit_jump(c, OP_JUMP, 0, 0);
	patch_all(c, &otherwise);
	c->top = top;
	(void)expr_into(c, node->kid[2], d);
	unset_since(c, mark);
	patch(c, end);
	guarded_end(c, region);
	return d;
}

/* Compile a list display. The elements are added in batches, because a list may have more elements
 * than there are registers. */
static uint32_t list(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t d = compile_dest(c, want), i = 0;
	c->at = node->start;
	(void)emit_jump(c, OP_LIST, d, (int32_t)MIN(node->n, 1u << 20));
	while (i < node->n && !c->has_failed) {
		uint32_t top = c->top, n = 0;
		while (i + n < node->n && n < BATCH && node->kid[i + n]->kind != NODE_STARRED)
			n++;
		uint32_t first = reserve(c, MAX(n, 1u));
		for (uint32_t k = 0; k < n; k++)
			(void)expr_into(c, node->kid[i + k], first + k);
		if (n > 0)
			(void)emit(c, OP_APPEND, 0, d, first, n);
		i += n;
		if (i < node->n && node->kid[i]->kind == NODE_STARRED) {
			uint32_t x = expr(c, node->kid[i]->kid[0], ANYWHERE);
			c->at = node->kid[i++]->start;
			(void)emit(c, OP_EXTEND, 1, d, x, 0);
		}
		c->top = top;
	}
	return d;
}

static uint32_t tuple(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top;
	bool is_long = node->n > 256;
	for (uint32_t i = 0; i < node->n; i++)
		is_long |= node->kid[i]->kind == NODE_STARRED;
	if (is_long) {
		uint32_t x = list(c, node, ANYWHERE);
		c->top = top;
		uint32_t d = compile_dest(c, want);
		(void)emit(c, OP_TO_TUPLE, 0, d, x, 0);
		return d;
	}
	uint32_t first = reserve(c, node->n);
	for (uint32_t i = 0; i < node->n; i++)
		(void)expr_into(c, node->kid[i], first + i);
	c->top = top;
	uint32_t d = compile_dest(c, want);
	(void)emit(c, OP_TUPLE, 0, d, first, node->n);
	return d;
}

static uint32_t dict(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t d = compile_dest(c, want);
	(void)emit(c, OP_DICT, 0, d, 0, 0);
	for (uint32_t i = 0; i + 1 < node->n; i += 2) {
		uint32_t top = c->top;
		if (!node->kid[i]) {
			uint32_t other = expr(c, node->kid[i + 1], ANYWHERE);
			(void)emit(c, OP_UPDATE, 0, d, other, 0);
		} else {
			uint32_t k = expr(c, node->kid[i], ANYWHERE);
			uint32_t v = expr(c, node->kid[i + 1], ANYWHERE);
			c->at = node->kid[i]->start;
			(void)emit(c, OP_PUT, 1, d, k, v);
		}
		c->top = top;
	}
	return d;
}

static uint32_t set(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t d = compile_dest(c, want);
	(void)emit(c, OP_SET, 0, d, 0, 0);
	for (uint32_t i = 0; i < node->n; i++) {
		uint32_t top = c->top;
		bool is_star = node->kid[i]->kind == NODE_STARRED;
		uint32_t x = expr(c, is_star ? node->kid[i]->kid[0] : node->kid[i], ANYWHERE);
		c->at = node->kid[i]->start;
		(void)emit(c, OP_INSERT, is_star, d, x, 0);
		c->top = top;
	}
	return d;
}

static void comprehension_body(struct compiler *c, const struct node *node, uint32_t d)
{
	uint32_t k = expr(c, node->kid[0], ANYWHERE);
	c->at = node->kid[0]->start;
	if (node->kind == NODE_LIST_COMP) {
		(void)emit(c, OP_APPEND, 0, d, k, 1);
	} else if (node->kind == NODE_SET_COMP) {
		(void)emit(c, OP_INSERT, 0, d, k, 0);
	} else {
		uint32_t v = expr(c, node->kid[1], ANYWHERE);
		c->at = node->kid[0]->start;
		(void)emit(c, OP_PUT, 0, d, k, v);
	}
}

static void clauses(struct compiler *c, const struct node *node, uint32_t i, uint32_t d)
{
	uint32_t top = c->top, start, region = 0;
	if (i < node->n) {
		/* This clause begins a region, which is code that depends on a condition. The
		 * write set of a region lists what the region may change. Compute the write set
		 * from all parts of the comprehension, not only from the parts inside this
		 * clause: if the clause is inside an outer loop, that loop runs the clause
		 * again. */
		region = guarded_start(c, kids_of(node), node->n);
		guarded_writes(c, region, WRITE_VALUE, d);
	}
	if (i == node->n) {
		comprehension_body(c, node, d);
	} else if (node->kid[i]->kind == NODE_CLAUSE_IF) {
		struct jumps skip = {0};
		jump_when(c, node->kid[i]->kid[0], false, &skip);
		clauses(c, node, i + 1, d);
		patch_all(c, &skip);
	} else {
		uint32_t exit = loop_start(c, node->kid[i]->kid[0], node->kid[i]->kid[1], &start);
		clauses(c, node, i + 1, d);
		loop_end(c, start, exit);
		(void)emit(c, OP_END_ITER, --c->n_iterators, 0, 0, 0);
	}
	if (i < node->n)
		guarded_end(c, region);
	c->top = top;
}

uint32_t comprehension(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t d = compile_dest(c, want), mark = c->n_trail;
	if (node->kind == NODE_LIST_COMP)
		(void)emit_jump(c, OP_LIST, d, 0);
	else
		(void)emit(c, node->kind == NODE_SET_COMP ? OP_SET : OP_DICT, 0, d, 0, 0);
	clauses(c, node, node->kind == NODE_DICT_COMP ? 2 : 1, d);
	unset_since(c, mark);
	return d;
}

static uint32_t slice(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top, base = reserve(c, 4);
	for (uint32_t i = 0; i < 4; i++)
		if (node->kid[i])
			(void)expr_into(c, node->kid[i], base + i);
		else
			(void)emit_jump(c, OP_CONST, base + i, (int32_t)add_const(c, VAL_NONE));
	c->top = top;
	uint32_t d = compile_dest(c, want);
	c->at = node->at;
	(void)emit(c, OP_SLICE, 0, d, base, 0);
	return d;
}

/* Return the label of the literal parts of an f-string. They are labelled as one text. */
static uint32_t form_label(struct compiler *c, const struct node *node)
{
	struct val form;
	if (!c->literals)
		return 0;
	if (tree_form(c->h, node, &form) < 0) {
		c->has_failed = true;
		return 0;
	}
	return c->literals->label(c->literals->ctx, form);
}

static uint32_t f_string(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top, base = reserve(c, node->n), label = form_label(c, node);
	for (uint32_t i = 0; i < node->n; i++) {
		const struct node *part = node->kid[i];
		uint32_t inner = c->top;
		if (part->kind == NODE_F_PART) {
			uint32_t x = expr(c, part->kid[0], ANYWHERE);
			uint32_t format =
				part->kid[1] ? add_const(c, part->kid[1]->value) : NO_FORMAT;
			c->at = part->start;
			(void)emit(c, OP_FORMAT, part->op, base + i, x, format);
		} else {
			struct val piece = part->value;
			piece.label = label;
			c->at = part->at;
			(void)emit_jump(c, OP_CONST, base + i, (int32_t)add_const(c, piece));
		}
		c->top = inner;
	}
	c->top = top;
	uint32_t d = compile_dest(c, want);
	(void)emit(c, OP_JOIN, 0, d, base, node->n);
	return d;
}

static uint32_t access(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top, x = expr(c, node->kid[0], ANYWHERE);
	uint32_t i = node->kind == NODE_INDEX ? expr(c, node->kid[1], ANYWHERE)
					      : add_const(c, node->value);
	c->top = top;
	uint32_t d = compile_dest(c, want);
	c->at = node->at;
	(void)emit(c, node->kind == NODE_INDEX ? OP_INDEX : OP_DOT, 0, d, x, i);
	return d;
}

uint32_t expr(struct compiler *c, const struct node *node, int64_t want)
{
	if (c->has_failed)
		return 0;
	switch ((int)node->kind) {
	case NODE_CONST:
		return constant(c, node->value, want);
	case NODE_NAME:
		return name(c, node, want);
	case NODE_BINARY:
		return binary(c, node, want);
	case NODE_NOT:
	case NODE_UNARY:
		return unary(c, node, want);
	case NODE_COMPARE:
		return compare(c, node, want);
	case NODE_CHAIN:
		return chain(c, node, want);
	case NODE_AND:
	case NODE_OR:
		return short_circuit(c, node, want);
	case NODE_IF_ELSE:
		return if_else(c, node, want);
	case NODE_CALL:
		return call(c, node, want);
	case NODE_INDEX:
	case NODE_DOT:
		return access(c, node, want);
	case NODE_SLICE:
		return slice(c, node, want);
	case NODE_LIST:
		return list(c, node, want);
	case NODE_TUPLE:
		return tuple(c, node, want);
	case NODE_DICT:
		return dict(c, node, want);
	case NODE_SET:
		return set(c, node, want);
	case NODE_F_STRING:
		return f_string(c, node, want);
	case NODE_LAMBDA:
		return function(c, node, want);
	default:
		return comprehension(c, node, want);
	}
}

static void jump_compare(struct compiler *c, const struct node *node, bool sense, struct jumps *out)
{
	uint32_t top = c->top, number;
	uint32_t a = expr(c, node->kid[0], ANYWHERE);
	bool is_number = node->op <= CMP_GE && is_short(node->kid[1], 1, &number);
	uint32_t b = is_number ? number : expr(c, node->kid[1], ANYWHERE);
	c->top = top;
	c->at = node->at;
	(void)emit(c, OP_JUMP_CMP, (uint32_t)node->op << 1 | sense, a, b, is_number);
	jumps_add(c, out, emit_jump(c, OP_JUMP, 0, 0));
}

void jump_when(struct compiler *c, const struct node *node, bool sense, struct jumps *out)
{
	uint32_t top = c->top, mark;
	struct jumps skip = {0};
	if (node->kind == NODE_NOT) {
		jump_when(c, node->kid[0], !sense, out);
	} else if (node->kind == NODE_AND || node->kind == NODE_OR) {
		bool is_both = (node->kind == NODE_AND) != sense;
		jump_when(c, node->kid[0], is_both ? sense : !sense, is_both ? out : &skip);
		mark = c->n_trail;
		jump_when(c, node->kid[1], sense, out);
		unset_since(c, mark);
		patch_all(c, &skip);
	} else if (node->kind == NODE_COMPARE) {
		jump_compare(c, node, sense, out);
	} else {
		uint32_t r = expr(c, node, ANYWHERE);
		c->at = node->start;
		jumps_add(c, out, emit_jump(c, sense ? OP_JUMP_IF : OP_JUMP_NOT, r, 0));
	}
	c->top = top;
}
