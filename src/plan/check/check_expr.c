/* Evaluate expressions: compute the abstract value of each kind of node.
 * - An operation on constants is computed. Of a constant condition, only one branch is evaluated.
 *   A constant that the request contains has the user's origin.
 * - Any other result gets the labels of all data that it reveals, as in a run (flow_op.c). `not x`
 *   reveals, for example, whether the list x is empty, and x + y reveals data of both operands.
 * - `and`, `or`, conditional expressions and comprehensions use regions and guards like statements.
 * The label that a value has in a run must be below or equal to its label in the check. Tests
 * compare the two labels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/check/inside.h"

#include "base/word.h"
#include "plan/value/int.h"
#include "plan/value/str.h"

#include <stdio.h>
#include <string.h>

static const struct mark public = {0};

static bool is_number(uint32_t type)
{
	return type == T_INT || type == T_FLOAT || type == T_BIG || type == T_BOOL;
}

bool const_truth(struct av v, bool *out)
{
	if (v.konst.type == T_UNSET)
		return false;
	*out = val_truth(v.konst);
	return true;
}

/* Evaluate an expression that runs only if a condition holds, such as the right side of `and`. */
static struct av eval_guarded(struct checker *c, const struct node *node, struct mark guard)
{
	struct mark pc = c->pc;
	struct changes none = {0};
	uint32_t before = state_begin(c);
	c->pc = mark_join(c, pc, guard);
	struct av v = eval(c, node);
	c->pc = pc;
	struct changes all = state_end(c, before);
	join_branches(c, &all, false, &none, false, guard);
	changes_done(c, &all);
	return v;
}

static struct av eval_logic(struct checker *c, const struct node *node)
{
	struct av left = eval(c, node->kid[0]);
	bool truth, is_and = node->kind == NODE_AND;
	if (const_truth(left, &truth))
		return truth == is_and ? eval(c, node->kid[1]) : left;
	struct mark guard = mark_guard(c, truth_of(c, left), node->kid[0]);
	struct av right = eval_guarded(c, node->kid[1], guard);
	return av_choice(c, left, right, guard);
}

static struct av eval_if_else(struct checker *c, const struct node *node)
{
	struct av test = eval(c, node->kid[0]);
	struct mark pc = c->pc;
	bool truth;
	if (const_truth(test, &truth))
		return eval(c, node->kid[truth ? 1 : 2]);
	struct mark guard = mark_guard(c, truth_of(c, test), node->kid[0]);
	c->pc = mark_join(c, pc, guard);
	uint32_t before = state_begin(c);
	struct av a = eval(c, node->kid[1]);
	struct changes first = state_end(c, before);
	before = state_begin(c);
	struct av b = eval(c, node->kid[2]);
	struct changes second = state_end(c, before);
	c->pc = pc;
	join_branches(c, &first, false, &second, false, guard);
	changes_done(c, &first);
	changes_done(c, &second);
	return av_decided(c, av_choice(c, a, b, guard), guard);
}

/* Compute @a @op @b for two constants. Returns: false if the result cannot be computed here. */
static bool fold(struct checker *c, uint32_t op, struct val a, struct val b, struct val *out)
{
	static const uint8_t ops[N_TOKENS] = {[TOK_PLUS] = NUM_ADD + 1,
		[TOK_MINUS] = NUM_SUB + 1,
		[TOK_STAR] = NUM_MUL + 1,
		[TOK_SLASHSLASH] = NUM_FLOORDIV + 1,
		[TOK_PERCENT] = NUM_MOD + 1};
	if (a.type == T_STRING && b.type == T_STRING && op == TOK_PLUS)
		return a.str->n_bytes + b.str->n_bytes < 4096 && str_concat(c->h, a, b, out) == 0;
	bool is_zero = b.type == T_INT && b.i == 0;
	if (a.type != T_INT || b.type != T_INT || !ops[op] ||
		(is_zero && (op == TOK_SLASHSLASH || op == TOK_PERCENT)))
		return false;
	return num_op(c->h, (enum num_op)(ops[op] - 1), a, b, out) == 0 && out->type == T_INT;
}

