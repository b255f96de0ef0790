/*
 * Theory of operation: one list contains all calls, from their creation to their end. The first
 * call opens a link to the server and starts the handshake (mcp_greeting.c). When the handshake has
 * succeeded, all waiting calls are sent. When the link ends, all calls end with an error, and the
 * next call opens a new link.
 *
 * A callback may close the client. The memory of the client is therefore kept until its timer is
 * closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/timer.h"
#include "tool/inside.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/num.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HTTP_NOT_FOUND = 404, ANSWER_TEXT_BYTES = 120 };

/* A mcp_client_list() that is not finished, with the tools of the pages received so far. */
struct mcp_listing {
	struct mcp_client *client;
	json_t *tools;
	char *cursor;
	int n_pages;
	mcp_done_fn *done;
	void *arg;
};

/* ---- the list of calls, and how a call ends ---- */

static uint64_t timeout_of(const struct mcp_client *c)
{
	return c->config.server->timeout_ms;
}

static void on_deadline(uv_timer_t *t);

static uint64_t deadline(const struct mcp_call *call)
{
	uint64_t timeout = timeout_of(call->client);
	return MIN(call->heard_ms + timeout, call->began_ms + timeout * MCP_HARD_FACTOR);
}

static void set_timer(struct mcp_client *c)
{
	uint64_t nearest = UINT64_MAX, now = timer_now();
	for (const struct mcp_call *call = c->calls; call; call = call->next)
		nearest = MIN(nearest, deadline(call));
	if (c->is_closed)
		return;
	if (nearest == UINT64_MAX)
		(void)uv_timer_stop(&c->timer);
	else
		timer_start(&c->timer, on_deadline, nearest > now ? nearest - now : 0, 0);
}

struct mcp_call *client_add(
	struct mcp_client *c, const char *method, json_t *params, mcp_done_fn *done, void *arg)
{
	struct mcp_call *call = xnew(struct mcp_call);
	uint64_t now = timer_now();
	*call = (struct mcp_call){.client = c,
		.id = MCP_NOTICE,
		.method = method,
		.params = params,
		.began_ms = now,
		.heard_ms = now,
		.done = done,
		.arg = arg};
	struct mcp_call **last = &c->calls;
	while (*last)
		last = &(*last)->next;
	*last = call;
	c->n_calls++;
	set_timer(c);
	return call;
}

static void take_out(struct mcp_call *call)
{
	struct mcp_client *c = call->client;
	for (struct mcp_call **p = &c->calls; *p; p = &(*p)->next)
		if (*p == call) {
			*p = call->next;
			c->n_calls--;
			break;
		}
	set_timer(c);
}

static void call_free(struct mcp_call *call)
{
	json_decref(call->params);
	json_decref(call->headers);
	free(call);
}

void client_drop(struct mcp_call *call)
{
	take_out(call);
	call_free(call);
}

void client_end(struct mcp_call *call, const struct mcp_answer *answer)
{
	take_out(call);
	call->done(call->arg, answer);
	call_free(call);
}

void client_lose(struct mcp_call *call, const struct err *err)
{
	struct mcp_answer answer = {
		.end = MCP_LOST, .err = *err, .is_unsent = call->id == MCP_NOTICE};
	(void)err_wrap(&answer.err, "server %s", call->client->config.server->name);
	client_end(call, &answer);
}

/* Free a call, and the listing to which it belongs, without calling done(). */
static void abandon(struct mcp_call *call)
{
	struct mcp_listing *l = call->listing;
	if (l) {
		json_decref(l->tools);
		free(l->cursor);
	}
	free(l);
	call_free(call);
}

/* Close the link, and end all calls. First empty the list of calls, and only then call the done()
 * of each call: done() may make new calls. The new calls will be sent over a new link, so this
 * function must not end them. */
void client_fail(struct mcp_client *c, const struct err *err)
{
	struct err why = *err;
	struct mcp_call *all = c->calls, *call;
	c->calls = NULL;
	c->n_calls = 0;
	c->state = CLIENT_IDLE;
	if (c->link)
		c->link->kind->close(c->link);
	c->link = NULL;
	while ((call = all)) {
		all = call->next;
		if (c->is_closed)
			abandon(call);
		else
			client_lose(call, &why);
	}
	set_timer(c);
}

static void tell_cancelled(struct mcp_client *c, int64_t id, const char *reason)
{
	struct err err = {0};
	if (!c->link || id == MCP_NOTICE)
		return;
	bool is_stream = c->link->kind == &mcp_http && c->is_modern;
	if (!is_stream)
		(void)client_send(c, NULL,
			json_pack("{s:s, s:{s:I, s:s}}", "method", "notifications/cancelled",
				"params", "requestId", (json_int_t)id, "reason", reason),
			&err);
	c->link->kind->forget(c->link, id);
}

