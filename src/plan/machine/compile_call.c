/*
 * Compile calls and function values.
 *
 * The function and its arguments are evaluated in source order into consecutive registers, so that
 * the machine can pass them without copying them first. The kind of the call selects the
 * instruction:
 * - A call with only positional arguments is the instruction CALL with the number of arguments.
 * - A call of a method with only positional arguments is the instruction METHOD, which creates no
 *   bound method.
 * - A call with named arguments, * or ** is the instruction CALL_SHAPE with an index in a table of
 *   shapes. A shape says how many positional and named arguments there are, and contains the names.
 *
 * A nested function is compiled by a second struct compiler. The instruction FUNCTION creates a
 * value from the code of the nested function, the defaults in registers, and the captured cells.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/inside.h"

static uint32_t shape_of(struct compiler *c, const struct call_shape *shape)
{
	struct code *code = c->code;
	if (code->n_shapes == c->shape_room) {
		uint32_t room = c->shape_room ? c->shape_room * 2 : 8;
		struct call_shape *item =
			heap_regrow(c->h, code->shapes, code->n_shapes, room, sizeof *item);
		if (!item) {
			c->has_failed = true;
			return 0;
		}
		code->shapes = item;
		c->shape_room = room;
	}
	code->shapes[code->n_shapes] = *shape;
	return code->n_shapes++;
}

/* Emit code that evaluates the arguments in source order. Their registers are in the order
 * positional, named, *args, **kwargs. Returns: the index of the call's shape in `shapes`. */
static uint32_t call_shape(struct compiler *c, const struct node *node, uint32_t base)
{
	struct call_shape shape = {0};
	for (uint32_t i = 1; i < node->n; i++) {
		uint8_t kind = node->kid[i]->kind;
		shape.n_named += kind == NODE_ARG_NAMED;
		shape.has_star |= kind == NODE_ARG_STAR;
		shape.has_starstar |= kind == NODE_ARG_STARSTAR;
		shape.n_positional += kind != NODE_ARG_NAMED && kind != NODE_ARG_STAR &&
			kind != NODE_ARG_STARSTAR;
	}
	shape.names = heap_alloc(c->h, shape.n_named * sizeof *shape.names);
	uint32_t at = base + 1, named = at + shape.n_positional, n = 0;
	uint32_t star = named + shape.n_named;
	(void)reserve(c, node->n - 1);
	for (uint32_t i = 1; shape.names && i < node->n; i++) {
		const struct node *arg = node->kid[i];
		if (arg->kind == NODE_ARG_NAMED) {
			shape.names[n] = arg->value;
			/* The name may become a key in the **kwargs of the callee, so label it like
			 * any literal. */
			if (c->literals)
				shape.names[n].label =
					c->literals->label(c->literals->ctx, arg->value);
			(void)expr_into(c, arg->kid[0], named + n++);
		} else if (arg->kind == NODE_ARG_STAR) {
			(void)expr_into(c, arg->kid[0], star);
		} else if (arg->kind == NODE_ARG_STARSTAR) {
			(void)expr_into(c, arg->kid[0], star + shape.has_star);
		} else {
			(void)expr_into(c, arg, at++);
		}
	}
	c->has_failed |= !shape.names;
	return shape_of(c, &shape);
}

uint32_t call(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top, base = reserve(c, 1), n = node->n - 1;
	const struct node *fn = node->kid[0];
	bool is_plain = true;
	for (uint32_t i = 1; i < node->n; i++)
		is_plain &= node->kid[i]->kind != NODE_ARG_NAMED &&
			node->kid[i]->kind != NODE_ARG_STAR &&
			node->kid[i]->kind != NODE_ARG_STARSTAR;
	bool is_method = fn->kind == NODE_DOT && is_plain;
	(void)expr_into(c, is_method ? fn->kid[0] : fn, base);
	if (!is_plain) {
		uint32_t shape = call_shape(c, node, base);
		c->at = node->at;
		c->top = top;
		uint32_t d = compile_dest(c, want);
		(void)emit(c, OP_CALL_SHAPE, 0, base, shape, d);
		return d;
	}
	uint32_t first = reserve(c, n);
	for (uint32_t i = 0; i < n; i++)
		(void)expr_into(c, node->kid[i + 1], first + i);
	c->at = is_method ? fn->at : node->at;
	c->top = top;
	uint32_t d = compile_dest(c, want);
	if (is_method)
		(void)emit(c, OP_METHOD, 0, base, n, add_const(c, fn->value));
	else
		(void)emit(c, OP_CALL, 0, base, n, d);
	if (is_method && d != base)
		(void)emit(c, OP_MOVE, 0, d, base, 0);
	return d;
}

uint32_t function(struct compiler *c, const struct node *node, int64_t want)
{
	uint32_t top = c->top, first = node->kind == NODE_DEF ? 1 : 0, at;
	bool is_named = false;
	struct code *code = c->code;
	for (uint32_t i = first; i < first + node->n_params; i++) {
		const struct node *param = node->kid[i];
		is_named |= param->op == TOK_STAR;
		if (param->op != TOK_EOF || (!param->kid[0] && !is_named))
			continue;
		at = reserve(c, 1);
		if (param->kid[0])
			(void)expr_into(c, param->kid[0], at);
		else
			(void)emit_jump(c, OP_CONST, at, (int32_t)add_const(c, VAL_UNSET));
	}
	struct code *made = c->has_failed ? NULL : compile_function(c, node);
	if (code->n_functions == c->function_room) {
		uint32_t room = c->function_room ? c->function_room * 2 : 8;
		struct code **item = heap_regrow(c->h, code->functions, code->n_functions, room,
			sizeof *item); /* NOLINT(bugprone-sizeof-expression): an array of pointers
					*/
		made = item ? made : NULL;
		if (item) {
			code->functions = item;
			c->function_room = room;
		}
	}
	c->has_failed |= !made;
	if (!made)
		return 0;
	code->functions[code->n_functions++] = made;
	c->top = top;
	uint32_t d = compile_dest(c, want);
	c->at = node->start;
	(void)emit(c, OP_FUNCTION, 0, d, code->n_functions - 1, top);
	return d;
}
