/*
 * Check calls of functions.
 *
 * The analysis is context-sensitive: a function body is evaluated at each call, in a frame of its
 * own for each chain of call sites that leads to the call (a call string). A chain may have any
 * length; it is finite because the checker refuses recursion. So a call with untrusted data does
 * not taint the results of another call. CHECK_CONTEXTS_MAX bounds the number of frames.
 *
 * Arguments are bound to parameters as in the machine. A call through a variable that may refer to
 * several functions is a branch: each function is evaluated from the same state, and the results
 * are joined with the label of the choice. All returns of a body are joined at its end, with the
 * guards that led to each return.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/inside.h"

#include "plan/value/str.h"

static const struct mark public = {0};

static uint32_t first_param(const struct node *node)
{
	return node->kind == NODE_DEF ? 1 : 0;
}

/* Return the value of a def or lambda: an abstract function. Each def or lambda has one abstract
 * function per calling context. If it is evaluated several times in one context, the defaults of
 * its parameters are joined. */
struct av function_value(struct checker *c, const struct node *node)
{
	struct obj *o = obj_new(c, OBJ_FUNCTION, node, 0);
	if (!o)
		return av_of(public, T_FUNCTION);
	o->frame = c->frame;
	if (!o->defaults) {
		o->defaults = heap_zero(c->h, (node->n_params + 1) * sizeof *o->defaults);
		if (!o->defaults)
			return av_of(public, T_FUNCTION);
	}
	for (uint32_t i = 0; i < node->n_params; i++) {
		const struct node *param = node->kid[first_param(node) + i];
		if (!param->kid[0])
			continue;
		struct av old = o->defaults[i];
		o->defaults[i] = av_join(c, old, eval(c, param->kid[0]));
		c->n_facts += !av_equal(old, o->defaults[i]);
	}
	return obj_value(c, o, public);
}

/*
 * Find or create the frame of the function @o for the call at @call in the current context. Each
 * frame has its own cells.
 * Returns: NULL if the plan is refused or memory is exhausted.
 */
static struct abstract_frame *frame_of(
	struct checker *c, const struct obj *o, const struct node *call)
{
	uint32_t *at = map_at(c, &c->contexts, c->frame->context, (uintptr_t)call, o->id);
	if (!at)
		return NULL;
	if (*at != UINT32_MAX)
		return c->frames[*at - 1];
	if (c->n_frames == CHECK_CONTEXTS_MAX) {
		(void)refuse(c, P_TOO_MUCH, call,
			"call one function in a loop, or from fewer places",
			"functions have too many calling contexts to be checked: more than %d",
			CHECK_CONTEXTS_MAX);
		return NULL;
	}
	if (c->n_frames == c->frame_room) {
		uint32_t room = c->frame_room ? c->frame_room * 2 : 32;
		struct abstract_frame **frames =
			heap_regrow(c->h, c->frames, c->n_frames, room, sizeof *frames);
		if (!frames)
			return NULL;
		c->frames = frames;
		c->frame_room = room;
	}
	struct abstract_frame *f = heap_zero(c->h, sizeof *f);
	if (!f)
		return NULL;
	const struct scope *scope = o->node->scope;
	*f = (struct abstract_frame){.outer = o->frame, .scope = scope};
	f->first = cells_add(c, scope->n_slots + 1);
	if (f->first == 0)
		return NULL;
	for (uint32_t i = 0; i < scope->n_slots; i++)
		c->cells[f->first + i].is_shared = scope->slot_symbols[i]->is_cell;
	c->frames[c->n_frames++] = f;
	*at = f->context = c->n_frames;
	c->n_facts++;
	return f;
}

struct binding {
	struct checker *c;
	const struct obj *function;
	const struct call_args *args;
	struct abstract_frame *frame;
	uint32_t at; /* index of the next positional argument */
	bool is_named_only;
};

static void set_param(struct binding *b, const struct node *param, struct av v)
{
	cell_write(b->c, b->frame->first + param->symbol->slot, v);
}

static bool is_param_named(const struct node *node, struct val name)
{
	for (uint32_t i = 0; i < node->n_params; i++) {
		const struct node *param = node->kid[first_param(node) + i];
		if (param->op == TOK_EOF && param->value.type == T_STRING &&
			str_equal(param->value.str, name.str))
			return true;
	}
	return false;
}

