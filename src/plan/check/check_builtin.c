/*
 * Model the effect of each built-in function and method on labels and abstract objects.
 *
 * The table builtin/builtin.def names a model for each built-in (enum native_model); this file
 * implements the models. Several built-ins may share a model. For example, all built-ins that build
 * a text from their arguments share MODEL_TEXT. The model of a method is looked up by the method's
 * name alone, since the type of the receiver may be unknown; so all methods of one name share one
 * model.
 *
 * The checker refuses a built-in that has no model. It also refuses a call with *x or **x if the
 * model must know each single argument. Guessing would be unsound.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/attr.h"
#include "plan/check/inside.h"

#include "plan/builtin/builtin.h"
#include "plan/value/str.h"

#include <string.h>

static const struct mark public = {0};

static bool has_rule(const struct native *native)
{
	return native && native->model != MODEL_UNKNOWN;
}

bool native_is_known(const char *name)
{
	return has_rule(builtin_function(name));
}

bool method_is_known(const char *name)
{
	return has_rule(builtin_method(name));
}

/* Return the join of the marks of all arguments and, in the call of a method, of its receiver
 * @self. */
static struct mark all_of(
	struct checker *c, struct av self, const struct call_args *args, bool has_constants)
{
	return mark_join(c, self.type == T_UNSET ? public : whole(c, self),
		args_whole(c, args, has_constants));
}

/* Create a container whose elements have unknown indexes. @structure is the mark of the length
 * and order of its elements. */
struct av new_object(
	struct checker *c, enum obj_kind kind, const struct node *node, struct mark structure)
{
	struct obj *o = obj_new(c, kind, node, 100);
	if (o) {
		o->is_fuzzy = true;
		cell_add(c, o->structure, av_of(structure, N_TYPES));
	}
	return obj_value(c, o, public);
}

/* Create a list, tuple or set of the elements of all arguments. @is_ordered is true if the order
 * or choice of elements depends on the elements, as in sorted(). */
static struct av collect(struct checker *c, enum obj_kind kind, const struct call_args *args,
	struct av self, bool is_ordered)
{
	struct av v = new_object(c, kind, args->node, public);
	if (self.type != T_UNSET)
		contents_add(c, v, self);
	for (uint32_t i = 0; i < args->n; i++)
		contents_add(c, v, args->positional[i]);
	if (args->has_star)
		contents_add(c, v, element_of(c, args->star));
	struct obj *o = obj_nth(c, v, 0);
	struct mark m = public;
	if (is_ordered) {
		struct av from = args->n ? args_nth(args, 0) : element_of(c, args->star);
		m = mark_made(c, mark_capped(c, all_of(c, self, args, false), KIND_NUMBER));
		struct mark key = mark_unplanned(c, key_mark(c, args, from));
		m = mark_join(c, m, mark_capped(c, key, KIND_NUMBER));
	}
	if (o)
		cell_add(c, o->structure, av_of(m, N_TYPES));
	return v;
}

/* Model zip() and enumerate(), which return a list of tuples. */
static struct av pairs(struct checker *c, const struct call_args *args, bool is_zip)
{
	struct mark m = args->has_star ? whole(c, args->star) : public;
	struct obj *pair = obj_new(c, OBJ_TUPLE, args->node, 101);
	for (uint32_t i = 0; i < args->n; i++)
		m = mark_join(c, m, structure_of(c, args->positional[i]));
	for (uint32_t i = 0; i < args->n_named; i++)
		m = mark_join(c, m, structure_of(c, args->named[i]));
	struct av v = new_object(c, OBJ_LIST, args->node, m);
	struct obj *o = obj_nth(c, v, 0);
	if (!pair || !o)
		return v;
	/* The indexes that enumerate() yields reveal the length of its argument. */
	struct field *number = is_zip ? NULL : field_at(c, pair, VAL_INT(0), true);
	if (!is_zip)
		cell_add(c, number ? number->cell : pair->rest,
			av_of(computed_mark(c, m, args->node, VAL_UNSET, KIND_NUMBER), N_TYPES));
	for (uint32_t i = 0; i < args->n; i++) {
		struct field *field = field_at(c, pair, VAL_INT(i + !is_zip), true);
		cell_add(c, field ? field->cell : pair->rest, iterated(c, args->positional[i]));
	}
	for (uint32_t i = 0; i < args->n_named; i++)
		cell_add(c, pair->rest, iterated(c, args->named[i]));
	if (args->has_star)
		cell_add(c, pair->rest, iterated(c, element_of(c, args->star)));
	cell_add(c, o->rest, obj_value(c, pair, public));
	return v;
}

