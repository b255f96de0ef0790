/*
 * The front "e2b": the wire of E2B, which has three parts.
 *
 *     control API       sandboxes are made, listed, paused, ended            control.c
 *     envd              processes and files of one sandbox                   process.c, files.c,
 * transfer.c code interpreter  cells of one sandbox                                 code.c
 *
 * A sandbox is a session. Requests to the control API have the token of a principal; requests to a
 * sandbox have only the sandbox's own token, which whoever made it got.
 *
 * Source: e2b-dev/infra, spec/openapi.yml and packages/envd/spec; e2b-dev/code-interpreter,
 * template/server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- requests and answers ---- */

void e2b_refuse(struct front_call *c, unsigned status, const char *fmt, ...)
{
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES + 4];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	front_answer(c, status,
		json_pack("{s:i, s:o}", "code", (int)status, "message",
			json_new_text(text, strlen(text))));
}

void e2b_answer_text(struct front_call *c, unsigned status, const char *text)
{
	struct http_exchange *x = front_take(c);
	if (x)
		http_answer(x, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* Is the request one of the code interpreter? */
static bool is_code(const struct front_call *c)
{
	const char *target = c->x ? http_target(c->x) : "";
	return strstr(target, "/execute") || strstr(target, "/contexts");
}

/* Is the request one of Connect? */
static bool is_rpc(const struct front_call *c)
{
	const char *target = c->x ? http_target(c->x) : "";
	return strstr(target, "/process.Process/") || strstr(target, "/filesystem.Filesystem/");
}

static void refuse(struct front_call *c, unsigned status, const struct err *err)
{
	if (c->x && status == 429)
		(void)http_set_header(c->x, "Retry-After", "1");
	e2b_refuse(c, status, "%s%s%s", err->msg, err->hint[0] ? ": " : "", err->hint);
}

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	if (is_rpc(c))
		e2b_rpc_fail(c, err);
	else if (is_code(c))
		e2b_answer_text(c, status, err->msg);
	else
		refuse(c, status, err);
}

bool e2b_unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at; to++) {
		int high = at[0] == '%' ? ascii_hex_value(at[1]) : -1;
		int low = high >= 0 ? ascii_hex_value(at[2]) : -1;
		*to = low >= 0 ? (char)(high * 16 + low) : *at;
		at += low >= 0 ? 3 : 1;
		if (!*to)
			return false;
	}
	*to = '\0';
	return true;
}

const char *e2b_query(struct front_call *c, const char *name)
{
	const char *raw = c->x ? http_query(c->x, name) : NULL;
	if (!raw)
		return NULL;
	char *text = xstrdup(raw);
	for (char *at = text; *at; at++)
		if (*at == '+')
			*at = ' ';
	json_put_text(c->body, name, e2b_unescape(text) ? text : raw);
	free(text);
	return json_get_text(c->body, name);
}

bool e2b_read_path(const struct front_call *c, const char *dir, char out[E2B_PATH_BYTES])
{
	const char *target = c->x ? http_target(c->x) : "";
	const char *end = target + strcspn(target, "?"), *at = strstr(target, dir);
	at = at && at < end ? at + strlen(dir) : end;
	size_t n = (size_t)(MAX(end, at) - at);
	out[0] = '\0';
	if (n >= E2B_PATH_BYTES)
		return false;
	memcpy(out, at, n);
	out[n] = '\0';
	return e2b_unescape(out) && utf8_is_valid(out, strlen(out));
}

/* ---- members of a request ---- */

/* Return how many bytes are in the texts of @value, which has no others; -1: it has. */
static int64_t count_texts(const json_t *value)
{
	int64_t bytes = 0;
	size_t i;
	const char *key;
	json_t *text;
	json_array_foreach(value, i, text)
	{
		if (!json_is_string(text))
			return -1;
		bytes += (int64_t)json_string_length(text) + 1;
	}
	json_object_foreach(json_unconst(value), key, text)
	{
		if (!json_is_string(text))
			return -1;
		bytes += (int64_t)strlen(key) + (int64_t)json_string_length(text) + 2;
	}
	return bytes;
}

static bool is_within(const json_t *value, const struct e2b_member *m)
{
	int64_t n = m->kind == E2B_COUNT ? json_integer_value(value)
		: m->kind == E2B_TEXT	 ? (int64_t)json_string_length(value)
					 : count_texts(value);
	return n >= (m->kind == E2B_TEXT ? 1 : 0) && n <= m->max;
}