/* Bind the parameter *args or **kwargs to all arguments that have no parameter of their own. */
static void bind_rest(struct binding *b, const struct node *param)
{
	struct checker *c = b->c;
	bool is_args = param->op == TOK_STAR;
	struct obj *o = obj_new(c, is_args ? OBJ_TUPLE : OBJ_DICT, param, 0);
	struct av v = obj_value(c, o, public);
	if (!o)
		return;
	for (uint32_t i = b->at; is_args && i < b->args->n; i++) {
		struct field *field = field_at(c, o, VAL_INT(i - b->at), true);
		cell_add(c, field ? field->cell : o->rest, b->args->positional[i]);
	}
	for (uint32_t i = 0; !is_args && i < b->args->n_named; i++) {
		const struct node *name = b->args->named_at[i];
		if (!is_param_named(b->function->node, name->value))
			item_set(c, v, av_constant(c, name, name->value), b->args->named[i]);
	}
	if (is_args ? b->args->has_star : b->args->has_starstar) {
		o->is_fuzzy = true;
		contents_add(c, v, is_args ? b->args->star : b->args->starstar);
	}
	set_param(b, param, v);
}

static void bind_one(struct binding *b, const struct node *param, struct av value)
{
	struct checker *c = b->c;
	const struct call_args *args = b->args;
	struct av v = AV_NONE;
	if (!b->is_named_only && b->at < args->n)
		v = args->positional[b->at];
	else if (!b->is_named_only && args->has_star)
		v = av_join(c, value, iterated(c, args->star));
	b->at += !b->is_named_only && b->at < args->n;
	for (uint32_t i = 0; i < args->n_named; i++)
		if (str_equal(args->named_at[i]->value.str, param->value.str))
			v = args->named[i];
	if (v.type == T_UNSET)
		v = value;
	if (args->has_starstar)
		v = av_join(c, v, element_of(c, args->starstar));
	set_param(b, param, v);
}

static void bind_params(struct binding *b)
{
	const struct node *node = b->function->node;
	const struct scope *scope = node->scope;
	for (uint32_t i = 0; i < scope->n_slots; i++)
		if (!b->c->cells[b->frame->first + i].is_shared)
			cell_write(b->c, b->frame->first + i, AV_NONE);
	for (uint32_t i = 0; i < node->n_params; i++) {
		const struct node *param = node->kid[first_param(node) + i];
		if (param->op != TOK_EOF) {
			if (param->symbol)
				bind_rest(b, param);
			b->is_named_only = true;
		} else if (param->symbol) {
			bind_one(b, param, b->function->defaults[i]);
		}
	}
}

/* Join the states at all exits of a function's body: at its end, if control reaches it, and at
 * each return. */
static void join_returns(struct checker *c, struct activation *a, struct changes *end, bool is_end)
{
	if (!a->returns.is_used) {
		apply_changes(c, end);
		return;
	}
	if (is_end)
		(void)join_changes(c, end, public);
	(void)join_changes(c, &a->returns.all, c->returned);
}

static struct av run_body(struct checker *c, const struct obj *o, struct activation *a)
{
	const struct node *body = o->node->kid[o->node->n - 1];
	uint32_t before = state_begin(c);
	a->region = c->region;
	a->returns.trail = c->trail.n;
	if (o->node->kind == NODE_LAMBDA)
		a->result = eval(c, body);
	else
		exec(c, body);
	bool is_end = !c->is_dead || a->is_final;
	struct changes end = state_end(c, before);
	if (o->node->kind == NODE_DEF && !c->is_dead)
		a->result = av_join(c, a->result, av_constant(c, body, VAL_NONE));
	join_returns(c, a, &end, is_end);
	changes_done(c, &end);
	changes_done(c, &a->returns.all);
	/* The result reveals which return was taken, so it gets the guards of all returns. */
	return av_told(c, a->result, c->returned);
}

