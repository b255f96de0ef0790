/*
 * The compiler: translate the resolved tree to code for a register machine, in one pass over the
 * tree, one function at a time. This file compiles statements and functions, compile_expr.c
 * compiles expressions, and compile_call.c compiles calls. compile_flow.c computes the write sets,
 * which only labels need.
 *
 * The first registers of a function are its variables. After them is a stack of temporaries
 * (reserve()). A variable that nested functions capture is stored in a cell, to which its register
 * points. A jump forward is emitted without a target. When its target is reached, the jump is
 * patched (struct jumps).
 *
 * The compiler tracks which variables are definitely assigned (is_set). Reading such a variable
 * needs no check at run time. The trail records the order in which variables were marked, so that
 * the marks that were set in a branch can be removed after the branch (unset_since()).
 *
 * If values carry labels (c->literals is set), each construct that branches is enclosed in a
 * region, so that the machine can track implicit flows. Without labels, the same code is emitted
 * without regions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/inside.h"

#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

static void give_up(struct compiler *c, const char *why)
{
	c->has_failed = true;
	(void)heap_fail_kind(c->h, FAIL_DEPTH, "the program is too large: %s", why);
}

static bool grow(struct compiler *c, void **p, uint32_t n, uint32_t *room, size_t size)
{
	if (n < *room)
		return true;
	uint32_t now = *room ? *room * 2 : 16;
	void *item = heap_regrow(c->h, *p, n, now, size);
	if (!item) {
		c->has_failed = true;
		return false;
	}
	heap_release(c->h, *p, *room * size);
	*p = item;
	*room = now;
	return true;
}

static uint32_t emit_ins(struct compiler *c, struct ins ins)
{
	struct code *code = c->code;
	uint32_t room = c->ins_room;
	if (!grow(c, (void **)&code->at, code->n_ins, &room, sizeof *code->at) ||
		!grow(c, (void **)&code->ins, code->n_ins, &c->ins_room, sizeof ins))
		return 0;
	code->ins[code->n_ins] = ins;
	code->at[code->n_ins] = c->at;
	return code->n_ins++;
}

uint32_t emit(struct compiler *c, enum op op, uint32_t x, uint32_t a, uint32_t b, uint32_t cc)
{
	if (x > 255 || a > UINT16_MAX || b > UINT16_MAX || cc > UINT16_MAX) {
		give_up(c, "a function of more than 60,000 values");
		return 0;
	}
	return emit_ins(c,
		(struct ins){.op = (uint8_t)op,
			.x = (uint8_t)x,
			.a = (uint16_t)a,
			.b = (uint16_t)b,
			.c = (uint16_t)cc});
}

uint32_t emit_jump(struct compiler *c, enum op op, uint32_t a, int32_t j)
{
	if (a > UINT16_MAX)
		give_up(c, "a function of more than 60,000 values");
	return emit_ins(c, (struct ins){.op = (uint8_t)op, .a = (uint16_t)a, .j = j});
}

void patch_to(struct compiler *c, uint32_t from, uint32_t to)
{
	if (!c->has_failed)
		c->code->ins[from].j = (int32_t)to - (int32_t)from - 1;
}

void patch(struct compiler *c, uint32_t from)
{
	patch_to(c, from, c->code->n_ins);
}

void jumps_add(struct compiler *c, struct jumps *jumps, uint32_t at)
{
	if (grow(c, (void **)&jumps->item, jumps->n, &jumps->room, sizeof at))
		jumps->item[jumps->n++] = at;
}

void patch_all(struct compiler *c, struct jumps *jumps)
{
	for (uint32_t i = 0; i < jumps->n; i++)
		patch(c, jumps->item[i]);
	heap_release(c->h, jumps->item, jumps->room * sizeof *jumps->item);
	*jumps = (struct jumps){0};
}

uint32_t add_const(struct compiler *c, struct val v)
{
	struct code *code = c->code;
	bool is_shared = v.type == T_STRING;
	if (is_shared) {
		int64_t at = table_find(c->h, c->const_index, v);
		if (at >= 0)
			return (uint32_t)c->const_index->entry[at].value.i;
	}
	if (!grow(c, (void **)&code->consts, code->n_consts, &c->const_room, sizeof v))
		return 0;
	if (is_shared && table_put(c->h, c->const_index, v, VAL_INT(code->n_consts)) < 0)
		c->has_failed = true;
	code->consts[code->n_consts] = v;
	return code->n_consts++;
}

uint32_t reserve(struct compiler *c, uint32_t n)
{
	uint32_t first = c->top;
	c->top += n;
	if (c->top > REGISTER_MAX)
		give_up(c, "a function of more than 60,000 values");
	c->code->n_registers = MAX(c->code->n_registers, c->top);
	return first;
}

void set_slot(struct compiler *c, uint32_t slot)
{
	if (c->is_set[slot])
		return;
	c->is_set[slot] = true;
	c->trail[c->n_trail++] = slot;
}

void unset_since(struct compiler *c, uint32_t mark)
{
	while (c->n_trail > mark)
		c->is_set[c->trail[--c->n_trail]] = false;
}

int64_t plain_slot(const struct compiler *c, const struct node *name)
{
	if (name->kind != NODE_NAME || !name->symbol || name->symbol->is_cell ||
		name->symbol->owner != c->scope || name->symbol->kind == SYMBOL_PREDECLARED)
		return -1;
	return name->symbol->slot;
}

static void unpack(struct compiler *c, const struct node *target, uint32_t from)
{
	uint32_t top = c->top, first = reserve(c, target->n), star = 0;
	for (uint32_t i = 0; i < target->n; i++)
		if (target->kid[i]->kind == NODE_STARRED)
			star = i + 1;
	c->at = target->start;
	if (star > 255)
		give_up(c, "a starred target behind more than 254 others");
	else
		(void)emit(c, OP_UNPACK, star, from, first, target->n);
	for (uint32_t i = 0; i < target->n; i++) {
		const struct node *one = target->kid[i];
		compile_assign(c, one->kind == NODE_STARRED ? one->kid[0] : one, first + i);
	}
	c->top = top;
}

void compile_assign(struct compiler *c, const struct node *target, uint32_t from)
{
	uint32_t top = c->top;
	int64_t slot = plain_slot(c, target);
	if (slot >= 0) {
		if (from != (uint32_t)slot)
			(void)emit(c, OP_MOVE, 0, (uint32_t)slot, from, 0);
		set_slot(c, (uint32_t)slot);
	} else if (target->kind == NODE_NAME) {
		(void)emit(c, OP_SET_CELL, 0, target->symbol->slot, from, 0);
	} else if (target->kind == NODE_INDEX) {
		uint32_t x = expr(c, target->kid[0], ANYWHERE);
		uint32_t i = expr(c, target->kid[1], ANYWHERE);
		c->at = target->at;
		(void)emit(c, OP_SET_INDEX, 0, x, i, from);
	} else if (target->kind == NODE_DOT) {
		uint32_t x = expr(c, target->kid[0], ANYWHERE);
		c->at = target->at;
		(void)emit(c, OP_SET_DOT, 0, x, add_const(c, target->value), 0);
	} else {
		unpack(c, target, from);
	}
	c->top = top;
}

/* Return whether the code of @node writes its result register before it has read all operands. If
 * so, an assignment such as x = [1, x] must not use the register of x for the result. */
