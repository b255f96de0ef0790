/*
 * Check calls of tools, which are the sinks and the sources of the analysis.
 *
 * A call is a sink: the checker asks the policy (policy_decide()) about the labels of the arguments
 * and of the program counter. Several contexts may reach one place in a plan; for each place and
 * question the checker keeps the worst answer: "refuted" is worse than "depends", which is worse
 * than "proved".
 *
 * A call is also a source: it returns an abstract value that is built from the declared result type
 * of the tool, so that each field has its own cell and the kind that its schema allows. The labels
 * of the result come from the policy's rule for the tool. If the rule labels each item by its
 * owner, the owner is known only in the run. Before the run, the items have the origin
 * "tool:NAME#*", and the policy may answer "depends" about them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

#include "base/word.h"
#include "plan/value/str.h"

#include <stdio.h>
#include <string.h>

static const struct mark public = {0};

struct given {
	struct av *value; /* values of the arguments, by parameter */
	const struct node **at;
};

static const struct node *nth_positional(const struct node *call, uint32_t n)
{
	for (uint32_t i = 1; i < call->n; i++)
		if (call->kid[i]->kind != NODE_ARG_NAMED && n-- == 0)
			return call->kid[i];
	return call;
}

static int wrong_name(struct checker *c, const struct tool *tool, const struct node *arg)
{
	struct word_near near = WORD_NEAR(arg->value.str->data);
	char hint[DIAG_HINT_BYTES] = "";
	for (uint32_t i = 0; i < tool->n_params; i++)
		word_near_try(&near, tool->param[i].name);
	if (near.best)
		snprintf(hint, sizeof hint, "did you mean %.200s?", near.best);
	(void)refuse(c, P_CALL, arg, hint, "%.80s has no parameter %.80s", tool->name,
		arg->value.str->data);
	return -1;
}

static int sort_args(struct checker *c, const struct tool *tool, const struct call_args *args,
	struct given *given)
{
	const struct node *node = args->node;
	/* In a call of try_call(), @node still has the tool as its first argument, but @args
	 * does not. */
	uint32_t n_plain = 0;
	for (uint32_t i = 1; i < node->n; i++)
		n_plain += node->kid[i]->kind != NODE_ARG_NAMED;
	uint32_t skip = n_plain > args->n ? n_plain - args->n : 0;
	if (args->has_star || args->has_starstar || args->n > tool->n_params) {
		(void)refuse(c, P_CALL, node, "name the parameters: name = value",
			args->n > tool->n_params
				? "%.80s has fewer parameters"
				: "%.80s: the checker cannot tell which argument is for which parameter",
			tool->name);
		return -1;
	}
	for (uint32_t i = 0; i < args->n; i++) {
		given->value[i] = args->positional[i];
		given->at[i] = nth_positional(node, i + skip);
	}
	for (uint32_t i = 0; i < args->n_named; i++) {
		int at = tool_param(tool, args->named_at[i]->value.str->data);
		if (at < 0)
			return wrong_name(c, tool, args->named_at[i]);
		/* If a parameter is given twice, the run fails, so the value does not matter. */
		given->value[at] = args->named[i];
		given->at[at] = args->named_at[i]->kid[0];
	}
	return 0;
}

static struct check_call *record_of(
	struct checker *c, const struct tool *tool, const struct node *node)
{
	struct check *out = c->out;
	uint32_t *at = map_at(c, &c->calls, (uintptr_t)node, (uintptr_t)tool, 0);
	if (!at)
		return NULL;
	if (*at != UINT32_MAX)
		return out->calls[*at - 1];
	if (out->n_calls == c->call_room) {
		uint32_t room = c->call_room ? c->call_room * 2 : 16;
		struct check_call **calls =
			heap_regrow(c->h, out->calls, out->n_calls, room, sizeof *calls);
		if (!calls)
			return NULL;
		out->calls = calls;
		c->call_room = room;
	}
	struct check_call *call = heap_zero(c->h, sizeof *call);
	if (!call)
		return NULL;
	*call = (struct check_call){.node = node, .tool = tool, .context = c->frame->context};
	call->arg = heap_zero(c->h, (tool->n_params + 1) * sizeof *call->arg);
	call->finding = heap_zero(c->h, (4 * tool->n_params + 3) * sizeof *call->finding);
	if (!call->arg || !call->finding)
		return NULL;
	out->calls[out->n_calls++] = call;
	*at = out->n_calls;
	return call;
}

static struct finding *finding_of(struct check_call *call, const struct policy_answer *answer)
{
	for (uint32_t i = 0; i < call->n_findings; i++)
		if (call->finding[i].answer.check == answer->check &&
			call->finding[i].answer.param == answer->param)
			return &call->finding[i];
	struct finding *f = &call->finding[call->n_findings++];
	f->answer = *answer;
	f->answer.proof = POLICY_PROVED;
	return f;
}