static bool is_sequence(struct av v)
{
	return v.type == T_LIST || v.type == T_TUPLE;
}

static struct av joined_sequence(
	struct checker *c, const struct node *node, struct av a, struct av b)
{
	struct mark m = mark_join(c, structure_of(c, a), structure_of(c, b));
	struct obj *o = obj_new(c, a.type == T_TUPLE ? OBJ_TUPLE : OBJ_LIST, node, 0);
	struct av v = obj_value(c, o, public);
	if (!o)
		return v;
	o->is_fuzzy = true;
	cell_add(c, o->structure, av_of(m, N_TYPES));
	if (is_sequence(a))
		cell_add(c, o->rest, element_of(c, a));
	if (is_sequence(b))
		cell_add(c, o->rest, element_of(c, b));
	return v;
}

/* Return whether @op joins lists or tuples: list + list, tuple + tuple or list * n. */
static bool is_joined(uint32_t op, struct av a, struct av b)
{
	if (op == TOK_PLUS)
		return is_sequence(a) && is_sequence(b);
	return op == TOK_STAR &&
		((is_sequence(a) && is_number(b.type)) || (is_sequence(b) && is_number(a.type)));
}

struct av eval_operation(
	struct checker *c, const struct node *node, uint32_t op, struct av a, struct av b)
{
	struct val folded;
	struct mark m = mark_join(c, whole(c, a), whole(c, b));
	if (a.konst.type != T_UNSET && b.konst.type != T_UNSET &&
		fold(c, op, a.konst, b.konst, &folded)) {
		m = folded.type == T_STRING ? text_mark(c, m, node)
					    : computed_mark(c, m, node, folded, KIND_NUMBER);
		struct av v = av_of(m, folded.type);
		v.konst = folded;
		return v;
	}
	if (is_joined(op, a, b))
		return joined_sequence(c, node, is_sequence(a) ? a : b, is_sequence(a) ? b : a);
	if (is_number(a.type) && is_number(b.type)) {
		bool is_same = op != TOK_SLASH && a.type == b.type && a.type != T_BOOL;
		m = mark_capped(c, m, KIND_NUMBER);
		return av_of(computed_mark(c, m, node, VAL_UNSET, KIND_NUMBER),
			is_same ? a.type : T_FLOAT);
	}
	m = text_mark(c, m, node);
	if (a.type == T_STRING || (!a.refs && !b.refs))
		return av_of(m, a.type == T_STRING ? T_STRING : N_TYPES);
	struct av v = any_value(c, node, 0, m);
	element_add(c, v, element_of(c, a));
	element_add(c, v, element_of(c, b));
	return v;
}

static struct av eval_unary(struct checker *c, const struct node *node)
{
	struct av v = eval(c, node->kid[0]);
	/* The kind is number, because the run fails here if the operand is not a number. */
	struct av out = av_of(computed_mark(c, v.m, node, VAL_UNSET, KIND_NUMBER), v.type);
	if (v.konst.type == T_INT && node->op == TOK_MINUS && v.konst.i != INT64_MIN) {
		/* -5 is a literal of its own: the request may contain 5 but not -5. */
		out = av_constant(c, node, VAL_INT(-v.konst.i));
		if (node->kid[0]->kind != NODE_CONST)
			out.m = computed_mark(c, v.m, node, out.konst, KIND_NUMBER);
	}
	return out;
}

static struct av told(struct checker *c, struct mark m)
{
	m = computed_mark(c, m, c->at, VAL_UNSET, KIND_BOOL);
	return av_of(mark_capped(c, m, KIND_BOOL), T_BOOL);
}

static struct av eval_compare(struct checker *c, const struct node *node)
{
	struct av a = eval(c, node->kid[0]), b = eval(c, node->kid[1]);
	struct av out = told(c, mark_join(c, whole(c, a), whole(c, b)));
	bool is_eq = node->op == CMP_EQ || node->op == CMP_NE;
	if (a.konst.type == T_UNSET || b.konst.type == T_UNSET || !is_eq)
		return out;
	int same = val_equal(c->h, a.konst, b.konst);
	if (same >= 0)
		out.konst = VAL_BOOL(same == (node->op == CMP_EQ));
	return out;
}

