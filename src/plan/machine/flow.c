/*
 * Dynamic information-flow tracking: the labels of values while a plan runs.
 *
 * Explicit flows: the label of a result is the join of the labels of its operands. flow_new()
 * labels a computed result, flow_part() a part of a text, flow_old() a result that existed before.
 *
 * Implicit flows: after `if x: y = 1`, the value of y reveals x, even if the branch was not taken.
 * So everything that either branch may change gets the label of the condition.
 * - The guard (heap.guard) is the label of the program counter. It is the join of the labels of all
 *   conditions that control depends on. flow_raise() joins the label of a condition to the guard.
 *   flow_merge() restores the guard where the branches meet (the immediate post-dominator).
 * - The write set is the list of all variables and objects that the branches may change. The
 *   compiler computes it (compile_flow.c). flow_raise() labels the objects, flow_merge() the
 *   variables.
 * - Some changes in the write set may be impossible. So a label that is joined because of a write
 *   set is only a presumption: a label that may or may not apply (label/foreseen.c).
 * - A branch may be able to change any object, for example by a call of an unknown function. Then a
 *   flow_event is recorded. When a structure is used next, caught_up() joins the event's label to
 *   it.
 *
 * Containers: a list, dict or set has its own label (who chose this object) and the label of its
 * structure (length, keys, order). Each element has a label, too. An element that is read also gets
 * the label of the structure. flow_whole() joins the labels of everything that is reachable.
 *
 * "No sensitive upgrade": untrusted data may choose which object is changed. For example, after
 * `x = a if untrusted else b`, the change `x.append(1)` would reveal `untrusted` to a reader of a.
 * So the machine refuses the change (P_CHANGE), unless the label of the object's structure already
 * includes the label of the choice and the guard.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/machine/flow.h"

#include "label/foreseen.h"
#include "plan/value/table.h"

enum { MARK_MAX = INT32_MAX };

void flow_init(struct vm *vm, struct labels *all, uint32_t quiet, const struct literals *literals)
{
	struct label planned = {
		.origins = label_set(all, label_atom(all, "plan", 4)), .readers = LABEL_ALL};
	vm->flow = (struct flow_state){.all = all,
		.quiet = quiet,
		.literals = literals,
		.numbers = literals->numbers,
		.counted = LABEL_FAILED};
	for (int i = 0; i <= KIND_TEXT; i++) {
		planned.kind.rank = (enum label_kind)i;
		vm->flow.planned[i] = label_intern(all, &planned);
	}
	for (size_t i = 0; i < 4; i++)
		vm->flow.number[i] = literals->number[i];
}

static void no_memory(struct vm *vm)
{
	(void)heap_fail_kind(vm->h, FAIL_MEMORY, "out of memory: too many different labels");
}

uint32_t flow_join_slow(struct vm *vm, uint32_t a, uint32_t b)
{
	struct flow_memo *m = &vm->flow.joins[(a * 31 + b) % FLOW_MEMO];
	if (m->a == a && m->b == b)
		return m->result;
	uint32_t both = label_join(vm->flow.all, a, b);
	if (both == LABEL_FAILED)
		no_memory(vm);
	else
		*m = (struct flow_memo){a, b, both};
	return both;
}

uint32_t flow_made_slow(struct vm *vm, uint32_t a, uint32_t b)
{
	struct flow_memo *m = &vm->flow.made[(a * 31 + b) % FLOW_MEMO];
	uint32_t label = label_made(vm->flow.all, flow_join(vm, a, b));
	if (label == LABEL_FAILED)
		no_memory(vm);
	else
		*m = (struct flow_memo){a, b, label};
	if (label == a && a == b)
		vm->flow.plain = a;
	return label;
}

static bool is_quiet(struct vm *vm, uint32_t label)
{
	uint32_t origins = label_get(vm->flow.all, label).origins;
	return label_is_subset(vm->flow.all, origins, vm->flow.quiet);
}

enum flow_whose flow_whose(struct vm *vm, uint32_t label)
{
	struct flow_memo *m = &vm->flow.whose[label % FLOW_MEMO];
	if (label == 0 || label == LABEL_FAILED)
		return label ? FLOW_OTHERS : FLOW_OWN;
	if (m->a != label) {
		uint32_t presumed = label_get(vm->flow.all, label).presumed;
		*m = (struct flow_memo){label, 0,
			!is_quiet(vm, label)		 ? FLOW_OTHERS
				: is_quiet(vm, presumed) ? FLOW_OWN
							 : FLOW_PRESUMED};
	}
	return (enum flow_whose)m->result;
}

static uint32_t composed(struct vm *vm, uint32_t label)
{
	struct flow_memo *m = &vm->flow.composed[label % FLOW_MEMO];
	if (label == 0 || m->a == label)
		return label ? m->result : 0;
	uint32_t text = label_composed(vm->flow.all, label);
	if (text == LABEL_FAILED)
		no_memory(vm);
	else
		*m = (struct flow_memo){label, 0, text};
	return text;
}

bool flow_is_below(struct vm *vm, uint32_t a, uint32_t b)
{
	if (a == 0 || a == b)
		return true;
	a = label_settle(vm->flow.all, a, LABEL_FAILED);
	b = label_settle(vm->flow.all, b, LABEL_FAILED);
	return flow_join(vm, a, b) == b;
}

uint32_t flow_presumed(struct vm *vm, uint32_t label)
{
	uint32_t id = label_presumed(vm->flow.all, label);
	if (id == LABEL_FAILED)
		no_memory(vm);
	return id;
}

uint32_t flow_unsure(struct vm *vm, uint32_t guard)
{
	struct label l = {.readers = LABEL_ALL, .endorsements = LABEL_ALL};
	l.presumed = label_get(vm->flow.all, guard).presumed;
	if (l.presumed == LABEL_BOTTOM)
		return 0;
	uint32_t id = label_intern(vm->flow.all, &l);
	if (id == LABEL_FAILED)
		no_memory(vm);
	return id;
}

uint32_t flow_cap_slow(struct vm *vm, uint32_t label, enum label_kind most)
{
	if (label == LABEL_FAILED)
		return label;
	struct label l = label_get(vm->flow.all, label);
	if (l.kind.rank > most)
		l.kind = (struct kind){.rank = most};
	uint32_t capped = label_intern(vm->flow.all, &l);
	vm->flow.caps[(label * 2 + most) % FLOW_MEMO] = (struct flow_memo){label, most, capped};
	return capped;
}

/* Return @origins without those of the plan itself (plan, user, policy). */
static uint32_t loud(struct vm *vm, uint32_t origins)
{
	struct labels *all = vm->flow.all;
	uint32_t set = 0, atom;
	if (origins == LABEL_ALL)
		return origins;
	for (size_t i = 0; (atom = label_nth(all, origins, i)); i++) {
		uint32_t one = label_set(all, atom);
		if (!label_is_subset(all, one, vm->flow.quiet))
			set = label_union(all, set, one);
	}
	return set;
}