/* What a member must be: `before`, the limit, `after`; NULL: there is no limit. */
static const struct member_words {
	const char *before, *after;
} words[] = {
	[E2B_TEXT] = {"a text of at most ", " bytes"},
	[E2B_COUNT] = {"a whole number from 0 to ", ""},
	[E2B_BOOL] = {"true or false", NULL},
	[E2B_OBJECT] = {"an object", NULL},
	[E2B_MAP] = {"an object of texts, with at most ", " bytes in all"},
	[E2B_LIST] = {"a list of texts, with at most ", " bytes in all"},
};

static bool is_right(const json_t *value, const struct e2b_member *m)
{
	bool is_kind = m->kind == E2B_TEXT ? json_is_string(value)
		: m->kind == E2B_COUNT	   ? json_is_integer(value)
		: m->kind == E2B_BOOL	   ? json_is_boolean(value)
		: m->kind == E2B_LIST	   ? json_is_array(value)
					   : json_is_object(value);
	return is_kind && (!words[m->kind].after || is_within(value, m));
}

static void refuse_member(struct front_call *c, const struct e2b_member *m)
{
	const struct member_words *w = &words[m->kind];
	if (w->after)
		e2b_refuse(c, 400, "%s must be %s%lld%s", m->name, w->before, (long long)m->max,
			w->after);
	else
		e2b_refuse(c, 400, "%s must be %s", m->name, w->before);
}

bool e2b_check(
	struct front_call *c, json_t *body, const struct e2b_member *members, size_t n_members)
{
	const char *key;
	void *next;
	json_t *value;
	json_object_foreach_safe(body, next, key, value) if (json_is_null(value))
		json_object_del(body, key);
	for (size_t i = 0; i < n_members; i++) {
		const struct e2b_member *m = &members[i];
		value = json_object_get(body, m->name);
		if (!value && m->is_needed)
			e2b_refuse(c, 400, "%s is missing", m->name);
		else if (value && !is_right(value, m))
			refuse_member(c, m);
		else
			continue;
		return false;
	}
	return true;
}

/* ---- texts ---- */

void e2b_make_id(char *out, size_t bytes, const char *prefix)
{
	id_make(out, bytes, prefix);
}

uint64_t e2b_now(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void e2b_date(char out[E2B_DATE_BYTES], uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm at;
	char text[E2B_DATE_BYTES - 8];
	(void)gmtime_r(&seconds, &at);
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &at);
	snprintf(out, E2B_DATE_BYTES, "%s.%03uZ", text, (unsigned)(ms % 1000));
}

bool e2b_is_secret(const char *right, const char *given)
{
	unsigned char a[DIGEST_RAW_BYTES], b[DIGEST_RAW_BYTES];
	if (!given || !right[0])
		return false;
	digest_raw(a, right, strlen(right));
	digest_raw(b, given, strlen(given));
	return memcmp(a, b, sizeof a) == 0;
}

/* ---- the table of routes ---- */

/* Of a sandbox, or of the control API. */
static void start_health(struct front_call *c)
{
	static const char fine[] = "Health check successful";
	const char *port = http_header(c->x, "E2b-Sandbox-Port");
	unsigned site = http_site(c->x)->port;
	bool is_of_code = site == E2B_CODE_PORT || (port && strcmp(port, "49999") == 0);
	if (site == 0 && !http_header(c->x, "E2b-Sandbox-Id"))
		http_answer(front_take(c), 200, "text/plain", fine, sizeof fine - 1);
	else if (!e2b_enter(c, E2B_ENVD_PORT))
		return;
	else if (is_of_code)
		front_answer(c, 200, json_string("OK"));
	else
		front_answer_empty(c);
}

static void nothing(struct front_call *c)
{
	if (is_rpc(c))
		e2b_rpc_refuse(c, "unimplemented", "there is no such procedure");
	else
		e2b_refuse(c, 404, "there is no such route");
}

