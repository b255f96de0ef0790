/* Read the calls that the host answers, and label the answers. SPDX-License-Identifier: Apache-2.0
 */
#include "plan/program/call.h"

#include "base/utf8.h"
#include "label/foreseen.h"
#include "plan/builtin/ask.h"
#include "plan/builtin/endorse.h"
#include "plan/builtin/json.h"
#include "plan/check/check.h"
#include "plan/machine/flow.h"
#include "plan/value/table.h"

#include <stdio.h>
#include <string.h>

/* A built-in function that stands for a tool. */
struct tool_native {
	struct native native;
	const struct tool *tool;
};

static int tool_value(struct heap *h, const struct tool *tool, struct val *out)
{
	struct tool_native *n = heap_zero(h, sizeof *n);
	if (!n)
		return -1;
	*n = (struct tool_native){
		{.name = tool->name, .suspends = true, .model = MODEL_TOOL}, tool};
	*out = VAL_PTR(T_NATIVE, n);
	return 0;
}

/*
 * Find the end of a group of tools. A tool's name consists of parts that are separated by dots,
 * such as "mail" and "search" in "mail.search". Neighbouring tools are in one group if all parts of
 * their names are equal, up to and including the part that begins at offset @skip. With @skip = 0,
 * for example, "mail.search" and "mail.send" are in one group, because both names begin with the
 * part "mail".
 * The group begins with the tool at index @from.
 * Returns: the index of the first tool after the group.
 */
static size_t group(const struct tool_set *set, size_t from, size_t to, size_t skip)
{
	const char *name = set->tool[from].name;
	size_t n = skip + strcspn(name + skip, "."), end = from + 1;
	while (end < to && strncmp(set->tool[end].name, name, n) == 0 &&
		(set->tool[end].name[n] == '.' || set->tool[end].name[n] == '\0'))
		end++;
	return end;
}

/* Create the value that a plan gets for a part of a tool's name. For the tools "mail.search" and
 * "mail.send", for example, `mail` is a struct with the members `search` and `send`, and the
 * value of each member is a tool. @skip is the offset at which the part begins in the names. The
 * tools from index @from up to, but not including, @to have this part in common. */
static int named(struct heap *h, const struct tool_set *set, size_t from, size_t to, size_t skip,
	struct val *out)
{
	const char *name = set->tool[from].name;
	size_t n = skip + strcspn(name + skip, "."), n_fields = 0;
	if (name[n] == '\0')
		return tool_value(h, &set->tool[from], out);
	for (size_t i = from; i < to; i = group(set, i, to, n + 1))
		n_fields++;
	struct record *r = heap_zero(h, sizeof *r);
	if (!r || str_new(h, name, n, &r->constructor) < 0)
		return -1;
	r->names = heap_alloc(h, n_fields * sizeof *r->names);
	r->values = heap_alloc(h, n_fields * sizeof *r->values);
	if (!r->names || !r->values || heap_enter(h) < 0)
		return -1;
	for (size_t i = from, end; i < to; i = end, r->n++) {
		const char *part = set->tool[i].name + n + 1;
		end = group(set, i, to, n + 1);
		if (str_new(h, part, strcspn(part, "."), &r->names[r->n]) < 0 ||
			named(h, set, i, end, n + 1, &r->values[r->n]) < 0)
			return -1;
	}
	heap_leave(h);
	*out = VAL_PTR(T_STRUCT, r);
	return 0;
}

int tool_names(struct heap *h, const struct tool_set *tools, struct predeclared *out, size_t room)
{
	size_t n = 0;
	for (size_t i = 0, end; i < tools->n && n < room; i = end, n++) {
		struct val text;
		const char *name = tools->tool[i].name;
		end = group(tools, i, tools->n, 0);
		if (str_new(h, name, strcspn(name, "."), &text) < 0 ||
			named(h, tools, i, end, 0, &out[n].value) < 0)
			return -1;
		out[n].name = text.str->data;
		out[n].is_prefix = out[n].value.type == T_STRUCT;
	}
	return (int)n;
}

