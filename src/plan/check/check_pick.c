/*
 * Model max(), min() and sum(), and the key functions of all built-ins that compare elements.
 *
 * The result of max() is one of the elements. The check does not know which one, so it joins all
 * elements. In addition, max() compares all its arguments, and the results of a key function, to
 * choose the result. The label of this data is joined to the label of the result, too, but each of
 * its origins becomes a chooser: an origin whose data only selected the result and need not be in
 * the result.
 *
 * A key function is a function of the plan. A built-in calls it once per element, so the calls are
 * evaluated like a loop of the plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

static const struct mark public = {0};

/* The calls of a key function. A built-in calls it once per element, so the calls are modelled
 * as a loop. */
struct keying {
	const struct call_args *args;
	struct av fn, from, result;
};

static void key_round(struct checker *c, struct abstract_loop *loop)
{
	struct keying *k = loop->arg;
	struct av x = iterated(c, k->from);
	const struct call_args one = {.node = k->args->node, .positional = &x, .n = 1};
	/* Each iteration replaces the result of the one before. The last iteration begins at the
	 * fixpoint, so its result covers the results of all earlier iterations. */
	k->result = call_value(c, k->fn, &one);
}

/* Evaluate the key function (the argument `key`) on the elements of @from. Return the mark of
 * the results; the mark is empty if the call has no key function. */
struct mark key_mark(struct checker *c, const struct call_args *args, struct av from)
{
	struct keying k = {args, args_named(args, "key"), from, AV_NONE};
	if (k.fn.type == T_UNSET || k.fn.konst.type == T_NONE)
		return public;
	struct abstract_loop loop = {
		.node = args->node, .guard = structure_of(c, from), .arg = &k, .round = key_round};
	c->n_built_in++;
	run_loop(c, &loop);
	c->n_built_in--;
	return whole(c, k.result);
}

/* Model max() and min(). */
struct av model_extreme(struct checker *c, const struct call_args *args)
{
	struct av from = args_nth(args, 0);
	if (args->n > 1 || args->has_star) {
		from = new_object(c, OBJ_LIST, args->node, public);
		for (uint32_t i = 0; i < args->n; i++)
			element_add(c, from, args->positional[i]);
	}
	/* max(a, b) compares its arguments, but max(a) compares the elements of a. For max(*x)
	 * and max(a, *x), the number of arguments is unknown, because the length of x is
	 * unknown. So add both: all arguments, and the elements of the argument that may be the
	 * only one (a, or an element of x). */
	if (args->has_star) {
		contents_add(c, from, args->star);
		contents_add(c, from, args->n ? args_nth(args, 0) : iterated(c, args->star));
	}
	struct av v = av_join(c, iterated(c, from), args_named(args, "default"));
	struct mark m = mark_capped(c, args_whole(c, args, true), KIND_NUMBER);
	struct mark key = mark_unplanned(c, key_mark(c, args, from));
	m = mark_join(c, m, mark_capped(c, key, KIND_NUMBER));
	return av_with(c, v, mark_choice(c, m));
}

struct av model_sum(struct checker *c, const struct call_args *args)
{
	struct av from = args_get(args, 0, "iterable"), start = args_get(args, 1, "start");
	struct mark m = mark_made(c, args_whole(c, args, true));
	if (args->has_star) {
		struct av more = iterated(c, args->star);
		from = av_join(c, from, more);
		start = av_join(c, start, more);
	}
	struct av x = iterated(c, from);
	if ((x.type == T_INT || x.type == T_FLOAT) && !start.refs)
		return av_of(computed_mark(c, mark_capped(c, m, KIND_NUMBER), args->node, VAL_UNSET,
				     KIND_NUMBER),
			x.type);
	struct av v = any_value(c, args->node, 103, text_mark(c, m, args->node));
	element_add(c, v, element_of(c, x));
	element_add(c, v, element_of(c, start));
	/* The sum of an empty list is `start`. */
	return av_join(c, v, start);
}