static struct av eval_chain(struct checker *c, const struct node *node)
{
	struct mark m = whole(c, eval(c, node->kid[0]));
	m = mark_join(c, m, whole(c, eval(c, node->kid[1])));
	for (uint32_t i = 2; i < node->n; i++) {
		struct mark guard = mark_guard(c, m, node->kid[i - 1]);
		m = mark_join(c, m, whole(c, eval_guarded(c, node->kid[i], guard)));
	}
	return told(c, m);
}

static struct av eval_not(struct checker *c, const struct node *node)
{
	struct av v = eval(c, node->kid[0]);
	bool truth, is_const = const_truth(v, &truth);
	/* If x is constant, the mark truth_of(x) is empty, but `not x` keeps the origins of x. */
	struct av out = told(c, is_const ? v.m : truth_of(c, v));
	if (is_const)
		out.konst = VAL_BOOL(!truth);
	return out;
}

/* Return the mark of the literal parts of an f-string. Their origin is the user if the request
 * contains these parts with any one word in place of each value. For example, f"Dear {name}!"
 * matches "Dear Ann!" in the request. */
static struct mark form_mark(struct checker *c, const struct node *node)
{
	struct val form;
	uint32_t i = 0;
	while (i < node->n && node->kid[i]->kind == NODE_F_PART)
		i++;
	if (i == node->n)
		return public;
	if (tree_form(c->h, node, &form) < 0)
		return (struct mark){.label = LABEL_FAILED};
	return av_constant(c, node, form).m;
}

/* Evaluate an f-string. An origin whose data only selected a value (a chooser) usually remains a
 * chooser of the text, see label_composed(). But if a value is a container, such as a list, each
 * origin becomes a giver: its data counts as contained in the text. */
static struct av eval_f_string(struct checker *c, const struct node *node)
{
	struct mark m = form_mark(c, node);
	bool is_many = false;
	for (uint32_t i = 0; i < node->n; i++) {
		const struct node *part = node->kid[i];
		for (uint32_t k = 0; part->kind == NODE_F_PART && k < part->n; k++) {
			if (!part->kid[k])
				continue;
			struct av v = eval(c, part->kid[k]);
			is_many |= v.refs != 0;
			m = mark_join(c, m, whole(c, v));
		}
	}
	if (is_many || mark_is_own(c, m))
		return av_of(text_mark(c, m, node), T_STRING);
	struct mark composed = m;
	composed.label = label_composed(c->labels, m.label);
	return av_of(
		m.is_others ? composed : mark_join(c, composed, text_mark(c, m, node)), T_STRING);
}

/* Add all elements of @from to @v, as in [*from]. The structure of @v (its length and keys) also
 * gets the mark of the structure of @from. */
void contents_add(struct checker *c, struct av v, struct av from)
{
	struct mark which = is_sure(c, v) ? public : v.m;
	struct mark m = mark_join(c, structure_of(c, from), which);
	struct obj *o;
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++) {
		bool has_keys = o->kind == OBJ_DICT || o->kind == OBJ_ANY;
		if (has_keys)
			cell_add(c, o->keys, av_of(mark_anyones(whole(c, from)), N_TYPES));
		if (o->kind == OBJ_SET)
			cell_add(c, o->structure,
				av_of(mark_capped(c, mark_made(c, whole(c, from)), KIND_NUMBER),
					N_TYPES));
		cell_add(c, o->structure, av_of(m, N_TYPES));
		if (has_keys)
			cell_add(c, o->rest, av_with(c, element_of(c, from), which));
		if (o->kind != OBJ_DICT)
			cell_add(c, o->rest, iterated(c, from));
	}
}