/* Check that an argument has the shape that its parameter declares. Returns: 0 or -1. */
static int check_shape(struct vm *vm, const struct plan_call *call, uint32_t i)
{
	static const uint8_t types[][2] = {[TOOL_NULL] = {T_NONE, T_NONE},
		[TOOL_BOOL] = {T_BOOL, T_BOOL},
		[TOOL_INT] = {T_INT, T_BIG},
		[TOOL_STRING] = {T_STRING, T_STRING},
		[TOOL_LIST] = {T_LIST, T_TUPLE},
		[TOOL_DICT] = {T_DICT, T_STRUCT}};
	static const char *const words[] = {[TOOL_NULL] = "None",
		[TOOL_BOOL] = "a bool",
		[TOOL_INT] = "an int",
		[TOOL_STRING] = "a string",
		[TOOL_LIST] = "a list",
		[TOOL_DICT] = "a dict"};
	const struct tool_field *field = &call->tool->param[i];
	const struct policy_arg *arg = &call->arg[i];
	if (!arg->is_given && field->is_required)
		return heap_fail(vm->h, "%.100s needs %.80s", call->tool->name, field->name);
	if (!arg->is_given || !field->type || field->type->shape == TOOL_ANY)
		return 0;
	uint32_t shape = field->type->shape, type = arg->value.type;
	if (shape == TOOL_NUMBER ? type == T_INT || type == T_BIG || type == T_FLOAT
				 : type == types[shape][0] || type == types[shape][1])
		return 0;
	return heap_fail(vm->h, "%.100s: %.80s is %s, want %s", call->tool->name, field->name,
		val_type_name(arg->value), shape == TOOL_NUMBER ? "a number" : words[shape]);
}

static int give(struct vm *vm, struct plan_call *call, uint32_t i, struct val v)
{
	if (call->arg[i].is_given)
		return heap_fail(vm->h, "%.100s: %.80s is given twice", call->tool->name,
			call->tool->param[i].name);
	uint32_t label = vm->flow.all ? flow_whole(vm, v) : 0;
	call->arg[i] = (struct policy_arg){true, label, v};
	call->label = flow_join(vm, call->label, label);
	return label == LABEL_FAILED ? -1 : 0;
}

static int read_tool(struct vm *vm, const struct args *args, size_t skip, struct plan_call *call)
{
	const struct tool *tool = call->tool;
	call->arg = heap_zero(vm->h, tool->n_params * sizeof *call->arg);
	if (!call->arg)
		return -1;
	if (args->n - skip > tool->n_params)
		return heap_fail(vm->h, "%.100s has %u parameters, %zu are given", tool->name,
			tool->n_params, args->n - skip);
	for (uint32_t i = 0; i + skip < args->n; i++)
		if (give(vm, call, i, args->item[i + skip]) < 0)
			return -1;
	for (size_t i = 0; i < args->n_named; i++) {
		int at = tool_param(tool, args->names[i].str->data);
		if (at < 0)
			return heap_fail(vm->h, "%.100s has no parameter %.80s", tool->name,
				args->names[i].str->data);
		if (give(vm, call, (uint32_t)at, args->named[i]) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < tool->n_params; i++)
		if (check_shape(vm, call, i) < 0)
			return -1;
	return 0;
}

/* Store the arguments of a call in @out, in the order of the parameters @names. A missing
 * argument becomes None. */
static int sort(
	struct vm *vm, const struct args *args, const char *const *names, size_t n, struct val *out)
{
	const char *fn = vm->called->name;
	for (size_t i = 0; i < n; i++)
		out[i] = i < args->n ? args->item[i] : VAL_NONE;
	for (size_t i = 0; i < args->n_named; i++) {
		size_t at = 0;
		while (at < n && !str_is(args->names[i], names[at]))
			at++;
		if (at == n || at < args->n)
			return heap_fail(vm->h, "%s: unexpected argument %.80s", fn,
				args->names[i].str->data);
		out[at] = args->named[i];
	}
	return args->n > n
		? heap_fail(vm->h, "%s: got %zu arguments, want at most %zu", fn, args->n, n)
		: 0;
}

static int read_ask(struct vm *vm, struct plan_call *call)
{
	static const char *const names[] = {"question", "data", "schema"};
	struct val in[3];
	if (sort(vm, &vm->call_args, names, 3, in) < 0 || arg_string(vm, "ask", in[0]) < 0 ||
		ask_schema(vm, in[2], &call->schema, &call->kind_most) < 0)
		return -1;
	call->kind = CALL_ASK;
	call->text = in[0];
	call->value = in[1];
	call->asked = in[2];
	for (size_t i = 0; i < 3 && vm->flow.all; i++)
		call->label = flow_join(vm, call->label, flow_whole(vm, in[i]));
	return call->label == LABEL_FAILED ? -1 : 0;
}

static int read_approve(struct vm *vm, struct plan_call *call)
{
	static const char *const names[] = {"value", "reason"};
	struct val in[2];
	if (sort(vm, &vm->call_args, names, 2, in) < 0)
		return -1;
	if (in[1].type == T_NONE && str_of(vm->h, "", &in[1]) < 0)
		return -1;
	if (vm->call_args.n + vm->call_args.n_named == 0 || arg_string(vm, "approve", in[1]) < 0)
		return heap_fail(vm->h, "approve: approve(value, \"reason\")");
	call->kind = CALL_APPROVE;
	call->value = in[0];
	call->text = in[1];
	call->label = vm->flow.all ? flow_whole(vm, in[0]) : 0;
	return call->label == LABEL_FAILED ? -1 : 0;
}

/* Find what the check found for the place in the source where @call is made. Several calls of
 * the same tool may surround this place, as in f(f(x)). Return the innermost call that the check
 * evaluated. */
const struct check_call *call_checked(const struct program *p, const struct plan_call *call)
{
	const struct check_call *best = NULL;
	for (uint32_t i = 0; i < p->n_checked; i++) {
		const struct check_call *one = p->checked[i];
		if (one->tool == call->tool && one->node->start <= call->at &&
			call->at < one->node->end &&
			(!best || one->node->start > best->node->start ||
				one->node->end < best->node->end))
			best = one;
	}
	return best;
}

static bool is_settled(const struct labels *all, uint32_t label)
{
	return label == LABEL_FAILED || label_get(all, label).presumed == LABEL_BOTTOM;
}

/*
 * Settle the presumptions in the labels of a call. A presumption is a label for what a branch that
 * did not run might have written, so it may not apply. In the labels of the guard and of the
 * arguments, keep only the part of each presumption that the check also found possible at this
 * call, see label_settle().
 *
 * call->label keeps its presumptions. The label of the result is computed from call->label, and for
 * the result the labels of the check would be too coarse: they are joins over all calling contexts.
 */
static int settle(struct program *p, struct plan_call *call)
{
	struct labels *all = p->vm.flow.all;
	uint32_t n = call->tool ? call->tool->n_params : 0;
	bool is_done = !all || is_settled(all, call->guard);
	for (uint32_t i = 0; i < n && is_done; i++)
		is_done = !all || is_settled(all, call->arg[i].label);
	if (is_done)
		return 0;
	const struct check_call *of = call->tool ? call_checked(p, call) : NULL;
	call->guard = label_settle(all, call->guard, of ? of->guard : LABEL_FAILED);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t check = of ? of->arg[i].label : LABEL_FAILED;
		call->arg[i].label = label_settle(all, call->arg[i].label, check);
	}
	return labels_has_failed(all)
		? heap_fail_kind(&p->heap, FAIL_MEMORY, "out of memory: too many different labels")
		: 0;
}

