/*
 * Compute write sets. The write set of a region lists the variables and objects that the region may
 * change.
 *
 * A region is the code that depends on one condition, such as both branches of an `if`, the body of
 * a loop, or the right side of an `and`. Everything that the region may change gets the label of
 * the condition. Objects get the label when the condition has been evaluated (flow_raise()).
 * Variables get it at the end of the region (flow_merge()).
 *
 * What a branch may change gets the label even if the branch is not taken: after `if x: y = 1`, an
 * unchanged y reveals that x is false. But the machine that runs the plan sees only the branch that
 * is taken. So this pass over the tree computes the write sets before the plan runs.
 *
 * A write set lists variables, and says what may happen to each of them. It is an upper bound: some
 * of these changes may never happen.
 * - WRITE_NAME: the variable is assigned.
 * - WRITE_VALUE: the container in the variable may be changed by a method, an index, or +=.
 * - WRITE_WITHIN: every object reachable from the variable may be changed.
 * - WRITE_CALL: the function in the variable may be called.
 *
 * Two variables are aliases if they contain the same object. In `b = a; b.append(1)`, for example,
 * the list in a is changed, too. The machine does not look for aliases, so this pass does: if the
 * value of a variable may be changed, search() finds the assignments to the variable within the
 * region.
 *
 * If the search becomes too long, or if a call may reach any object, is_unknown is set. It means
 * that any object may be changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/inside.h"

#include "plan/value/native.h"
#include "plan/value/str.h"

enum { SEARCHES_MAX = 64, CHAIN_MAX = 200 };

struct collector {
	struct compiler *c;
	struct writes *w; /* the write set that is being computed */
	const struct node *const *nodes;
	size_t n_nodes;
	uint32_t n_searches, depth, n_params;
	bool changes; /* the code may change an object that the function did not create */
	bool is_unknown;
};

static void collect(struct collector *k, const struct node *node);
static void written(struct collector *k, const struct node *node, bool is_within);

/* Find where the variable @s is stored: in a register, a cell, a captured cell or a global.
 * Returns: false if @s belongs to a lambda inside the code that is searched. */
static bool place_of(const struct compiler *c, const struct symbol *s, struct write *w)
{
	w->index = s->slot;
	w->where = s->owner != c->scope ? IN_GLOBAL : s->is_cell ? IN_CELL : IN_REGISTER;
	if (s->owner == c->scope || s->kind == SYMBOL_GLOBAL)
		return true;
	w->where = IN_CAPTURED;
	for (w->index = 0; w->index < c->scope->n_captured; w->index++)
		if (c->scope->captured[w->index] == s)
			return true;
	return false;
}

/* Add @w to a write set. Returns: true if @w was new and is added. */
static bool add(struct compiler *c, struct writes *set, struct write w)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (set->item[i].what == w.what && set->item[i].where == w.where &&
			set->item[i].index == w.index)
			return false;
	if (set->n >= SEARCHES_MAX * 4) {
		/* flow_raise() visits each object of the set, so the set must not become large.
		 * Assume instead that any object may be changed. */
		set->is_unknown = true;
		if (w.what != WRITE_NAME)
			return false;
	}
	if (set->n == set->room) {
		uint32_t room = set->room ? set->room * 2 : 8;
		struct write *item = heap_regrow(c->h, set->item, set->n, room, sizeof *item);
		if (!item) {
			c->has_failed = true;
			return false;
		}
		set->item = item;
		set->room = room;
	}
	set->item[set->n++] = w;
	return true;
}

static bool note(struct collector *k, const struct symbol *s, enum write_what what)
{
	struct write w = {.what = (uint8_t)what};
	if (!place_of(k->c, s, &w)) {
		/* The variable @s belongs to a lambda inside the code that is searched. A write
		 * set cannot list a variable of another function, so it cannot list @s. But the
		 * object in @s may be any object. So if @what says more than that @s is
		 * assigned, assume that any object may be changed. */
		k->is_unknown |= what != WRITE_NAME;
		return false;
	}
	bool is_own = w.where == IN_REGISTER || w.where == IN_CELL;
	if (what == WRITE_CALL)
		k->changes |= !s->code || s->code->changes_others;
	else if (what != WRITE_NAME)
		k->changes |= !is_own || s->slot < k->n_params;
	return add(k->c, k->w, w);
}

/* Return the number of children of @node that are evaluated together with @node. The last child
 * of a def or lambda is its body, which is evaluated later and does not count. */
static uint32_t here(const struct node *node)
{
	return node->kind == NODE_LAMBDA || node->kind == NODE_DEF ? node->n - 1 : node->n;
}

static bool binds(const struct node *target, const struct symbol *s)
{
	if (target->kind == NODE_NAME)
		return target->symbol == s;
	for (uint32_t i = 0;
		i < target->n && target->kind != NODE_INDEX && target->kind != NODE_DOT; i++)
		if (binds(target->kid[i], s))
			return true;
	return false;
}

