/*
 * The gate. Every tool call passes through it, whether code in a box makes the call or a client
 * does (tool.call).
 * SPDX-License-Identifier: Apache-2.0
 *
 * The states of a call (inside.h):
 *
 *     LOADING ──> ASKING ──> CALLING ──> answered        a tool of a server
 *             ──> HANDLED ──> answered                   a name that a handler answers: retort.…
 *     ASKING ──> answered                                whether programs may connect to a host
 *
 * gate_start() checks the limits of calls per minute.
 *
 * LOADING: the gate waits for the list of tools of the server that is called, unless it has the
 * list already.
 *
 * gate_decide() decides whether the tool may be called. A tool that only reads needs no approval.
 * For other tools, the server's configuration says whether a person must approve the call. This may
 * depend on whether the session is tainted, that is, has read untrusted data. To get an approval,
 * the gate asks a handler (gate_handler.c), for example the client that started the step.
 *
 * A session also asks the gate whether programs may connect to a host, if a rule of its network
 * says that a person decides. Such a call is only ASKING.
 *
 * CALLING: the server has the call. If its answer may contain data that others wrote, the answer is
 * marked as untrusted, which taints the session.
 *
 * While a call waits, lists of tools may change, and the session may become tainted. So whenever a
 * call changes its state, its tool is looked up again by name, and the taint is read again.
 *
 * A callback that gets an answer may end sessions, detach handlers and make new calls. So a call is
 * removed from all lists before it is answered, and code that uses the call afterwards holds a
 * reference (n_holds).
 */
#include "api/gate/inside.h"

#include "base/json.h"
#include "base/alloc.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "base/word.h"
#include "tool/approval.h"
#include "tool/fit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_MS = 500, MESSAGE_BYTES = 16 << 10, NS_PER_MS = 1000000 };

/* ---- finding the server that a call names ---- */

bool gate_is_shown(const struct catalog_server *s)
{
	return strcmp(s->config->name, "retort") != 0 && strcmp(s->id, "retort") != 0 &&
		strcmp(s->js_id, "retort") != 0;
}

static const struct catalog_server *server_of(const struct gate_call *call)
{
	const struct gate *g = call->gate;
	const struct catalog_server *s =
		g->catalog ? catalog_server_of(g->catalog, call->name) : NULL;
	return s && gate_is_shown(s) ? s : NULL;
}

/* ---- ending a call: answer, error, cancellation ---- */

static void call_free(struct gate_call *call)
{
	json_decref(call->arguments);
	free(call);
}

/* Mark a call as over. If nobody uses it any more, remove and free it. Otherwise its last user
 * calls finish() again later. */
static void finish(struct gate_call *call)
{
	call->state = GATE_OVER;
	if (call->is_loading || call->n_holds > 0)
		return;
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	call_free(call);
}

