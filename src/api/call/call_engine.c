/* Operations on the engine itself. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "api/call/inside.h"
#include "api/once/doctor.h"
#include "api/operation/calls.h"
#include "api/operation/schema.h"
#include "session/start/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void start_info(struct operation_call *call)
{
	struct err err = {0};
	int64_t n_sessions = registry_count(call->context->registry, &err);
	json_t *names = json_array();
	const struct operation *op;
	for (size_t i = 0; (op = operation_at(i)); i++)
		(void)json_array_append_new(names, json_string(op->name));
	if (n_sessions < 0) {
		json_decref(names);
		call_fail(call, &err);
		return;
	}
	json_t *info = json_pack("{s:s, s:s, s:i, s:i, s:s, s:I, s:o}", "name", "retort", "version",
		call->context->version, "schema", 1, "pid", (int)getpid(), "runtimes",
		language_names(), "sessions", (json_int_t)n_sessions, "operations", names);
	if (!info)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory to tell of the engine");
	call_give(call, info, &err);
}

/* ---- engine.doctor: a real box of this engine is checked from inside ---- */

static void on_ended(void *arg, const json_t *result, const struct err *err)
{
	struct operation_call *call = arg;
	json_t *kept = json_incref(call->kept);
	(void)result;
	call_done(call, kept, err);
	json_decref(kept);
}

static void on_looked(void *arg, const json_t *record, const struct err *err)
{
	struct operation_call *call = arg;
	doctor_judge(call->kept, record, err);
	registry_end(call->context->registry, call->session, on_ended, call);
}

static void on_created(void *arg, const json_t *result, const struct err *err)
{
	struct operation_call *call = arg;
	const char *code = doctor_code();
	/* Not read: if step_order_new() fails, `order` is NULL, and registry_run() reports the
	 * error. */
	struct err ignored;
	call->session = strdup(param_text(result, "session", ""));
	if (!result || !call->session) {
		doctor_judge(call->kept, NULL, err);
		json_t *kept = json_incref(call->kept);
		call_done(call, kept, NULL);
		json_decref(kept);
		return;
	}
	struct step_order *order = step_order_new(&(struct step_order){.code = code,
							  .code_bytes = strlen(code),
							  .filename = "<doctor>",
							  .stdin_fd = -1},
		&ignored);
	registry_run(call->context->registry, call->session, order, NULL, on_looked, call);
	step_order_let_go(order);
}

static void start_doctor(struct operation_call *call)
{
	const struct registry_create req = {.order = {.net = doctor_rules,
						    .n_net = DOCTOR_RULES,
						    .limits = order_default_limits()},
		.is_fresh = true};
	struct err err;
	call->kept = doctor_look();
	if (!call->kept) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory to check the host");
		call_fail(call, &err);
		return;
	}
	registry_create(call->context->registry, &req, on_created, call);
}

static void start_operations(struct operation_call *call)
{
	struct err err = {0};
	json_t *all = schema_operations();
	if (!all)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for the table");
	call_give(call, all, &err);
}

/* ---- rows of the table of operations ---- */

static const struct param info_rows[] = {
	GIVES("name", PARAM_TEXT, "retort"),
	GIVES("version", PARAM_TEXT, "version of retort"),
	GIVES("schema", PARAM_COUNT, "version of the records' format: 1"),
	GIVES("pid", PARAM_COUNT, "process id of the engine"),
	GIVES("runtimes", PARAM_TEXT, "the languages, separated by commas"),
	GIVES("sessions", PARAM_COUNT, "number of the caller's sessions"),
	GIVES("operations", PARAM_TEXTS, "the names of all operations"),
};
static const struct param check_rows[] = {
	GIVES("name", PARAM_TEXT, "name of the check"),
	{"state", PARAM_CHOICE, NEEDED, .choices = "ok|weak|missing",
		.help = "result of the check"},
	GIVES("what", PARAM_TEXT, "what was found"),
	MAY_GIVE("instead", PARAM_TEXT, "what is used instead"),
	MAY_GIVE("hint", PARAM_TEXT, "how to fix it"),
};
static const struct param doctor_rows[] = {
	GIVES("ok", PARAM_FLAG, "nothing necessary is missing"),
	{"checks", PARAM_OBJECTS, NEEDED, FIELDS(check_rows), .help = "the checks, in order"},
	{"limits", PARAM_OBJECT, .fields = order_enforced_rows, .n_fields = ORDER_N_LIMIT_ROWS,
		.help = "limits of a box, and what enforces them"},
};
static const struct param described_rows[] = {
	GIVES("name", PARAM_TEXT, "name of the operation"),
	GIVES("summary", PARAM_TEXT, "what the operation does"),
	{"params", PARAM_OBJECT, NEEDED, .help = "JSON Schema of the parameters"},
	{"result", PARAM_OBJECT, NEEDED, .help = "JSON Schema of the result"},
	{"label", PARAM_CHOICE, NEEDED, .choices = "engine|caller|program",
		.help = "who wrote the result; program: untrusted"},
	MAY_GIVE("limits", PARAM_TEXT, "limits of the operation"),
	{"bounds", PARAM_MAP, NEEDED, .help = "maximum lengths of texts and lists, by parameter"},
	GIVES("errors", PARAM_TEXTS, "error codes"),
	GIVES("events", PARAM_FLAG, "the operation sends events while it runs"),
	{"example", PARAM_OBJECT, NEEDED, .help = "example parameters"},
	{"answer", PARAM_OBJECT, NEEDED, .help = "part of the result for the example"},
};
static const struct param operations_rows[] = {
	{"operations", PARAM_OBJECTS, NEEDED, FIELDS(described_rows),
		.help = "the operations, in order"},
};

static const struct operation rows[] = {
	{"engine.info", "Describe the engine", RESULT(info_rows), .label = OPERATION_ENGINE,
		.example = "{}", .answer = "{'name': 'retort', 'schema': 1}", .start = start_info},
	{"engine.operations", "Describe every operation", RESULT(operations_rows),
		.label = OPERATION_ENGINE, .example = "{}",
		.answer =
			"{'operations': [{'name': 'session.create', 'summary': 'Make a session'}]}",
		.start = start_operations},
	{"engine.doctor", "Check what this host can enforce", RESULT(doctor_rows),
		.label = OPERATION_ENGINE,
		.limits = "Makes a box and ends it. Not for callers with a token.",
		.is_for_operator = true, .errors = "denied", .example = "{}",
		.answer = "{'checks': [{'name': 'kernel', 'state': 'ok'}]}", .start = start_doctor},
};

const struct operation_family engine_family = FAMILY(rows);