/* Find the assignments to the variable @s within @node, such as `s = x`. After `s = x`, both
 * variables have the same object, so a change of the object in @s is also a change of the object
 * in x. So record that each value that was assigned to @s may be changed. With @within, record
 * the same for everything reachable from such a value. */
static void search(
	struct collector *k, const struct node *node, const struct symbol *s, bool within)
{
	if (!node)
		return;
	if ((node->kind == NODE_FOR || node->kind == NODE_CLAUSE_FOR) && binds(node->kid[0], s))
		written(k, node->kid[1], true);
	if (node->kind == NODE_ASSIGN && binds(node->kid[0], s))
		written(k, node->kid[1], within || node->kid[0]->kind != NODE_NAME);
	if (node->kind == NODE_AUGMENTED && within && binds(node->kid[0], s))
		written(k, node->kid[1], true);
	for (uint32_t i = 0; i < here(node); i++)
		search(k, node->kid[i], s, within);
}

static void name_written(struct collector *k, const struct symbol *s, bool is_within)
{
	if (!s || s->kind == SYMBOL_PREDECLARED ||
		!note(k, s, is_within ? WRITE_WITHIN : WRITE_VALUE))
		return;
	k->is_unknown |= ++k->n_searches > SEARCHES_MAX;
	for (size_t i = 0; i < k->n_nodes && !k->is_unknown; i++)
		search(k, k->nodes[i], s, is_within);
}

static void all_written(struct collector *k, const struct node *node, uint32_t from)
{
	for (uint32_t i = from; i < node->n; i++)
		if (node->kid[i])
			written(k, node->kid[i], true);
}

static bool is_predeclared(const struct node *node)
{
	while (node->kind == NODE_DOT)
		node = node->kid[0];
	return node->kind == NODE_NAME && node->symbol && node->symbol->kind == SYMBOL_PREDECLARED;
}

static void call_written(struct collector *k, const struct node *call)
{
	const struct node *fn = call->kid[0];
	if (fn->kind == NODE_DOT && !is_predeclared(fn) && native_is_method(fn->value))
		written(k, fn->kid[0], true);
	else if (!is_predeclared(fn))
		k->is_unknown = true;
	all_written(k, call, 1);
}

/* Record that the value of the expression @node may be changed; with @is_within, also everything
 * reachable from the value. */
static void written(struct collector *k, const struct node *node, bool is_within)
{
	if (k->is_unknown || ++k->depth > CHAIN_MAX) {
		k->is_unknown = true;
		return;
	}
	switch ((int)node->kind) {
	case NODE_NAME:
		name_written(k, node->symbol, is_within);
		break;
	case NODE_INDEX:
	case NODE_SLICE:
	case NODE_DOT:
	case NODE_ARG_NAMED:
	case NODE_STARRED:
	case NODE_ARG_STAR:
	case NODE_ARG_STARSTAR:
		written(k, node->kid[0], true);
		break;
	case NODE_CALL:
		call_written(k, node);
		break;
	case NODE_IF_ELSE:
	case NODE_AND:
	case NODE_OR:
		for (uint32_t i = node->kind == NODE_IF_ELSE; i < node->n; i++)
			written(k, node->kid[i], is_within);
		break;
	case NODE_LIST:
	case NODE_TUPLE:
	case NODE_DICT:
	case NODE_SET:
	case NODE_BINARY:
		/* The expression creates a new container, but the elements may be existing
		 * objects. */
		if (is_within)
			all_written(k, node, 0);
		break;
	case NODE_LIST_COMP:
	case NODE_SET_COMP:
	case NODE_DICT_COMP:
		k->is_unknown |= is_within;
		break;
	default:
		break;
	}
	k->depth--;
}

static void bound(struct collector *k, const struct node *target)
{
	if (target->kind == NODE_NAME && target->symbol) {
		(void)note(k, target->symbol, WRITE_NAME);
	} else if (target->kind == NODE_INDEX) {
		written(k, target->kid[0], target->kid[0]->kind != NODE_NAME);
		collect(k, target->kid[0]);
		collect(k, target->kid[1]);
	} else {
		for (uint32_t i = 0; i < target->n; i++)
			bound(k, target->kid[i]);
	}
}

static void augmented(struct collector *k, const struct node *node)
{
	const struct node *target = node->kid[0], *value = node->kid[1];
	bool is_scalar = value->kind == NODE_CONST || value->kind == NODE_F_STRING;
	bound(k, target);
	/* += may change a list in place. If the right side is a number or a text, the left side
	 * cannot be a list. */
	if (!is_scalar)
		written(k, target, target->kind != NODE_NAME);
	collect(k, value);
}

/* Return whether an assignment or a loop within @node assigns the variable @s. If the search has
 * become too long, return true, which is always safe. */
static bool is_bound(struct collector *k, const struct node *node, const struct symbol *s)
{
	bool is = false;
	if (!node || k->n_searches > SEARCHES_MAX)
		return node != NULL;
	if (node->kind == NODE_ASSIGN || node->kind == NODE_FOR || node->kind == NODE_CLAUSE_FOR)
		is = binds(node->kid[0], s);
	for (uint32_t i = 0; i < node->n && !is && node->kind != NODE_DEF; i++)
		is = is_bound(k, node->kid[i], s);
	return is;
}

