/*
 * The control API of the front "e2b": sandboxes are made and told of.
 *
 * A sandbox is made of a plain box, of a template of retort, or of a snapshot, whose session is
 * then branched. What a request asks for and a box cannot have is refused, never left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/num.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* CELL_MS: limit of a cell. IDLE_MS: so long after a crash of the engine a session ends that nobody
 * uses. PIDS: processes and threads of a box; agents start servers, tests and browsers in one. */
enum { CELL_MS = 3600 * 1000, IDLE_MS = 600 * 1000, PIDS = 512 };
enum { METADATA_BYTES = 64 << 10, ENV_BYTES = 96 << 10, TEMPLATE_BYTES = 256 };

/* Names of templates of E2B that are boxes as they are. */
static const char *const plain_templates[] = {"base", "code-interpreter-v1"};

/* ---- telling ---- */

double e2b_limit(const struct front_state *state, const char *name)
{
	return json_number_value(json_object_get(json_object_get(state->box, "limits"), name));
}

void e2b_put_limits(const struct front_state *state, json_t *out)
{
	enum { MIB = 1 << 20 };
	int64_t cpus = (int64_t)e2b_limit(state, "cpus");
	json_put_int(out, "cpuCount", cpus + (e2b_limit(state, "cpus") > (double)cpus));
	json_put_int(out, "memoryMB", (int64_t)e2b_limit(state, "memory_bytes") / MIB);
	json_put_int(out, "diskSizeMB", (int64_t)e2b_limit(state, "disk_bytes") / MIB);
}

json_t *e2b_sandbox_json(const struct e2b_sandbox *s)
{
	return json_pack("{s:O, s:s, s:s, s:O, s:s, s:s, s:s, s:O}", "templateID", s->template,
		"sandboxID", s->id, "clientID", "retort", "alias", s->template, "envdVersion",
		E2B_ENVD_VERSION, "envdAccessToken", s->token, "trafficAccessToken", s->traffic,
		"domain", s->host);
}

json_t *e2b_detail_json(const struct e2b_sandbox *s)
{
	char start[E2B_DATE_BYTES], end[E2B_DATE_BYTES];
	e2b_date(start, s->started_ms);
	e2b_date(end, s->end_ms);
	json_t *out = e2b_sandbox_json(s);
	json_put_text(out, "startedAt", start);
	json_put_text(out, "endAt", end);
	json_put_text(out, "state", s->phase == E2B_PAUSED ? "paused" : "running");
	json_put_shared(out, "metadata", s->metadata);
	json_put_bool(out, "allowInternetAccess", json_array_size(s->rules) > 0);
	json_put_shared(out, "network", s->network);
	json_put_new(out, "lifecycle",
		json_pack("{s:b, s:s}", "autoResume", s->resumes_itself, "onTimeout",
			s->is_paused_late ? "pause" : "kill"));
	json_put_new(out, "volumeMounts", json_array());
	return out;
}

/* ---- templates ---- */

bool e2b_is_plain(const char *template)
{
	for (size_t i = 0; i < ARRAY_LEN(plain_templates); i++)
		if (strcmp(template, plain_templates[i]) == 0)
			return true;
	return false;
}

bool e2b_read_template(char out[E2B_NAME_BYTES], const char *template)
{
	static const char *const tags[] = {"", ":latest", ":default"};
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *slash = strrchr(template, '/');
	template = slash ? slash + 1 : template;
	size_t n = strcspn(template, ":");
	bool is_usual = false;
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		is_usual |= strcmp(template + n, tags[i]) == 0;
	if (!is_usual || n == 0 || n >= E2B_NAME_BYTES)
		return false;
	memcpy(out, template, n);
	out[n] = '\0';
	return !strchr("._-", out[0]) && strspn(out, letters) == n;
}

static void refuse_template(struct front_call *c)
{
	e2b_refuse(c, 404, "template '%.200s' not found: GET /templates lists those that are there",
		json_get_text(c->body, "templateID"));
}

/* ---- reading a request ---- */

/* Make the domain of the hosts of sandboxes from the host that the client has called. */
static json_t *domain_of(const struct front_call *c)
{
	static const char *const services[] = {"api.", "sandbox."};
	const char *host = http_header(c->x, "Host");
	char text[256];
	host = host ? host : "";
	for (size_t i = 0; i < ARRAY_LEN(services); i++)
		if (strncasecmp(host, services[i], strlen(services[i])) == 0)
			host += strlen(services[i]);
	const char *port = strrchr(host, ':');
	bool is_near = strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0;
	snprintf(text, sizeof text, "%s%s", is_near ? "localhost" : host,
		is_near && port && !strchr(port, ']') ? port : "");
	return json_new_text(text, strlen(text));
}