/* Model d.items(), which returns a list of pairs of a key and a value. */
static struct av items(struct checker *c, const struct node *node, struct av self)
{
	struct obj *pair = obj_new(c, OBJ_TUPLE, node, 101);
	struct av v = new_object(c, OBJ_LIST, node, structure_of(c, self));
	struct obj *o = obj_nth(c, v, 0);
	if (!pair || !o)
		return v;
	struct field *key = field_at(c, pair, VAL_INT(0), true);
	struct field *value = field_at(c, pair, VAL_INT(1), true);
	cell_add(c, key ? key->cell : pair->rest, iterated(c, self));
	cell_add(c, value ? value->cell : pair->rest, element_of(c, self));
	cell_add(c, o->rest, obj_value(c, pair, public));
	return v;
}

/* Model dict(…), d.update(…) and x.extend(…). The elements to add come from a mapping, from a
 * list of elements or of pairs, or from named arguments. The callers refuse a call that has an
 * argument *x. */
static void update(struct checker *c, struct av v, const struct call_args *args)
{
	for (uint32_t i = 0; i < args->n; i++) {
		struct av from = args->positional[i];
		contents_add(c, v, from);
		element_add(c, v, element_of(c, element_of(c, from)));
		places_lost(c, v, mark_capped(c, whole(c, from), KIND_NUMBER));
	}
	for (uint32_t i = 0; i < args->n_named; i++) {
		const struct node *name = args->named_at[i];
		item_set(c, v, av_constant(c, name, name->value), args->named[i]);
	}
	if (args->has_starstar)
		contents_add(c, v, args->starstar);
}

static struct av make_range(struct checker *c, const struct call_args *args)
{
	struct av v = new_object(c, OBJ_LIST, args->node, mark_made(c, args_whole(c, args, false)));
	struct mark m = args_whole(c, args, true);
	element_add(c, v, av_of(computed_mark(c, m, args->node, VAL_UNSET, KIND_NUMBER), T_INT));
	return v;
}

static struct av make_struct(struct checker *c, const struct call_args *args)
{
	struct obj *o = obj_new(c, OBJ_STRUCT, args->node, 0);
	struct av v = obj_value(c, o, public);
	for (uint32_t i = 0; o && i < args->n_named; i++) {
		struct field *field = field_at(c, o, args->named_at[i]->value, true);
		cell_add(c, field ? field->cell : o->rest, args->named[i]);
	}
	if (o && args->has_starstar)
		cell_add(c, o->rest, element_of(c, args->starstar));
	return v;
}

static struct av make_enum(struct checker *c, const struct call_args *args)
{
	struct obj *o = obj_new(c, OBJ_LIST, args->node, 0);
	struct av v = obj_value(c, o, public);
	for (uint32_t i = 0; o && i < args->n; i++) {
		struct field *field = field_at(c, o, VAL_INT(i), true);
		cell_add(c, field ? field->cell : o->rest, args->positional[i]);
	}
	if (args->has_star)
		contents_add(c, v, args->star);
	if (o)
		o->is_fuzzy |= args->has_star;
	return v;
}

/* Evaluate a call of a built-in function or method. @model is one of the models that treat
 * functions and methods alike. @self is the object whose method is called; for a function, the
 * type of @self is T_UNSET. */
static struct av plain(
	struct checker *c, enum native_model model, struct av self, const struct call_args *args)
{
	/* For most methods, an argument only selects a part of the object @self, as "," does in
	 * s.split(","). Such an argument adds nothing to @m if it is a constant of the plan. For
	 * a function, and for a method that builds a text (MODEL_TEXT), the result may contain
	 * each argument, so the mark of each argument is joined to @m. */
	struct mark m =
		mark_made(c, all_of(c, self, args, model == MODEL_TEXT || self.type == T_UNSET));
	struct av v;
	switch ((int)model) {
	case MODEL_TEXT:
		return av_of(text_mark(c, m, args->node), T_STRING);
	case MODEL_PART:
		return av_of(part_mark(c, m), T_STRING);
	case MODEL_NUMBER:
		m = mark_capped(c, m, KIND_NUMBER);
		return av_of(computed_mark(c, m, args->node, VAL_UNSET, KIND_NUMBER), T_FLOAT);
	case MODEL_DATE_MADE:
		m = mark_capped(c, m, KIND_DATE);
		return av_of(computed_mark(c, m, args->node, VAL_UNSET, KIND_DATE), T_STRING);
	case MODEL_DATE_TEXT:
		if (chosen(c, args_nth(args, 1)).label != LABEL_BOTTOM || args->n != 2)
			return av_of(text_mark(c, m, args->node), T_STRING);
		attr_fallthrough;
	case MODEL_DATE:
		m = mark_capped(c, m, KIND_DATE);
		return av_of(m.label ? mark_raised(c, m, KIND_DATE) : m, T_STRING);
	case MODEL_BOOL:
		m = mark_capped(c, m, KIND_BOOL);
		return av_of(computed_mark(c, m, args->node, VAL_UNSET, KIND_BOOL), T_BOOL);
	case MODEL_PARTS:
	case MODEL_NAMES:
		v = new_object(c, OBJ_LIST, args->node, mark_capped(c, m, KIND_NUMBER));
		element_add(c, v,
			av_of(model == MODEL_PARTS ? part_mark(c, m) : text_mark(c, m, args->node),
				N_TYPES));
		return v;
	default:
		v = any_value(c, args->node, 0, part_mark(c, all_of(c, self, args, true)));
		/* The result may be one of the arguments, or contain an argument. */
		for (uint32_t i = 0; i < args->n; i++)
			v = av_join(c, v, args->positional[i]);
		for (uint32_t i = 0; i < args->n_named; i++)
			v = av_join(c, v, args->named[i]);
		return args->has_star ? av_join(c, v, iterated(c, args->star)) : v;
	}
}

