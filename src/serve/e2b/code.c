/*
 * The code interpreter of the front "e2b".
 *
 * A cell is a step, whose events become lines of JSON. A context is a set of variables. The first
 * context of each language is the session's own; each other one is a scope of the session (see
 * step.run). So contexts share the files, and the modules that were imported, and one cell runs at
 * a time.
 *
 * Source: e2b-dev/code-interpreter, template/server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/alloc.h"
#include "base/timer.h"
#include "serve/e2b/code_result.h"
#include "serve/jupyter/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOME "/home/user"

/* HOLD_MS: how long text is held back, so that it comes in few pieces; QUIET_MS: after this time
 * without an event, one is sent that says nothing. */
enum { HOLD_MS = 20, QUIET_MS = 5000, CONTEXTS_MAX = 64, NAME_BYTES = 48, DATE_BYTES = 40 };
enum { PIECE_BYTES = 256 << 10, QUEUE_BYTES = 256 << 20 };

/* A cell that runs, or waits for others. One is freed when its timer is closed. */
struct e2b_execution {
	struct e2b_execution *next;
	struct front_call *c; /* NULL when it is over */
	json_t *context;
	struct cell_output output;
	char name[NAME_BYTES], sandbox[E2B_ID_BYTES];
	uv_timer_t timer;
	uint64_t sent_ms, held_ms; /* when the last event was sent; since when text is held */
	struct buf queue; /* lines that the connection does not take yet, from `queue_at` on */
	size_t queue_at;
	bool is_lost, is_over,
		is_cut; /* the client does not read; the cell has ended; the sandbox */
};

/* Names of languages, with the names that contexts tell, and the runtimes that they are. */
static const struct language {
	const char *name, *told, *runtime;
	bool has_scopes; /* it can have contexts of its own */
	bool is_first;	 /* it has a context from the beginning */
	bool is_guest; /* its first context is a scope, too: another has the runtime's own variables
			*/
} languages[] = {
	{"python", "python", "python", true, true, false},
	{"javascript", "javascript", "javascript", true, true, false},
	{"js", "javascript", "javascript", true, true, false},
	{"typescript", "typescript", "javascript", true, false, true},
	{"ts", "typescript", "javascript", true, false, true},
	{"bash", "bash", "shell", false, false, false},
	{"sql", "sql", "sql", false, false, false},
};

static const struct language *find_language(const char *name)
{
	char lower[16];
	size_t n = 0;
	name += strspn(name, " \t\n");
	for (; name[n] && !strchr(" \t\n", name[n]) && n + 1 < sizeof lower; n++)
		lower[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] + 32 : name[n]);
	lower[n] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(languages) && !name[n + strspn(name + n, " \t\n")]; i++)
		if (strcmp(languages[i].name, lower) == 0)
			return &languages[i];
	return NULL;
}

/* ---- answers of this service ---- */

/* Refuse a member of the body as FastAPI does. */
static void refuse_member(struct front_call *c, const char *name, const char *kind)
{
	char message[64];
	snprintf(message, sizeof message, "Input should be a valid %s", kind);
	front_answer(c, 422,
		json_pack("{s:[{s:s, s:[s, s], s:s}]}", "detail", "type", "type_error", "loc",
			"body", name, "msg", message));
}

/* Is a member of the body missing, or a text? If not, the request was answered. */
static bool check_text(struct front_call *c, const char *name)
{
	const json_t *value = json_object_get(c->body, name);
	bool is_well = !value || json_is_null(value) || json_is_string(value);
	if (!is_well)
		refuse_member(c, name, "string");
	return is_well;
}

static void refuse_language(struct front_call *c, const char *name)
{
	char text[192];
	snprintf(text, sizeof text,
		"Language %.32s is not supported: python, javascript, typescript, bash and sql "
		"are",
		name);
	e2b_answer_text(c, 400, text);
}

