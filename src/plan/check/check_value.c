/*
 * Marks and abstract values: the lattice operations of the check.
 *
 * A mark is a label and the event that created the label. Joining two marks joins their labels. If
 * neither label contains the other, the result refers to a new EVENT_JOIN, which refers to the
 * events of both marks. So every source of the data can be found from the mark of a finding.
 *
 * In a run, a label may contain a presumption: a label for what a branch that did not run might
 * have written. The check evaluates all branches, so it knows what they write, and its labels
 * contain no presumptions.
 *
 * Data that does not come from a tool or model has one of these three origins, see mark_is_own():
 * - "plan": a literal that the planner invented, or a computation in the plan.
 * - "user": a literal that occurs in the user's request.
 * - "policy": a literal that the policy names.
 * A value that the plan computes has the origins of its inputs and also the origin "plan", because
 * the planner chose the computation.
 *
 * A guard is the mark of a condition. The origin "plan" is removed from each guard, see
 * mark_unplanned().
 *
 * Abstract values are joined member by member: the marks are joined, and the sets of objects are
 * united. The type and the constant are kept only if they are equal in both values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

#include "plan/value/str.h"

#include <string.h>

uint32_t event_new(struct checker *c, const struct event *event)
{
	if (c->n_events == c->event_room) {
		uint32_t room = c->event_room ? c->event_room * 2 : 256;
		struct event *events =
			heap_regrow(c->h, c->events, c->n_events, room, sizeof *events);
		if (!events)
			return 0;
		c->events = events;
		c->event_room = room;
		c->n_events += c->n_events == 0; /* event 0 means "no event" */
	}
	c->events[c->n_events] = *event;
	return c->n_events++;
}

static struct mark above(struct checker *c, struct mark a, struct mark b, bool is_others)
{
	uint32_t label = label_join(c->labels, a.label, b.label);
	if (label == a.label)
		return (struct mark){label, a.event, is_others};
	if (label == b.label)
		return (struct mark){label, b.event, is_others};
	const struct event join = {EVENT_JOIN, a.event, b.event, label, NULL, NULL};
	return (struct mark){label, event_new(c, &join), is_others};
}

/* Return the mark of a value that contains data of two values with the marks @a and @b. */
struct mark mark_join(struct checker *c, struct mark a, struct mark b)
{
	return above(c, a, b, a.is_others || b.is_others);
}

/* Return @m with is_others set to false. (If is_others is true, the value contains data of a
 * tool or model in every run.) Call this function for the mark of a part before it is joined to
 * the mark of the whole. For example, even if one element of a list comes from a tool in every
 * run, another element may be a literal of the plan. So the list as a whole does not count as
 * data of the tool. */
struct mark mark_anyones(struct mark m)
{
	m.is_others = false;
	return m;
}

static struct mark of_rank(struct checker *c, struct mark m, enum label_kind rank, bool is_least)
{
	if (m.label == LABEL_BOTTOM || m.label == LABEL_FAILED)
		return m;
	struct label l = label_get(c->labels, m.label);
	if (is_least ? l.kind.rank >= rank : l.kind.rank <= rank)
		return m;
	l.kind = (struct kind){.rank = rank};
	m.label = label_intern(c->labels, &l);
	return m;
}

/* Return the mark of a result that is computed from a value with the mark @m. The result may
 * contain data of each origin of the value. So each origin becomes a giver, an origin whose data
 * is in the value, even if it was only a chooser before. The endorsements are removed. */
struct mark mark_made(struct checker *c, struct mark m)
{
	m.label = label_made(c->labels, m.label);
	return m;
}

/* Lower the kind of @m to @rank if the kind is higher. */
struct mark mark_capped(struct checker *c, struct mark m, enum label_kind rank)
{
	return of_rank(c, m, rank, false);
}

/* Return the mark that a selection adds to the selected value. @m is the mark of the value that
 * selects, such as an index. Each origin becomes a chooser: its data decides which value is
 * selected, but is not in the selected value. */
struct mark mark_choice(struct checker *c, struct mark m)
{
	m.label = label_choice(c->labels, m.label);
	return m;
}

/* Raise the kind of @m to @rank if the kind is lower. The bottom label stays as it is, because
 * it stands for a trusted constant. */
struct mark mark_raised(struct checker *c, struct mark m, enum label_kind rank)
{
	return of_rank(c, m, rank, true);
}

/* Remove the origin "plan" from the mark of a condition. If the condition depends on a value of
 * the plan, the planner decides which branch runs. But this gives the planner no additional
 * influence, because it wrote both branches anyway. So there is no implicit flow from the origin
 * "plan". */