static void on_deadline(uv_timer_t *t)
{
	struct mcp_client *c = t->data;
	uint64_t now = timer_now();
	struct err err = {0};
	struct mcp_call *call = c->calls;
	while (call && deadline(call) > now)
		call = call->next;
	if (!call) {
		set_timer(c);
		return;
	}
	err_fail(&err, ERR_UNREACHABLE, "\"timeout\" of its configuration is in milliseconds",
		"no answer to %s within %s", call->method,
		num_format_ms(timer_since(call->began_ms)).text);
	if (c->state != CLIENT_READY) {
		client_fail(c, &err);
		return;
	}
	tell_cancelled(c, call->id, "timeout");
	client_lose(call, &err);
	/* More calls may have expired. client_lose() has set the timer again, so the next run of
	 * this function ends them. */
}

void mcp_client_cancel(struct mcp_call *call)
{
	tell_cancelled(call->client, call->id, "cancelled");
	client_drop(call);
}

/* ---- sending messages to the server ---- */

int client_send(struct mcp_client *c, struct mcp_call *call, json_t *message, struct err *err)
{
	json_put_text(message, "jsonrpc", "2.0");
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	const json_t *name = call ? json_object_get(call->params, "name") : NULL;
	bool is_greeting = c->state == CLIENT_GREETING && c->version[0];
	struct mcp_message m = {.text = text,
		.bytes = text ? strlen(text) : 0,
		.id = call	      ? call->id
			: is_greeting ? MCP_GREETING
				      : MCP_NOTICE,
		.method = json_string_value(json_object_get(message, "method")),
		.name = json_string_value(name),
		.headers = call ? call->headers : NULL,
		.version = c->version[0] ? c->version : NULL,
		.is_modern = c->is_modern,
		.whole_ms = timeout_of(c) * MCP_HARD_FACTOR};
	int r = text ? c->link->kind->send(c->link, &m, err)
		     : err_set(err, ERR_NO_MEMORY, "no memory for a message");
	free(text);
	json_decref(message);
	return r;
}

static void add_meta(const struct mcp_client *c, const struct mcp_call *call, json_t *params)
{
	json_t *meta = json_need(json_object());
	json_put_new(params, "_meta", meta);
	if (!call->is_own)
		json_put_int(meta, "progressToken", call->id);
	if (!c->is_modern)
		return;
	json_put_text(meta, MCP_META "protocolVersion", MCP_MODERN);
	json_put_new(meta, MCP_META "clientInfo",
		json_need(json_pack("{s:s, s:s}", "name", "retort", "version", RETORT_VERSION)));
	json_put_new(meta, MCP_META "clientCapabilities",
		json_need(c->config.ask ? json_pack("{s:{}}", "elicitation") : json_object()));
}

int client_post(struct mcp_client *c, struct mcp_call *call, struct err *err)
{
	json_t *params = json_need(json_copy(call->params));
	call->id = c->last_id++;
	call->heard_ms = timer_now();
	if (c->is_modern || !call->is_own)
		add_meta(c, call, params);
	set_timer(c);
	return client_send(c, call,
		json_pack("{s:I, s:s, s:o}", "id", (json_int_t)call->id, "method", call->method,
			"params", params),
		err);
}

/* ---- handling responses, and reports that no response will arrive ---- */

static struct mcp_call *find_call(const struct mcp_client *c, int64_t id)
{
	for (struct mcp_call *call = c->calls; call; call = call->next)
		if (id >= 0 && call->id == id)
			return call;
	return NULL;
}

static void refuse(struct mcp_call *call, const json_t *error)
{
	struct mcp_answer answer = {.end = MCP_REFUSED};
	const char *text = json_string_value(json_object_get(error, "message"));
	(void)err_set(&answer.err, ERR_PROTOCOL, "server %s: %.*s (error %lld)",
		call->client->config.server->name, ANSWER_TEXT_BYTES, text ? text : "an error",
		(long long)json_integer_value(json_object_get(error, "code")));
	answer.result = error;
	client_end(call, &answer);
}

static void answered(struct mcp_call *call, const json_t *message)
{
	const json_t *result = json_object_get(message, "result");
	const json_t *error = json_object_get(message, "error");
	const char *type = json_string_value(json_object_get(result, "resultType"));
	struct err err = {0};
	if (json_is_object(error)) {
		refuse(call, error);
		return;
	}
	if (!json_is_object(result)) {
		(void)err_set(&err, ERR_PROTOCOL, "an answer without a result");
		client_lose(call, &err);
		return;
	}
	if (type && strcmp(type, "input_required") == 0) {
		if (client_ask(call, result, &err) < 0)
			client_lose(call, &err);
		return;
	}
	if (type && strcmp(type, "complete") != 0) {
		(void)err_set(&err, ERR_PROTOCOL, "a result of type %.60s", type);
		client_lose(call, &err);
		return;
	}
	client_end(call, &(struct mcp_answer){.end = MCP_RESULT, .result = result});
}