static struct av eval_display(struct checker *c, const struct node *node)
{
	enum obj_kind kind = node->kind == NODE_LIST ? OBJ_LIST
		: node->kind == NODE_TUPLE	     ? OBJ_TUPLE
						     : OBJ_SET;
	struct obj *o = obj_new(c, kind, node, 0);
	struct av v = obj_value(c, o, public);
	bool is_known = kind != OBJ_SET;
	for (uint32_t i = 0; o && i < node->n; i++) {
		const struct node *kid = node->kid[i];
		if (kid->kind == NODE_STARRED) {
			contents_add(c, v, eval(c, kid->kid[0]));
			o->is_fuzzy = true;
			is_known = false;
			continue;
		}
		struct av x = eval(c, kid);
		struct field *field = is_known ? field_at(c, o, VAL_INT(i), true) : NULL;
		if (field)
			cell_add(c, field->cell, x);
		else
			element_add(c, v, x);
	}
	return v;
}

static struct av eval_dict(struct checker *c, const struct node *node)
{
	struct obj *o = obj_new(c, OBJ_DICT, node, 0);
	struct av v = obj_value(c, o, public);
	for (uint32_t i = 0; o && i + 1 < node->n; i += 2) {
		if (!node->kid[i]) {
			struct av from = eval(c, node->kid[i + 1]);
			contents_add(c, v, from);
			continue;
		}
		struct av key = eval(c, node->kid[i]);
		item_set(c, v, key, eval(c, node->kid[i + 1]));
	}
	return v;
}

struct comprehension {
	const struct node *node;
	uint32_t at; /* index of the current clause */
	struct av into, from;
};

static void comp_clause(struct checker *c, struct comprehension *comp);

static void comp_round(struct checker *c, struct abstract_loop *loop)
{
	struct comprehension *comp = loop->arg, inner = *comp;
	assign_to(c, comp->node->kid[comp->at]->kid[0], iterated(c, comp->from));
	inner.at++;
	comp_clause(c, &inner);
}

static void comp_body(struct checker *c, struct comprehension *comp)
{
	const struct node *node = comp->node;
	struct av x = eval(c, node->kid[0]);
	if (node->kind == NODE_DICT_COMP)
		item_set(c, comp->into, x, eval(c, node->kid[1]));
	else
		element_add(c, comp->into, x);
}

static void comp_if(struct checker *c, struct comprehension *comp, const struct node *test)
{
	struct comprehension inner = *comp;
	struct mark pc = c->pc;
	struct changes none = {0};
	bool truth;
	struct av v = eval(c, test);
	inner.at++;
	if (const_truth(v, &truth)) {
		if (truth)
			comp_clause(c, &inner);
		return;
	}
	struct mark guard = mark_guard(c, truth_of(c, v), test);
	c->pc = mark_join(c, pc, guard);
	uint32_t before = state_begin(c);
	comp_clause(c, &inner);
	struct changes all = state_end(c, before);
	c->pc = pc;
	join_branches(c, &all, false, &none, false, guard);
	changes_done(c, &all);
}

static void comp_clause(struct checker *c, struct comprehension *comp)
{
	if (comp->at == comp->node->n) {
		comp_body(c, comp);
		return;
	}
	const struct node *clause = comp->node->kid[comp->at];
	if (clause->kind == NODE_CLAUSE_IF) {
		comp_if(c, comp, clause->kid[0]);
		return;
	}
	comp->from = eval(c, clause->kid[1]);
	struct abstract_loop loop = {.node = clause->kid[1],
		.guard = structure_of(c, comp->from),
		.arg = comp,
		.round = comp_round};
	run_loop(c, &loop);
}

static struct av eval_comprehension(struct checker *c, const struct node *node)
{
	enum obj_kind kind = node->kind == NODE_DICT_COMP ? OBJ_DICT
		: node->kind == NODE_SET_COMP		  ? OBJ_SET
							  : OBJ_LIST;
	struct obj *o = obj_new(c, kind, node, 0);
	struct comprehension comp = {.node = node,
		.at = node->kind == NODE_DICT_COMP ? 2 : 1,
		.into = obj_value(c, o, public)};
	if (o) {
		o->is_fuzzy = true;
		comp_clause(c, &comp);
	}
	return comp.into;
}

