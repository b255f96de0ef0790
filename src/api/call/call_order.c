/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void call_order_done(struct call_order *p)
{
	for (size_t i = 0; i < p->n_env; i++)
		free(p->env[i]);
	free(p->env);
	free(p->volumes);
	free(p->preload);
	free(p->net);
	package_list_done(&p->packages);
	secret_list_done(&p->secrets);
}

static int take_volumes(struct call_order *p, const json_t *volumes)
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

static int take_env(struct call_order *p, const json_t *env)
{
	const char *name;
	json_t *value;
	p->env = calloc(json_object_size(env) + 1, sizeof *p->env);
	if (!p->env)
		return -1;
	json_object_foreach(json_unconst(env), name, value)
	{
		if (asprintf(&p->env[p->n_env], "%s=%s", name, json_string_value(value)) < 0)
			return -1;
		p->n_env++;
	}
	return 0;
}

static int take_secrets(struct call_order *p, const json_t *secrets, struct err *err)
{
	size_t i;
	const json_t *row;
	json_array_foreach(json_unconst(secrets), i, row)
	{
		const char *value = param_text(row, "value", "");
		int r = secret_list_add(&p->secrets, param_text(row, "name", ""),
			param_text(row, "to", ""), value, strlen(value), err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Make an array of the texts in @list, with a NULL at the end. Returns: NULL if memory is
 * exhausted. */
static const char **texts_of(const json_t *list)
{
	size_t n = json_array_size(list);
	const char **out = calloc(n + 1, sizeof *out);
	for (size_t i = 0; out && i < n; i++)
		out[i] = json_string_value(json_array_get(list, i));
	return out;
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

/* Refuse environment variables whose name is empty or contains "=". */
static int check_env(const json_t *env, struct err *err)
{
	const char *name;
	json_t *value;
	json_object_foreach(json_unconst(env), name, value)
	{
		if (name[0] && !strchr(name, '='))
			continue;
		return err_fail(err, ERR_USAGE, "name it without =, and not empty",
			"env: \"%.60s\" is not a valid name", name);
	}
	return 0;
}

int call_order_read(
	struct call_order *p, struct registry *registry, const json_t *params, struct err *err)
{
	*p = (struct call_order){.n_env = 0};
	int r = check_env(param_get(params, "env"), err);
	if (r < 0)
		return r;
	p->preload = texts_of(param_get(params, "preload"));
	p->net = texts_of(param_get(params, "net"));
	if (take_volumes(p, param_get(params, "volumes")) < 0 ||
		take_env(p, param_get(params, "env")) < 0 || !p->preload || !p->net)
		return err_set(err, ERR_NO_MEMORY, "no memory for a session");
	p->create = (struct registry_create){
		.order = {.runtime = param_text(params, "runtime", NULL),
			.volumes = p->volumes,
			.n_volumes = p->n_volumes,
			.workspace = param_text(params, "workspace", NULL),
			.rootfs = param_text(params, "rootfs", NULL),
			.image_name = param_text(params, "image", NULL),
			.interpreter = param_text(params, "python", NULL),
			.template = param_text(params, "template", NULL),
			.env = (const char *const *)p->env,
			.n_env = p->n_env,
			.net = p->net,
			.n_net = json_array_size(param_get(params, "net")),
			.limits = limits_of(param_get(params, "limits")),
			.has_seed = param_get(params, "seed") != NULL,
			.seed = param_count(params, "seed", 0),
			.has_time = param_get(params, "time") != NULL,
			.time_ns = (int64_t)(json_number_value(param_get(params, "time")) * 1e9)},
		.name = param_text(params, "name", NULL),
		.preload = p->preload && p->preload[0] ? p->preload : NULL,
		.is_fresh = param_flag(params, "fresh"),
		.ttl_ms = param_count(params, "ttl_ms", 0),
		.idle_ms = param_count(params, "idle_ms", 0)};
	r = take_secrets(p, param_get(params, "secrets"), err);
	if (r == 0)
		r = secret_list_extend(&p->secrets, &p->create.order, err);
	const struct order *order = &p->create.order;
	if (r == 0 && package_has_set(order->net, order->n_net))
		r = registry_check_net(registry, order->net, order->n_net, err);
	return r < 0 ? r : package_list_extend(&p->packages, &p->create.order, err);
}

const struct param order_volume_rows[ORDER_N_VOLUME_ROWS] = {
	{"src", PARAM_PATH, true, 1, PATH_BYTES, .help = "file or directory of the host"},
	{"dst", PARAM_TEXT, true, 1, PATH_BYTES,
		.help = "path in the box: absolute, or relative to the workspace"},
	{"mode", PARAM_CHOICE, .choices = "ro|rw", .fallback = "ro",
		.help = "read-only or read-write"},
};

const struct param order_secret_rows[ORDER_N_SECRET_ROWS] = {
	{"name", PARAM_TEXT, true, 1, SECRET_NAME_BYTES - 1,
		.help = "name of the environment variable, in which programs see a placeholder"},
	{"value", PARAM_TEXT, true, 0, SECRET_VALUE_MAX + 1,
		.help = "the value, which the gateway sends in its place"},
	{"to", PARAM_TEXT, true, 1, RULE_TEXT_BYTES,
		.help = "where it may go: HOST[:PORT][,query][,body][,like=PREFIX]"},
};

/* Rows of the limits. The bounds equal the bounds of the command line's options for limits,
 * which use human units. Only output_bytes has a lower maximum here, because an engine keeps the
 * output of many callers. */
const struct param order_limit_rows[ORDER_N_LIMIT_ROWS] = {
	{"memory_bytes", PARAM_COUNT, false, 16 << 20, INT64_C(1) << 50,
		.help = "memory of all processes and in-memory files"},
	{"cpus", PARAM_NUMBER, false, 10, 4096000, .help = "CPUs; 0.5 is half a CPU"},
	{"pids", PARAM_COUNT, false, 1, 1 << 22, .help = "processes and threads"},
	{"disk_bytes", PARAM_COUNT, false, 4096, INT64_C(1) << 50,
		.help = "size of all files in the workspace, /tmp and /dev/shm"},
	{"disk_inodes", PARAM_COUNT, false, 1, INT64_C(1) << 31,
		.help = "number of files in the workspace, /tmp and /dev/shm"},
	{"file_bytes", PARAM_COUNT, false, 0, INT64_C(1) << 60, .help = "size of one file"},
	{"open_files", PARAM_COUNT, false, 16, 1 << 20, .help = "open files of one process"},
	{"timeout_ms", PARAM_COUNT, false, 1, TIME_MS, .help = "wall time of a step"},
	{"cpu_ms", PARAM_COUNT, false, 1, TIME_MS,
		.help = "CPU time of a step (default: timeout_ms times cpus)"},
	{"output_bytes", PARAM_COUNT, false, 0, ORDER_OUTPUT_BYTES_MAX,
		.help = "captured output of each stream; head and tail are kept"},
};

static const struct param enforced_rows[] = {
	GIVES("value", PARAM_NUMBER, "the limit"),
	GIVES("enforced", PARAM_FLAG, "whether this host enforces the limit"),
	MAY_GIVE("by", PARAM_TEXT, "what enforces the limit"),
};
#define LIMIT(name_)                                                                               \
	{                                                                                          \
		(name_), PARAM_OBJECT, FIELDS(enforced_rows),                                      \
			.help = "the limit of the same name in session.create"                     \
	}
const struct param order_enforced_rows[ORDER_N_LIMIT_ROWS] = {
	LIMIT("memory_bytes"),
	LIMIT("cpus"),
	LIMIT("pids"),
	LIMIT("disk_bytes"),
	LIMIT("disk_inodes"),
	LIMIT("file_bytes"),
	LIMIT("open_files"),
	LIMIT("timeout_ms"),
	LIMIT("cpu_ms"),
	LIMIT("output_bytes"),
};