/* Remove the plan's own origins (plan, user, policy) from *l, the label of a condition or an
 * index: a condition on the plan's own data causes no implicit flow. If no other origin remains
 * and everybody may read the data, keep only the presumption of *l. */
static void only_loud(struct vm *vm, struct label *l)
{
	l->origins = loud(vm, l->origins);
	if (l->origins == 0 && l->readers == LABEL_ALL)
		*l = (struct label){
			.readers = LABEL_ALL, .endorsements = LABEL_ALL, .presumed = l->presumed};
}

uint32_t flow_guard_slow(struct vm *vm, uint32_t label)
{
	if (label == 0 || label == LABEL_FAILED)
		return label;
	struct flow_memo *m = &vm->flow.guards[label % FLOW_MEMO];
	if (m->a == label)
		return m->result;
	struct label l = label_get(vm->flow.all, flow_cap(vm, label, T_BOOL));
	only_loud(vm, &l);
	uint32_t guard = label_choice(vm->flow.all, label_intern(vm->flow.all, &l));
	*m = (struct flow_memo){label, 0, guard};
	if (guard == 0)
		vm->flow.silent = label;
	return guard;
}

uint32_t flow_choice_slow(struct vm *vm, uint32_t label)
{
	struct flow_memo *m = &vm->flow.choices[label % FLOW_MEMO];
	if (label == LABEL_FAILED || m->a == label)
		return label == LABEL_FAILED ? label : m->result;
	struct label l = label_get(vm->flow.all, flow_cap(vm, label, T_INT));
	only_loud(vm, &l);
	uint32_t choice = label_choice(vm->flow.all, label_intern(vm->flow.all, &l));
	if (choice == LABEL_FAILED)
		no_memory(vm);
	else
		*m = (struct flow_memo){label, 0, choice};
	return choice;
}

