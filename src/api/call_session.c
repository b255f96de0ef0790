/* Operations on sessions. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *session_of(const struct operation_call *call)
{
	return param_text(call->params, "session", "");
}

/* ---- session.create: the order, as JSON says it ---- */

struct pieces {
	struct volume *volumes;
	size_t n_volumes;
	char **env;
	size_t n_env;
	const char **preload;
};

static void pieces_done(struct pieces *p)
{
	for (size_t i = 0; i < p->n_env; i++)
		free(p->env[i]);
	free(p->env);
	free(p->volumes);
	free(p->preload);
}

static int take_volumes(struct pieces *p, const json_t *volumes)
{
	size_t n = json_array_size(volumes);
	p->volumes = calloc(n + 1, sizeof *p->volumes);
	if (!p->volumes)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(volumes, i);
		p->volumes[i] = (struct volume){.src = param_text(row, "src", ""),
			.dst = param_text(row, "dst", ""),
			.is_writable = strcmp(param_text(row, "mode", "ro"), "rw") == 0};
	}
	p->n_volumes = n;
	return 0;
}

static int take_env(struct pieces *p, const json_t *env)
{
	const char *name;
	json_t *value;
	p->env = calloc(json_object_size(env) + 1, sizeof *p->env);
	if (!p->env)
		return -1;
	json_object_foreach((json_t *)(uintptr_t)env, name, value)
	{
		if (asprintf(&p->env[p->n_env], "%s=%s", name, json_string_value(value)) < 0)
			return -1;
		p->n_env++;
	}
	return 0;
}

static int take_preload(struct pieces *p, const json_t *preload)
{
	size_t n = json_array_size(preload);
	p->preload = calloc(n + 1, sizeof *p->preload);
	for (size_t i = 0; p->preload && i < n; i++)
		p->preload[i] = json_string_value(json_array_get(preload, i));
	return p->preload ? 0 : -1;
}

static struct limits limits_of(const json_t *given)
{
	static const char *const names[LIMIT_END_] = {
#define X(name, value, what) [LIMIT_##name] = #name,
		LIMITS(X)
#undef X
	};
	struct limits limits = order_default_limits();
	for (int i = 0; i < LIMIT_END_; i++)
		limits.value[i] = param_count(given, names[i], limits.value[i]);
	const json_t *cpus = param_get(given, "cpus");
	if (cpus)
		limits.value[LIMIT_cpu_milli] = (uint64_t)(json_number_value(cpus) * 1000 + 0.5);
	return limits;
}

/* What cannot be a name of a variable, or cannot be told from one. */
static int check_env(const json_t *env, struct err *err)
{
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)env, name, value)
	{
		if (name[0] && !strchr(name, '='))
			continue;
		(void)err_set(err, ERR_USAGE, "env: \"%.60s\" is no name", name);
		return err_hint(err, "name it without =, and not empty");
	}
	return 0;
}

void call_session_create(struct operation_call *call)
{
	const json_t *params = call->params;
	struct pieces p = {0};
	struct err err;
	int r = check_env(param_get(params, "env"), &err);
	if (r == 0 &&
		(take_volumes(&p, param_get(params, "volumes")) < 0 ||
			take_env(&p, param_get(params, "env")) < 0 ||
			take_preload(&p, param_get(params, "preload")) < 0))
		r = err_set(&err, ERR_NO_MEMORY, "no memory for a session");
	const struct registry_create req = {
		.order = {.runtime = param_text(params, "runtime", NULL),
			.volumes = p.volumes,
			.n_volumes = p.n_volumes,
			.workspace = param_text(params, "workspace", NULL),
			.rootfs = param_text(params, "rootfs", NULL),
			.interpreter = param_text(params, "python", NULL),
			.env = (const char *const *)p.env,
			.n_env = p.n_env,
			.limits = limits_of(param_get(params, "limits")),
			.has_seed = param_get(params, "seed") != NULL,
			.seed = param_count(params, "seed", 0),
			.has_time = param_get(params, "time") != NULL,
			.time_ns = (int64_t)(json_number_value(param_get(params, "time")) * 1e9)},
		.name = param_text(params, "name", NULL),
		.preload = p.preload && p.preload[0] ? p.preload : NULL,
		.is_fresh = param_flag(params, "fresh"),
		.ttl_ms = param_count(params, "ttl_ms", 0),
		.idle_ms = param_count(params, "idle_ms", 0)};
	if (r < 0)
		call_fail(call, &err);
	else
		registry_create(call->context->registry, &req, call_done, call);
	pieces_done(&p);
}

/* ---- the rest ---- */

void call_session_list(struct operation_call *call)
{
	struct err err = {0};
	call_give(call, registry_list(call->context->registry, &err), &err);
}

void call_session_get(struct operation_call *call)
{
	struct err err = {0};
	call_give(call, registry_get(call->context->registry, session_of(call), &err), &err);
}

void call_session_branch(struct operation_call *call)
{
	registry_branch(call->context->registry, session_of(call),
		param_text(call->params, "name", NULL), param_flag(call->params, "force"),
		call_done, call);
}

void call_session_undo(struct operation_call *call)
{
	const char *to = param_text(call->params, "to", NULL);
	struct err err;
	if (to && param_get(call->params, "count")) {
		(void)err_set(&err, ERR_USAGE, "count: given together with to");
		(void)err_hint(&err, "give one of them");
		call_fail(call, &err);
		return;
	}
	unsigned count = to ? 0 : (unsigned)param_count(call->params, "count", 1);
	registry_undo(call->context->registry, session_of(call), count, to, call_done, call);
}

void call_session_close(struct operation_call *call)
{
	registry_end(call->context->registry, session_of(call), call_done, call);
}

void call_session_log(struct operation_call *call)
{
	struct err err = {0};
	call_give(call,
		registry_log(call->context->registry, session_of(call),
			param_flag(call->params, "all"), &err),
		&err);
}

void call_session_graph(struct operation_call *call)
{
	struct err err = {0};
	call_give(call, registry_graph(call->context->registry, &err), &err);
}

void call_session_export(struct operation_call *call)
{
	struct err err = {0};
	char *text = NULL;
	size_t bytes = 0;
	json_t *result = NULL;
	if (registry_export(call->context->registry, session_of(call), &text, &bytes, &err) == 0) {
		result = json_pack("{s:o*}", "record", json_stringn(text, bytes));
		if (!json_object_get(result, "record"))
			(void)err_set(&err, ERR_INTERNAL, "a record that is no UTF-8");
	}
	if (!json_object_get(result, "record")) {
		json_decref(result);
		result = NULL;
	}
	free(text);
	call_give(call, result, &err);
}