static struct av call_function(struct checker *c, const struct obj *o, const struct call_args *args)
{
	for (const struct activation *a = c->active; a; a = a->caller)
		if (a->node == o->node)
			return refuse(c, P_UNKNOWN, args->node, "write it as a loop",
				"a function that calls itself cannot be checked");
	struct abstract_frame *frame = frame_of(c, o, args->node), *outer = c->frame;
	if (!frame || c->n_active == CHECK_CALLS_MAX)
		return refuse(c, P_TOO_MUCH, args->node, "",
			"calls within calls are too deep to be checked");
	struct activation a = {.caller = c->active, .node = o->node, .result = AV_NONE};
	struct mark pc = c->pc, broken = c->broken, returned = c->returned;
	struct exits *breaks = c->breaks, *continues = c->continues;
	struct binding b = {.c = c, .function = o, .args = args, .frame = frame};
	/* The caller may contain a conditional break, continue or return before this call. If
	 * that jump had been taken, the run would not reach this call. So each write in the body
	 * of the called function reveals that the jump was not taken. The written value must
	 * therefore get the guard of the jump, the label of its condition. While the body is
	 * evaluated, c->pc and c->broken contain the guards of all such jumps for this purpose. */
	c->pc = mark_now(c);
	c->broken = mark_join(c, broken, returned);
	c->returned = public;
	c->frame = frame;
	bind_params(&b);
	c->active = &a;
	c->n_active++;
	struct av v = run_body(c, o, &a);
	c->n_active--;
	c->active = a.caller;
	c->frame = outer;
	c->pc = pc;
	c->broken = broken;
	c->returned = returned;
	c->breaks = breaks;
	c->continues = continues;
	c->is_dead = false;
	return v;
}

static struct av call_object(struct checker *c, const struct obj *o, const struct call_args *args)
{
	switch ((int)o->kind) {
	case OBJ_FUNCTION:
		return call_function(c, o, args);
	case OBJ_NATIVE:
		return call_native(c, o->name, args);
	case OBJ_METHOD:
		return call_method(c, o->self, o->name, args);
	case OBJ_TOOL:
		return call_tool(c, o->tool, args);
	default:
		return refuse(c, P_UNKNOWN, args->node, "call a function by its name",
			"the checker does not know what is called here");
	}
}

/* Call the function that @fn refers to; if it may refer to several, call each and join the
 * results. If data chose the function, the effects of the call depend on that data. */
struct av call_value(struct checker *c, struct av fn, const struct call_args *args)
{
	struct obj *o = obj_nth(c, fn, 0);
	if (!o && fn.type == T_NONE)
		return fn;
	if (!o)
		return refuse(c, P_UNKNOWN, args->node, "call a function by its name",
			"the checker does not know what is called here");
	if (!obj_nth(c, fn, 1) && fn.m.label == LABEL_BOTTOM)
		return call_object(c, o, args);
	struct mark pc = c->pc, guard = mark_guard(c, fn.m, args->node);
	struct av v = AV_NONE;
	c->pc = mark_join(c, pc, guard);
	for (size_t i = 0; (o = obj_nth(c, fn, i)); i++) {
		uint32_t before = state_begin(c);
		struct av one = call_object(c, o, args);
		struct changes all = state_end(c, before);
		(void)join_changes(c, &all, guard);
		changes_done(c, &all);
		v = av_choice(c, v, one, guard);
	}
	c->pc = pc;
	return v;
}

/* Refuse a call of @name if it is made by a function that a built-in such as sorted() calls. The
 * reason: at a call of @name the run waits for an answer, and a built-in cannot be suspended.
 * Returns: true if the call was refused. */
bool is_suspended(struct checker *c, const struct call_args *args, const char *name)
{
	if (c->n_built_in == 0)
		return false;
	(void)refuse(c, P_UNKNOWN, args->node, "call it in a loop before",
		"%.80s cannot be called from within a built-in", name);
	return true;
}

struct av args_nth(const struct call_args *args, uint32_t i)
{
	return i < args->n ? args->positional[i] : AV_NONE;
}

struct av args_named(const struct call_args *args, const char *name)
{
	for (uint32_t i = 0; i < args->n_named; i++)
		if (str_is(args->named_at[i]->value, name))
			return args->named[i];
	return AV_NONE;
}

