/*
 * Check statements: branches, loops, jumps, assignments.
 *
 * If a condition is not a constant, both branches are evaluated, with the condition joined to the
 * program counter label c->pc; the two results are joined with that guard. So a write under a
 * condition becomes an implicit flow (control dependence).
 *
 * A loop body is evaluated until the state at its head no longer changes. The guard of a loop is of
 * kind number rather than bool: the number of iterations reveals more than one bit.
 *
 * break, continue and return jump to a target elsewhere in the tree. The state at the jump is saved
 * (exits_add()) and joined at the target. Code after a conditional jump runs only if the jump was
 * not taken, so the guards of the jump stay in c->broken or c->returned until the target, and every
 * write gets these guards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct mark public = {0};

/* Add a diagnostic: the plan cannot be checked, so it must not run. At each place the same code
 * is reported only once. Returns: a value with which the evaluation can continue. */
struct av refuse(struct checker *c, int code, const struct node *node, const char *hint,
	const char *fmt, ...)
{
	struct diag d = {.code = code, .start = node->start, .end = node->end};
	va_list args;
	va_start(args, fmt);
	vsnprintf(d.msg, sizeof d.msg, fmt, args);
	va_end(args);
	snprintf(d.hint, sizeof d.hint, "%s", hint);
	/* After a limit was exceeded, any further error may be only a consequence of that, so it
	 * is not reported. */
	bool is_known = c->is_over || c->h->kind != FAIL_NONE || labels_has_failed(c->labels);
	c->is_over |= code == P_TOO_MUCH;
	for (size_t i = 0; i < c->out->diags->n && !is_known; i++)
		is_known = c->out->diags->item[i].start == d.start &&
			c->out->diags->item[i].code == code;
	if (!is_known)
		(void)diag_add(c->out->diags, &c->out->src, &d);
	return av_of(public, T_NONE);
}

/* Find the cell of a variable, in the frame of the function that owns the variable. Returns: 0
 * if neither the current frame nor an enclosing one belongs to that function. */
uint32_t variable_of(struct checker *c, const struct symbol *symbol)
{
	const struct abstract_frame *f = symbol->kind == SYMBOL_GLOBAL ? c->file : c->frame;
	while (f && symbol->kind == SYMBOL_LOCAL && f->scope != symbol->owner)
		f = f->outer;
	return f ? f->first + symbol->slot : 0;
}

static void note(struct checker *c, const struct node *node, struct av v)
{
	uint32_t *at = c->out->has_margin ? map_at(c, &c->margins, (uintptr_t)node, 0, 0) : NULL;
	if (!at)
		return;
	struct mark m = whole(c, v);
	if (*at == UINT32_MAX) {
		if (c->out->n_margins == c->margin_room) {
			uint32_t room = c->margin_room ? c->margin_room * 2 : 64;
			struct margin *item = heap_regrow(
				c->h, c->out->margin, c->out->n_margins, room, sizeof *item);
			if (!item)
				return;
			c->out->margin = item;
			c->margin_room = room;
		}
		c->out->margin[c->out->n_margins++] = (struct margin){node->start, LABEL_BOTTOM};
		*at = c->out->n_margins;
	}
	struct margin *margin = &c->out->margin[*at - 1];
	margin->label = label_join(c->labels, margin->label, m.label);
}

static bool is_places(struct checker *c, struct av v)
{
	struct obj *o;
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++)
		if (o->kind != OBJ_LIST && o->kind != OBJ_TUPLE)
			return false;
	return v.refs != 0;
}

static void unpack(struct checker *c, const struct node *target, struct av v)
{
	bool is_starred = false, has_places = is_places(c, v);
	for (uint32_t i = 0; i < target->n; i++) {
		const struct node *kid = target->kid[i];
		struct av x = iterated(c, v), key = av_of(public, T_INT);
		key.konst = VAL_INT(i);
		if (has_places && !is_starred)
			x = item_of(c, v, key);
		if (kid->kind == NODE_STARRED) {
			struct obj *o = obj_new(c, OBJ_LIST, kid, 0);
			x = obj_value(c, o, public);
			if (o)
				o->is_fuzzy = true;
			contents_add(c, x, v);
			is_starred = true;
			kid = kid->kid[0];
		}
		assign_to(c, kid, x);
	}
}

void assign_to(struct checker *c, const struct node *target, struct av v)
{
	struct av to;
	switch ((int)target->kind) {
	case NODE_NAME:
		cell_write(c, target->symbol ? variable_of(c, target->symbol) : 0, v);
		note(c, target, v);
		return;
	case NODE_TUPLE:
	case NODE_LIST:
		unpack(c, target, v);
		return;
	case NODE_INDEX:
		to = eval(c, target->kid[0]);
		item_set(c, to, eval(c, target->kid[1]), v);
		return;
	default:
		(void)refuse(c, P_UNKNOWN, target, "use a dict",
			"the checker does not know how to assign to this");
	}
}

