/*
 * Check all flows of a plan before it runs.
 *
 * The check is an abstract interpretation of the resolved syntax tree: it evaluates the plan once,
 * on abstract values. An abstract value stands for all values that an expression has in all runs.
 * The result is an over-approximation: every flow that is possible in some run is found, but a flow
 * that is found need not happen. In a plan that passes, data reaches a parameter only if the policy
 * allows its origins (non-interference). Flows through termination and timing are not checked.
 *
 * An abstract value (struct av) is a label with its provenance (struct mark), a set of abstract
 * objects that the value may point to, a type and, if it is the same in every run, the constant. An
 * abstract object stands for all objects that one place in the plan creates in one calling context.
 * The values of variables and fields are in cells (check_state.c). The analysis is
 *	flow-sensitive		each statement is evaluated in the state before it
 *	field-sensitive		constant keys and indexes have cells of their own (check_object.c)
 *	context-sensitive	a function is evaluated once for each chain of calls (check_call.c)
 *	path-insensitive	both branches are evaluated and joined (check_stmt.c)
 * Loops run to a fixpoint: the lattice is finite and every step is monotone.
 *
 * Implicit flows: c->pc is the label of the program counter. A condition raises c->pc for both
 * branches, and every cell that either branch writes gets the condition's label (control
 * dependence). After a conditional break, continue or return, the condition's label is also added
 * to every write up to the target of the jump.
 *
 * At each call of a tool the checker asks the policy about the abstract arguments (check_tool.c).
 * The answer is "proved", "depends" (only the run can decide) or "refuted". If several calling
 * contexts reach the call, the worst answer is kept. If the answer is not "proved", find_path()
 * searches for a witness: the path on which the data reached the call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

#include "plan/value/str.h"

#include <stdio.h>
#include <string.h>

/*
 * What search_back() looks for. find_path() tries the first three in this order until a search
 * succeeds; they go from the most to the least informative.
 * WANT_DATA: a tool whose data violates the rule.
 * WANT_OFFENDER: any source whose data violates the rule.
 * WANT_ANY: any source.
 * WANT_BRANCH: a condition on data that violates the rule.
 */
enum want { WANT_DATA, WANT_OFFENDER, WANT_ANY, N_WANTS, WANT_BRANCH };

static bool is_offender(struct checker *c, const struct finding *f, const struct event *e)
{
	return f->answer.check == CHECK_READERS
		? label_get(c->labels, e->label).readers != LABEL_ALL
		: policy_trusts(c->out->policy, e->label) != POLICY_PROVED;
}

static bool is_wanted(
	struct checker *c, const struct finding *f, const struct event *e, enum want want)
{
	if (e->kind != (want == WANT_BRANCH ? EVENT_GUARD : EVENT_SOURCE) ||
		e->label == LABEL_FAILED || (want == WANT_DATA && !e->tool))
		return false;
	return want == WANT_ANY || is_offender(c, f, e);
}

/* The state of a breadth-first search. `from[e]` is 1 plus the event from which the search
 * reached event e. It is 0 if e was not reached, and UINT32_MAX for the event at which the
 * search begins. */
struct search {
	uint32_t *level, *next, *from;
};

/*
 * Search from the sink back to the nearest event that matches @want. An EVENT_JOIN adds no
 * distance: the search visits its predecessors on the same level.
 * Returns: the id of the event; 0 if no event matches.
 */
static uint32_t search_back(
	struct checker *c, const struct finding *f, struct search *s, enum want want)
{
	uint32_t n = 1;
	memset(s->from, 0, (c->n_events + 1) * sizeof *s->from);
	s->level[0] = f->event;
	s->from[f->event] = UINT32_MAX;
	while (n > 0) {
		uint32_t n_next = 0;
		for (uint32_t i = 0; i < n; i++) {
			const struct event *e = &c->events[s->level[i]];
			const uint32_t of[2] = {e->a, e->b};
			if (is_wanted(c, f, e, want))
				return s->level[i];
			for (int k = 0; k < 2; k++) {
				if (!of[k] || s->from[of[k]])
					continue;
				s->from[of[k]] = s->level[i] + 1;
				if (e->kind == EVENT_JOIN)
					s->level[n++] = of[k];
				else
					s->next[n_next++] = of[k];
			}
		}
		uint32_t *done = s->level;
		s->level = s->next;
		s->next = done;
		n = n_next;
	}
	return 0;
}

static void add_step(struct finding *f, const struct event *e)
{
	static const enum step_kind kinds[] = {[EVENT_SOURCE] = STEP_SOURCE,
		[EVENT_THROUGH] = STEP_THROUGH,
		[EVENT_GUARD] = STEP_GUARD,
		[EVENT_JOIN] = STEP_THROUGH};
	if (e->kind == EVENT_JOIN || f->n_path == CHECK_PATH_MAX - 1)
		return;
	/* A witness is the path of data through the plan. Its first step is the source of the
	 * data, so it is shown as STEP_SOURCE. A later step may be a call of another tool. The
	 * event of this call is an EVENT_SOURCE, too, but the call is shown as STEP_THROUGH,
	 * because the data flows through that tool, from its arguments to its result. */
	bool is_through = e->kind == EVENT_SOURCE && f->n_path > 0;
	f->path[f->n_path++] = (struct witness_step){is_through ? STEP_THROUGH : kinds[e->kind],
		e->node->start, e->node->end, e->label, e->tool ? e->tool->name : NULL};
}