static void log_end(const struct gate_call *call, const json_t *answer)
{
	const struct gate_config *config = &call->gate->config;
	const json_t *error = json_object_get(answer, "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	const char *end = !answer ? "cancelled" : error ? (name ? name : "ToolLost") : "ok";
	const struct catalog_server *s = server_of(call);
	gate_count_end(call->gate, s ? s->config : NULL, end);
	if (!config->log.write)
		return;
	const struct gate_line line = {.session = call->session,
		.owner = call->owner,
		.name = call->name,
		.end = end,
		.ms = (uv_hrtime() - call->began_ns) / NS_PER_MS,
		.bytes_in = json_dumpb(call->arguments, NULL, 0, JSON_COMPACT),
		.bytes_out = answer ? json_dumpb(answer, NULL, 0, JSON_COMPACT) : 0};
	config->log.write(config->log.arg, &line);
}

bool gate_leave(struct gate_call *call, bool is_allowed)
{
	struct gate_handler *h = call->handler;
	call->handler = NULL;
	call->n_holds++;
	if (call->state == GATE_ASKING && h && h->asked)
		h->asked(h->arg, call, is_allowed);
	call->id[0] = '\0';
	call->n_holds--;
	if (call->state != GATE_OVER)
		return true;
	finish(call);
	return false;
}

void gate_answer(struct gate_call *call, json_t *answer)
{
	void (*tell)(void *, json_t *, bool) = call->answer;
	void *arg = call->arg;
	bool is_untrusted = call->is_untrusted;
	if (!answer)
		answer = tool_call_error("ToolLost", "no memory for an answer", NULL);
	if (!gate_leave(call, false)) {
		json_decref(answer);
		return;
	}
	log_end(call, answer);
	finish(call);
	tell(arg, answer, is_untrusted);
}

void gate_fail(struct gate_call *call, const char *name, const char *hint, const char *fmt, ...)
{
	char text[ERR_MSG_BYTES];
	cleanup_buf struct buf clean = BUF_INIT(4 * ERR_MSG_BYTES),
			       clean_hint = BUF_INIT(4 * ERR_HINT_BYTES);
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	/* vsnprintf() may have cut the text within a character. */
	(void)utf8_repair(&clean, text, strlen(text), NULL);
	if (hint)
		(void)utf8_repair(&clean_hint, hint, strlen(hint), NULL);
	gate_answer(call,
		tool_call_error(
			name, buf_str(&clean), clean_hint.bytes > 0 ? buf_str(&clean_hint) : NULL));
}

static void fail_err(struct gate_call *call, const char *name, const struct err *err)
{
	gate_fail(call, name, err->hint, "%s", err->msg[0] ? err->msg : err_meaning(err->code));
}

void gate_cancel(struct gate_call *call)
{
	struct gate_handler *h = call->handler;
	if (call->state == GATE_CALLING)
		catalog_cancel(call->call);
	if (call->state == GATE_HANDLED && h && h->cancel)
		h->cancel(h->arg, call);
	if (!gate_leave(call, false))
		return;
	log_end(call, NULL);
	finish(call);
}

/* ---- finding the tool that a call names ---- */

static void fail_unknown(struct gate_call *call, const struct catalog_server *s)
{
	char hint[ERR_HINT_BYTES] = "retort.tools.search() finds tools";
	struct word_near near = WORD_NEAR(call->name);
	for (size_t i = 0; s && i < s->n_tools; i++)
		word_near_try(&near, s->tool[i].name);
	if (near.best)
		snprintf(hint, sizeof hint, "did you mean %s?", near.best);
	if (!gate_has_tools(call->gate))
		gate_fail(call, "ToolArgumentError", "start the engine with --tools FILE",
			"no tool %.100s: the engine has no tools", call->name);
	else
		gate_fail(call, "ToolArgumentError", hint, "no tool %.100s", call->name);
}

const struct catalog_tool *gate_find_tool(struct gate_call *call)
{
	const struct catalog_server *s = server_of(call);
	const struct catalog_tool *t = s ? catalog_find(call->gate->catalog, call->name) : NULL;
	struct err err = {0};
	if (s && !t && s->err.code != ERR_NONE) {
		call->is_untrusted = !s->config->is_trusted;
		fail_err(call, "ToolLost", &s->err);
		return NULL;
	}
	if (!t) {
		fail_unknown(call, s);
		return NULL;
	}
	if (fit_check(t->schema, call->arguments, &err) < 0) {
		(void)err_wrap(&err, "%.100s", t->name);
		fail_err(call, "ToolArgumentError", &err);
		return NULL;
	}
	return t;
}

bool gate_call_is_tainted(const struct gate_call *call)
{
	return call->is_tainted && *call->is_tainted;
}

bool gate_call_is_trial(const struct gate_call *call)
{
	return call->is_trial;
}

/* ---- CALLING: a server performs the call ---- */

static void on_answer(void *arg, const struct catalog_answer *answer)
{
	struct gate_call *call = arg;
	const char *text = json_string_value(answer->value);
	call->call = NULL;
	if (answer->end == CATALOG_VALUE) {
		gate_answer(call, json_pack("{s:O}", "value", json_unconst(answer->value)));
	} else if (answer->end == CATALOG_TOOL_ERROR && text && *text) {
		size_t bytes = utf8_cut(text, strlen(text), MESSAGE_BYTES);
		gate_answer(call,
			json_pack("{s:{s:s, s:s%}}", "error", "name", "ToolError", "message", text,
				bytes));
	} else {
		fail_err(
			call, answer->end == CATALOG_LOST ? "ToolLost" : "ToolError", &answer->err);
	}
}

void gate_perform(struct gate_call *call, const struct catalog_tool *t)
{
	const struct catalog_waiter waiter = {on_answer, call};
	struct err err = {0};
	call->is_untrusted = t->is_open_world;
	call->state = GATE_CALLING;
	if (catalog_call(call->gate->catalog, t, call->arguments, &waiter, &call->call, &err) == 0)
		return;
	fail_err(call,
		err.code == ERR_USAGE		? "ToolArgumentError"
			: err.code == ERR_QUOTA ? "ToolLimit"
						: "ToolLost",
		&err);
}

/* ---- deciding whether a call is allowed ---- */

void gate_decide(struct gate_call *call)
{
	const struct catalog_tool *t = gate_find_tool(call);
	if (!t)
		return;
	if (call->is_trial && !t->is_read_only) {
		gate_fail(call, "ToolDenied", "without --best-of, the call is decided as usual",
			"%.100s: it can change something, and this is one of several candidates, "
			"which may be discarded",
			t->name);
		return;
	}
	if (call->is_approved || !approval_is_needed(t, gate_call_is_tainted(call))) {
		gate_perform(call, t);
		return;
	}
	if (gate_ask(call))
		return;
	gate_fail(call, "ToolDenied",
		gate_call_is_tainted(call)
			? "\"approveTainted\" of its server's configuration allows it"
			: "\"approve\" of its server's configuration allows it",
		"%.100s: it can change something%s, and nobody is here to allow it", t->name,
		gate_call_is_tainted(call) ? ", the session has read data that others wrote" : "");
}

/* ---- LOADING: calls that wait for servers' lists of tools ---- */

static void answer_own(struct gate_call *call)
{
	struct err err = {.code = ERR_NO_MEMORY};
	json_t *value = call->own->answer(call->gate, call->arguments, &err);
	if (value)
		gate_answer(call, json_pack("{s:o}", "value", value));
	else
		fail_err(call,
			err.code == ERR_USAGE || err.code == ERR_NOT_FOUND ? "ToolArgumentError"
									   : "ToolLost",
			&err);
}

static void on_loaded(void *arg)
{
	struct gate_call *call = arg;
	call->is_loading = false;
	if (call->state == GATE_OVER)
		finish(call);
	else if (call->own)
		answer_own(call);
	else
		gate_decide(call);
}

static void set_timer(struct gate *g);

/* Answer calls that have waited too long for the lists of tools of all servers. Their answers
 * lack the servers that have not sent their lists. */
static void on_sweep(uv_timer_t *timer)
{
	struct gate *g = timer->data;
	uint64_t now = uv_hrtime();
	struct gate_call *call = g->calls, *next;
	for (; call; call = next) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what ends has left the list */
		next = call->next;
		if (call->state != GATE_LOADING || !call->own ||
			now < call->began_ns + (uint64_t)GATE_LIST_MS * NS_PER_MS)
			continue;
		answer_own(call);
		/* The callback may have ended other calls, so start again. */
		next = g->calls;
	}
	set_timer(g);
}