static void refuse_context(struct front_call *c, const char *id)
{
	char text[128];
	snprintf(text, sizeof text, "Context %.64s not found", id);
	e2b_answer_text(c, 404, text);
}

/* ---- contexts ---- */

/* A context: {"id", "language", "cwd", "runtime", "count", "scope"?, "begins"?, "is_made"?}.
 * `begins`: its next cell is the first of its scope; `is_made`: a client has made it. */

/* Let the next cell of a context begin with no variables. */
static void renew(json_t *context)
{
	json_put_shared(context, "scope", json_object_get(context, "id"));
	json_put_bool(context, "begins", true);
}

static json_t *add_context(struct e2b_sandbox *s, const struct language *l, const char *cwd)
{
	char id[E2B_ID_BYTES];
	e2b_make_id(id, sizeof id, "c");
	json_t *context =
		json_need(json_pack("{s:s, s:s, s:o, s:s, s:i}", "id", id, "language", l->told,
			"cwd", json_new_text(cwd, strlen(cwd)), "runtime", l->runtime, "count", 0));
	if (l->is_guest)
		renew(context);
	json_add_new(s->contexts, context);
	return context;
}

static void make_first_contexts(struct e2b_sandbox *s)
{
	if (s->contexts)
		return;
	s->contexts = json_need(json_array());
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (languages[i].is_first && languages[i].name == languages[i].told)
			(void)add_context(s, &languages[i], HOME);
}

static json_t *find_context(const struct e2b_sandbox *s, const char *id)
{
	json_t *context;
	size_t i;
	json_array_foreach(s->contexts, i,
		context) if (strcmp(json_get_text(context, "id"), id) == 0) return context;
	return NULL;
}

/* Return the first context of a language, made if it is missing. */
static json_t *first_context(struct e2b_sandbox *s, const struct language *l)
{
	json_t *context;
	size_t i;
	json_array_foreach(s->contexts, i,
		context) if (strcmp(json_get_text(context, "language"), l->told) == 0 &&
		!json_get_bool(context, "is_made")) return context;
	context = add_context(s, l, HOME);
	/* The one from the beginning was removed, but not all that it had. */
	if (l->is_first)
		renew(context);
	return context;
}

static json_t *context_json(const json_t *context)
{
	return json_pack("{s:O, s:O, s:O}", "id", json_object_get(context, "id"), "language",
		json_object_get(context, "language"), "cwd", json_object_get(context, "cwd"));
}

void e2b_start_contexts(struct front_call *c)
{
	struct e2b_sandbox *s = e2b_enter(c, E2B_CODE_PORT);
	json_t *all, *context;
	size_t i;
	if (!s)
		return;
	make_first_contexts(s);
	all = json_need(json_array());
	json_array_foreach(s->contexts, i, context) json_add_new(all, context_json(context));
	front_answer(c, 200, all);
}

void e2b_start_new_context(struct front_call *c)
{
	struct e2b_sandbox *s = e2b_enter(c, E2B_CODE_PORT);
	if (!s || !check_text(c, "cwd") || !check_text(c, "language"))
		return;
	const char *cwd = json_get_text(c->body, "cwd");
	const char *name = json_get_text(c->body, "language");
	const struct language *l = find_language(name[0] ? name : "python");
	make_first_contexts(s);
	if (strlen(cwd) >= E2B_PATH_BYTES) {
		e2b_answer_text(c, 400, "cwd is too long");
	} else if (!l) {
		refuse_language(c, name);
	} else if (!l->has_scopes) {
		e2b_answer_text(c, 400,
			"Only python, javascript and typescript have contexts besides the first one");
	} else if (json_array_size(s->contexts) >= CONTEXTS_MAX) {
		e2b_answer_text(c, 429, "Too many contexts: remove some");
	} else {
		json_t *context = add_context(s, l, cwd[0] ? cwd : HOME);
		json_put_bool(context, "is_made", true);
		renew(context);
		front_answer(c, 200, context_json(context));
	}
}