static void on_one(struct mcp_client *c, const json_t *message)
{
	const json_t *id = json_object_get(message, "id");
	if (json_object_get(message, "method")) {
		client_hear(c, message);
		return;
	}
	/* Ignore a response that is late, unexpected or malformed. */
	struct mcp_call *call = json_is_integer(id) ? find_call(c, json_integer_value(id)) : NULL;
	if (call)
		answered(call, message);
}

static void on_message(void *arg, const json_t *message)
{
	struct mcp_client *c = arg;
	const json_t *item;
	size_t i;
	if (json_is_object(message))
		on_one(c, message);
	json_array_foreach(message, i, item)
	{
		if (!c->is_closed && c->link)
			on_one(c, item);
	}
}

/* Return whether the server has ended the session, and @call can be sent again after a new
 * handshake. */
static bool is_session_over(
	const struct mcp_client *c, const struct mcp_call *call, const struct mcp_loss *loss)
{
	/* If another call was sent, make no new handshake: the response to that call would be
	 * lost, and the call must not be sent again, because the server may have executed it. */
	for (const struct mcp_call *one = c->calls; one; one = one->next)
		if (one != call && one->id != MCP_NOTICE)
			return false;
	return loss->status == HTTP_NOT_FOUND && c->state == CLIENT_READY && !c->is_modern &&
		!call->is_again;
}

static int begin(struct mcp_client *c, struct err *err);

static void on_loss(void *arg, const struct mcp_loss *loss)
{
	struct mcp_client *c = arg;
	struct mcp_call *call = find_call(c, loss->id);
	struct err err = loss->err;
	if (loss->id == MCP_GREETING && loss->status >= 200 && loss->status < 300) {
		client_ready(c);
		return;
	}
	if (loss->id < 0) {
		client_fail(c, &err);
		return;
	}
	if (!call)
		return;
	if (is_session_over(c, call, loss)) {
		c->link->kind->close(c->link);
		c->link = NULL;
		c->state = CLIENT_IDLE;
		call->is_again = true;
		call->id = MCP_NOTICE;
		if (begin(c, &err) < 0)
			client_fail(c, &err);
		return;
	}
	const json_t *error = json_object_get(loss->body, "error");
	if (json_is_object(error) && err.code != ERR_AUTH) {
		refuse(call, error);
		return;
	}
	struct mcp_answer answer = {.end = MCP_LOST, .status = loss->status, .err = err};
	(void)err_wrap(&answer.err, "server %s", c->config.server->name);
	client_end(call, &answer);
}

/* ---- opening the link, creating and closing a client, making calls ---- */

static int begin(struct mcp_client *c, struct err *err)
{
	const struct tool_server *s = c->config.server;
	const struct mcp_link_kind *kind = s->url ? &mcp_http : &mcp_stdio;
	const struct mcp_link_user user = {c, on_message, on_loss};
	uint64_t wait_s = rate_take(&c->starts, MCP_STARTS_PER_MINUTE, 1, uv_hrtime());
	if (wait_s > 0) {
		(void)err_set(err, ERR_UNREACHABLE, "it was started %d times within a minute",
			MCP_STARTS_PER_MINUTE);
		return err_hint(err, "see why it ends; it is started again in %llu s",
			(unsigned long long)wait_s);
	}
	int r = kind->start(&c->link, c->config.loop, s, &user, err);
	if (r == 0)
		r = client_greet(c, err);
	if (r < 0 && c->link) {
		c->link->kind->close(c->link);
		c->link = NULL;
		c->state = CLIENT_IDLE;
	}
	return r;
}

void client_ready(struct mcp_client *c)
{
	struct err err = {0};
	c->state = CLIENT_READY;
	struct mcp_call *next;
	for (struct mcp_call *call = c->calls; call && c->state == CLIENT_READY; call = next) {
		next = call->next;
		if (call->id == MCP_NOTICE && client_post(c, call, &err) < 0) {
			client_fail(c, &err);
			return;
		}
	}
}

struct mcp_client *mcp_client_new(const struct mcp_client_config *config)
{
	struct mcp_client *c = xnew(struct mcp_client);
	c->config = *config;
	(void)uv_timer_init(config->loop, &c->timer);
	c->timer.data = c;
	return c;
}

static void on_closed(uv_handle_t *h)
{
	free(h->data);
}

