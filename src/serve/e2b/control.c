/*
 * The control API of the front "e2b": sandboxes are made, told of, and ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/num.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* CELL_MS: limit of a cell. IDLE_MS: after a crash of the engine nobody ends a session but the
 * engine itself, after this time. TIMEOUT_S: of a sandbox, if the request has none: in version 2 of
 * the API, and before. */
enum { CELL_MS = 3600 * 1000, IDLE_MS = 24 * CELL_MS, TIMEOUT_S = 300, OLD_TIMEOUT_S = 15 };
enum { TIMEOUT_MAX_S = 30 * 24 * 3600 };

/* Names of templates of E2B that are boxes as they are. */
static const char *const plain_templates[] = {"base", "code-interpreter-v1"};

/* ---- telling ---- */

json_t *e2b_sandbox_json(const struct e2b_sandbox *s)
{
	return json_pack("{s:O, s:s, s:s, s:O, s:s, s:s, s:s, s:O}", "templateID", s->template,
		"sandboxID", s->id, "clientID", "retort", "alias", s->template, "envdVersion",
		E2B_ENVD_VERSION, "envdAccessToken", s->token, "trafficAccessToken", s->traffic,
		"domain", s->host);
}

static json_t *detail_json(const struct e2b_sandbox *s)
{
	char start[E2B_DATE_BYTES], end[E2B_DATE_BYTES];
	e2b_date(start, s->started_ms);
	e2b_date(end, s->end_ms);
	json_t *out = e2b_sandbox_json(s);
	json_put_text(out, "startedAt", start);
	json_put_text(out, "endAt", end);
	json_put_int(out, "cpuCount", 1);
	json_put_int(out, "memoryMB", 1024);
	json_put_int(out, "diskSizeMB", 256);
	json_put_text(out, "state", s->phase == E2B_PAUSED ? "paused" : "running");
	json_put_shared(out, "metadata", s->metadata);
	json_put_bool(out, "allowInternetAccess", s->has_internet);
	json_put_shared(out, "network", s->network);
	json_put_new(out, "lifecycle",
		json_pack("{s:b, s:s}", "autoResume", s->resumes_itself, "onTimeout",
			s->is_paused_late ? "pause" : "kill"));
	json_put_new(out, "volumeMounts", json_array());
	return out;
}

/* ---- making ---- */

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

static bool is_plain(const char *template)
{
	for (size_t i = 0; i < ARRAY_LEN(plain_templates); i++)
		if (strcmp(template, plain_templates[i]) == 0)
			return true;
	return false;
}

static void on_created(struct front_call *c, struct e2b_sandbox *s, const struct err *err)
{
	if (s)
		front_answer(c, 201, e2b_sandbox_json(s));
	else
		front_fail(c, err);
}

void e2b_start_create(struct front_call *c)
{
	const char *template = json_get_text(c->body, "templateID");
	const json_t *env = json_object_get(c->body, "envVars");
	int64_t seconds = json_get_int(c->body, "timeout");
	struct e2b_sandbox *s = e2b_new(c);
	s->template = json_new_text(template, strlen(template));
	s->metadata = json_need(json_deep_copy(json_object_get(c->body, "metadata")
			? json_object_get(c->body, "metadata")
			: json_need(json_object())));
	s->host = domain_of(c);
	s->has_internet = !json_is_false(json_object_get(c->body, "allow_internet_access"));
	s->started_ms = e2b_now();
	s->end_ms = s->started_ms + (uint64_t)(seconds > 0 ? seconds : TIMEOUT_S) * 1000;
	s->env = env ? json_need(json_deep_copy(env)) : json_need(json_object());
	json_put_text(s->env, "E2B_SANDBOX", "true");
	json_put_text(s->env, "E2B_SANDBOX_ID", s->id);
	json_put_text(s->env, "E2B_TEMPLATE_ID", template);
	json_t *params = json_need(
		json_pack("{s:s, s:s, s:O, s:i, s:{s:i}}", "name", s->id, "runtime", "python",
			"env", s->env, "idle_ms", IDLE_MS, "limits", "timeout_ms", CELL_MS));
	if (!is_plain(template))
		json_put_text(params, "template", template);
	front_box(c, params, s->has_internet);
	e2b_make(c, s, "session.create", params, on_created);
}

/* ---- requests to one ---- */

/* Read "/sandboxes/ID" or "/sandboxes/ID/WORD". Returns: the sandbox, and *@word, "" if there is
 * none; or NULL, and the request was answered. */
static struct e2b_sandbox *read_sandbox(
	struct front_call *c, char path[E2B_PATH_BYTES], const char **word)
{
	bool is_well = e2b_read_path(c, "/sandboxes/", path);
	size_t n = strcspn(path, "/");
	*word = path + n + (path[n] == '/');
	path[n] = '\0';
	struct e2b_sandbox *s = is_well ? e2b_find_own(c, path) : NULL;
	if (!s)
		e2b_refuse(c, 404, "Sandbox \"%.64s\" doesn't exist or you don't have access to it",
			path);
	return s;
}

void e2b_start_sandbox(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	const char *word;
	struct e2b_sandbox *s = read_sandbox(c, path, &word);
	if (s && word[0])
		e2b_refuse(c, 404, "there is no such route");
	else if (s)
		front_answer(c, 200, detail_json(s));
}

void e2b_start_list(struct front_call *c)
{
	json_t *all = json_need(json_array());
	for (struct e2b_sandbox *s = e2b_of(c)->sandboxes; s; s = s->next)
		if (e2b_find_own(c, s->id) == s)
			json_add_new(all, detail_json(s));
	front_answer(c, 200, all);
}

void e2b_start_sandbox_action(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	const char *word;
	struct e2b_sandbox *s = read_sandbox(c, path, &word);
	int64_t seconds = json_get_int(c->body, "timeout");
	if (!s)
		return;
	if (strcmp(word, "timeout") == 0) {
		s->end_ms = e2b_now() + (uint64_t)seconds * 1000;
		front_answer_empty(c);
	} else {
		e2b_refuse(c, 404, "there is no such route");
	}
}

void e2b_start_sandbox_put(struct front_call *c)
{
	e2b_refuse(c, 501, "not yet");
}

void e2b_start_sandbox_end(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	const char *word;
	struct e2b_sandbox *s = read_sandbox(c, path, &word);
	if (s && word[0])
		e2b_refuse(c, 404, "there is no such route");
	else if (s)
		e2b_end(s, c);
}
