/* Operations on the engine itself. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"
#include "api/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void call_engine_info(struct operation_call *call)
{
	struct err err = {0};
	json_t *list = registry_list(call->context->registry, &err);
	json_t *names = json_array();
	for (size_t i = 0; i < operation_n; i++)
		(void)json_array_append_new(names, json_string(operation_table[i].name));
	json_t *info = json_pack("{s:s, s:s, s:i, s:i, s:s, s:i, s:o}", "name", "retort", "version",
		call->context->version, "schema", 1, "pid", (int)getpid(), "runtimes",
		order_runtimes(), "sessions",
		(int)json_array_size(json_object_get(list, "sessions")), "operations", names);
	if (!info)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory to tell of the engine");
	json_decref(list);
	call_give(call, info, &err);
}

/* ---- engine.doctor: a real box of this engine, looked at from inside ---- */

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
	call->session = strdup(param_text(result, "session", ""));
	if (!result || !call->session) {
		doctor_judge(call->kept, NULL, err);
		json_t *kept = json_incref(call->kept);
		call_done(call, kept, NULL);
		json_decref(kept);
		return;
	}
	const struct registry_run req = {.session = call->session,
		.code = code,
		.code_bytes = strlen(code),
		.filename = "<doctor>"};
	registry_run(call->context->registry, &req, on_looked, call);
}

void call_engine_doctor(struct operation_call *call)
{
	const struct registry_create req = {
		.order = {.limits = order_default_limits()}, .is_fresh = true};
	struct err err;
	call->kept = doctor_look();
	if (!call->kept) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory to check the host");
		call_fail(call, &err);
		return;
	}
	registry_create(call->context->registry, &req, on_created, call);
}