static int read_call(struct program *p, struct plan_call *out)
{
	struct vm *vm = &p->vm;
	const struct native *native = vm->called;
	const struct args *args = &vm->call_args;
	const struct frame *f = &vm->frames[vm->n_frames - 1];
	size_t at = (size_t)(f->pc - f->code->ins);
	*out = (struct plan_call){.guard = vm->h->guard, .at = f->code->at[at > 0 ? at - 1 : 0]};
	if (native->model == MODEL_ASK)
		return read_ask(vm, out);
	if (native->model == MODEL_APPROVE)
		return read_approve(vm, out);
	out->is_try = native->model == MODEL_TRY;
	if (out->is_try) {
		if (args->n == 0 || args->item[0].type != T_NATIVE ||
			args->item[0].native->model != MODEL_TOOL)
			return heap_fail(vm->h,
				"try_call: a tool comes first: try_call(tool, name = value)");
		native = args->item[0].native;
	}
	out->tool = ((const struct tool_native *)(const void *)native)->tool;
	return read_tool(vm, args, out->is_try, out);
}

int call_read(struct program *p, struct plan_call *out)
{
	return read_call(p, out) < 0 ? -1 : settle(p, out);
}

int call_arguments(struct program *p, const struct plan_call *call, struct text *out)
{
	struct val dict, name;
	*out = (struct text){.h = &p->heap};
	if (table_new(&p->heap, T_DICT, 0, &dict) < 0)
		return -1;
	for (uint32_t i = 0; i < call->tool->n_params; i++)
		if (call->arg[i].is_given &&
			(str_of(&p->heap, call->tool->param[i].name, &name) < 0 ||
				table_put(&p->heap, dict.table, name, call->arg[i].value) < 0))
			return -1;
	return json_write(out, dict, &JSON_CANONICAL);
}

static uint32_t with_kind(struct vm *vm, uint32_t label, struct kind kind)
{
	if (label == LABEL_FAILED || label == 0)
		return label;
	struct label l = label_get(vm->flow.all, label);
	if (l.kind.rank == KIND_TEXT)
		l.kind = kind;
	return label_intern(vm->flow.all, &l);
}