static struct av eval_slice(struct checker *c, const struct node *node)
{
	struct av v = eval(c, node->kid[0]);
	struct mark m = public;
	for (uint32_t i = 1; i < node->n; i++)
		if (node->kid[i])
			m = mark_join(c, m, chosen(c, eval(c, node->kid[i])));
	if (!v.refs)
		return av_of(part_mark(c, mark_join(c, v.m, m)), v.type);
	/* @v may be a text. The slice is then a part of that text. */
	struct mark whole = mark_join(c, m, v.m);
	struct av out =
		any_value(c, node, 0, whole.is_others ? mark_made(c, whole) : part_mark(c, whole));
	element_add(c, out, element_of(c, v));
	if (is_sequence(v)) {
		struct obj *o = obj_new(c, v.type == T_LIST ? OBJ_LIST : OBJ_TUPLE, node, 1);
		out = obj_value(c, o, public);
		if (o) {
			o->is_fuzzy = true;
			cell_add(c, o->structure,
				av_of(mark_join(c, m, structure_of(c, v)), N_TYPES));
			cell_add(c, o->rest, element_of(c, v));
		}
	}
	return out;
}

static struct av eval_predeclared(struct checker *c, const struct node *node)
{
	const struct symbol *symbol = node->symbol;
	const char *name = symbol->name.str->data;
	const struct tool *tool = tool_find(c->tools, name);
	uint32_t type = symbol->value.type;
	if (!tool && (type == T_BOOL || type == T_NONE))
		return av_constant(c, node, symbol->value);
	bool is_prefix = !tool && symbol->is_prefix;
	struct obj *o = obj_new(c,
		tool		    ? OBJ_TOOL
			: is_prefix ? OBJ_PREFIX
				    : OBJ_NATIVE,
		(const void *)symbol, 0);
	if (o) {
		o->name = name;
		o->tool = tool;
	}
	return obj_value(c, o, public);
}

static struct av eval_name(struct checker *c, const struct node *node)
{
	if (!node->symbol)
		return refuse(c, P_UNKNOWN, node, "", "the checker does not know this name");
	if (node->symbol->kind == SYMBOL_PREDECLARED)
		return eval_predeclared(c, node);
	uint32_t cell = variable_of(c, node->symbol);
	struct av v = cell ? c->cells[cell].v : AV_NONE;
	/* Reading an unassigned variable ends the run, so any value may be returned. */
	return v.type == T_UNSET ? av_of(public, N_TYPES) : v;
}

static struct av no_tool(struct checker *c, const struct node *node, const char *name)
{
	enum { LOOKED_AT = 1000 };
	struct word_near near = WORD_NEAR(name);
	char hint[DIAG_HINT_BYTES] = "";
	for (size_t i = 0; i < c->tools->n && i < LOOKED_AT; i++)
		word_near_try(&near, c->tools->tool[i].name);
	if (near.best)
		snprintf(hint, sizeof hint, "did you mean %.200s?", near.best);
	return refuse(c, P_NO_RULE, node, hint, "there is no tool %.100s", name);
}

static struct av eval_prefix(struct checker *c, const struct node *node, const struct obj *prefix)
{
	char text[TOOL_NAME_MAX_BYTES + 1];
	const char *part = node->value.str->data;
	size_t a = strlen(prefix->name), b = strlen(part);
	if (a + b + 1 > TOOL_NAME_MAX_BYTES)
		return refuse(c, P_UNKNOWN, node, "", "the name of the tool is too long");
	memcpy(text, prefix->name, a);
	text[a] = '.';
	memcpy(text + a + 1, part, b + 1);
	const struct tool *tool = tool_find(c->tools, text);
	bool is_prefix = tool_is_prefix(c->tools, text), is_native = native_is_known(text);
	if (!tool && !is_prefix && !is_native)
		return no_tool(c, node, text);
	struct val name;
	if (str_of(c->h, text, &name) < 0)
		return av_of(public, T_NONE);
	struct obj *o = obj_new(c, tool ? OBJ_TOOL : is_native ? OBJ_NATIVE : OBJ_PREFIX, node, 0);
	if (o) {
		o->name = name.str->data;
		o->tool = tool;
	}
	return obj_value(c, o, public);
}