static void set_timer(struct gate *g)
{
	bool is_needed = false;
	for (const struct gate_call *call = g->calls; call; call = call->next)
		is_needed |= call->state == GATE_LOADING && call->own;
	if (g->is_closing)
		return;
	if (is_needed)
		timer_start(&g->timer, on_sweep, SWEEP_MS, 0);
	else
		(void)uv_timer_stop(&g->timer);
}

/* Wait for the list of tools of @server, or of all servers if @server is NULL. on_loaded()
 * continues the call when the list has arrived, or when the server has failed. */
static void load(struct gate_call *call, const char *server)
{
	struct gate *g = call->gate;
	struct err err = {0};
	call->state = GATE_LOADING;
	call->is_loading = true;
	if (catalog_load(g->catalog, server, on_loaded, call, &err) < 0) {
		call->is_loading = false;
		fail_err(call, "ToolLost", &err);
		return;
	}
	set_timer(g);
}

/* ---- starting a call ---- */

static struct gate_session *session_of(struct gate *g, const char *id)
{
	struct gate_session *s = g->sessions;
	while (s && strcmp(s->id, id) != 0)
		s = s->next;
	if (s)
		return s;
	s = xnew(struct gate_session);
	snprintf(s->id, sizeof s->id, "%s", id);
	s->next = g->sessions;
	g->sessions = s;
	return s;
}

