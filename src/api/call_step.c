/* Operations on steps, and replay. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

#include <stdlib.h>
#include <string.h>

static void on_started(void *arg, const char *session)
{
	struct operation_call *call = arg;
	struct err err;
	call->has_started = true;
	call_event(call, event_started(session));
	for (unsigned i = 0; i < call->n_cancels; i++)
		(void)registry_interrupt(call->context->registry, call->session, &err);
}

static void on_output(void *arg, int stream, const char *data, size_t bytes)
{
	struct operation_call *call = arg;
	call_event(call, event_text(&call->rest[stream], stream, data, bytes, false));
}

static void on_display(void *arg, const json_t *display)
{
	call_event(arg, event_display(display));
}

static void on_run(void *arg, const json_t *record, const struct err *err)
{
	struct operation_call *call = arg;
	for (int i = 0; record && i < 2; i++)
		call_event(call, event_text(&call->rest[i], i, "", 0, true));
	if (record)
		call_event(call, event_finished(record));
	call_done(call, record, err);
}

void call_step_run(struct operation_call *call)
{
	const json_t *params = call->params, *stdin_text = param_get(params, "stdin");
	const json_t *code = param_get(params, "code");
	struct err err;
	call->session = strdup(param_text(params, "session", ""));
	if (!call->session) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a step");
		call_fail(call, &err);
		return;
	}
	call->watch = (struct registry_watch){
		.arg = call, .started = on_started, .output = on_output, .display = on_display};
	const struct registry_run req = {.session = call->session,
		.runtime = param_text(params, "runtime", NULL),
		.code = json_string_value(code),
		.code_bytes = json_string_length(code),
		.filename = param_text(params, "filename", NULL),
		.timeout_ms = param_count(params, "timeout_ms", 0),
		.is_atomic = param_flag(params, "atomic"),
		.stdin_text = json_string_value(stdin_text),
		.stdin_bytes = json_string_length(stdin_text),
		.watch = &call->watch};
	registry_run(call->context->registry, &req, on_run, call);
}

void call_step_interrupt(struct operation_call *call)
{
	struct err err = {0};
	const char *session = param_text(call->params, "session", "");
	int r = registry_interrupt(call->context->registry, session, &err);
	call_give(call, r < 0 ? NULL : json_object(), &err);
}

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