static bool has_scopes(const json_t *context)
{
	const struct language *l = find_language(json_get_text(context, "language"));
	return l && l->has_scopes;
}

/* Find the context of "/contexts/ID", or of "/contexts/ID/restart". Returns: NULL, and the request
 * was answered, if there is none. */
static json_t *read_context(struct front_call *c, struct e2b_sandbox *s, const char *word)
{
	char path[E2B_PATH_BYTES];
	bool is_well = e2b_read_path(c, "/contexts/", path);
	size_t n = strcspn(path, "/");
	bool is_this = is_well && strcmp(path + n, word) == 0;
	path[n] = '\0';
	make_first_contexts(s);
	json_t *context = is_this ? find_context(s, path) : NULL;
	if (!context) {
		refuse_context(c, path);
	} else if (!has_scopes(context)) {
		e2b_answer_text(c, 400, "The contexts of bash and sql stay as they are");
		return NULL;
	}
	return context;
}

/* Interrupt the cells of a context, and let go of its variables. */
static void clear(struct e2b_sandbox *s, const json_t *context)
{
	json_t *scope = json_object_get(context, "scope");
	bool is_python = strcmp(json_get_text(context, "runtime"), "python") == 0;
	struct e2b_execution *next;
	for (struct e2b_execution *e = s->executions; e; e = next) {
		next = e->next;
		if (e->context == context)
			front_cancel(e->c);
	}
	if (json_get_bool(context, "begins") || json_get_int(context, "count") == 0 ||
		(!scope && !is_python))
		return;
	json_t *params = json_need(json_pack("{s:s, s:s, s:O, s:i}", "session", s->id, "code",
		scope ? "" : "%reset -f", "runtime", json_object_get(context, "runtime"), "wait_ms",
		0));
	if (scope) {
		json_put_shared(params, "scope", scope);
		json_put_bool(params, "fresh_scope", true);
	}
	operation_tell(s->context, "step.run", params);
}

void e2b_start_context_restart(struct front_call *c)
{
	struct e2b_sandbox *s = e2b_enter(c, E2B_CODE_PORT);
	json_t *context = s ? read_context(c, s, "/restart") : NULL;
	if (!context)
		return;
	clear(s, context);
	renew(context);
	json_put_int(context, "count", 0);
	front_answer(c, 200, json_null());
}

void e2b_start_context_end(struct front_call *c)
{
	struct e2b_sandbox *s = e2b_enter(c, E2B_CODE_PORT);
	json_t *context = s ? read_context(c, s, "") : NULL, *other;
	size_t i;
	if (!context)
		return;
	clear(s, context);
	json_array_foreach(s->contexts, i, other) if (other == context)
	{
		(void)json_array_remove(s->contexts, i);
		break;
	}
	front_answer(c, 200, json_null());
}

/* ---- a cell ---- */

/* Send what waits, in pieces that the connection takes. */
static void flush(struct e2b_execution *e)
{
	int r = 0;
	while (r == 0 && e->c->x && e->queue_at < e->queue.bytes) {
		size_t n = MIN(e->queue.bytes - e->queue_at, (size_t)PIECE_BYTES);
		r = http_stream_put(e->c->x, buf_str(&e->queue) + e->queue_at, n);
		e->queue_at += r == 0 ? n : 0;
	}
	e->is_lost |= r < 0 && r != -E2BIG;
	if (e->queue_at == e->queue.bytes) {
		buf_clear(&e->queue);
		e->queue_at = 0;
	}
}

static void tell(struct e2b_execution *e, json_t *event)
{
	char *text = json_dumps(event, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (!text || buf_try(&e->queue, text, strlen(text)) < 0 || buf_try(&e->queue, "\n", 1) < 0)
		e->is_lost = true;
	e->sent_ms = timer_now();
	free(text);
	json_decref(event);
	flush(e);
}

static void date_now(char out[DATE_BYTES])
{
	struct timespec now;
	struct tm at;
	char text[DATE_BYTES - 12];
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &at);
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &at);
	snprintf(out, DATE_BYTES, "%s.%06ldZ", text, now.tv_nsec / 1000);
}