/* Ask the policy about a call. For each question, keep the worst answer over all calling
 * contexts. */
static void judge(struct checker *c, struct check_call *call, const struct given *given,
	const struct mark *marks, const struct policy_arg *arg, struct mark guard)
{
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	const struct policy_call question = {
		.tool = call->tool, .arg = arg, .guard = guard.label, .listed = &c->listed};
	size_t n = policy_decide(c->out->policy, &question, answer);
	for (size_t i = 0; i < n; i++) {
		struct finding *f = finding_of(call, &answer[i]);
		bool is_arg =
			answer[i].check >= CHECK_ALLOW && answer[i].param < call->tool->n_params;
		if (answer[i].proof <= f->answer.proof && f->node)
			continue;
		f->answer.proof = answer[i].proof;
		f->label = is_arg ? marks[answer[i].param].label : guard.label;
		f->event = is_arg ? marks[answer[i].param].event : guard.event;
		f->node = is_arg ? given->at[answer[i].param] : call->node;
	}
}

/* The result of a tool while it is being built. `tag` distinguishes the objects that one call
 * creates. */
struct making {
	const struct node *node;
	struct mark m;
	uint32_t tag, depth;
	/* The tool whose result is built. An item is an element of the result, such as a mail.
	 * shape_dict() asks the policy which fields of an item were written by the owner of the
	 * item, and gives these fields the mark `said`. Only the fields of the item itself can
	 * get this mark, so `tool` is NULL while a value inside a field is built. */
	const struct tool *tool;
	/* Mark of the fields that the owner of an item wrote, such as the text of a mail, whose
	 * owner is its sender. The policy says which fields these are. */
	struct mark said;
};

static struct av shape(struct checker *c, struct making *made, const struct tool_type *type);

/* Return @m with the kind that @type declares. */
static struct mark typed(struct checker *c, struct mark m, const struct tool_type *type)
{
	struct label l = label_get(c->labels, m.label);
	if (l.kind.rank != KIND_TEXT)
		return m; /* the policy's rule has already set a lower kind */
	l.kind = type->kind;
	if (type->name)
		l.kind.type = label_atom(c->labels, type->name, strlen(type->name));
	m.label = label_intern(c->labels, &l);
	return m;
}

static struct av shape_list(struct checker *c, struct making *made, const struct tool_type *item)
{
	struct obj *o = obj_new(c, OBJ_LIST, made->node, made->tag++);
	struct mark which = mark_choice(c, mark_capped(c, made->m, KIND_NUMBER));
	struct av v = obj_value(c, o, which);
	if (!o)
		return v;
	o->is_fuzzy = true;
	cell_add(c, o->rest, shape(c, made, item));
	return v;
}

static struct av shape_dict(struct checker *c, struct making *made, const struct tool_type *type)
{
	const struct tool *tool = made->tool;
	struct mark m = made->m;
	struct obj *o = obj_new(c, OBJ_DICT, made->node, made->tag++);
	struct mark which = mark_choice(c, mark_capped(c, made->m, KIND_NUMBER));
	struct av v = obj_value(c, o, which);
	if (!o)
		return v;
	cell_add(c, o->keys, av_of(made->m, N_TYPES));
	o->beyond = av_join(c, o->beyond, any_value(c, made->node, made->tag++, made->m));
	made->tool = NULL;
	for (uint32_t i = 0; i < type->n_fields; i++) {
		struct val name;
		if (str_of(c->h, type->field[i].name, &name) < 0)
			return v;
		if (tool && policy_is_said(c->out->policy, tool, type->field[i].name))
			made->m = made->said;
		struct av x = shape(c, made, type->field[i].type);
		struct field *field = field_at(c, o, name, true);
		cell_add(c, field ? field->cell : o->rest, x);
		made->m = m;
	}
	return v;
}

/* Create a value of the declared type @type. Each part of the value, such as an element of a
 * list, gets the mark @made->m. But if the kind of this mark is KIND_TEXT, it is replaced by the
 * kind that is declared for the type of the part. */
static struct av shape(struct checker *c, struct making *made, const struct tool_type *type)
{
	static const uint32_t types[] = {[TOOL_ANY] = N_TYPES,
		[TOOL_NULL] = T_NONE,
		[TOOL_BOOL] = T_BOOL,
		[TOOL_INT] = T_INT,
		[TOOL_NUMBER] = T_FLOAT,
		[TOOL_STRING] = T_STRING,
		[TOOL_LIST] = T_LIST,
		[TOOL_DICT] = T_DICT};
	if (!type || type->shape == TOOL_ANY || made->m.label == LABEL_FAILED)
		return any_value(c, made->node, made->tag++, made->m);
	bool is_deep = type->shape == TOOL_LIST || type->shape == TOOL_DICT;
	if (!is_deep)
		return av_of(typed(c, made->m, type), types[type->shape]);
	if (made->depth >= SHAPE_DEPTH_MAX)
		return any_value(c, made->node, made->tag++, made->m);
	made->depth++;
	struct av v = type->shape == TOOL_LIST ? shape_list(c, made, type->item)
					       : shape_dict(c, made, type);
	made->depth--;
	return v;
}