/* *label is the label of a structure, that is of the length, order or keys of a container. *seen
 * is the epoch in which this structure was last used. Join the labels of all flow events since
 * that epoch to *label. Returns: @label. */
static uint32_t *caught_up(struct vm *vm, uint32_t *label, uint32_t *seen)
{
	if (*seen != vm->h->epoch) {
		for (uint32_t i = 0; i < vm->flow.n_events; i++)
			if (vm->flow.events[i].epoch > *seen)
				*label = flow_join(vm, *label, vm->flow.events[i].label);
		*seen = vm->h->epoch;
	}
	return label;
}

static bool has_structure(struct val v)
{
	return v.type == T_LIST || v.type == T_DICT || v.type == T_SET;
}

/* Return a pointer to the label of the structure of @v, after joining pending flow events to it.
 * @v must be a list, dict or set. */
static uint32_t *structure(struct vm *vm, struct val v)
{
	return v.type == T_LIST ? caught_up(vm, &v.list->label, &v.list->seen)
				: caught_up(vm, &v.table->label, &v.table->seen);
}

uint32_t flow_shape_slow(struct vm *vm, struct val v)
{
	return has_structure(v) ? flow_join(vm, v.label, *structure(vm, v)) : v.label;
}

int flow_unknown(struct vm *vm, uint32_t label)
{
	struct flow_state *flow = &vm->flow;
	uint32_t i = 0;
	if (label == 0)
		return 0;
	label = flow_presumed(vm, label);
	while (i < flow->n_events && flow->events[i].label != label)
		i++;
	if (i == flow->event_room) {
		uint32_t room = flow->event_room ? flow->event_room * 2 : 8;
		struct flow_event *now = heap_regrow(vm->h, flow->events, i, room, sizeof *now);
		if (!now)
			return -1;
		flow->events = now;
		flow->event_room = room;
	}
	flow->n_events += i == flow->n_events;
	flow->events[i] = (struct flow_event){label, ++vm->h->epoch};
	return 0;
}

/* A walk over everything that is reachable from a value. */
struct label_walk {
	struct vm *vm;
	uint32_t mark;
	/*
	 * The use of this label depends on `raises`:
	 * - If `raises` is set, the walk joins this label to the structure of each list, dict and
	 *   set that it finds.
	 * - Otherwise this label is the result: the join of all labels that the walk has found so
	 *   far.
	 */
	uint32_t label;
	uint32_t choice; /* join of the labels on the path from the root to the current value */
	bool raises;	 /* whether the walk joins `label` to each structure that it finds */
};

static int walk_val(struct label_walk *w, struct val *v);

static int walk_items(struct label_walk *w, struct val *item, size_t n)
{
	int r = heap_pay(w->vm->h, n / 16);
	for (size_t i = 0; i < n && r == 0; i++)
		if (item[i].label || item[i].type >= T_LIST)
			r = walk_val(w, &item[i]);
	return r;
}

