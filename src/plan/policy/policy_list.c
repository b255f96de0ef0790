/*
 * Read the clauses greatest(…) and least(…), and find the items that they allow in a run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/policy/policy_list.h"

#include "plan/policy/inside.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <string.h>

static int read_tool(struct policy_reader *r, const struct node *node, struct extreme *e)
{
	if (policy_tool(r, node, &e->tool) < 0)
		return -1;
	for (uint32_t i = 0; i < e->tool->n_params; i++)
		if (e->tool->param[i].is_required)
			return policy_fail(r, P_VALUE, node, "name a tool that lists all there is",
				"%.100s takes arguments, so it may not list everything",
				e->tool->name);
	return 0;
}

static int read_name(struct policy_reader *r, const struct node *node, struct val *out)
{
	const char *text;
	return policy_text(r, node, &text) < 0 ? -1 : policy_const(r, node, out);
}

static int read_option(struct policy_reader *r, const struct node *arg, struct extreme *e)
{
	if (arg->kind != NODE_ARG_NAMED)
		return read_name(r, arg, &e->by);
	if (str_is(arg->value, "of"))
		return read_tool(r, arg->kid[0], e);
	if (str_is(arg->value, "field"))
		return read_name(r, arg->kid[0], &e->field);
	if (str_is(arg->value, "said"))
		return policy_strings(r, arg->kid[0], &e->said);
	return policy_unknown(r, P_WORD, arg, "option called", arg->value.str->data, NULL);
}

int policy_extreme(struct policy_reader *r, const struct node *call, struct clause *out)
{
	struct extreme *e = heap_zero(&r->p->heap, sizeof *e);
	if (!e)
		return -1;
	*e = (struct extreme){.next = r->p->extremes,
		.by = VAL_UNSET,
		.field = VAL_UNSET,
		.said = VAL_UNSET,
		.is_least = out->kind == CLAUSE_LEAST,
		.index = r->p->n_extremes};
	for (uint32_t i = 1; i < call->n; i++)
		if (read_option(r, call->kid[i], e) < 0)
			return -1;
	if (!e->tool || e->by.type == T_UNSET || e->field.type == T_UNSET ||
		e->said.type == T_UNSET)
		return policy_fail(r, P_VALUE, call,
			"greatest(\"size\", of = \"drive.list\", field = \"id\", said = [\"largest\"])",
			"a field to compare, of = TOOL, field = and said = are needed");
	if (policy_field(r, call, e->tool, e->by) < 0 ||
		policy_field(r, call, e->tool, e->field) < 0)
		return -1;
	r->p->extremes = e;
	r->p->n_extremes++;
	out->extreme = e;
	return 0;
}

int policy_listed_init(struct policy_listed *l, const struct policy *p, struct heap *h,
	bool (*hears)(const void *arg, struct val word), const void *arg)
{
	*l = (struct policy_listed){.is_said = heap_zero(h, (p->n_extremes + 1) * sizeof(bool)),
		.item = heap_alloc(h, (p->n_extremes + 1) * sizeof(struct val))};
	if (!l->is_said || !l->item)
		return -1;
	for (const struct extreme *e = p->extremes; e; e = e->next) {
		l->item[e->index] = VAL_UNSET;
		for (uint32_t i = 0; i < e->said.tuple->n; i++)
			l->is_said[e->index] |= hears(arg, e->said.tuple->item[i]);
	}
	return 0;
}

bool policy_lists(const struct policy *p, const struct policy_call *call)
{
	for (uint32_t i = 0; i < call->tool->n_params; i++)
		if (call->arg[i].is_given)
			return false;
	for (const struct extreme *e = p->extremes; e; e = e->next)
		if (e->tool == call->tool)
			return true;
	return false;
}

static bool is_number(struct val v)
{
	return val_is_int(v) || (v.type == T_FLOAT && v.f == v.f);
}

/* Return the field `field` of the item whose field `by` is the greatest (or least). Return None
 * if several items have this value, or if an item has no number in `by`. */
static struct val extreme_of(const struct extreme *e, struct val list)
{
	struct val best = VAL_UNSET, found = VAL_NONE;
	for (uint32_t i = 0; list.type == T_LIST && i < list.list->n; i++) {
		struct val much = policy_member(list.list->item[i], e->by);
		if (!is_number(much))
			return VAL_NONE;
		int order = best.type == T_UNSET ? 1 : num_compare(much, best);
		order = e->is_least && best.type != T_UNSET ? -order : order;
		if (order > 0) {
			best = much;
			found = policy_member(list.list->item[i], e->field);
		} else if (order == 0) {
			found = VAL_NONE;
		}
	}
	return found.type == T_STRING || val_is_int(found) ? found : VAL_NONE;
}

int policy_list(struct policy_listed *l, const struct policy *p, const struct tool *tool,
	struct heap *h, struct val result)
{
	for (const struct extreme *e = p->extremes; e && !l->is_late; e = e->next) {
		/* The run may call the tool more than once. A clause greatest(…) or least(…)
		 * uses only the first result, because it shows the items before the plan changed
		 * anything. */
		if (e->tool != tool || l->item[e->index].type != T_UNSET)
			continue;
		struct val found = extreme_of(e, result);
		if (found.type == T_STRING &&
			str_new(h, found.str->data, found.str->n_bytes, &found) < 0)
			return -1;
		l->item[e->index] = found;
	}
	return 0;
}

void policy_change(struct policy_listed *l, const struct policy *p, const struct tool *tool)
{
	const struct rule *rule = p->rule[tool - p->tools->tool];
	l->is_late |= !rule || rule->effect != EFFECT_READ;
}