/* Return whether the names of arguments matter to a built-in with the model @model. For example,
 * sorted(x, key = f) calls f, and enumerate(iterable = x) takes its elements from x. */
static bool takes_names(enum native_model model)
{
	return model == MODEL_ORDERED || model == MODEL_EXTREME || model == MODEL_PAIRS;
}

static bool has_stars(const struct call_args *args)
{
	return args->has_star || args->has_starstar;
}

static struct av length(struct checker *c, const struct call_args *args)
{
	struct mark m = has_stars(args)
		? args_whole(c, args, true)
		: mark_capped(c, structure_of(c, args_nth(args, 0)), KIND_NUMBER);
	m = mark_join(c, mark_made(c, m), mark_planned(c, args->node, KIND_NUMBER));
	return av_of(m, T_INT);
}

static struct av truth(struct checker *c, const struct call_args *args)
{
	struct av x = args_nth(args, 0);
	bool is_whole = has_stars(args) || x.konst.type != T_UNSET;
	struct mark m =
		is_whole ? mark_capped(c, args_whole(c, args, true), KIND_BOOL) : truth_of(c, x);
	return av_of(computed_mark(c, m, args->node, VAL_UNSET, KIND_BOOL), T_BOOL);
}

struct av call_native(struct checker *c, const char *name, const struct call_args *args)
{
	const struct native *row = builtin_function(name);
	struct av v;
	if (!has_rule(row) || (args->has_starstar && takes_names(row->model)))
		return refuse(c, P_UNKNOWN, args->node, has_rule(row) ? "name the arguments" : "",
			has_rule(row) ? "the checker does not know what %.80s does with **"
				      : "%.80s is not known here",
			name);
	switch ((int)row->model) {
	case MODEL_LENGTH:
		return length(c, args);
	case MODEL_TRUTH:
		return truth(c, args);
	case MODEL_LIST:
	case MODEL_ORDERED:
		return collect(c, OBJ_LIST, args, AV_NONE, row->model == MODEL_ORDERED);
	case MODEL_TUPLE:
	case MODEL_SET:
		return collect(
			c, row->model == MODEL_SET ? OBJ_SET : OBJ_TUPLE, args, AV_NONE, false);
	case MODEL_PAIRS:
		return pairs(c, args, strcmp(name, "zip") == 0);
	case MODEL_RANGE:
		return make_range(c, args);
	case MODEL_EXTREME:
		return strcmp(name, "sum") == 0 ? model_sum(c, args) : model_extreme(c, args);
	case MODEL_DICT:
		if (args->has_star)
			return refuse(c, P_UNKNOWN, args->node, "dict(pairs)",
				"the checker does not know what dict does with *");
		v = new_object(c, OBJ_DICT, args->node, public);
		update(c, v, args);
		return v;
	case MODEL_STRUCT:
		return make_struct(c, args);
	case MODEL_ENUM:
		return make_enum(c, args);
	case MODEL_NOTHING:
		return av_constant(c, args->node, VAL_NONE);
	case MODEL_ENDORSE:
		return model_endorse(c, name, args, &v) ? v : plain(c, MODEL_ANY, AV_NONE, args);
	case MODEL_APPROVE:
	case MODEL_ASK:
	case MODEL_TRY:
		if (is_suspended(c, args, name))
			return av_of(public, N_TYPES);
		return row->model == MODEL_ASK	  ? model_ask(c, args)
			: row->model == MODEL_TRY ? model_try(c, args)
						  : model_approve(c, args);
	default:
		return plain(c, row->model, AV_NONE, args);
	}
}