static void variable_called(struct collector *k, const struct symbol *s)
{
	(void)note(k, s, WRITE_CALL);
	k->n_searches++;
	for (size_t i = 0; i < k->n_nodes; i++)
		k->is_unknown |= is_bound(k, k->nodes[i], s);
}

/* Collect the writes of the function that a call of a built-in passes as key=, because the
 * built-in calls this function. */
static void key_called(struct collector *k, const struct node *call)
{
	for (uint32_t i = 1; i < call->n; i++) {
		const struct node *arg = call->kid[i];
		if (arg->kind == NODE_ARG_STARSTAR)
			k->is_unknown |= call->kid[0]->kind == NODE_NAME;
		if (arg->kind != NODE_ARG_NAMED || !str_is(arg->value, "key"))
			continue;
		const struct node *fn = arg->kid[0];
		if (fn->kind == NODE_CONST || is_predeclared(fn))
			continue;
		if (fn->kind == NODE_LAMBDA)
			collect(k, fn->kid[fn->n - 1]);
		else if (fn->kind == NODE_NAME && fn->symbol)
			variable_called(k, fn->symbol);
		else
			k->is_unknown = true;
	}
}

static void called(struct collector *k, const struct node *call)
{
	const struct node *fn = call->kid[0];
	if (is_predeclared(fn)) {
		key_called(k, call);
	} else if (fn->kind == NODE_NAME && fn->symbol) {
		variable_called(k, fn->symbol);
	} else if (fn->kind == NODE_DOT && native_is_method(fn->value)) {
		key_called(k, call);
		if (native_changes(fn->value))
			written(k, fn->kid[0], fn->kid[0]->kind != NODE_NAME);
	} else {
		k->is_unknown = true;
	}
}

static void collect(struct collector *k, const struct node *node)
{
	if (!node)
		return;
	if (node->kind == NODE_ASSIGN || node->kind == NODE_FOR || node->kind == NODE_CLAUSE_FOR ||
		node->kind == NODE_DEF || node->kind == NODE_BINDING)
		bound(k, node->kid[0]);
	if (node->kind == NODE_AUGMENTED) {
		augmented(k, node);
		return;
	}
	if (node->kind == NODE_CALL)
		called(k, node);
	for (uint32_t i = 0; i < here(node); i++)
		collect(k, node->kid[i]);
}

static uint32_t add_region(struct compiler *c)
{
	struct code *code = c->code;
	if (code->n_writes == c->writes_room) {
		uint32_t room = c->writes_room ? c->writes_room * 2 : 8;
		struct writes *item =
			heap_regrow(c->h, code->writes, code->n_writes, room, sizeof *item);
		if (!item) {
			c->has_failed = true;
			return 0;
		}
		code->writes = item;
		c->writes_room = room;
	}
	code->writes[code->n_writes] = (struct writes){.outer = c->region};
	return code->n_writes++;
}

uint32_t guarded_start(struct compiler *c, const struct node *const *nodes, size_t n)
{
	if (!c->literals || c->has_failed)
		return 0;
	uint32_t region = add_region(c);
	struct writes set = {.outer = c->region, .saved = reserve(c, 1)};
	struct collector k = {.c = c, .w = &set, .nodes = nodes, .n_nodes = n};
	for (size_t i = 0; i < n; i++)
		collect(&k, nodes[i]);
	if (c->has_failed)
		return 0;
	set.is_unknown |= k.is_unknown;
	c->code->writes[region] = set;
	c->region = region;
	(void)emit_jump(c, OP_GUARD, set.saved, (int32_t)region);
	return region;
}

void guarded_end(struct compiler *c, uint32_t region)
{
	if (!c->literals || c->has_failed)
		return;
	const struct writes *w = &c->code->writes[region];
	(void)emit_jump(c, OP_MERGE, w->saved, (int32_t)region);
	c->region = w->outer;
}

void guarded_writes(struct compiler *c, uint32_t region, enum write_what what, uint32_t reg)
{
	if (c->literals && !c->has_failed)
		(void)add(c, &c->code->writes[region],
			(struct write){(uint8_t)what, IN_REGISTER, reg});
}

void guarded_left(struct compiler *c, uint32_t to)
{
	for (uint32_t i = c->region; c->literals && !c->has_failed && i != to && i != 0;
		i = c->code->writes[i].outer)
		c->code->writes[i].is_left = true;
}

bool guarded_whole(struct compiler *c, const struct node *body, uint32_t n_params)
{
	if (!c->literals)
		return true;
	struct writes set = {0};
	struct collector k = {
		.c = c, .w = &set, .nodes = &body, .n_nodes = 1, .n_params = n_params};
	uint32_t region = add_region(c);
	if (body)
		collect(&k, body);
	if (c->has_failed)
		return false;
	set.is_unknown |= k.is_unknown;
	c->code->writes[region] = set;
	c->code->changes_others = k.changes || set.is_unknown;
	return true;
}