static bool is_early(const struct node *node)
{
	switch ((int)node->kind) {
	case NODE_AND:
	case NODE_OR:
	case NODE_CHAIN:
	case NODE_LIST:
	case NODE_DICT:
	case NODE_SET:
	case NODE_LIST_COMP:
	case NODE_SET_COMP:
	case NODE_DICT_COMP:
		return true;
	case NODE_IF_ELSE:
		return is_early(node->kid[1]) || is_early(node->kid[2]);
	default:
		return false;
	}
}

static void assignment(struct compiler *c, const struct node *node)
{
	const struct node *target = node->kid[0], *value = node->kid[1];
	int64_t slot = plain_slot(c, target);
	uint32_t from = expr(c, value, slot >= 0 && !is_early(value) ? slot : ANYWHERE);
	c->at = node->at;
	compile_assign(c, target, from);
}

static enum num_op operation(uint8_t token)
{
	static const uint8_t tokens[] = {TOK_PLUS, TOK_MINUS, TOK_STAR, TOK_SLASH, TOK_SLASHSLASH,
		TOK_PERCENT, TOK_STARSTAR, TOK_AMP, TOK_PIPE, TOK_CARET, TOK_SHL, TOK_SHR};
	for (size_t i = 0; i < sizeof tokens; i++)
		if (tokens[i] == token)
			return (enum num_op)i;
	return NUM_ADD;
}