struct mark mark_unplanned(struct checker *c, struct mark m)
{
	if (m.label == LABEL_BOTTOM || m.label == LABEL_FAILED)
		return m;
	struct label l = label_get(c->labels, m.label);
	if (l.origins == LABEL_ALL || !label_is_subset(c->labels, c->plan, l.origins))
		return m;
	uint32_t rest = 0, atom, plan = label_nth(c->labels, c->plan, 0);
	for (size_t i = 0; (atom = label_nth(c->labels, l.origins, i)); i++)
		if (atom != plan)
			rest = label_union(c->labels, rest, label_set(c->labels, atom));
	l.origins = rest;
	if (rest == 0 && l.readers == LABEL_ALL)
		return (struct mark){0};
	m.label = labels_has_failed(c->labels) ? LABEL_FAILED : label_intern(c->labels, &l);
	return m;
}

/* Return the guard of the branches of a condition. @m is the mark of the condition's value. */
struct mark mark_guard(struct checker *c, struct mark m, const struct node *node)
{
	m = mark_unplanned(c, m);
	if (m.label == LABEL_BOTTOM)
		return m;
	/* A condition reveals one bit. In a loop, the bits of all iterations can add up to a
	 * number. */
	m = mark_capped(c, m, c->n_loops ? KIND_NUMBER : KIND_BOOL);
	m = mark_choice(c, m);
	const struct event guard = {EVENT_GUARD, m.event, 0, m.label, node, NULL};
	return (struct mark){m.label, event_new(c, &guard), m.is_others};
}

/* Return the mark of the program counter: the join of the guards of all conditions that decide
 * whether control reaches this point. */
struct mark mark_now(struct checker *c)
{
	return mark_join(c, c->pc, mark_join(c, c->broken, c->returned));
}

struct av av_of(struct mark m, uint32_t type)
{
	return (struct av){.m = m, .type = type, .konst = VAL_UNSET};
}

static bool const_equal(struct val a, struct val b)
{
	if (a.type != b.type)
		return false;
	if (a.type == T_STRING)
		return str_equal(a.str, b.str);
	return a.type == T_NONE || a.type == T_UNSET ||
		((a.type == T_INT || a.type == T_BOOL || a.type == T_FLOAT) && a.i == b.i);
}

static bool is_const(struct av v)
{
	return v.konst.type != T_UNSET;
}

bool av_equal(struct av a, struct av b)
{
	return a.m.label == b.m.label && a.m.is_others == b.m.is_others && a.refs == b.refs &&
		a.type == b.type && const_equal(a.konst, b.konst);
}

/* Lower the kind of @v if a value of its type cannot express so much. The kind of a bool becomes
 * KIND_BOOL (one bit), the kind of an int or float KIND_NUMBER. If the kind is lower already, it
 * stays as it is. */
static struct av capped(struct checker *c, struct av v)
{
	if (v.type == T_BOOL)
		v.m = mark_capped(c, v.m, KIND_BOOL);
	else if (v.type == T_INT || v.type == T_FLOAT || v.type == T_BIG)
		v.m = mark_capped(c, v.m, KIND_NUMBER);
	return v;
}

struct av av_with(struct checker *c, struct av v, struct mark m)
{
	if (m.label == LABEL_BOTTOM)
		return v;
	v.m = above(c, v.m, m, v.m.is_others);
	return capped(c, v);
}

struct av av_join(struct checker *c, struct av a, struct av b)
{
	if (a.type == T_UNSET)
		return b;
	if (b.type == T_UNSET)
		return a;
	struct av v = {.m = above(c, a.m, b.m, a.m.is_others && b.m.is_others),
		.refs = label_union(c->labels, a.refs, b.refs),
		.type = a.type == b.type ? a.type : N_TYPES,
		.konst = const_equal(a.konst, b.konst) ? a.konst : VAL_UNSET};
	return capped(c, v);
}

static enum label_kind rank_of(struct checker *c, struct mark m)
{
	return m.label == LABEL_FAILED ? KIND_TEXT : label_get(c->labels, m.label).kind.rank;
}

/* Join @guard to the mark of @v, because the condition of @guard decided which value @v has.
 * @is_bit is true if the condition decided between two constants, which reveals only one bit. */
static struct av told(struct checker *c, struct av v, struct mark guard, bool is_bit)
{
	if (v.type == T_UNSET || guard.label == LABEL_BOTTOM)
		return v;
	v.m = above(c, v.m, guard, v.m.is_others);
	if (rank_of(c, v.m) < KIND_NUMBER)
		v.m = mark_raised(c, v.m, is_bit ? KIND_BOOL : KIND_NUMBER);
	return capped(c, v);
}