void mcp_client_close(struct mcp_client *c)
{
	struct err err = {0};
	if (!c || c->is_closed)
		return;
	c->is_closed = true;
	client_fail(c, &err);
	uv_close((uv_handle_t *)&c->timer, on_closed);
}

const char *mcp_client_version(const struct mcp_client *c)
{
	return c->state == CLIENT_READY ? c->version : NULL;
}

/* The arguments of make_call(). Owns: make_call() takes `params`. */
struct wanted {
	const char *method;
	json_t *params;
	mcp_done_fn *done;
	void *arg;
	struct mcp_listing *listing;
	json_t *headers;
};

static int make_call(
	struct mcp_client *c, const struct wanted *w, struct mcp_call **out, struct err *err)
{
	const char *name = c->config.server->name;
	int r = 0;
	if (c->is_closed || c->n_calls >= MCP_CALLS_WAITING_MAX) {
		json_decref(w->params);
		return err_set(err, ERR_QUOTA, "server %s: %d calls are under way", name,
			MCP_CALLS_WAITING_MAX);
	}
	if (!w->params)
		return err_set(err, ERR_NO_MEMORY, "tools: no memory for a call");
	struct mcp_call *call = client_add(c, w->method, w->params, w->done, w->arg);
	call->listing = w->listing;
	call->headers = json_incref(w->headers);
	if (c->state == CLIENT_READY)
		r = client_post(c, call, err);
	else if (!c->link)
		r = begin(c, err);
	if (r < 0) {
		client_drop(call);
		return err_wrap(err, "server %s", name);
	}
	if (out)
		*out = call;
	return 0;
}

int mcp_client_call(struct mcp_client *c, const char *tool, const json_t *arguments,
	const struct mcp_waiter *waiter, struct mcp_call **out, struct err *err)
{
	json_t *params = json_pack("{s:s, s:o}", "name", tool, "arguments",
		arguments ? json_deep_copy(arguments) : json_object());
	return make_call(c,
		&(struct wanted){
			"tools/call", params, waiter->done, waiter->arg, NULL, waiter->headers},
		out, err);
}

/* ---- listing the tools of all pages ---- */

static void listing_end(struct mcp_listing *l, const struct mcp_answer *answer)
{
	l->done(l->arg, answer);
	json_decref(l->tools);
	free(l->cursor);
	free(l);
}

static int list_page(struct mcp_listing *l, struct err *err);

static void listing_fail(struct mcp_listing *l, struct err *err)
{
	struct mcp_answer answer = {.end = MCP_LOST, .err = *err};
	(void)err_wrap(&answer.err, "server %s", l->client->config.server->name);
	listing_end(l, &answer);
}

static void on_page(void *arg, const struct mcp_answer *answer)
{
	struct mcp_listing *l = arg;
	struct err err = {0};
	const json_t *tools = json_object_get(answer->result, "tools");
	const char *next = json_string_value(json_object_get(answer->result, "nextCursor"));
	if (answer->end != MCP_RESULT) {
		listing_end(l, answer);
		return;
	}
	if (!json_is_array(tools))
		(void)err_set(&err, ERR_PROTOCOL, "its list of tools is malformed");
	else if (json_array_size(tools) + json_array_size(l->tools) > MCP_TOOLS_MAX)
		(void)err_set(&err, ERR_LIMIT, "over %d tools", MCP_TOOLS_MAX);
	else if (next &&
		(++l->n_pages == MCP_PAGES_MAX || (l->cursor && strcmp(next, l->cursor) == 0)))
		(void)err_set(&err, ERR_PROTOCOL, "its list of tools has no end");
	else if (json_array_extend(l->tools, json_unconst(tools)) < 0)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for its tools");
	if (err.code != ERR_NONE) {
		listing_fail(l, &err);
		return;
	}
	free(l->cursor);
	l->cursor = next ? xstrdup(next) : NULL;
	if (!next)
		listing_end(l, &(struct mcp_answer){.end = MCP_RESULT, .result = l->tools});
	else if (list_page(l, &err) < 0)
		listing_fail(l, &err);
}

static int list_page(struct mcp_listing *l, struct err *err)
{
	json_t *params = l->cursor ? json_pack("{s:s}", "cursor", l->cursor) : json_object();
	return make_call(
		l->client, &(struct wanted){"tools/list", params, on_page, l, l, NULL}, NULL, err);
}

int mcp_client_list(struct mcp_client *c, mcp_done_fn *done, void *arg, struct err *err)
{
	struct mcp_listing *l = xnew(struct mcp_listing);
	*l = (struct mcp_listing){
		.client = c, .tools = json_need(json_array()), .done = done, .arg = arg};
	int r = list_page(l, err);
	if (r < 0) {
		json_decref(l->tools);
		free(l);
	}
	return r;
}
