/*
 * Model the built-ins that change trust: approve, ask, try_call, matches, member.
 *
 * approve(), matches() and member() test a value, and return the value if it passes; the test of
 * approve() is that a person approves. In a run, the label of the returned value also gets an
 * endorsement, which says which test the value passed. The check adds only the endorsement of
 * approve(), because a policy can only require this one. The list of member() and the pattern of
 * matches() must come from the plan itself, because a list or pattern from a tool would let the
 * tool endorse its own data.
 *
 * ask() calls the quarantined model, which sees untrusted data, has no tools, and must answer
 * within a schema. The label of the answer has the origins of the data, the origin "model", and a
 * kind. The schema limits the kind, which is how much information the answer can carry: a bool
 * carries one bit, an enum(n) one of n words, a string anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

#include "plan/value/ask_type.h"
#include "plan/value/pattern.h"
#include "plan/value/str.h"

#include <string.h>

/* Model approve(): a person approves the value. The result is a frozen copy of the value that the
 * person saw. */
struct av model_approve(struct checker *c, const struct call_args *args)
{
	struct av from = args_nth(args, 0);
	struct mark m = whole(c, from);
	const char word[] = "approved";
	uint32_t atom = label_atom(c->labels, word, sizeof word - 1);
	if (args->n == 0 || args->has_star || args->has_starstar || m.label == LABEL_FAILED)
		return refuse(c, P_CALL, args->node, "approve(value, \"reason\")",
			"approve needs the value first");
	if (!is_data(c, from))
		return refuse(c, P_UNKNOWN, args->node, "approve its fields one by one",
			"approve takes texts, numbers, lists and dicts of them");
	struct label l = label_get(c->labels, m.label);
	if (m.label != LABEL_BOTTOM)
		l.endorsements = label_set(c->labels, atom);
	m.label = label_intern(c->labels, &l);
	const struct event through = {EVENT_THROUGH, m.event, 0, m.label, args->node, NULL};
	m.event = event_new(c, &through);
	if (from.refs) {
		uint32_t type = from.type;
		m.is_others &= element_of(c, from).m.is_others;
		from = any_value(c, args->node, 0, m);
		from.type = type;
	}
	from.m = m;
	return from;
}

static const struct ask_type *asked_type(struct checker *c, struct av schema)
{
	const struct obj *o = obj_nth(c, schema, 0);
	if (schema.konst.type == T_STRING)
		return ask_type_format(schema.konst.str->data);
	if (!o || obj_nth(c, schema, 1))
		return NULL;
	return o->kind == OBJ_NATIVE || (o->kind == OBJ_PREFIX && strcmp(o->name, "date") == 0)
		? ask_type_named(o->name)
		: NULL;
}

/* What the schema of ask() allows as an answer. If the answer is a list, `kind` and `type` are
 * those of its elements. */
struct asked {
	struct kind kind;
	uint32_t type; /* type of the answer (enum type), such as T_STRING; N_TYPES: unknown */
	bool is_list;
};

static struct asked asked_of(struct checker *c, struct av schema)
{
	struct asked a = {.kind = {.rank = KIND_TEXT}, .type = N_TYPES};
	struct val all = schema.type == T_LIST ? concrete(c, schema, 0) : VAL_UNSET;
	const struct obj *o = obj_nth(c, schema, 0);
	const struct ask_type *type;
	/* The schema ["a", "b"] means that the answer is one of these texts. */
	if (all.type == T_TUPLE && all.tuple->n > 1) {
		a.kind = (struct kind){.rank = KIND_ENUM, .size = all.tuple->n};
		a.type = T_STRING;
		return a;
	}
	if (all.type == T_TUPLE && all.tuple->n == 1) {
		a.kind = (struct kind){.rank = KIND_ENUM, .size = 2};
		a.type = T_STRING;
		return a;
	}
	a.is_list = schema.type == T_LIST && is_sure(c, schema) && !o->is_fuzzy &&
		o->n_fields == 1 && c->cells[o->rest].v.type == T_UNSET;
	type = asked_type(c, a.is_list ? c->cells[o->field[0].cell].v : schema);
	if (schema.type == T_UNSET)
		a.type = T_STRING;
	if (!type)
		return a;
	a.kind.rank = type->rank;
	a.type = type->type;
	if (type->rank == KIND_NAME)
		a.kind.type = label_atom(c->labels, type->format, strlen(type->format));
	return a;
}

/* Create the list that ask() returns. Its length is unknown, and @x is the abstract value of
 * every element. The model chose the number of elements, too. So the list gets the mark of @x,
 * but with the kind KIND_NUMBER. */
static struct av list_of(struct checker *c, const struct node *node, struct av x)
{
	struct obj *o = obj_new(c, OBJ_LIST, node, 0);
	struct mark m = mark_raised(c, mark_capped(c, x.m, KIND_NUMBER), KIND_NUMBER);
	struct av v = obj_value(c, o, m);
	if (o) {
		o->is_fuzzy = true;
		cell_add(c, o->rest, x);
	}
	return v;
}