/* Those that are open check the token of a sandbox, in e2b_enter(). */
static const struct front_row rows[] = {
	{"POST", "/sandboxes", e2b_start_old_create},
	{"POST", "/v2/sandboxes", e2b_start_create},
	{"GET", "/sandboxes", e2b_start_old_list},
	{"GET", "/v2/sandboxes", e2b_start_list},
	{"GET", "/sandboxes/metrics", e2b_start_all_metrics},
	{"GET", "/snapshots", e2b_start_snapshots},
	{"GET", "/templates", e2b_start_templates},
	{"GET", "/v2/templates", e2b_start_templates},
	{"GET", "/teams", e2b_start_teams},
	{"POST", "/templates", e2b_start_unsupported},
	{"POST", "/v2/templates", e2b_start_unsupported},
	{"POST", "/v3/templates", e2b_start_unsupported},
	{NULL, "/volumes", e2b_start_unsupported},
	{NULL, "/secrets", e2b_start_unsupported},
	{"GET", "/health", start_health, .is_open = true},
	{"GET", "/files", e2b_start_download, .is_open = true, .is_raw = true},
	{"POST", "/files", e2b_start_upload, .is_open = true, .is_raw = true, .is_streamed = true},
	{"GET", "/envs", e2b_start_envs, .is_open = true},
	{"POST", "/execute", e2b_start_execute, .is_open = true},
	{"GET", "/contexts", e2b_start_contexts, .is_open = true},
	{"POST", "/contexts", e2b_start_new_context, .is_open = true},
	{"POST", "/contexts/", e2b_start_context_restart, .is_open = true},
	{"DELETE", "/contexts/", e2b_start_context_end, .is_open = true},
	/* With a slash at the end of E2B_SANDBOX_URL, a client has one too many. */
	{"POST", "//execute", e2b_start_execute, .is_open = true},
	{"GET", "//contexts", e2b_start_contexts, .is_open = true},
	{"POST", "//contexts", e2b_start_new_context, .is_open = true},
	{"POST", "//contexts/", e2b_start_context_restart, .is_open = true},
	{"DELETE", "//contexts/", e2b_start_context_end, .is_open = true},
	{"POST", "/process.Process/StreamInput", e2b_start_stream_input, .is_open = true,
		.is_raw = true, .is_streamed = true},
	{"POST", "/process.Process/", e2b_start_process, .is_open = true, .is_raw = true},
	{"POST", "/filesystem.Filesystem/", e2b_start_filesystem, .is_open = true, .is_raw = true},
	{"GET", "/sandboxes/", e2b_start_sandbox},
	{"GET", "/v2/sandboxes/", e2b_start_sandbox},
	{"POST", "/sandboxes/", e2b_start_sandbox_action},
	{"POST", "/v2/sandboxes/", e2b_start_sandbox_action},
	{"PUT", "/sandboxes/", e2b_start_sandbox_put},
	{"DELETE", "/sandboxes/", e2b_start_sandbox_end},
	{"GET", "/templates/", e2b_start_template},
	{"DELETE", "/templates/", e2b_start_template_end},
	{"POST", "/templates/", e2b_start_unsupported},
	{"PATCH", "/templates/", e2b_start_unsupported},
	{"POST", "/v2/templates/", e2b_start_unsupported},
	{"PATCH", "/v2/templates/", e2b_start_unsupported},
	{NULL, "/volumes/", e2b_start_unsupported},
	{NULL, "/secrets/", e2b_start_unsupported},
	{NULL, "/", nothing},
};

static const uint16_t site_ports[] = {E2B_ENVD_PORT, E2B_CODE_PORT};

/* A port of a sandbox is open to whoever has its traffic token. Clients know no `port.open`. */
static bool opens_site(struct front_state *state, const struct http_exchange *x,
	const struct operation_context **context)
{
	struct e2b_sandbox *s = state->own ? e2b_find(state->own, http_site(x)->session) : NULL;
	const char *token = http_header(x, "E2B-Traffic-Access-Token");
	if (!s || !e2b_is_secret(s->traffic, token))
		return false;
	if (s->phase == E2B_PAUSED && s->resumes_itself)
		e2b_wake(s);
	if (s->phase != E2B_RUNNING)
		return false;
	operation_tell(s->context, "port.open",
		json_need(json_pack("{s:s, s:i, s:s, s:b}", "session", s->id, "port",
			(int)http_site(x)->port, "listen", "http", "early", 1)));
	*context = s->context;
	return true;
}

const struct front_wire front_e2b = {.name = "e2b",
	.site_ports = site_ports,
	.n_site_ports = ARRAY_LEN(site_ports),
	.opens_site = opens_site,
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.is_any_type = true,
	.may_be_empty = true,
	.has_flat_errors = true,
	.fail = fail,
	.stop = e2b_stop};