/* Create the result of a tool. It has the label that the policy declares, joined with the labels
 * of all arguments. But if the rule says that the result does not depend on the arguments, their
 * labels are left out. If the rule labels each item, the list and its elements have different
 * labels. */
static struct av result_of(
	struct checker *c, const struct tool *tool, const struct node *node, struct mark inputs)
{
	const struct policy *p = c->out->policy;
	const struct tool_type *type = tool->result;
	struct making made = {.node = node};
	struct event source = {
		EVENT_SOURCE, inputs.event, 0, policy_result(p, tool, LABEL_BOTTOM), node, tool};
	struct mark m = mark_source(c, policy_result(p, tool, inputs.label), &source);
	source.label = policy_item(p, tool, LABEL_BOTTOM, VAL_UNSET);
	struct mark item = mark_source(c, policy_item(p, tool, inputs.label, VAL_UNSET), &source);
	source.label = policy_said(p, tool, LABEL_BOTTOM, VAL_UNSET);
	made.said = mark_source(c, policy_said(p, tool, inputs.label, VAL_UNSET), &source);
	made.m = item;
	made.tool = tool;
	if (!type)
		made.m = m.label == item.label ? item : mark_join(c, m, item);
	if (!type || type->shape != TOOL_LIST)
		return shape(c, &made, type);
	struct obj *o = obj_new(c, OBJ_LIST, node, made.tag++);
	struct mark which = mark_choice(c, mark_capped(c, m, KIND_NUMBER));
	struct av v = obj_value(c, o, which);
	if (o) {
		o->is_fuzzy = true;
		made.depth = 1;
		cell_add(c, o->rest, shape(c, &made, type->item));
	}
	return v;
}

/* Ask the policy about a call and record the call. Returns: 0; -1 if memory is exhausted. */
static int ask_policy(struct checker *c, const struct tool *tool, const struct call_args *args,
	struct given *given, struct mark *inputs)
{
	struct check_call *call = record_of(c, tool, args->node);
	struct policy_arg *arg = heap_zero(c->h, (tool->n_params + 1) * sizeof *arg);
	struct mark *marks = heap_zero(c->h, (tool->n_params + 1) * sizeof *marks);
	struct mark guard = mark_now(c);
	if (!call || !arg || !marks)
		return -1;
	*inputs = public;
	for (uint32_t i = 0; i < tool->n_params; i++) {
		struct av v = given->value[i];
		arg[i].value = call->arg[i].value = VAL_UNSET;
		if (v.type == T_UNSET) {
			if (tool->param[i].is_required)
				(void)refuse(c, P_CALL, args->node, "", "%.80s needs %.80s",
					tool->name, tool->param[i].name);
			continue;
		}
		marks[i] = whole(c, v);
		arg[i] = (struct policy_arg){true, marks[i].label, concrete(c, v, 0)};
		call->arg[i].label = call->arg[i].is_given
			? label_join(c->labels, call->arg[i].label, marks[i].label)
			: marks[i].label;
		call->arg[i].is_given = true;
		*inputs = mark_join(c, *inputs, marks[i]);
	}
	call->guard = label_join(c->labels, call->guard, guard.label);
	call->is_repeated |= c->n_loops > 0 || call->context != c->frame->context;
	judge(c, call, given, marks, arg, guard);
	uint32_t result = policy_item(c->out->policy, tool, inputs->label, VAL_UNSET);
	call->result = label_join(c->labels, call->result, result);
	heap_release(c->h, arg, (tool->n_params + 1) * sizeof *arg);
	heap_release(c->h, marks, (tool->n_params + 1) * sizeof *marks);
	return 0;
}

struct av call_tool(struct checker *c, const struct tool *tool, const struct call_args *args)
{
	size_t room = tool->n_params + 1;
	struct given given = {heap_alloc(c->h, room * sizeof *given.value),
		heap_alloc(c->h, room * sizeof(const struct node *))};
	struct mark inputs = public;
	struct av v = av_of(public, N_TYPES);
	if (!given.value || !given.at || is_suspended(c, args, tool->name))
		return v;
	for (size_t i = 0; i < room; i++) {
		given.value[i] = AV_NONE;
		given.at[i] = args->node;
	}
	if (sort_args(c, tool, args, &given) == 0 &&
		ask_policy(c, tool, args, &given, &inputs) == 0)
		v = result_of(c, tool, args->node, inputs);
	heap_release(c->h, given.value, room * sizeof *given.value);
	heap_release(c->h, given.at, room * sizeof(const struct node *));
	return v;
}