/* Find the witness of @f: the shortest path to the sink from a source whose data violates the
 * rule. */
void find_path(struct checker *c, struct check_call *call, struct finding *f)
{
	size_t bytes = (c->n_events + 1) * sizeof(uint32_t);
	struct search s = {
		heap_alloc(c->h, bytes), heap_alloc(c->h, bytes), heap_alloc(c->h, bytes)};
	uint32_t found = 0;
	f->path = heap_zero(c->h, CHECK_PATH_MAX * sizeof *f->path);
	if (!s.level || !s.next || !s.from || !f->path || heap_pay(c->h, c->n_events / 8) < 0)
		return;
	for (int want = WANT_DATA; f->event && !found && want < N_WANTS; want++)
		found = search_back(c, f, &s, (enum want)want);
	for (uint32_t at = found; at;) {
		add_step(f, &c->events[at]);
		at = s.from[at] == UINT32_MAX ? 0 : s.from[at] - 1;
	}
	uint32_t branch = f->event ? search_back(c, f, &s, WANT_BRANCH) : 0;
	if (branch) {
		const struct event *e = &c->events[branch];
		f->branch = (struct witness_step){
			STEP_GUARD, e->node->start, e->node->end, e->label, NULL};
	}
	f->path[f->n_path++] = (struct witness_step){
		STEP_SINK, f->node->start, f->node->end, f->label, call->tool->name};
	heap_release(c->h, s.level, bytes);
	heap_release(c->h, s.next, bytes);
	heap_release(c->h, s.from, bytes);
}

static void conclude(struct checker *c)
{
	struct check *out = c->out;
	for (uint32_t i = 0; i < out->n_calls; i++)
		for (uint32_t k = 0; k < out->calls[i]->n_findings; k++) {
			struct finding *f = &out->calls[i]->finding[k];
			bool is_refuted = f->answer.proof == POLICY_REFUTED;
			out->n_denied += is_refuted && f->answer.otherwise == POLICY_DENY;
			out->n_asked += is_refuted && f->answer.otherwise == POLICY_ASK;
			out->n_depends += f->answer.proof == POLICY_DEPENDS;
			if (f->answer.proof != POLICY_PROVED)
				find_path(c, out->calls[i], f);
		}
}

static int too_much(struct check *out)
{
	struct diag d = {.code = P_TOO_MUCH};
	enum fail_kind kind = out->heap->kind;
	if (kind == FAIL_FUEL)
		snprintf(d.msg, sizeof d.msg,
			"the plan takes too long to be checked: more than %d steps",
			CHECK_STEPS_MAX);
	else if (kind == FAIL_MEMORY)
		snprintf(d.msg, sizeof d.msg,
			"the plan takes too much memory to be checked: more than %d MiB",
			CHECK_BYTES_MAX >> 20);
	else
		snprintf(d.msg, sizeof d.msg, "the plan is too large to be checked: %.150s",
			kind != FAIL_NONE ? out->heap->msg
					  : "out of memory: too many different labels");
	snprintf(d.hint, sizeof d.hint, "%s", "call functions from fewer places, or in a loop");
	return diag_add(out->diags, &out->src, &d);
}

static int check_within(struct check *out)
{
	struct checker c = {.out = out,
		.h = out->heap,
		.labels = out->policy->labels,
		.tools = out->policy->tools};
	const struct scope *scope = out->tree->scope;
	size_t n_before = out->diags->n_all;
	struct abstract_frame file = {.scope = scope};
	static const char plan[] = "plan";
	c.plan = label_set(c.labels, label_atom(c.labels, plan, sizeof plan - 1));
	/* Reserve cell 0, because number 0 means that cells_add() failed. */
	(void)cells_add(&c, 1);
	file.first = cells_add(&c, scope->n_slots + 1);
	c.file = c.frame = &file;
	if (file.first && ground_init(&c.ground, c.h, out->request, out->policy) == 0 &&
		policy_listed_init(&c.listed, out->policy, c.h, ground_says, &c.ground) == 0) {
		c.own = label_union(c.labels, label_get(c.labels, c.ground.user).origins,
			label_union(
				c.labels, c.plan, label_get(c.labels, c.ground.by_policy).origins));
		for (uint32_t i = 0; i < scope->n_slots; i++)
			c.cells[file.first + i].is_shared = scope->slot_symbols[i]->is_cell;
		exec(&c, out->tree);
		conclude(&c);
	}
	if (c.h->kind != FAIL_NONE || labels_has_failed(c.labels))
		return too_much(out);
	return out->diags->n_all > n_before ? -1 : 0;
}

int check_plan(struct check *out)
{
	struct heap *h = out->heap;
	size_t bytes = h->max_bytes, now = h->used_bytes;
	uint64_t fuel = h->fuel, steps = MIN(fuel, (uint64_t)CHECK_STEPS_MAX);
	h->fuel = steps;
	h->max_bytes = MIN(bytes, now + CHECK_BYTES_MAX);
	int r = check_within(out);
	h->max_bytes = bytes;
	h->fuel = fuel - (steps - h->fuel);
	return r;
}
