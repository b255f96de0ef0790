/*
 * Operations: what the fronts (socket, HTTP, MCP, command line) can request from an engine.
 *
 * Each operation is a row (api/row/row.h) with its name, parameters, result and handler.
 * operation_start() checks that the caller may use the operation, and checks the parameters by the
 * row. If the answer may be long, the call waits until the caller has read earlier answers
 * (outstanding.c). Then the handler is called. It answers the call once, now or later, by
 * call_done(), call_give() or call_fail(), which free the call. A front that loses its client
 * cancels the client's calls with operation_cancel(). The effect depends on the handler.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/operation/operation.h"

#include "api/operation/calls.h"
#include "api/operation/metrics.h"
#include "api/operation/principal.h"
#include "api/run/run_behind.h"
#include "base/utf8.h"
#include "base/word.h"

#include <stdlib.h>
#include <string.h>

/* Families of operations, in the order of the documentation. */
static const struct operation_family *const families[] = {&session_family, &step_family,
	&program_family, &judge_family, &file_family, &path_family, &process_family, &port_family,
	&template_family, &image_family, &plan_family, &replay_family, &tool_family, &agent_family,
	&engine_family};

static const struct {
	const char *word, *meaning;
} labels[OPERATION_LABEL_END_] = {
	[OPERATION_ENGINE] = {"engine", "It contains only retort's own data."},
	[OPERATION_CALLER] = {"caller",
		"It also contains what callers wrote, such as names and code."},
	[OPERATION_PROGRAM] = {"program",
		"It also contains what programs in boxes wrote or made: untrusted."},
};

const char *operation_label_word(enum operation_label label)
{
	return labels[label].word;
}

const char *operation_label_meaning(enum operation_label label)
{
	return labels[label].meaning;
}

const struct operation *operation_at(size_t i)
{
	for (size_t j = 0; j < ARRAY_LEN(families); i -= families[j++]->n)
		if (i < families[j]->n)
			return &families[j]->rows[i];
	return NULL;
}

size_t operation_count(void)
{
	size_t n = 0;
	for (size_t j = 0; j < ARRAY_LEN(families); j++)
		n += families[j]->n;
	return n;
}

size_t operation_index(const struct operation *op)
{
	size_t i = 0;
	while (operation_at(i) && operation_at(i) != op)
		i++;
	return i;
}

const struct operation *operation_find(const char *name)
{
	const struct operation *op;
	for (size_t i = 0; (op = operation_at(i)); i++)
		if (strcmp(op->name, name) == 0)
			return op;
	return NULL;
}

int operation_unknown(const char *name, struct err *err)
{
	const struct operation *op;
	struct word_near near = WORD_NEAR(name);
	for (size_t i = 0; (op = operation_at(i)); i++)
		word_near_try(&near, op->name);
	(void)err_set(err, ERR_USAGE, "no operation \"%.*s\"",
		(int)utf8_cut(name, strlen(name), 64), name);
	if (near.best)
		return err_hint(err, "did you mean %s?", near.best);
	return err_hint(err, "for example `session.create`, `step.run`, `engine.info`");
}

void call_done(void *arg, const json_t *result, const struct err *err)
{
	struct operation_call *call = arg;
	*call->slot = NULL;
	metrics_answer(call->context->metrics, call->op, result ? ERR_NONE : err->code);
	/* Until now, an estimate of the size of the answer was counted for the caller. Stop that.
	 * The listener, which gets the answer next, counts the real size of a long answer. */
	outstanding_set(&call->owed, NULL, 0);
	call->listener.done(call->listener.arg, result, result ? NULL : err);
	json_decref(call->params);
	json_decref(call->kept);
	free(call->session);
	free(call);
}

void call_fail(struct operation_call *call, const struct err *err)
{
	call_done(call, NULL, err);
}

bool call_is_behind_reader(struct operation_call *call)
{
	const struct operation_context *context = call->context;
	struct err err;
	if (!context->runs ||
		runs_check_reading(context->runs, context->registry,
			param_text(call->params, "session", ""), &err) == 0)
		return false;
	call_fail(call, &err);
	return true;
}