/* Join @a and @b, the results of two branches. @guard is the guard of the condition that decided
 * between them. If both are the same constant, the result reveals nothing about the condition.
 * Two different constants reveal one bit, so the kind of the result is at least KIND_BOOL. Other
 * values may reveal more, so it is at least KIND_NUMBER. */
struct av av_choice(struct checker *c, struct av a, struct av b, struct mark guard)
{
	struct av v = av_join(c, a, b);
	if (is_const(v) && const_equal(a.konst, b.konst))
		return v;
	return told(c, v, guard, is_const(a) && is_const(b));
}

struct av av_told(struct checker *c, struct av v, struct mark guard)
{
	return told(c, v, guard, is_const(v));
}

/*
 * Return @v, the value that a variable has after the two branches of a condition. @guard is the
 * guard of the condition. The member is_others of a mark says that the value counts as data of a
 * tool or model in every run. It is set in the result if both of these are true:
 * - In every run, the condition contains data of a tool or model (guard.is_others).
 * - Every run reaches the condition, because no other condition decides whether it is reached.
 * Data of the tool or model then decides in every run which value the variable has. If one of the
 * two is not true, is_others stays as it is in @v.
 */
struct av av_decided(struct checker *c, struct av v, struct mark guard)
{
	v.m.is_others |= guard.is_others && mark_now(c).label == LABEL_BOTTOM;
	return v;
}

/* Return a mark with the origin "plan" and the kind @rank, for a value that the plan computes,
 * such as a length. */
struct mark mark_planned(struct checker *c, const struct node *node, enum label_kind rank)
{
	uint32_t label = c->ground.planned[rank];
	const struct event source = {EVENT_SOURCE, 0, 0, label, node, NULL};
	return (struct mark){label, event_new(c, &source), false};
}

struct av av_constant(struct checker *c, const struct node *node, struct val v)
{
	uint32_t label = ground_label(&c->ground, v);
	struct event source = {EVENT_SOURCE, 0, 0, label, node, NULL};
	struct mark m = {label, label == LABEL_BOTTOM ? 0 : event_new(c, &source), false};
	struct av out = av_of(m, v.type);
	if (v.type != T_BIG && v.type != T_BYTES)
		out.konst = v;
	return out;
}

/* Return the mark of a value that is computed from inputs with the mark @m. If the kind of the
 * mark is lower than @rank, it is raised to @rank. But if all inputs are constants (KIND_CONST),
 * the kind stays as it is. */
struct mark mark_derived(struct checker *c, struct mark m, enum label_kind rank)
{
	m = mark_made(c, m);
	if (m.label == LABEL_BOTTOM || m.label == LABEL_FAILED ||
		label_get(c->labels, m.label).kind.rank == KIND_CONST)
		return m;
	return mark_raised(c, m, rank);
}

/* Return the mark of a text that the plan computes from inputs with the mark @m. The text also
 * has the origin "plan". */
struct mark text_mark(struct checker *c, struct mark m, const struct node *node)
{
	return mark_join(c, mark_derived(c, m, KIND_TEXT), mark_planned(c, node, KIND_TEXT));
}

/*
 * Return the mark of a number, date or bool that the plan computes from inputs with the mark @m.
 * The mark has the origin "plan" in addition to the origins of the inputs.
 * There is one exception: @v is a constant, all inputs are the plan's own values, and the request
 * or the policy contains @v. Then the mark is the same as for a literal @v in the plan.
 */
struct mark computed_mark(struct checker *c, struct mark m, const struct node *node, struct val v,
	enum label_kind rank)
{
	struct mark made = mark_join(c, mark_derived(c, m, rank), mark_planned(c, node, rank));
	if (v.type == T_UNSET || !mark_is_own(c, m))
		return made;
	struct mark said = av_constant(c, node, v).m;
	bool is_plans = said.label == LABEL_FAILED ||
		label_is_subset(c->labels, c->plan, label_get(c->labels, said.label).origins);
	return is_plans ? made : said;
}

bool mark_is_own(struct checker *c, struct mark m)
{
	return m.label != LABEL_FAILED &&
		label_is_subset(c->labels, label_get(c->labels, m.label).origins, c->own);
}

/* Return the mark of a tool's result. @label is the label of the result, joined with the labels
 * of the arguments. @event->label is the label of the result alone. */
struct mark mark_source(struct checker *c, uint32_t label, const struct event *event)
{
	const struct mark least = {event->label, 0, false};
	return (struct mark){label, event_new(c, event), !mark_is_own(c, least)};
}

/* Return the mark of a part of a text with the mark @m. A part of a tool's text is still data of
 * the tool. A part of a literal counts as a new literal of the planner. */
struct mark part_mark(struct checker *c, struct mark m)
{
	return m.is_others ? mark_derived(c, m, KIND_TEXT) : text_mark(c, m, c->at);
}