/* Model a method that changes its receiver. call_method() refuses calls of such methods with *
 * or **. */
static struct av change(
	struct checker *c, enum native_model model, struct av self, const struct call_args *args)
{
	struct av x = args_nth(args, 0), v = element_of(c, self);
	struct mark m, order = mark_capped(c, args_whole(c, args, true), KIND_NUMBER);
	switch ((int)model) {
	case MODEL_ADD:
		if (args->n > 1)
			places_lost(c, self, mark_capped(c, mark_unplanned(c, x.m), KIND_NUMBER));
		element_add(c, self, args_nth(args, args->n ? args->n - 1 : 0));
		break;
	case MODEL_EXTEND:
		update(c, self, args);
		return av_constant(c, args->node, VAL_NONE);
	case MODEL_SETDEFAULT:
		/* The result of d.setdefault(k, v) depends on whether the dict d had the key k.
		 * So the result gets the mark of the structure of d, which says which keys d
		 * has. */
		v = args->n > 1 ? args_nth(args, 1) : av_of(public, T_NONE);
		v = av_join(c, item_of(c, self, x), v);
		item_set(c, self, x, av_with(c, v, structure_of(c, self)));
		return item_of(c, self, x);
	case MODEL_POP:
		v = args->n ? item_of(c, self, x) : v;
		/* A call x.pop(i) changes the structure of the list x: its length and the
		 * positions of its elements. So the structure gets the mark of i. But an i that
		 * the plan itself wrote reveals no other data, so the origin "plan" is first
		 * removed from the mark of i. */
		places_lost(c, self, mark_unplanned(c, order));
		return av_with(c, av_join(c, v, args_nth(args, 1)), structure_of(c, self));
	case MODEL_POPITEM:
		v = element_of(c, items(c, args->node, self));
		places_lost(c, self, public);
		return v;
	case MODEL_SORT:
		m = mark_unplanned(c, key_mark(c, args, self));
		m = mark_join(c, whole(c, self), m);
		places_lost(c, self, mark_capped(c, mark_join(c, m, order), KIND_NUMBER));
		break;
	default:
		places_lost(
			c, self, mark_join(c, order, mark_capped(c, whole(c, self), KIND_NUMBER)));
	}
	return av_constant(c, args->node, VAL_NONE);
}

struct av call_method(
	struct checker *c, struct av self, const char *name, const struct call_args *args)
{
	const struct native *row = builtin_method(name);
	struct av x = args_nth(args, 0), v;
	struct mark m;
	bool is_star = has_stars(args);
	if (!has_rule(row) || (is_star && row->model >= MODEL_LIST))
		return refuse(c, P_UNKNOWN, args->node, is_star ? "name the arguments" : "",
			"the checker does not know what %.80s does%s", name,
			is_star ? " with *" : "");
	switch ((int)row->model) {
	case MODEL_GET:
		v = args->n > 1 ? args_nth(args, 1) : av_of(public, T_NONE);
		v = av_join(c, item_of(c, self, x), v);
		return av_with(c, v, structure_of(c, self));
	case MODEL_VALUES:
		v = new_object(c, OBJ_LIST, args->node, structure_of(c, self));
		element_add(c, v, element_of(c, self));
		return v;
	case MODEL_KEYS:
		v = new_object(c, OBJ_LIST, args->node, structure_of(c, self));
		element_add(c, v, iterated(c, self));
		return v;
	case MODEL_ITEMS:
		return items(c, args->node, self);
	case MODEL_COPY:
	case MODEL_UNION:
		if (self.type == T_LIST || self.type == T_DICT || self.type == T_SET)
			return collect(c,
				self.type == T_LIST	      ? OBJ_LIST
					: self.type == T_DICT ? OBJ_DICT
							      : OBJ_SET,
				args, self, row->model == MODEL_UNION);
		/* The type of @self is unknown, so each element of the result may contain data
		 * of @self and of every argument. */
		m = mark_anyones(all_of(c, self, args, true));
		v = any_value(c, args->node, 0, m);
		element_add(c, v, element_of(c, self));
		return v;
	case MODEL_ADD:
	case MODEL_EXTEND:
	case MODEL_SETDEFAULT:
	case MODEL_POP:
	case MODEL_POPITEM:
	case MODEL_LOSE:
	case MODEL_SORT:
		return change(c, row->model, self, args);
	default:
		return plain(c, row->model, self, args);
	}
}