static bool is_container(struct av v)
{
	return v.type == T_LIST || v.type == T_DICT || v.type == T_SET;
}

/* Evaluate an augmented assignment and return the new value. list += x, set |= set and dict |=
 * dict change the object in place, so every alias sees the change. All others create a new
 * value. */
static struct av augmented(struct checker *c, const struct node *node, struct av old, struct av x)
{
	bool is_in_place =
		(node->op == TOK_PLUS || node->op == TOK_PIPE) && old.refs && old.type != T_TUPLE;
	if (is_in_place)
		contents_add(c, old, x);
	if (is_in_place && is_container(old))
		return old;
	struct av now = eval_operation(c, node, node->op, old, x);
	return is_in_place ? av_join(c, old, now) : now;
}

static void exec_augmented(struct checker *c, const struct node *node)
{
	const struct node *target = node->kid[0];
	if (target->kind != NODE_INDEX) {
		struct av old = eval(c, target);
		assign_to(c, target, augmented(c, node, old, eval(c, node->kid[1])));
		return;
	}
	struct av to = eval(c, target->kid[0]), key = eval(c, target->kid[1]);
	struct av old = item_of(c, to, key);
	item_set(c, to, key, augmented(c, node, old, eval(c, node->kid[1])));
}

/* Evaluate an `if` statement from the condition at index @at on. Both branches are evaluated
 * from the same state, then joined. All later conditions (`elif`) belong to the branch for
 * "false". */
static void exec_if(struct checker *c, const struct node *node, uint32_t at)
{
	if (at == node->n)
		return;
	if (at == node->n - 1) {
		exec(c, node->kid[at]);
		return;
	}
	struct av test = eval(c, node->kid[at]);
	struct mark pc = c->pc;
	bool truth;
	if (const_truth(test, &truth)) {
		if (truth)
			exec(c, node->kid[at + 1]);
		else
			exec_if(c, node, at + 2);
		return;
	}
	struct mark guard = mark_guard(c, truth_of(c, test), node->kid[at]);
	c->pc = mark_join(c, pc, guard);
	uint32_t before = state_begin(c);
	exec(c, node->kid[at + 1]);
	bool is_a_dead = c->is_dead;
	struct changes a = state_end(c, before);
	c->is_dead = false;
	before = state_begin(c);
	exec_if(c, node, at + 2);
	bool is_b_dead = c->is_dead;
	struct changes b = state_end(c, before);
	c->pc = pc;
	c->is_dead = is_a_dead && is_b_dead;
	join_branches(c, &a, is_a_dead, &b, is_b_dead, guard);
	changes_done(c, &a);
	changes_done(c, &b);
}

/* Return the guard of a loop whose condition has the mark @m. The kind of the guard is raised to
 * KIND_NUMBER, because the plan can learn the number of iterations. */
static struct mark counted(struct checker *c, struct mark m, const struct node *node)
{
	return m.label == LABEL_BOTTOM ? m : mark_raised(c, mark_guard(c, m, node), KIND_NUMBER);
}

/* Evaluate one iteration from the state at the head of the loop. Returns: true if the state at
 * the head changed. */
static bool one_round(struct checker *c, struct abstract_loop *loop, struct mark pc)
{
	uint32_t before = state_begin(c), facts = c->n_facts;
	struct exits ends = {.trail = c->trail.n}, *outer = c->continues;
	struct mark broken = c->broken, returned = c->returned, guard = loop->guard;
	c->breaks->trail = c->trail.n;
	c->continues = &ends;
	c->pc = mark_join(c, pc, loop->guard);
	loop->round(c, loop);
	bool is_dead = c->is_dead;
	c->is_dead = false;
	c->continues = outer;
	struct changes all = state_end(c, before);
	bool is_changed = !is_dead && join_changes(c, &all, loop->guard);
	/* A `continue` jumps to the head of the loop. So the states at all continues (ends.all)
	 * are joined to the state at the head. The guard of this join is c->broken, which
	 * contains the conditions that led to each `continue`: leave() has added them. */
	if (ends.is_used)
		is_changed |= join_changes(c, &ends.all, c->broken);
	changes_done(c, &all);
	changes_done(c, &ends.all);
	return is_changed || facts != c->n_facts || broken.label != c->broken.label ||
		returned.label != c->returned.label || guard.label != loop->guard.label;
}

/* Evaluate a loop until the state at its head no longer changes (the fixpoint). This needs no
 * limit on iterations: the numbers of labels, objects and fields are finite, and an iteration
 * only adds to the state. The state after an iteration is joined to the state before the loop
 * and never replaces it. So the result also covers a run without any iteration. */