static int walk_table(struct label_walk *w, struct table *t, bool is_dict)
{
	int r = heap_pay(w->vm->h, t->n_entries / 8);
	for (uint32_t i = 0; i < t->n_entries && r == 0; i++) {
		if (t->entry[i].key.type == T_UNSET)
			continue;
		r = walk_val(w, &t->entry[i].key);
		if (r == 0 && is_dict)
			r = walk_val(w, &t->entry[i].value);
	}
	return r;
}

static bool was_here(struct val v, uint32_t mark)
{
	uint32_t before = v.type == T_LIST	      ? v.list->mark
		: v.type == T_TUPLE		      ? v.tuple->mark
		: v.type == T_STRUCT		      ? v.record->mark
		: v.type == T_DICT || v.type == T_SET ? v.table->mark
						      : mark;
	if (v.type == T_LIST)
		v.list->mark = mark & MARK_MAX;
	else if (v.type == T_TUPLE)
		v.tuple->mark = mark;
	else if (v.type == T_STRUCT)
		v.record->mark = mark;
	else if (v.type == T_DICT || v.type == T_SET)
		v.table->mark = mark;
	return before == mark;
}

static int walk_inside(struct label_walk *w, struct val v)
{
	switch (v.type) {
	case T_LIST:
		return walk_items(w, v.list->item, v.list->n);
	case T_TUPLE:
		return walk_items(w, v.tuple->item, v.tuple->n);
	case T_DICT:
	case T_SET:
		return walk_table(w, v.table, v.type == T_DICT);
	case T_STRUCT:
		return walk_items(w, v.record->values, v.record->n);
	default:
		return walk_val(w, &v.bound->self);
	}
}

static void look_at_structure(struct label_walk *w, struct val v, uint32_t *structure)
{
	struct vm *vm = w->vm;
	if (w->raises) {
		w->choice = flow_join(vm, w->choice, v.label);
		if (flow_is_below(vm, w->choice, *structure))
			*structure = flow_join(vm, *structure, w->label);
		w->choice = flow_join(vm, w->choice, *structure);
	} else {
		w->label = flow_join(vm, w->label, flow_join(vm, v.label, *structure));
	}
}

static int walk_val(struct label_walk *w, struct val *v)
{
	struct vm *vm = w->vm;
	uint32_t before = w->choice;
	if (has_structure(*v))
		look_at_structure(w, *v, structure(vm, *v));
	else if (w->raises)
		w->choice = flow_join(vm, w->choice, v->label);
	else
		w->label = flow_join(vm, w->label, v->label);
	int r = 0;
	bool has_inside = v->type == T_LIST || v->type == T_TUPLE || v->type == T_DICT ||
		v->type == T_SET || v->type == T_STRUCT;
	if (v->type == T_BOUND || (has_inside && !was_here(*v, w->mark))) {
		if (heap_enter(vm->h) < 0)
			return -1;
		r = walk_inside(w, *v);
		heap_leave(vm->h);
	}
	w->choice = before;
	return r;
}

static int walk(struct label_walk *w, struct val *v)
{
	if (w->vm->flow.n_walks == MARK_MAX)
		return heap_fail_kind(w->vm->h, FAIL_FUEL, "too many steps: of labels");
	w->mark = ++w->vm->flow.n_walks & MARK_MAX;
	return walk_val(w, v);
}

uint32_t flow_whole_slow(struct vm *vm, struct val v)
{
	struct label_walk w = {.vm = vm};
	return walk(&w, &v) < 0 ? LABEL_FAILED : w.label;
}

static struct val *write_at(const struct frame *f, struct write w)
{
	switch (w.where) {
	case IN_REGISTER:
		return &f->base[w.index];
	case IN_CELL:
		return &f->base[w.index].cell->value;
	case IN_CAPTURED:
		return &f->function->cells[w.index]->value;
	default:
		return &f->function->globals[w.index];
	}
}

