/* Operations on steps, and replay. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"
#include "api/run_part.h"

#include <stdlib.h>
#include <string.h>

enum { OUTPUT_BYTES = 64 << 10 };

/* ---- runs ---- */

static void on_event(void *arg, const json_t *event)
{
	struct operation_call *call = arg;
	if (call->listener.event)
		call->listener.event(call->listener.arg, event);
}

static void interrupt(struct operation_call *call)
{
	if (call->waiter.run)
		run_interrupt(call->waiter.run, false);
}

static void leave(struct operation_call *call)
{
	waiter_leave(&call->waiter);
}

void call_step_run(struct operation_call *call)
{
	const struct operation_context *context = call->context;
	const struct run_order order = {.registry = context->registry, .params = call->params};
	struct err err = {0};
	if (!context->runs)
		(void)err_set(&err, ERR_INTERNAL, "an engine without a book of runs");
	call->waiter = (struct waiter){.arg = call, .event = on_event, .done = call_done};
	call->cancel = interrupt;
	if (err.code || runs_start(context->runs, &order, &call->waiter, &err) < 0)
		call_fail(call, &err);
}

/* Names of both kinds, or of none. */
static int check_names(const json_t *params, const char *other, struct err *err)
{
	bool has_run = param_get(params, "run") != NULL;
	bool has_other = param_get(params, other) != NULL;
	if (has_run != has_other)
		return 0;
	if (has_run) {
		(void)err_set(err, ERR_USAGE, "%s: given together with run", other);
		return err_hint(err, "give one of them");
	}
	(void)err_set(err, ERR_USAGE, "run: missing");
	return err_hint(err, "id of a run, as step.run gave it; or %s", other);
}

static struct run *find_run(struct operation_call *call, struct err *err)
{
	const struct operation_context *context = call->context;
	const json_t *params = call->params;
	const char *step = param_text(params, "step", NULL);
	const char *name = param_text(params, "session", NULL);
	if (param_get(params, "run"))
		return runs_find(
			context->runs, context->registry, param_text(params, "run", ""), err);
	return runs_find_step(context->runs, context->registry, name, step, err);
}

void call_step_get(struct operation_call *call)
{
	const json_t *params = call->params;
	struct err err = {0};
	int bad = check_names(params, "session", &err);
	if (bad == 0 && param_get(params, "session") && !param_get(params, "step")) {
		bad = err_set(&err, ERR_USAGE, "step: missing");
		(void)err_hint(&err, "which step of the session: its id, or a start of it");
	}
	struct run *run = bad < 0 ? NULL : find_run(call, &err);
	call->waiter = (struct waiter){.arg = call, .done = call_done};
	call->cancel = leave;
	if (!run || waiter_await(&call->waiter, run, param_count(params, "wait_ms", 0), &err) < 0)
		call_fail(call, &err);
}

static json_t *part_json(
	const struct run *run, const char *stream, const struct run_part *part, size_t bytes)
{
	bool is_end = part->is_last && run_is_done(run);
	json_t *out = json_pack("{s:s, s:s, s:o, s:I, s:I, s:b}", "run", run_id(run), "stream",
		stream, "text", json_stringn(buf_str(&part->text), part->text.bytes), "offset",
		(json_int_t)part->offset, "bytes", (json_int_t)bytes, "is_end", is_end);
	if (!is_end)
		(void)json_object_set_new(out, "next_offset", json_integer((json_int_t)part->next));
	return out;
}

/* The part of @text that is asked for, or NULL and @err. */
static json_t *read_part(const json_t *params, const struct run *run, const char *text,
	size_t bytes, struct err *err)
{
	struct run_part part;
	const char *word = param_text(params, "grep", NULL);
	size_t offset = (size_t)param_count(params, "offset", 0);
	size_t limit = (size_t)param_count(params, "limit", OUTPUT_BYTES);
	const struct run_part_search search = {
		.word = word, .offset = offset, .limit = limit, .is_whole = run_is_done(run)};
	if (word && strchr(word, '\n')) {
		(void)err_set(err, ERR_USAGE, "grep: holds the end of a line");
		(void)err_hint(err, "give text that stands in one line");
		return NULL;
	}
	int r = word ? run_part_find(&part, text, bytes, &search)
		     : run_part_read(&part, text, bytes, offset, limit);
	json_t *out =
		r < 0 ? NULL : part_json(run, param_text(params, "stream", "stdout"), &part, bytes);
	if (out && word)
		(void)json_object_set_new(out, "lines", json_integer((json_int_t)part.n_lines));
	if (!out)
		(void)err_set(err, ERR_NO_MEMORY, "no memory for the output");
	buf_done(&part.text);
	return out;
}

void call_step_output(struct operation_call *call)
{
	const json_t *params = call->params;
	const char *text = NULL, *stream = param_text(params, "stream", "stdout");
	size_t bytes = 0;
	struct err err = {0};
	json_t *out = NULL;
	const struct run *run = find_run(call, &err);
	if (run && run_text(run, stream, &text, &bytes, &err) == 0)
		out = read_part(params, run, text, bytes, &err);
	call_give(call, out, &err);
}

void call_step_interrupt(struct operation_call *call)
{
	const struct operation_context *context = call->context;
	const char *session = param_text(call->params, "session", NULL);
	bool is_kill = param_flag(call->params, "kill");
	struct err err = {0};
	int r = check_names(call->params, "session", &err);
	struct run *run = r == 0 && !session ? find_run(call, &err) : NULL;
	if (run)
		run_interrupt(run, is_kill);
	else if (r == 0 && !session)
		r = -err_errno(err.code);
	for (int i = 0; r == 0 && session && i < (is_kill ? 2 : 1); i++)
		r = registry_interrupt(context->registry, session, &err);
	call_give(call, r < 0 ? NULL : json_object(), &err);
}

/* ---- the rest ---- */

void call_step_complete(struct operation_call *call)
{
	registry_names(call->context->registry, param_text(call->params, "session", ""),
		param_text(call->params, "runtime", NULL), param_text(call->params, "text", ""),
		call_done, call);
}

void call_replay_run(struct operation_call *call)
{
	const json_t *record = param_get(call->params, "record");
	registry_replay(call->context->registry, json_string_value(record),
		json_string_length(record), call_done, call);
}