/* Return the argument at the position @i or, if the call has fewer positional arguments, the one
 * named @name. */
struct av args_get(const struct call_args *args, uint32_t i, const char *name)
{
	return i < args->n ? args->positional[i] : args_named(args, name);
}

/*
 * Return the join of the marks of all arguments of a call, and of everything that can be reached
 * from the arguments.
 * - If @has_constants is true, the result of the call may contain data of the arguments. So the
 *   mark of each argument is joined as it is.
 * - If @has_constants is false, the arguments only select the result, as an index does. So each
 *   origin is joined as a chooser: an origin whose data selected the result, but is not in the
 *   result. An argument that is a constant of the plan adds nothing, see chosen().
 * The marks of arguments in *x and **x are always joined as they are.
 */
struct mark args_whole(struct checker *c, const struct call_args *args, bool has_constants)
{
	struct mark m = public;
	for (uint32_t i = 0; i < args->n; i++)
		m = mark_join(c, m,
			has_constants ? whole(c, args->positional[i])
				      : chosen(c, args->positional[i]));
	for (uint32_t i = 0; i < args->n_named; i++)
		m = mark_join(
			c, m, has_constants ? whole(c, args->named[i]) : chosen(c, args->named[i]));
	if (args->has_star)
		m = mark_join(c, m, whole(c, args->star));
	if (args->has_starstar)
		m = mark_join(c, m, whole(c, args->starstar));
	return m;
}

static int eval_args(struct checker *c, const struct node *node, struct call_args *args)
{
	size_t room = node->n + 1;
	*args = (struct call_args){.node = node};
	args->positional = heap_alloc(c->h, room * sizeof *args->positional);
	args->named = heap_alloc(c->h, room * sizeof *args->named);
	args->named_at = heap_alloc(c->h, room * sizeof *args->named_at);
	if (!args->positional || !args->named || !args->named_at)
		return -1;
	for (uint32_t i = 1; i < node->n; i++) {
		const struct node *arg = node->kid[i];
		bool is_plain = arg->kind != NODE_ARG_NAMED && arg->kind != NODE_ARG_STAR &&
			arg->kind != NODE_ARG_STARSTAR;
		struct av v = eval(c, is_plain ? arg : arg->kid[0]);
		if (is_plain) {
			args->positional[args->n++] = v;
		} else if (arg->kind == NODE_ARG_NAMED) {
			args->named_at[args->n_named] = arg;
			args->named[args->n_named++] = v;
		} else if (arg->kind == NODE_ARG_STAR) {
			args->star = v;
			args->has_star = true;
		} else {
			args->starstar = v;
			args->has_starstar = true;
		}
	}
	return 0;
}

static void args_done(struct checker *c, struct call_args *args)
{
	size_t room = args->node->n + 1;
	if (args->positional)
		heap_release(c->h, args->positional, room * sizeof *args->positional);
	if (args->named)
		heap_release(c->h, args->named, room * sizeof *args->named);
	if (args->named_at)
		heap_release(c->h, args->named_at, room * sizeof *args->named_at);
}

/* Return whether an attribute of @v may be a field of a struct or a part of a tool's name.
 * Otherwise the attribute is a method. */
static bool is_field(struct checker *c, struct av v)
{
	struct obj *o;
	for (size_t i = 0; (o = obj_nth(c, v, i)); i++)
		if (o->kind == OBJ_STRUCT || o->kind == OBJ_PREFIX)
			return true;
	return false;
}

struct av eval_call(struct checker *c, const struct node *node)
{
	const struct node *callee = node->kid[0];
	struct call_args args = {.node = node};
	struct av fn, self = AV_NONE;
	const char *method = NULL;
	if (callee->kind == NODE_DOT && method_is_known(callee->value.str->data))
		method = callee->value.str->data;
	if (method) {
		self = eval(c, callee->kid[0]);
		method = is_field(c, self) ? NULL : method;
	}
	if (!method)
		fn = eval(c, callee);
	struct av v = av_of(public, N_TYPES);
	if (eval_args(c, node, &args) == 0)
		v = method ? call_method(c, self, method, &args) : call_value(c, fn, &args);
	args_done(c, &args);
	return v;
}