/* Owns: takes @outputs. */
static void send_all(struct e2b_execution *e, json_t *outputs)
{
	char date[DATE_BYTES];
	json_t *output, *event;
	size_t i;
	date_now(date);
	json_array_foreach(outputs, i, output)
	{
		event = code_event(output, date);
		if (event)
			tell(e, event);
	}
	if (!cell_output_holds(&e->output))
		e->held_ms = 0;
	else if (e->held_ms == 0)
		e->held_ms = timer_now();
	json_decref(outputs);
}

static void on_event(struct front_call *c, const json_t *event)
{
	struct e2b_execution *e = c->own;
	if (c->x)
		send_all(e, cell_output_event(&e->output, event));
}

static const struct front_events cell_events = {.event = on_event};

static void on_timer_closed(uv_handle_t *handle)
{
	struct e2b_execution *e = handle->data;
	cell_output_done(&e->output);
	buf_done(&e->queue);
	json_decref(e->context);
	free(e);
}

/* The box has gone with the sandbox, so that the client has to ask what has become of it. */
static bool is_gone(const struct e2b_execution *e)
{
	return !e2b_find(e->c->state->own, e->sandbox);
}

/* End the call when all was sent, or when nobody reads it. */
static void maybe_finish(struct e2b_execution *e)
{
	bool is_sent = e->queue.bytes == 0;
	if (!e->is_over || !(is_sent || e->is_lost || !e->c->x || is_gone(e)))
		return;
	uv_close((uv_handle_t *)&e->timer, on_timer_closed);
	struct http_exchange *x = front_take(take_ptr(e->c));
	if (x && (e->is_cut || !is_sent))
		http_stream_cut(x);
	else if (x)
		http_stream_end(x);
}

static void on_tick(uv_timer_t *timer)
{
	struct e2b_execution *e = timer->data;
	if (!e->c || !(e->c->x || e->is_over))
		return;
	flush(e);
	if (e->is_over) {
		maybe_finish(e);
		return;
	}
	if (e->held_ms > 0 && timer_since(e->held_ms) >= HOLD_MS) {
		e->held_ms = 0;
		send_all(e, cell_output_release(&e->output, false));
	}
	if (timer_since(e->sent_ms) >= QUIET_MS)
		tell(e, json_pack("{s:s}", "type", "keepalive"));
	if (e->is_lost)
		front_cancel(e->c);
}

/* Take it out of the list of its sandbox. If that ends, nobody reads the list any more. */
static void forget(struct e2b_execution *e)
{
	struct e2b_sandbox *s = e2b_find(e->c->state->own, e->sandbox);
	struct e2b_execution **at = s ? &s->executions : NULL;
	while (at && *at && *at != e)
		at = &(*at)->next;
	if (at && *at)
		*at = e->next;
}

static void on_ran(struct front_call *c, const json_t *record, const struct err *err)
{
	struct e2b_execution *e = c->own;
	json_t *outputs = json_need(json_array());
	e->is_cut = is_gone(e);
	forget(e);
	if (record && !e->is_cut) {
		json_decref(outputs);
		outputs = cell_output_end(&e->output, record);
	} else if (err && !e->is_cut) {
		json_add_new(outputs, cell_output_failure(err));
	}
	send_all(e, outputs);
	if (!e->is_cut)
		tell(e, json_pack("{s:s}", "type", "end_of_execution"));
	e->is_over = true;
	maybe_finish(e);
}