static int raise_one(struct vm *vm, const struct frame *f, struct write what)
{
	struct val *v = write_at(f, what);
	uint32_t guard = flow_presumed(vm, vm->h->guard);
	struct label_walk w = {.vm = vm, .label = guard, .raises = true};
	if (what.what == WRITE_CALL) {
		if (v->type == T_FUNCTION && v->function->code->changes_others)
			return flow_unknown(vm, vm->h->guard);
		if (v->type == T_BOUND && v->bound->native->change != CHANGE_NONE)
			return walk(&w, &v->bound->self);
	} else if (what.what == WRITE_WITHIN) {
		return heap_pay(vm->h, 1) < 0 ? -1 : walk(&w, v);
	} else if (what.what == WRITE_VALUE && has_structure(*v)) {
		uint32_t *s = structure(vm, *v);
		if (flow_is_below(vm, v->label, *s))
			*s = flow_join(vm, *s, guard);
	}
	return 0;
}

int flow_raise(struct vm *vm, const struct frame *f, uint32_t label)
{
	uint32_t guard = flow_join(vm, vm->h->guard, label), at = f->region;
	if (guard == vm->h->guard && flow_unsure(vm, guard) == 0)
		return 0;
	vm->h->guard = guard;
	for (;;) {
		const struct writes *w = &f->code->writes[at];
		for (uint32_t i = 0; i < w->n; i++)
			if (w->item[i].what != WRITE_NAME && raise_one(vm, f, w->item[i]) < 0)
				return -1;
		if (w->is_unknown && flow_unknown(vm, guard) < 0)
			return -1;
		if (at == 0 || !w->is_left)
			return 0;
		at = w->outer;
	}
}

void flow_merge(struct vm *vm, struct frame *f, uint32_t region)
{
	const struct writes *w = &f->code->writes[region];
	uint32_t before = f->base[w->saved].label, guard = vm->h->guard;
	f->region = w->outer;
	uint32_t more = guard == before ? flow_unsure(vm, guard) : flow_presumed(vm, guard);
	if (more == 0)
		return;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->item[i].what == WRITE_NAME) {
			struct val *v = write_at(f, w->item[i]);
			v->label = flow_join(vm, v->label, more);
		}
	/* If a break, continue or return may leave the region early, the code after the region
	 * runs only if none of them did. So this code still depends on the conditions in the
	 * region: keep their labels in the guard, as a presumption. */
	vm->h->guard = w->is_left ? flow_join(vm, before, more) : before;
}

bool flow_may_change(struct vm *vm, struct val v)
{
	if (!has_structure(v))
		return false;
	const uint32_t *s = structure(vm, v);
	uint32_t made = v.type == T_LIST ? v.list->guard : v.table->guard;
	return flow_is_below(vm, flow_join(vm, v.label, vm->h->guard), flow_join(vm, *s, made));
}

int flow_change(struct vm *vm, struct val v, uint32_t label)
{
	if (!has_structure(v))
		return 0;
	if (!flow_may_change(vm, v))
		return heap_fail_kind(vm->h, FAIL_FLOW,
			"untrusted data chose which %s is changed here: change a copy of it",
			val_type_name(v));
	uint32_t *s = structure(vm, v);
	*s = flow_join(vm, *s, label);
	return 0;
}

uint32_t flow_fresh_slow(struct vm *vm, uint32_t label, uint32_t type, bool is_part)
{
	bool is_text = type >= T_STRING;
	uint32_t made = flow_made(vm, label, 0);
	uint32_t planned = vm->flow.planned[is_text ? KIND_TEXT
			: type == T_BOOL	    ? KIND_BOOL
						    : KIND_NUMBER];
	/* A computed value gets the origin "plan". The exception is a part of a text (@is_part)
	 * that came from elsewhere, such as from a tool: the plan only cut the part out, so the
	 * part is still data of the tool. */
	enum flow_whose whose = is_part && is_text ? flow_whose(vm, label) : FLOW_OWN;
	if (type == T_NONE || whose == FLOW_OTHERS)
		return made;
	return flow_join(vm, made, whose == FLOW_OWN ? planned : flow_presumed(vm, planned));
}