static void augmented(struct compiler *c, const struct node *node)
{
	const struct node *target = node->kid[0];
	uint32_t op = operation(node->op), x = 0, i = 0, value;
	if (target->kind == NODE_INDEX) {
		x = expr(c, target->kid[0], ANYWHERE);
		i = expr(c, target->kid[1], ANYWHERE);
		value = reserve(c, 1);
		c->at = target->at;
		(void)emit(c, OP_INDEX, 0, value, x, i);
	} else {
		value = expr_into(c, target, reserve(c, 1));
	}
	uint32_t right = expr(c, node->kid[1], ANYWHERE);
	c->at = node->at;
	(void)emit(c, OP_AUGMENT, 0, value, right, op);
	if (target->kind == NODE_INDEX)
		(void)emit(c, OP_SET_INDEX, 0, x, i, value);
	else
		compile_assign(c, target, value);
}

/* Compile an `if`. Afterwards a variable is definitely assigned if there is an else and all
 * branches assign the variable. */
static void if_statement(struct compiler *c, const struct node *node)
{
	struct jumps ends = {0};
	uint32_t mark = c->n_trail, n_branches = node->n / 2 + 1;
	uint32_t region = guarded_start(c, (const struct node *const *)node->kid, node->n);
	uint16_t *count = heap_zero(c->h, c->scope->n_slots * sizeof *count + 1);
	uint32_t i = 0;
	for (; count && i < node->n; i += 2) {
		struct jumps next = {0};
		bool is_else = i + 1 == node->n;
		if (!is_else)
			jump_when(c, node->kid[i], false, &next);
		block(c, node->kid[is_else ? i : i + 1]);
		for (uint32_t k = mark; k < c->n_trail; k++)
			count[c->trail[k]]++;
		unset_since(c, mark);
		if (i + 2 < node->n)
			jumps_add(c, &ends, emit_jump(c, OP_JUMP, 0, 0));
		patch_all(c, &next);
	}
	patch_all(c, &ends);
	guarded_end(c, region);
	if (!count)
		c->has_failed = true;
	for (uint32_t k = 0;
		count && node->n % 2 == 1 && n_branches < UINT16_MAX && k < c->scope->n_slots; k++)
		if (count[k] == n_branches)
			set_slot(c, k);
	if (count)
		heap_release(c->h, count, c->scope->n_slots * sizeof *count + 1);
}

uint32_t loop_start(
	struct compiler *c, const struct node *target, const struct node *iterable, uint32_t *start)
{
	uint32_t x = expr(c, iterable, ANYWHERE);
	int64_t slot = plain_slot(c, target);
	c->at = iterable->start;
	if (c->n_iterators > 200)
		give_up(c, "loops are nested too deeply");
	(void)emit(c, OP_ITER, c->n_iterators++, x, 0, 0);
	*start = c->code->n_ins;
	uint32_t dest = slot >= 0 ? (uint32_t)slot : reserve(c, 1);
	(void)emit(c, OP_NEXT, c->n_iterators - 1, dest, 0, 0);
	uint32_t exit = emit_jump(c, OP_JUMP, 0, 0);
	compile_assign(c, target, dest);
	return exit;
}

void loop_end(struct compiler *c, uint32_t start, uint32_t exit)
{
	patch_to(c, emit_jump(c, OP_JUMP, 0, 0), start);
	patch(c, exit);
}

/* Return whether a loop body contains a break, continue or return. */
static bool has_jump(const struct node *node)
{
	if (node->kind == NODE_BREAK || node->kind == NODE_CONTINUE || node->kind == NODE_RETURN)
		return true;
	for (uint32_t i = 0; i < node->n && node->kind != NODE_DEF; i++)
		if (node->kid[i] && has_jump(node->kid[i]))
			return true;
	return false;
}

/* Compile the body of a loop. If the body contains a jump, make each iteration a region of its own.
 * A continue jumps to the end of this region, where the guard is restored. */
static void loop_body(struct compiler *c, struct loop *loop, const struct node *body)
{
	bool leaves = has_jump(body);
	loop->round = leaves ? guarded_start(c, &body, 1) : loop->region;
	c->loop = loop;
	block(c, body);
	c->loop = loop->outer;
	patch_all(c, &loop->continues);
	if (leaves)
		guarded_end(c, loop->round);
}

static void for_statement(struct compiler *c, const struct node *node)
{
	struct loop loop = {.outer = c->loop};
	uint32_t mark = c->n_trail;
	loop.region = guarded_start(c, &node, 1);
	uint32_t exit = loop_start(c, node->kid[0], node->kid[1], &loop.start);
	loop.n_iterators = c->n_iterators;
	loop_body(c, &loop, node->kid[2]);
	loop_end(c, loop.start, exit);
	patch_all(c, &loop.breaks);
	(void)emit(c, OP_END_ITER, --c->n_iterators, 0, 0, 0);
	guarded_end(c, loop.region);
	unset_since(c, mark);
}