static json_t *cell_params(
	const struct front_call *c, const struct e2b_sandbox *s, const struct e2b_execution *e)
{
	const json_t *vars = json_object_get(c->body, "env_vars");
	json_t *scope = json_object_get(e->context, "scope");
	json_t *params = json_need(json_pack("{s:s, s:O, s:O, s:b}", "session", s->id, "code",
		json_object_get(c->body, "code"), "runtime", json_object_get(e->context, "runtime"),
		"stream", 1));
	bool is_sql = strcmp(json_get_text(e->context, "runtime"), "sql") == 0;
	json_t *env = is_sql ? json_need(json_object()) : e2b_call_env(s);
	char filename[NAME_BYTES + 2];
	snprintf(filename, sizeof filename, "<%s>", e->name);
	json_put_text(params, "filename", filename);
	if (json_is_object(vars))
		(void)json_object_update(env, json_unconst(vars));
	if (json_object_size(env) > 0)
		json_put_shared(params, "env", env);
	json_decref(env);
	if (!scope)
		return params;
	json_put_shared(params, "scope", scope);
	json_put_shared(params, "cwd", json_object_get(e->context, "cwd"));
	if (json_get_bool(e->context, "begins"))
		json_put_bool(params, "fresh_scope", true);
	return params;
}

static void start_cell(struct front_call *c, struct e2b_sandbox *s, json_t *context)
{
	struct e2b_execution *e = xnew(struct e2b_execution);
	int64_t count = json_get_int(context, "count") + 1;
	json_put_int(context, "count", count);
	*e = (struct e2b_execution){.next = s->executions,
		.c = c,
		.context = json_incref(context),
		.output = CELL_OUTPUT_INIT,
		.queue = BUF_INIT(QUEUE_BYTES)};
	s->executions = e;
	snprintf(e->name, sizeof e->name, "cell %lld", (long long)count);
	snprintf(e->sandbox, sizeof e->sandbox, "%s", s->id);
	cell_output_begin(&e->output, e->name, count);
	e->output.is_whole = true;
	c->own = e;
	(void)uv_timer_init(c->context->loop, &e->timer);
	e->timer.data = e;
	timer_start(&e->timer, on_tick, HOLD_MS, HOLD_MS);
	json_t *params = cell_params(c, s, e);
	json_put_bool(context, "begins", false);
	(void)http_stream_open(c->x, 200, "application/x-ndjson");
	tell(e,
		json_pack("{s:s, s:I}", "type", "number_of_executions", "execution_count",
			(json_int_t)count));
	front_follow(c, "step.run", params, &cell_events, on_ran);
}

/* Check the body. Returns: false, and the request was answered, if it is wrong. */
static bool check_cell(struct front_call *c)
{
	const json_t *vars = json_object_get(c->body, "env_vars");
	const char *name;
	json_t *value;
	bool has_texts = !vars || json_is_null(vars) || json_is_object(vars);
	json_object_foreach(json_unconst(vars), name, value) has_texts &= json_is_string(value);
	if (!check_text(c, "context_id") || !check_text(c, "language"))
		return false;
	if (!json_is_string(json_object_get(c->body, "code")))
		refuse_member(c, "code", "string");
	else if (!has_texts)
		refuse_member(c, "env_vars", "dictionary of strings");
	else
		return true;
	return false;
}

void e2b_start_execute(struct front_call *c)
{
	struct e2b_sandbox *s = e2b_enter(c, E2B_CODE_PORT);
	if (!s || !check_cell(c))
		return;
	const char *id = json_get_text(c->body, "context_id");
	const char *name = json_get_text(c->body, "language");
	const struct language *l = find_language(name[0] ? name : "python");
	make_first_contexts(s);
	json_t *context = id[0] ? find_context(s, id) : NULL;
	if (id[0] && name[0])
		e2b_answer_text(c, 400, "Only one of context_id or language can be provided");
	else if (id[0] && !context)
		refuse_context(c, id);
	else if (!l)
		refuse_language(c, name);
	else
		start_cell(c, s, context ? context : first_context(s, l));
}