static const struct e2b_member members[] = {
	{"templateID", E2B_TEXT, .is_needed = true, .max = TEMPLATE_BYTES},
	{"timeout", E2B_COUNT, .max = E2B_TIMEOUT_MAX_S},
	{"metadata", E2B_MAP, .max = METADATA_BYTES},
	{"envVars", E2B_MAP, .max = ENV_BYTES},
	{"secure", E2B_BOOL},
	{"allow_internet_access", E2B_BOOL},
	{"autoPause", E2B_BOOL},
	{"autoPauseMemory", E2B_BOOL},
	{"autoResume", E2B_OBJECT},
	{"network", E2B_OBJECT},
};

/* Members that sandboxes of retort cannot have, unless they are empty. */
static const struct absent_member {
	const char *name, *instead;
} absent[] = {
	{"mcp",
		"E2B's gateway runs as root, which a sandbox has not: start an MCP server with a "
		"command"},
	{"iam", "give envVars, or a network rule with a secret"},
	{"volumeMounts", "write files, or have the operator make a template"},
};

/* Check the members of a request for a sandbox. Returns: false, and the request was answered, if
 * one is wrong. */
static bool check(struct front_call *c)
{
	static const struct e2b_member resume[] = {
		{"enabled", E2B_BOOL, .is_needed = true},
	};
	json_t *again = json_object_get(c->body, "autoResume");
	if (!e2b_check(c, c->body, members, ARRAY_LEN(members)) ||
		(json_is_object(again) && !e2b_check(c, again, resume, ARRAY_LEN(resume))))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		const json_t *value = json_object_get(c->body, absent[i].name);
		bool is_empty = !value || (json_is_object(value) && json_object_size(value) == 0) ||
			(json_is_array(value) && json_array_size(value) == 0);
		if (is_empty)
			continue;
		e2b_refuse(c, 400, "%s is not supported: %s", absent[i].name, absent[i].instead);
		return false;
	}
	if (json_get_bool(again, "enabled") &&
		json_is_false(json_object_get(c->body, "autoPauseMemory"))) {
		e2b_refuse(c, 400,
			"autoResume needs autoPauseMemory: a sandbox whose processes "
			"have ended is resumed by connect only");
		return false;
	}
	return true;
}

/* Return a copy of a member, or an empty object. Owns: the caller decrefs. */
static json_t *object_of(const struct front_call *c, const char *name)
{
	const json_t *value = json_object_get(c->body, name);
	return json_need(value ? json_deep_copy(value) : json_object());
}

/* Make the sandbox that the request asks for. Owns: takes @rules. */
static struct e2b_sandbox *read_sandbox(struct front_call *c, int64_t usual_s, json_t *rules)
{
	const json_t *seconds = json_object_get(c->body, "timeout");
	const json_t *network = json_object_get(c->body, "network");
	struct e2b_sandbox *s = e2b_new(c);
	s->template = json_incref(json_object_get(c->body, "templateID"));
	s->metadata = object_of(c, "metadata");
	s->env = object_of(c, "envVars");
	s->host = domain_of(c);
	s->network = network ? json_deep_copy(network) : NULL;
	s->rules = rules;
	s->is_paused_late = json_get_bool(c->body, "autoPause");
	s->is_paused_cold = json_is_false(json_object_get(c->body, "autoPauseMemory"));
	s->resumes_itself = json_get_bool(json_object_get(c->body, "autoResume"), "enabled");
	s->started_ms = e2b_now();
	e2b_set_time(s, (uint64_t)(seconds ? json_integer_value(seconds) : usual_s));
	return s;
}

static void put_own_env(json_t *env, const struct e2b_sandbox *s)
{
	json_put_text(env, "E2B_SANDBOX", "true");
	json_put_text(env, "E2B_SANDBOX_ID", s->id);
	json_put_shared(env, "E2B_TEMPLATE_ID", s->template);
}

json_t *e2b_call_env(const struct e2b_sandbox *s)
{
	json_t *env = s->is_copy ? json_need(json_copy(s->env)) : json_need(json_object());
	put_own_env(env, s);
	return env;
}

/* ---- of a template ---- */

static void on_created(struct front_call *c, struct e2b_sandbox *s, const struct err *err)
{
	if (s)
		front_answer(c, 201, e2b_sandbox_json(s));
	else if (err->code == ERR_NOT_FOUND)
		refuse_template(c);
	else
		front_fail(c, err);
}