static void while_statement(struct compiler *c, const struct node *node)
{
	struct loop loop = {.outer = c->loop, .n_iterators = c->n_iterators};
	uint32_t mark = c->n_trail;
	loop.region = guarded_start(c, &node, 1);
	loop.start = c->code->n_ins;
	(void)emit(c, OP_STEP, 0, 0, 0, 0);
	jump_when(c, node->kid[0], false, &loop.breaks);
	loop_body(c, &loop, node->kid[1]);
	patch_to(c, emit_jump(c, OP_JUMP, 0, 0), loop.start);
	patch_all(c, &loop.breaks);
	guarded_end(c, loop.region);
	unset_since(c, mark);
}

static void leave(struct compiler *c, bool is_break)
{
	uint32_t jump = emit_jump(c, OP_JUMP, 0, 0);
	guarded_left(c, is_break ? c->loop->region : c->loop->round);
	if (is_break)
		jumps_add(c, &c->loop->breaks, jump);
	else if (c->literals)
		jumps_add(c, &c->loop->continues, jump);
	else
		patch_to(c, jump, c->loop->start);
}

static void load(struct compiler *c, const struct node *node)
{
	uint32_t module = add_const(c, node->kid[0]->value);
	for (uint32_t i = 1; i < node->n; i++) {
		uint32_t top = c->top, dest = reserve(c, 1);
		c->at = node->kid[i]->start;
		(void)emit(c, OP_LOAD, 0, dest, module, add_const(c, node->kid[i]->value));
		compile_assign(c, node->kid[i]->kid[0], dest);
		c->top = top;
	}
}

/* If only one statement binds a global name, and this statement is a def, store the code of the
 * def in the symbol of the name. When a caller of the function is compiled, the stored code
 * tells whether the call may change containers that the function did not create. */
static void remember(struct compiler *c, const struct node *def)
{
	struct symbol *s = def->kid[0]->symbol;
	if (s && s->n_bound <= 1 && s->kind == SYMBOL_GLOBAL && c->code->n_functions > 0)
		s->code = c->code->functions[c->code->n_functions - 1];
}

static void statement(struct compiler *c, const struct node *node)
{
	uint32_t top = c->top;
	c->at = node->start;
	switch ((int)node->kind) {
	case NODE_EXPR:
		(void)expr(c, node->kid[0], ANYWHERE);
		break;
	case NODE_ASSIGN:
		assignment(c, node);
		break;
	case NODE_AUGMENTED:
		augmented(c, node);
		break;
	case NODE_IF:
		if_statement(c, node);
		break;
	case NODE_FOR:
		for_statement(c, node);
		break;
	case NODE_WHILE:
		while_statement(c, node);
		break;
	case NODE_DEF:
		compile_assign(c, node->kid[0], function(c, node, ANYWHERE));
		remember(c, node);
		break;
	case NODE_RETURN: {
		uint32_t r = node->kid[0] ? expr(c, node->kid[0], ANYWHERE) : reserve(c, 1);
		if (!node->kid[0])
			(void)emit_jump(c, OP_CONST, r, (int32_t)add_const(c, VAL_NONE));
		guarded_left(c, 0);
		(void)emit(c, OP_RETURN, 0, r, 0, 0);
		break;
	}
	case NODE_BREAK:
	case NODE_CONTINUE:
		leave(c, node->kind == NODE_BREAK);
		break;
	case NODE_LOAD:
		load(c, node);
		break;
	case NODE_BLOCK:
		block(c, node);
		break;
	default:
		break;
	}
	c->top = top;
}

void block(struct compiler *c, const struct node *node)
{
	for (uint32_t i = 0; i < node->n && !c->has_failed; i++)
		statement(c, node->kid[i]);
}

