/*
 * Marks and abstract values: the lattice operations of the check.
 *
 * A mark is a label and the event that created it. Joining marks joins the labels; if neither label
 * contains the other, a new EVENT_JOIN refers to both provenances, so that every source can be
 * reached from the mark of a finding. Labels of the check never use the member `presumed`, because
 * the check evaluates all branches.
 *
 * Three origins are the plan's own: "plan" (a literal or computation of the planner), the user's (a
 * literal that occurs in the request) and the policy's. A condition with only these origins causes
 * no implicit flow (mark_unplanned()); a value keeps them. A value that the plan computes has the
 * origin "plan" beside those of its inputs, since the planner chose the computation.
 *
 * Abstract values are joined pointwise: labels and points-to sets are united; the type and the
 * constant are kept only if both values agree.
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
		c->n_events += c->n_events == 0; /* event 0 is reserved */
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

/* Return the mark of a value that contains both. */
struct mark mark_join(struct checker *c, struct mark a, struct mark b)
{
	return above(c, a, b, a.is_others || b.is_others);
}

/* Return the mark of an element of a value: others supplied the value, but perhaps not this
 * element. */
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

/* Return the mark of a value computed from another: it has no endorsements. */
struct mark mark_made(struct checker *c, struct mark m)
{
	m.label = label_made(c->labels, m.label);
	return m;
}

/* Lower the kind to @rank at most. */
struct mark mark_capped(struct checker *c, struct mark m, enum label_kind rank)
{
	return of_rank(c, m, rank, false);
}

/* Return the mark of a selection: its origins are only choosers. */
struct mark mark_choice(struct checker *c, struct mark m)
{
	m.label = label_choice(c->labels, m.label);
	return m;
}

/* Raise the kind to @rank at least, except for the bottom, which is a trusted constant. */
struct mark mark_raised(struct checker *c, struct mark m, enum label_kind rank)
{
	return of_rank(c, m, rank, true);
}

/* Remove the origin "plan": a condition on only the plan's own values causes no implicit flow. */
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

/* Return the guard that a condition imposes on its branches. */
struct mark mark_guard(struct checker *c, struct mark m, const struct node *node)
{
	m = mark_unplanned(c, m);
	if (m.label == LABEL_BOTTOM)
		return m;
	/* One bit per iteration can add up to a number. */
	m = mark_capped(c, m, c->n_loops ? KIND_NUMBER : KIND_BOOL);
	m = mark_choice(c, m);
	const struct event guard = {EVENT_GUARD, m.event, 0, m.label, node, NULL};
	return (struct mark){m.label, event_new(c, &guard), m.is_others};
}

/* Return the label of the program counter: the join of all conditions on which control here
 * depends. */
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

/* Lower the kind to the one that the type can express. */
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

/* Join the guard that decided on @v to its mark. @is_bit: the guard decided between two constants.
 */
static struct av told(struct checker *c, struct av v, struct mark guard, bool is_bit)
{
	if (v.type == T_UNSET || guard.label == LABEL_BOTTOM)
		return v;
	v.m = above(c, v.m, guard, v.m.is_others);
	if (rank_of(c, v.m) < KIND_NUMBER)
		v.m = mark_raised(c, v.m, is_bit ? KIND_BOOL : KIND_NUMBER);
	return capped(c, v);
}

/*
 * Join @a and @b, between which @guard decided. If both are the same constant, the result reveals
 * nothing about the guard. A choice between two constants reveals one bit; a choice between other
 * values may reveal as much as a number does.
 */
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

/* Return @v, the value of a variable after two branches. If others decided on the branch, the value
 * is data of others in every run, unless control here already depends on another condition. */
struct av av_decided(struct checker *c, struct av v, struct mark guard)
{
	v.m.is_others |= guard.is_others && mark_now(c).label == LABEL_BOTTOM;
	return v;
}

/* Return the mark of a value that the plan produces without a literal, such as a length. */
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

/* Return the mark of a computed value: its kind is @rank at least, unless all its inputs are
 * constants.
 */
struct mark mark_derived(struct checker *c, struct mark m, enum label_kind rank)
{
	m = mark_made(c, m);
	if (m.label == LABEL_BOTTOM || m.label == LABEL_FAILED ||
		label_get(c->labels, m.label).kind.rank == KIND_CONST)
		return m;
	return mark_raised(c, m, rank);
}

/* Return the mark of a text that the plan computes: it also has the origin "plan". */
struct mark text_mark(struct checker *c, struct mark m, const struct node *node)
{
	return mark_join(c, mark_derived(c, m, KIND_TEXT), mark_planned(c, node, KIND_TEXT));
}

/* Return the mark of a number, date or bool that the plan computes. It also has the origin "plan",
 * unless the value is the constant @v, was computed from the plan's own values, and occurs in the
 * request. */
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

/* Return the mark of a tool's result. The label in @event is the label without those of the
 * arguments. */
struct mark mark_source(struct checker *c, uint32_t label, const struct event *event)
{
	const struct mark least = {event->label, 0, false};
	return (struct mark){label, event_new(c, event), !mark_is_own(c, least)};
}

/* Return the mark of a part of a text: a part of a tool's text is still the tool's; a part of a
 * literal is a new literal of the plan. */
struct mark part_mark(struct checker *c, struct mark m)
{
	return m.is_others ? mark_derived(c, m, KIND_TEXT) : text_mark(c, m, c->at);
}