static struct av eval_dot(struct checker *c, const struct node *node)
{
	struct av v = eval(c, node->kid[0]);
	struct obj *o = obj_nth(c, v, 0);
	struct av key = av_of(public, T_STRING);
	bool is_struct = o != NULL, is_mixed = false;
	if (o && o->kind == OBJ_PREFIX && !obj_nth(c, v, 1))
		return eval_prefix(c, node, o);
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++) {
		is_struct &= o->kind == OBJ_STRUCT;
		is_mixed |= o->kind == OBJ_STRUCT || o->kind == OBJ_PREFIX;
	}
	if (is_mixed && !is_struct)
		return refuse(c, P_UNKNOWN, node, "call it by its name",
			"the checker cannot tell which attribute this is");
	key.konst = node->value;
	if (is_struct)
		return item_of(c, v, key);
	if (!method_is_known(node->value.str->data))
		return refuse(c, P_UNKNOWN, node, "use d[\"name\"] for what a tool returns",
			"the checker does not know the attribute %.80s", node->value.str->data);
	o = obj_new(c, OBJ_METHOD, node, 0);
	if (o) {
		c->n_facts += !av_equal(o->self, av_join(c, o->self, v));
		o->self = av_join(c, o->self, v);
		o->name = node->value.str->data;
	}
	return obj_value(c, o, v.m);
}

static struct av eval_kind(struct checker *c, const struct node *node)
{
	struct av a;
	switch ((int)node->kind) {
	case NODE_NAME:
		return eval_name(c, node);
	case NODE_CONST:
		return av_constant(c, node, node->value);
	case NODE_F_STRING:
		return eval_f_string(c, node);
	case NODE_LIST:
	case NODE_TUPLE:
	case NODE_SET:
		return eval_display(c, node);
	case NODE_DICT:
		return eval_dict(c, node);
	case NODE_LIST_COMP:
	case NODE_SET_COMP:
	case NODE_DICT_COMP:
		return eval_comprehension(c, node);
	case NODE_UNARY:
		return eval_unary(c, node);
	case NODE_BINARY:
		a = eval(c, node->kid[0]);
		return eval_operation(c, node, node->op, a, eval(c, node->kid[1]));
	case NODE_NOT:
		return eval_not(c, node);
	case NODE_AND:
	case NODE_OR:
		return eval_logic(c, node);
	case NODE_COMPARE:
		return eval_compare(c, node);
	case NODE_CHAIN:
		return eval_chain(c, node);
	case NODE_IF_ELSE:
		return eval_if_else(c, node);
	case NODE_CALL:
		return eval_call(c, node);
	case NODE_INDEX:
		a = eval(c, node->kid[0]);
		return item_of(c, a, eval(c, node->kid[1]));
	case NODE_SLICE:
		return eval_slice(c, node);
	case NODE_DOT:
		return eval_dot(c, node);
	case NODE_LAMBDA:
		return function_value(c, node);
	default:
		return refuse(c, P_UNKNOWN, node, "", "the checker does not know this: %s",
			node_text((enum node_kind)node->kind));
	}
}

struct av eval(struct checker *c, const struct node *node)
{
	if (c->is_over || c->h->kind != FAIL_NONE || heap_pay(c->h, 1) < 0) {
		c->is_over = true;
		return av_of(public, T_NONE);
	}
	if (c->depth >= CHECK_DEPTH_MAX)
		return refuse(c, P_TOO_MUCH, node, "take it apart",
			"calls and expressions are nested too deeply to be checked");
	c->depth++;
	c->at = node;
	struct av v = eval_kind(c, node);
	c->depth--;
	return v;
}