/* Fill the tables of variables, cells and captures in the code from the tables of the resolver. */
static bool describe_slots(struct compiler *c)
{
	struct code *code = c->code;
	const struct scope *scope = c->scope;
	uint32_t n = scope->n_slots;
	code->n_slots = n;
	code->slot_names = heap_alloc(c->h, n * sizeof *code->slot_names);
	code->cells = heap_alloc(c->h, n * sizeof *code->cells);
	code->captures = heap_alloc(c->h, scope->n_captured * sizeof *code->captures);
	c->is_set = heap_zero(c->h, n + 1);
	c->trail = heap_alloc(c->h, n * sizeof *c->trail);
	if (!code->slot_names || !code->cells || !code->captures || !c->is_set || !c->trail)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		code->slot_names[i] = scope->slot_symbols[i]->name;
		if (scope->slot_symbols[i]->is_cell)
			code->cells[code->n_cells++] = i;
	}
	code->n_captures = scope->n_captured;
	for (uint32_t i = 0; i < scope->n_captured; i++) {
		const struct symbol *s = scope->captured[i];
		code->captures[i] =
			(struct capture){.is_local = s->owner == scope->outer, .index = s->slot};
		for (uint32_t k = 0; !code->captures[i].is_local && k < scope->outer->n_captured;
			k++)
			if (scope->outer->captured[k] == s)
				code->captures[i].index = k;
	}
	(void)reserve(c, n);
	return true;
}

static bool describe_params(struct compiler *c, const struct node *node)
{
	uint32_t first = node->kind == NODE_DEF ? 1 : 0;
	struct code *code = c->code;
	bool is_named = false;
	code->params = heap_alloc(c->h, node->n_params * sizeof *code->params);
	for (uint32_t i = first, n = 0; code->params && i < first + node->n_params; i++) {
		const struct node *param = node->kid[i];
		if (param->op == TOK_STAR) {
			is_named = true;
			code->has_args = param->value.type != T_UNSET;
		} else if (param->op == TOK_STARSTAR) {
			code->has_kwargs = true;
		} else {
			code->n_positional += !is_named;
			code->n_named_only += is_named;
			code->n_defaults += is_named || param->kid[0];
		}
		if (param->value.type == T_UNSET)
			continue;
		code->params[n++] = param->value;
		set_slot(c, param->symbol->slot);
	}
	return code->params != NULL;
}

static bool start(struct compiler *c, struct compiler *outer, struct heap *h,
	const struct dialect *dialect, const struct scope *scope, struct literals *literals)
{
	struct val consts;
	*c = (struct compiler){.h = h, .dialect = dialect, .scope = scope, .is_file = !outer};
	c->literals = literals;
	c->code = heap_zero(h, sizeof *c->code);
	if (!c->code || table_new(h, T_DICT, 0, &consts) < 0)
		return false;
	c->const_index = consts.table;
	return describe_slots(c);
}

struct code *compile_function(struct compiler *outer, const struct node *node)
{
	struct compiler c;
	const struct node *body = node->kid[node->n - 1];
	if (!start(&c, outer, outer->h, outer->dialect, node->scope, outer->literals) ||
		!describe_params(&c, node) || !guarded_whole(&c, body, node->n_params))
		return NULL;
	c.at = node->start;
	if (node->kind == NODE_DEF)
		c.code->name = node->kid[0]->value;
	else if (str_of(c.h, "lambda", &c.code->name) < 0)
		return NULL;
	if (node->kind == NODE_LAMBDA) {
		uint32_t r = expr(&c, body, ANYWHERE);
		(void)emit(&c, OP_RETURN, 0, r, 0, 0);
	} else {
		block(&c, body);
		uint32_t r = reserve(&c, 1);
		(void)emit_jump(&c, OP_CONST, r, (int32_t)add_const(&c, VAL_NONE));
		(void)emit(&c, OP_RETURN, 0, r, 0, 0);
	}
	return c.has_failed ? NULL : c.code;
}

struct code *compile_file(struct heap *h, const struct node *file, const struct dialect *dialect,
	struct literals *literals)
{
	struct compiler c;
	if (!start(&c, NULL, h, dialect, file->scope, literals) || !guarded_whole(&c, NULL, 0) ||
		str_of(h, "<toplevel>", &c.code->name) < 0)
		return NULL;
	uint32_t last = reserve(&c, 1);
	(void)emit_jump(&c, OP_CONST, last, (int32_t)add_const(&c, VAL_NONE));
	for (uint32_t i = 0; i < file->n && !c.has_failed; i++) {
		const struct node *node = file->kid[i];
		/* If the last statement is an expression, its value is the result of the file. */
		if (i + 1 == file->n && node->kind == NODE_EXPR)
			(void)expr_into(&c, node->kid[0], last);
		else
			statement(&c, node);
	}
	(void)emit(&c, OP_RETURN, 0, last, 0, 0);
	return c.has_failed ? NULL : c.code;
}