/* Return the label of the size of a value that has the label @label, such as the length of a
 * list. The kind becomes KIND_NUMBER, because the size is a number. Each origin becomes a
 * chooser, because its data influenced the size, but is not in the size. */
static uint32_t sized(struct vm *vm, uint32_t label)
{
	if (label == LABEL_FAILED || label == 0)
		return label;
	struct label l = label_get(vm->flow.all, label);
	l.kind = (struct kind){.rank = KIND_NUMBER};
	return label_choice(vm->flow.all, label_intern(vm->flow.all, &l));
}

static const struct tool_type *field_type(const struct tool_type *type, struct val name)
{
	for (uint32_t k = 0; type && type->shape == TOOL_DICT && k < type->n_fields; k++)
		if (str_is(name, type->field[k].name))
			return type->field[k].type;
	return NULL;
}

/* Set the label of a result and of all its parts. Each part gets the kind that its declared type
 * allows. */
static int paint(struct vm *vm, struct val *v, const struct tool_type *type, uint32_t label)
{
	int r = 0;
	uint32_t shape = sized(vm, label), at = 0;
	if (v->type != T_LIST && v->type != T_DICT) {
		struct kind kind = type ? type->kind : (struct kind){.rank = KIND_TEXT};
		if (type && type->name)
			kind.type = label_atom(vm->flow.all, type->name, strlen(type->name));
		v->label = flow_cap(vm, with_kind(vm, label, kind), v->type);
		return 0;
	}
	if (heap_enter(vm->h) < 0)
		return -1;
	flow_new(vm, v, shape);
	for (uint32_t i = 0; v->type == T_LIST && i < v->list->n && r == 0; i++)
		r = paint(vm, &v->list->item[i],
			type && type->shape == TOOL_LIST ? type->item : NULL, label);
	for (; v->type == T_DICT && at < v->table->n_entries && r == 0; at++) {
		struct entry *e = &v->table->entry[at];
		e->key.label = label;
		r = paint(vm, &e->value, field_type(type, e->key), label);
	}
	heap_leave(vm->h);
	return r;
}

/* Set the labels of an item of a result. The fields that the item's owner wrote get the label
 * policy_said(), all other fields get the label policy_item(). */
static int paint_item(struct vm *vm, const struct plan_call *call, const struct policy *policy,
	struct val *v, const struct tool_type *type)
{
	uint32_t label = policy_item(policy, call->tool, call->label, *v), at = 0;
	uint32_t said = policy_said(policy, call->tool, call->label, *v);
	int r = 0;
	if (v->type != T_DICT || said == label)
		return paint(vm, v, type, label);
	flow_new(vm, v, sized(vm, label));
	for (; at < v->table->n_entries && r == 0; at++) {
		struct entry *e = &v->table->entry[at];
		bool is_said = e->key.type == T_STRING &&
			policy_is_said(policy, call->tool, e->key.str->data);
		e->key.label = label;
		r = paint(vm, &e->value, field_type(type, e->key), is_said ? said : label);
	}
	return r;
}

static int paint_result(struct vm *vm, const struct plan_call *call, const struct policy *policy,
	struct val *v, uint32_t *label)
{
	/* The guard of the call is not joined to the label of the result here. The machine does
	 * this later: at the end of the region that the guard belongs to, such as a branch of an
	 * `if`, it joins the guard to every variable that the region wrote. */
	uint32_t inputs = call->label;
	const struct tool_type *type = call->tool->result;
	*label = policy_result(policy, call->tool, inputs);
	if (*label == LABEL_FAILED)
		return heap_fail_kind(
			vm->h, FAIL_MEMORY, "out of memory: too many different labels");
	if (v->type != T_LIST)
		return paint_item(vm, call, policy, v, type);
	int r = 0;
	flow_new(vm, v, label_choice(vm->flow.all, flow_cap(vm, *label, T_INT)));
	for (uint32_t i = 0; i < v->list->n && r == 0; i++)
		r = paint_item(vm, call, policy, &v->list->item[i],
			type && type->shape == TOOL_LIST ? type->item : NULL);
	return r;
}

static uint32_t of_origin(struct vm *vm, const char *origin, uint32_t label, struct kind kind)
{
	struct label l = label_get(vm->flow.all, label);
	uint32_t atom = label_atom(vm->flow.all, origin, strlen(origin));
	l.origins = label_union(vm->flow.all, l.origins, label_set(vm->flow.all, atom));
	l.endorsements = l.choosers = l.is_composed = 0;
	l.kind = kind;
	return label_intern(vm->flow.all, &l);
}