/* Count the call against the limits of its session and its server. Returns: false if a limit is
 * exceeded; the call has then been answered with an error. */
static bool take_rate(struct gate_call *call, const struct catalog_server *s)
{
	struct gate *g = call->gate;
	struct gate_session *session = call->session[0] ? session_of(g, call->session) : NULL;
	uint64_t most = GATE_CALLS_PER_MINUTE, now = uv_hrtime();
	uint64_t wait_s = session ? rate_take(&session->rate, most, 1, now) : 0;
	bool is_of_server = wait_s == 0 && s;
	if (is_of_server) {
		most = s->config->per_minute;
		wait_s = rate_take(&g->rates[s->config - g->servers.server], most, 1, now);
	}
	if (wait_s == 0)
		return true;
	char hint[64];
	snprintf(hint, sizeof hint, "call again in %llu s", (unsigned long long)wait_s);
	gate_fail(call, "ToolLimit", hint, "calls per minute: the limit of %.64s is %llu",
		is_of_server ? s->config->name : "a session", (unsigned long long)most);
	return false;
}

static bool may_use_tools(const struct gate_call *call)
{
	const struct gate_config *config = &call->gate->config;
	return !call->owner[0] || config->may_use_tools(config->arg, call->owner);
}

static void begin(struct gate_call *call)
{
	const struct gate *g = call->gate;
	bool is_ours = strncmp(call->name, "retort.", 7) == 0;
	const struct catalog_server *s = is_ours ? NULL : server_of(call);
	if (g->is_closing) {
		gate_fail(call, "ToolLost", NULL, "the engine ends");
		return;
	}
	if (call->is_connection) {
		gate_ask_connection(call);
		return;
	}
	call->own = gate_own_find(call->name);
	if (is_ours && !call->own) {
		if (!gate_give(call))
			gate_fail(call, "ToolDenied", NULL,
				"nobody is here to answer questions of %.100s", call->name);
		return;
	}
	if (!may_use_tools(call))
		gate_fail(call, "ToolDenied",
			"tools=yes in the caller's line of the token file allows tools",
			"tools: caller %.64s may not use tools", call->owner);
	else if (!take_rate(call, s))
		return;
	else if (call->own && g->catalog)
		load(call, NULL);
	else if (call->own)
		answer_own(call);
	else if (s && !s->is_known)
		load(call, s->config->name);
	else
		gate_decide(call);
}