uint32_t flow_said(struct vm *vm, uint32_t label, uint32_t fresh, struct val v)
{
	const struct literals *literals = vm->flow.literals;
	enum flow_whose whose = flow_whose(vm, label);
	if (whose == FLOW_OTHERS)
		return fresh;
	uint32_t said = literals->label(literals->ctx, v);
	uint32_t plan = label_get(vm->flow.all, vm->flow.planned[KIND_TEXT]).origins;
	bool is_plans = label_is_subset(vm->flow.all, plan, label_get(vm->flow.all, said).origins);
	/*
	 * Foreign data is data that does not come from the plan, its user or the policy, such as
	 * the result of a tool. At this point there are three cases:
	 * - Neither the request nor the policy contains @v: the label is @fresh.
	 * - The request or the policy contains @v, and @label certainly has no foreign data: the
	 *   label is 0.
	 * - The request or the policy contains @v, and @label has foreign data only if a
	 *   presumption is true (see label/foreseen.h): the label is @fresh as a presumption. The
	 *   check decides later whether the presumption is true. The check has no values, so it may
	 *   not know that the request or the policy contains @v.
	 */
	return is_plans ? fresh : whose == FLOW_OWN ? 0 : flow_presumed(vm, fresh);
}

uint32_t flow_said_number(struct vm *vm, uint32_t a, uint32_t b, struct val v)
{
	uint32_t label = flow_join(vm, a, b);
	return flow_said(vm, label, flow_fresh(vm, label, v.type, false), v);
}

uint32_t flow_number_slow(struct vm *vm, uint32_t a, uint32_t b, uint32_t type)
{
	uint32_t label = flow_fresh(vm, flow_join(vm, a, b), type, false);
	if (label == LABEL_FAILED)
		return label;
	vm->flow.counts[(a * 31 + b) % FLOW_MEMO] = (struct flow_memo){a, b + 1, label};
	if (label == a && a == b)
		vm->flow.counted = a;
	return label;
}

uint32_t flow_form(struct vm *vm, uint32_t label)
{
	enum flow_whose whose = flow_whose(vm, label);
	if (whose == FLOW_OTHERS)
		return composed(vm, label);
	uint32_t text = flow_fresh(vm, label, T_STRING, false);
	return whose == FLOW_OWN ? text
				 : flow_join(vm, composed(vm, label), flow_presumed(vm, text));
}

void flow_new(struct vm *vm, struct val *out, uint32_t label)
{
	if (out->type == T_INT || out->type == T_BIG || out->type == T_FLOAT) {
		flow_old(vm, out, flow_number(vm, label, 0, *out));
		return;
	}
	if (!has_structure(*out)) {
		uint32_t type = out->type == T_RANGE ? T_INT : out->type;
		flow_old(vm, out, type < T_LIST ? flow_fresh(vm, label, type, false) : label);
		return;
	}
	uint32_t *s = structure(vm, *out);
	*s = flow_join(vm, *s, label);
}

/* Label the elements of a list or tuple that are parts of one text, such as the results of
 * split(). */
static void label_parts(struct vm *vm, struct val *item, uint32_t n, uint32_t label)
{
	for (uint32_t i = 0; i < n; i++)
		if (item[i].label != label || label != vm->flow.planned[KIND_TEXT])
			flow_part(vm, &item[i], label);
}

void flow_part(struct vm *vm, struct val *out, uint32_t label)
{
	if (out->type >= T_STRING && (out->type < T_LIST || out->type == T_ELEMS)) {
		flow_old(vm, out, flow_fresh(vm, label, out->type, true));
		return;
	}
	flow_new(vm, out, label);
	if (out->type == T_LIST)
		label_parts(vm, out->list->item, out->list->n, label);
	else if (out->type == T_TUPLE)
		label_parts(vm, out->tuple->item, out->tuple->n, label);
}

void flow_old(struct vm *vm, struct val *out, uint32_t label)
{
	label = flow_join(vm, out->label, label);
	out->label = flow_cap(vm, label, out->type);
}