void run_loop(struct checker *c, struct abstract_loop *loop)
{
	struct mark pc = c->pc, broken = c->broken;
	struct exits breaks = {0}, *outer = c->breaks;
	c->breaks = &breaks;
	c->n_loops++;
	const struct node *by = loop->node;
	loop->guard = counted(c, loop->guard, by->kind == NODE_FOR ? by->kid[1] : by);
	while (one_round(c, loop, pc) && c->h->kind == FAIL_NONE)
		;
	c->n_loops--;
	if (breaks.is_used)
		(void)join_changes(c, &breaks.all, c->broken);
	changes_done(c, &breaks.all);
	c->breaks = outer;
	c->broken = broken;
	c->pc = pc;
}

static void for_round(struct checker *c, struct abstract_loop *loop)
{
	const struct node *node = loop->node;
	const struct av *from = loop->arg;
	assign_to(c, node->kid[0], iterated(c, *from));
	exec(c, node->kid[2]);
}

static void while_round(struct checker *c, struct abstract_loop *loop)
{
	const struct node *node = loop->node;
	struct av test = eval(c, node->kid[0]);
	bool truth;
	if (!const_truth(test, &truth)) {
		struct mark guard = counted(c, truth_of(c, test), node->kid[0]);
		loop->guard = mark_join(c, loop->guard, guard);
		c->pc = mark_join(c, c->pc, guard);
	} else if (!truth) {
		return;
	}
	/* The condition may be false here, so the current state is also a state at the end of
	 * the loop. */
	exits_add(c, c->breaks);
	exec(c, node->kid[1]);
}

static void exec_loop(struct checker *c, const struct node *node)
{
	struct av from;
	struct abstract_loop loop = {.node = node, .round = while_round};
	if (node->kind == NODE_FOR) {
		from = eval(c, node->kid[1]);
		loop.guard = structure_of(c, from);
		loop.arg = &from;
		loop.round = for_round;
	}
	run_loop(c, &loop);
}

/* Evaluate break or continue. @to is the state at the target of the jump. The code between this
 * statement and the target runs only if the jump was not taken. So the guards of the jump are
 * added to c->broken, and remain there while that code is evaluated. */
static void leave(struct checker *c, struct exits *to)
{
	struct mark now = mark_now(c);
	if (now.label != LABEL_BOTTOM)
		c->broken = mark_raised(c, now, KIND_NUMBER);
	exits_add(c, to);
	c->is_dead = true;
}

static void exec_return(struct checker *c, const struct node *node)
{
	struct activation *a = c->active;
	struct av v =
		node->n && node->kid[0] ? eval(c, node->kid[0]) : av_constant(c, node, VAL_NONE);
	a->result = a->has_result ? av_join(c, a->result, v) : v;
	a->has_result = true;
	c->is_dead = true;
	if (c->region == a->region) {
		a->is_final = true;
		return;
	}
	c->returned = mark_now(c);
	exits_add(c, &a->returns);
}

static void exec_block(struct checker *c, const struct node *node)
{
	/* Statements after a jump are unreachable. */
	for (uint32_t i = 0; i < node->n && !c->is_dead && !c->is_over; i++)
		exec(c, node->kid[i]);
}

void exec(struct checker *c, const struct node *node)
{
	if (c->depth >= CHECK_DEPTH_MAX) {
		(void)refuse(c, P_TOO_MUCH, node, "take it apart",
			"blocks are nested too deeply to be checked");
		return;
	}
	c->depth++;
	switch ((int)node->kind) {
	case NODE_EXPR:
		(void)eval(c, node->kid[0]);
		break;
	case NODE_ASSIGN:
		assign_to(c, node->kid[0], eval(c, node->kid[1]));
		break;
	case NODE_AUGMENTED:
		exec_augmented(c, node);
		break;
	case NODE_IF:
		exec_if(c, node, 0);
		break;
	case NODE_FOR:
	case NODE_WHILE:
		exec_loop(c, node);
		break;
	case NODE_DEF:
		assign_to(c, node->kid[0], function_value(c, node));
		break;
	case NODE_RETURN:
		exec_return(c, node);
		break;
	case NODE_BREAK:
		leave(c, c->breaks);
		break;
	case NODE_CONTINUE:
		leave(c, c->continues);
		break;
	case NODE_BLOCK:
		exec_block(c, node);
		break;
	case NODE_PASS:
	case NODE_IMPORT:
		break;
	default:
		(void)refuse(c, P_UNKNOWN, node, "leave it out",
			"the checker does not know this: %s",
			node_text((enum node_kind)node->kind));
	}
	c->depth--;
}