struct gate_call *gate_start(struct gate *g, const struct gate_request *request)
{
	struct gate_call *call = xnew(struct gate_call);
	*call = (struct gate_call){.next = g->calls,
		.link = &g->calls,
		.gate = g,
		.n_holds = 1,
		.arguments = json_incref(json_unconst(request->arguments)),
		.is_tainted = request->is_tainted,
		.is_approved = request->is_approved,
		.is_trial = request->is_trial,
		.is_connection = request->is_connection,
		.arg = request->arg,
		.answer = request->answer,
		.began_ns = uv_hrtime()};
	snprintf(call->session, sizeof call->session, "%s", request->session);
	snprintf(call->owner, sizeof call->owner, "%s", request->owner);
	snprintf(call->name, sizeof call->name, "%s", request->name);
	if (call->next)
		call->next->link = &call->next;
	g->calls = call;
	begin(call);
	call->n_holds--;
	if (call->state != GATE_OVER)
		return call;
	finish(call);
	return NULL;
}

/* ---- calls that code in boxes makes ---- */

static void on_box_answer(void *arg, json_t *answer, bool is_untrusted)
{
	tool_call_answer(arg, answer, is_untrusted);
}

static void on_box_call(void *arg, struct tool_call *call)
{
	const struct gate_request request = {.session = call->session,
		.owner = call->owner,
		.name = call->name,
		.arguments = call->arguments,
		.is_tainted = &call->is_tainted,
		.is_trial = call->is_trial,
		.is_connection = call->answered != NULL,
		.arg = call,
		.answer = on_box_answer};
	struct gate_call *started = gate_start(arg, &request);
	/* If gate_start() returns NULL, it has answered the call already, and @call is freed. */
	if (started)
		call->user = started;
}

static void on_box_cancel(void *arg, struct tool_call *call)
{
	(void)arg;
	gate_cancel(call->user);
}

struct tool_gate gate_of_sessions(struct gate *g)
{
	return (struct tool_gate){.arg = g, .call = on_box_call, .cancel = on_box_cancel};
}

void gate_forget(struct gate *g, const char *session)
{
	for (struct gate_session **at = &g->sessions; *at; at = &(*at)->next)
		if (strcmp((*at)->id, session) == 0) {
			struct gate_session *gone = *at;
			*at = gone->next;
			free(gone);
			return;
		}
}

/* ---- opening and closing the gate ---- */

static const char *variable(const char *name)
{
	return getenv(name);
}

bool gate_has_tools(const struct gate *g)
{
	return g->servers.n > 0;
}

static int open_catalog(struct gate *g, struct err *err)
{
	const struct catalog_config config = {
		.loop = g->config.loop, .servers = &g->servers, .arg = g};
	if (!g->config.path)
		return 0;
	int r = servers_load(&g->servers, g->config.path, variable, err);
	if (r < 0 || g->servers.n == 0)
		return r;
	g->rates = xcalloc(g->servers.n, sizeof *g->rates);
	g->catalog = catalog_new(&config);
	return 0;
}

int gate_open(struct gate **out, const struct gate_config *config, struct err *err)
{
	struct gate *g = xnew(struct gate);
	g->config = *config;
	(void)uv_timer_init(config->loop, &g->timer);
	g->timer.data = g;
	int r = open_catalog(g, err);
	if (r == 0)
		r = gate_count_open(g, err);
	*out = g;
	return r;
}

static struct gate_call *open_call(const struct gate *g)
{
	struct gate_call *call = g->calls;
	while (call && call->state == GATE_OVER)
		call = call->next;
	return call;
}

void gate_close(struct gate *g)
{
	struct gate_call *call;
	if (!g)
		return;
	g->is_closing = true;
	while ((call = open_call(g))) {
		if (call->state == GATE_CALLING)
			catalog_cancel(call->call);
		gate_fail(call, "ToolLost", NULL, "the engine ends");
	}
	catalog_close(g->catalog);
	while ((call = g->calls)) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what ends has left the list */
		call->is_loading = false;
		finish(call);
	}
	while (g->sessions)
		gate_forget(g, g->sessions->id);
	uv_close((uv_handle_t *)&g->timer, NULL);
}

void gate_free(struct gate *g)
{
	if (!g)
		return;
	servers_done(&g->servers);
	free(g->rates);
	free(g->n_ends);
	free(g);
}