/* Create the result of try_call(): struct(ok, value, error). */
static int tried(struct vm *vm, struct val value, struct val error, uint32_t label, struct val *out)
{
	struct record *r = heap_zero(vm->h, sizeof *r);
	static const char *const names[] = {"ok", "value", "error"};
	const struct val values[] = {VAL_BOOL(error.type == T_NONE), value, error};
	if (!r || str_of(vm->h, "struct", &r->constructor) < 0)
		return -1;
	r->names = heap_alloc(vm->h, 3 * sizeof *r->names);
	r->values = heap_alloc(vm->h, 3 * sizeof *r->values);
	for (; r->names && r->values && r->n < 3; r->n++) {
		if (str_of(vm->h, names[r->n], &r->names[r->n]) < 0)
			return -1;
		r->values[r->n] = values[r->n];
		r->values[r->n].label =
			flow_join(vm, values[r->n].label, flow_cap(vm, label, T_BOOL));
	}
	*out = VAL_PTR(T_STRUCT, r);
	return r->n == 3 ? 0 : -1;
}

/* Check an answer against the schema of ask(). If the answer does not fit, the error message
 * does not quote it. */
static int check_answer(struct vm *vm, const struct plan_call *call, struct val v)
{
	int r = ask_fits(vm, call->asked, v);
	return r == 0
		? heap_fail_kind(vm->h, FAIL_TOOL, "ask: the answer is not what was asked for")
		: r;
}

int call_answer(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *json, size_t bytes)
{
	struct vm *vm = &p->vm;
	struct val v = VAL_NONE;
	uint32_t label = 0;
	if (json_read(vm->h, json, bytes, &v) < 0)
		return -1;
	if (call->kind == CALL_ASK && check_answer(vm, call, v) < 0)
		return -1;
	if (vm->flow.all && call->kind == CALL_ASK)
		label = of_origin(vm, "model", call->label, call->kind_most);
	if (vm->flow.all && call->kind == CALL_ASK && paint(vm, &v, NULL, label) < 0)
		return -1;
	if (vm->flow.all && call->kind == CALL_TOOL &&
		paint_result(vm, call, policy, &v, &label) < 0)
		return -1;
	if (call->is_try && tried(vm, v, VAL_NONE, label, &v) < 0)
		return -1;
	vm_answer(vm, v);
	return 0;
}

int call_error(struct program *p, const struct plan_call *call, const struct policy *policy,
	const char *text, size_t bytes)
{
	struct vm *vm = &p->vm;
	struct text t = {.h = vm->h};
	struct val v;
	uint32_t label = 0;
	char origin[TOOL_NAME_MAX_BYTES + 8];
	const char *name = call->tool ? call->tool->name : "ask";
	vm->is_private = !call->is_try;
	if (!call->is_try)
		return heap_fail_kind(vm->h, FAIL_TOOL, "%.100s failed: %.*s", name,
			(int)MIN(bytes, (size_t)300), text);
	/* The text of an error may contain invalid UTF-8, which is replaced. */
	for (size_t i = 0, n; i < bytes; i += n) {
		int32_t c;
		n = utf8_decode(text + i, bytes - i, &c);
		if (text_char(&t, c < 0 ? UTF8_REPLACEMENT : c) < 0)
			return -1;
	}
	if (text_take(&t, T_STRING, &v) < 0)
		return -1;
	if (vm->flow.all) {
		snprintf(origin, sizeof origin, "error:%s", name);
		label = policy_result(policy, call->tool, call->label);
		if (label == LABEL_FAILED)
			return -1;
		v.label = of_origin(vm, origin, label, (struct kind){.rank = KIND_TEXT});
	}
	if (tried(vm, VAL_NONE, v, label, &v) < 0)
		return -1;
	vm_answer(vm, v);
	return 0;
}

int call_fits(struct program *p, const struct plan_call *call, const char *json, size_t bytes)
{
	struct val v;
	return json_read(p->vm.h, json, bytes, &v) < 0 ? -1 : ask_fits(&p->vm, call->asked, v);
}

int call_lost(struct program *p, const struct plan_call *call, const char *why)
{
	p->is_lost = true;
	/* The message may contain output of a server, so only people may see it, not the
	 * planner. */
	p->vm.is_private = true;
	return heap_fail_kind(
		&p->heap, FAIL_TOOL, "%.100s: %.300s", call->tool ? call->tool->name : "ask", why);
}

int call_yes(struct program *p, const struct plan_call *call)
{
	struct val v;
	if (endorse(&p->vm, call->value, "approved", &v) < 0)
		return -1;
	vm_answer(&p->vm, v);
	return 0;
}