static void create(struct front_call *c, struct e2b_sandbox *s, const char *template)
{
	/* Without the sandbox's own variables, so that one prepared box serves for all. */
	json_t *params = json_need(json_pack("{s:s, s:s, s:o, s:i, s:{s:i, s:i}}", "name", s->id,
		"runtime", "python", "env", json_copy(s->env), "idle_ms", IDLE_MS, "limits",
		"timeout_ms", CELL_MS, "pids", PIDS));
	put_own_env(s->env, s);
	if (!e2b_is_plain(template))
		json_put_text(params, "template", template);
	front_box(c, params, false);
	json_put_shared(params, "net", s->rules);
	e2b_make(c, s, "session.create", params, on_created);
}

/* ---- of a snapshot ---- */

/* The copy has the rules that were asked for. */
static void on_net(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_sandbox *s = e2b_find_own(c, json_get_text(c->kept, "sandbox"));
	const struct err gone = {.code = ERR_GONE, .msg = "the sandbox has ended"};
	bool is_known = s && result && !e2b_has_left(c);
	if (s && !is_known)
		e2b_end(s, NULL);
	if (is_known)
		front_answer(c, 201, e2b_sandbox_json(s));
	else
		front_fail(c, err ? err : &gone);
}

static void on_copied(struct front_call *c, struct e2b_sandbox *s, const struct err *err)
{
	if (!s || json_get_bool(c->kept, "has_rules")) {
		on_created(c, s, err);
		return;
	}
	json_put_text(c->kept, "sandbox", s->id);
	front_operate(c, "session.net", json_pack("{s:s, s:O}", "session", s->id, "net", s->rules),
		on_net);
}

static void copy(struct front_call *c, struct e2b_sandbox *s, const struct e2b_snapshot *from)
{
	json_t *env = json_need(json_copy(from->env));
	(void)json_object_update(env, s->env);
	json_decref(s->env);
	s->env = env;
	s->is_copy = true;
	s->contexts = from->contexts ? json_deep_copy(from->contexts) : NULL;
	put_own_env(s->env, s);
	c->kept = json_need(json_object());
	json_put_bool(c->kept, "has_rules", json_equal(s->rules, from->rules));
	e2b_make(c, s, "session.branch",
		json_need(json_pack("{s:s, s:s, s:b}", "session", from->session, "name", s->id,
			"keep_processes", 1)),
		on_copied);
}

/* ---- POST /sandboxes ---- */

static void start_create(struct front_call *c, int64_t usual_s)
{
	char name[E2B_NAME_BYTES];
	if (!check(c))
		return;
	const char *template = json_get_text(c->body, "templateID");
	bool is_name = e2b_read_template(name, template);
	const struct e2b_snapshot *from =
		is_name && e2b_is_plain(name) ? NULL : e2b_find_snapshot(c, template);
	if (!from && !is_name) {
		refuse_template(c);
		return;
	}
	json_t *rules = e2b_read_network(c, json_object_get(c->body, "network"),
		!json_is_false(json_object_get(c->body, "allow_internet_access")));
	if (!rules)
		return;
	struct e2b_sandbox *s = read_sandbox(c, usual_s, rules);
	if (from)
		copy(c, s, from);
	else
		create(c, s, name);
}

void e2b_start_create(struct front_call *c)
{
	start_create(c, E2B_TIMEOUT_S);
}

void e2b_start_old_create(struct front_call *c)
{
	start_create(c, E2B_OLD_TIMEOUT_S);
}

/* ---- GET /sandboxes/ID ---- */

void e2b_refuse_missing(struct front_call *c, const char *id)
{
	e2b_refuse(c, 404, "Sandbox \"%.64s\" doesn't exist or you don't have access to it", id);
}

struct e2b_sandbox *e2b_read_sandbox(
	struct front_call *c, char path[E2B_PATH_BYTES], const char **word)
{
	bool is_well = e2b_read_path(c, "/sandboxes/", path);
	size_t n = strcspn(path, "/");
	*word = path + n + (path[n] == '/');
	path[n] = '\0';
	struct e2b_sandbox *s = is_well ? e2b_find_own(c, path) : NULL;
	if (!s)
		e2b_refuse_missing(c, is_well ? path : "");
	return s;
}

void e2b_start_sandbox(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	const char *word;
	struct e2b_sandbox *s = e2b_read_sandbox(c, path, &word);
	if (!s)
		return;
	if (strcmp(word, "metrics") == 0) {
		e2b_start_metrics(c, s);
	} else if (strcmp(word, "logs") == 0) {
		e2b_refuse(c, 501,
			"logs of a sandbox are not kept: run a command, and read its output");
	} else if (word[0]) {
		e2b_refuse(c, 404, "there is no such route");
	} else {
		json_t *out = e2b_detail_json(s);
		e2b_put_limits(c->state, out);
		front_answer(c, 200, out);
	}
}