struct av model_ask(struct checker *c, const struct call_args *args)
{
	struct mark m = args_whole(c, args, true);
	struct av schema = args_get(args, 2, "schema");
	uint32_t atom = label_atom(c->labels, "model", 5);
	struct label l = {.origins = label_set(c->labels, atom), .readers = LABEL_ALL};
	if (m.label == LABEL_FAILED || labels_has_failed(c->labels))
		return av_of(m, N_TYPES);
	struct label in = label_get(c->labels, m.label);
	l.origins = label_union(c->labels, l.origins, in.origins);
	l.readers = in.readers;
	struct asked a = asked_of(c, schema);
	/* The schema may be among the arguments of * or **, so the type of the answer is
	 * unknown. */
	if (schema.type == T_UNSET && (args->has_star || args->has_starstar))
		a.type = N_TYPES;
	l.kind = a.kind;
	uint32_t label = label_intern(c->labels, &l);
	const struct event through = {EVENT_THROUGH, m.event, 0, label, args->node, NULL};
	m = (struct mark){label, event_new(c, &through), true};
	if (a.is_list && a.type != N_TYPES)
		return list_of(c, args->node, av_of(m, a.type));
	return a.type == N_TYPES ? any_value(c, args->node, 0, m) : av_of(m, a.type);
}

/* Model try_call(), which returns struct(ok, value, error). The mark of `error` includes the
 * marks of the arguments, because the text of an error may contain the arguments. */
struct av model_try(struct checker *c, const struct call_args *args)
{
	struct call_args rest = *args;
	const struct obj *fn = obj_nth(c, args_nth(args, 0), 0);
	if (args->n == 0 || args->has_star || args->has_starstar || !fn || fn->kind != OBJ_TOOL ||
		obj_nth(c, args_nth(args, 0), 1))
		return refuse(c, P_CALL, args->node, "try_call(tool, name = value)",
			"try_call needs the name of a tool first");
	char text[TOOL_NAME_MAX_BYTES + 8] = "error:";
	strncat(text, fn->tool->name, TOOL_NAME_MAX_BYTES);
	rest.positional++;
	rest.n--;
	struct av value = call_tool(c, fn->tool, &rest);
	uint32_t atom = label_atom(c->labels, text, strlen(text));
	struct label l = {.origins = label_set(c->labels, atom),
		.readers = LABEL_ALL,
		.kind = {.rank = KIND_TEXT}};
	const struct event source = {
		EVENT_SOURCE, 0, 0, label_intern(c->labels, &l), args->node, fn->tool};
	struct mark error = {source.label, event_new(c, &source), false};
	error = mark_join(c, error, whole(c, value));
	error = mark_made(c, mark_join(c, error, args_whole(c, &rest, true)));
	struct obj *o = obj_new(c, OBJ_STRUCT, args->node, 0);
	struct av v = obj_value(c, o, (struct mark){0});
	static const char *const names[] = {"ok", "value", "error"};
	const struct av values[] = {av_of(mark_capped(c, error, KIND_BOOL), T_BOOL),
		av_with(c, value, mark_capped(c, error, KIND_BOOL)), av_of(error, N_TYPES)};
	for (size_t i = 0; o && i < ARRAY_LEN(names); i++) {
		struct val name;
		struct field *field =
			str_of(c->h, names[i], &name) == 0 ? field_at(c, o, name, true) : NULL;
		if (field)
			cell_add(c, field->cell, values[i]);
	}
	return v;
}

static bool is_scalar(struct val v)
{
	return v.type == T_STRING || v.type == T_INT || v.type == T_FLOAT || v.type == T_BOOL;
}

/* Return 1 if @list contains @v, 0 if it does not, -1 if this is unknown before the run. */
static int is_member(struct checker *c, struct val v, struct val list)
{
	if (list.type != T_TUPLE || !is_scalar(v))
		return -1;
	for (uint32_t i = 0; i < list.tuple->n; i++) {
		int same = is_scalar(list.tuple->item[i]) ? val_equal(c->h, v, list.tuple->item[i])
							  : -1;
		if (same != 0)
			return same;
	}
	return 0;
}

/* Return 1 if @v matches @pattern, 0 if it does not, -1 if this is unknown before the run. A
 * malformed pattern also returns -1, because the run reports it with its own message. */
static int is_match(struct checker *c, struct val v, struct val pattern)
{
	bool is_failed = c->h->kind != FAIL_NONE;
	if (v.type != T_STRING || pattern.type != T_STRING || is_failed)
		return -1;
	int r = pattern_matches(
		c->h, pattern.str->data, pattern.str->n_bytes, v.str->data, v.str->n_bytes);
	if (r < 0 && c->h->kind == FAIL_ERROR)
		c->h->kind = FAIL_NONE;
	return r;
}

/*
 * Evaluate matches() or member() if its arguments are constants. If the value passes the test, *out
 * is the value itself. If it fails, the run would fail at this call, so the checker refuses the
 * plan.
 * Returns: false if the outcome is unknown before the run; *out is then not set.
 */
bool model_endorse(
	struct checker *c, const char *name, const struct call_args *args, struct av *out)
{
	bool is_member_of = strcmp(name, "member") == 0;
	struct av v = args_get(args, 0, "value");
	struct av by = args_get(args, 1, is_member_of ? "list" : "pattern");
	if (args->has_star || args->has_starstar || v.konst.type == T_UNSET)
		return false;
	struct val known = concrete(c, by, 0);
	int is = is_member_of ? is_member(c, v.konst, known) : is_match(c, v.konst, known);
	if (is < 0)
		return false;
	*out = is ? v
		  : refuse(c, P_FAILS, args->node, "",
			    is_member_of ? "member: the value is not in the list"
					 : "matches: the value is not of the form");
	return true;
}