void call_give(struct operation_call *call, json_t *result, const struct err *err)
{
	call_done(call, result, err);
	json_decref(result);
}

bool operation_is_last(const struct operation *op, const json_t *event)
{
	return op->last && strcmp(op->last, param_text(event, "event", "")) == 0;
}

void call_event(struct operation_call *call, json_t *event)
{
	if (event && call->listener.event)
		call->listener.event(call->listener.arg, event);
	json_decref(event);
}

void operation_resume(struct operation_call *call)
{
	if (call->resume)
		call->resume(call);
}

/* Make @seen, the context of an operation for its caller. The registry in it hides the sessions
 * of other principals. All operations find sessions through this registry, so none of them shows
 * a hidden session. Errors: ERR_DENIED: @op is only for the operator. */
static int see(const struct operation_context *context, const struct operation *op,
	struct operation_context *seen, struct err *err)
{
	*seen = *context;
	if (!context->principal)
		return 0;
	if (op->is_for_operator)
		return err_fail(err, ERR_DENIED, "the operator of the engine can call it",
			"%s is not allowed for callers with a token", op->name);
	seen->registry = registry_view(context->registry, principal_owner(context->principal));
	return seen->registry ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for a call");
}

static void on_turn(struct outstanding_turn *turn, const struct err *why)
{
	struct operation_call *call = container_of(turn, struct operation_call, turn);
	call->cancel = NULL;
	if (why) {
		call_fail(call, why);
		return;
	}
	outstanding_set(&call->owed, turn->of, turn->bytes);
	call->op->start(call);
}

static void leave_line(struct operation_call *call)
{
	struct err err;
	outstanding_leave(&call->turn);
	(void)err_set(&err, ERR_INTERRUPTED, "the call was cancelled before it began");
	call_fail(call, &err);
}

static void begin(struct operation_call *call)
{
	struct outstanding *of = call->op->answer_bytes > 0 ? outstanding_of(call->context) : NULL;
	if (!of) {
		call->op->start(call);
		return;
	}
	call->turn.begin = on_turn;
	call->cancel = leave_line;
	outstanding_wait(of, &call->turn, call->op->answer_bytes);
}

void operation_start(const struct operation_context *context, const struct operation *op,
	json_t *params, const struct operation_listener *listener, struct operation_call **slot)
{
	struct err err = {0};
	struct operation_context seen;
	struct operation_call *call = NULL;
	json_t *usual = NULL;
	*slot = NULL;
	int r = see(context, op, &seen, &err);
	if (r == 0)
		r = param_check(op->params, op->n_params, params, &err);
	if (r == 0 && params && !(usual = param_usual(op->params, op->n_params, params)))
		r = err_set(&err, ERR_NO_MEMORY, "no memory for a call");
	if (r == 0 && !(call = calloc(1, sizeof *call)))
		r = err_set(&err, ERR_NO_MEMORY, "no memory for a call");
	if (r < 0 || !call) {
		json_decref(usual);
		metrics_answer(context->metrics, op, err.code);
		listener->done(listener->arg, NULL, &err);
		return;
	}
	*call = (struct operation_call){
		.seen = seen, .op = op, .params = usual, .listener = *listener, .slot = slot};
	call->context = &call->seen;
	*slot = call;
	begin(call);
}

static void ignore(void *arg, const json_t *result, const struct err *err)
{
	(void)arg;
	(void)result;
	(void)err;
}

void operation_tell(const struct operation_context *context, const char *name, json_t *params)
{
	const struct operation_listener listener = {.done = ignore};
	struct operation_call *slot;
	operation_start(context, operation_find(name), params, &listener, &slot);
	json_decref(params);
}

void call_withdraw(struct operation_call *call)
{
	const char *session = param_text(call->params, "session", "");
	(void)registry_withdraw(call->context->registry, session, call);
}

void operation_cancel(struct operation_call *call)
{
	if (call->cancel)
		call->cancel(call);
}
