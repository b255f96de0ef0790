/*
 * Theory of operation: each message to the server is one POST. Its response, a JSON text or an
 * event stream, contains the answer. When a post is finished, it is only marked; sweep() frees it
 * when none of our callbacks is running.
 *
 * Servers of the legacy era need more:
 * - A session id is sent with every request. A DELETE ends the session.
 * - An event stream that breaks off is resumed with a GET.
 * - The standing stream, also a GET, carries messages that the server sends on its own. It is
 * requested at the end of the handshake. The first requests after the handshake wait until the
 * stream is open or refused, but at most STAND_MS.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/timer.h"
#include "tool/mcp_link.h"

#include "net/client.h"
#include "net/sse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	CONNECT_MS = 10000,
	GOODBYE_MS = 2000,
	SESSION_BYTES = 512,
	ID_BYTES = 1024,
	RETRY_MS = 1000,
	RETRY_MAX_MS = 30000,
	/* After the handshake, the first requests wait at most this long until the standing
	 * stream is open. The standing stream carries messages that the server sends on its own. */
	STAND_MS = 1000,
	RESUMED_MAX = 10,
	HTTP_ACCEPTED = 202,
	HTTP_UNAUTHORIZED = 401,
	HTTP_FORBIDDEN = 403,
	/* A request never has more than this number of headers in addition to the headers that
	 * are configured for the server. The additional headers are our own, and those that
	 * repeat arguments of a call (tool/param_header.h). */
	HEADERS_MAX = 32,
};

struct http {
	struct mcp_link link;
	struct net *net;
	struct post *posts; /* linked list */
	uv_timer_t timer;   /* set to the nearest wake_at_ms of all posts */
	char session[SESSION_BYTES];
	int n_inside; /* number of callbacks that are running */
	bool is_closing;
};

struct post {
	struct post *next;
	struct http *http;
	struct net_call *call; /* NULL if the post is finished, or waits to be resumed */
	int64_t id;
	struct sse sse;
	struct buf body;
	char version[32], last_event[ID_BYTES];
	/* whole_ms: see struct mcp_message. wake_at_ms: when on_wake() handles this post; 0 if
	 * it need not. */
	uint64_t whole_ms, wake_at_ms;
	int n_resumed;
	bool is_stream, is_answered, is_modern, is_standing, is_done;
};

static void on_timer_closed(uv_handle_t *h)
{
	free(h->data);
}

static void on_over(uv_timer_t *t)
{
	struct http *h = t->data;
	net_close(h->net);
	uv_close((uv_handle_t *)t, on_timer_closed);
}

static void sweep(struct http *h)
{
	if (h->n_inside > 0)
		return;
	for (struct post **at = &h->posts; *at;) {
		struct post *p = *at;
		if (!p->is_done) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		sse_done(&p->sse);
		buf_done(&p->body);
		free(p);
	}
	if (!h->is_closing || h->posts || uv_is_closing((uv_handle_t *)&h->timer))
		return;
	/* Close the HTTP client later, because sweep() may run inside one of its callbacks. */
	timer_start(&h->timer, on_over, 0, 0);
}

static int on_event(void *arg, const struct sse_event *event);

static struct post *new_post(struct http *h, int64_t id)
{
	struct post *p = xnew(struct post);
	*p = (struct post){
		.next = h->posts, .http = h, .id = id, .body = BUF_INIT(MCP_MESSAGE_BYTES)};
	sse_init(&p->sse, MCP_MESSAGE_BYTES, on_event, p);
	h->posts = p;
	return p;
}

static void end_post(struct post *p)
{
	if (p->call)
		net_cancel(p->call);
	p->call = NULL;
	p->is_done = true;
}

/* ---- reading the headers and the data of a response ---- */

static void hand_on(struct post *p, const char *text, size_t bytes)
{
	struct http *h = p->http;
	struct mcp_loss loss = {.id = p->id};
	json_t *message = mcp_message_read(text, bytes, &loss.err);
	const json_t *id = json_object_get(message, "id");
	if (json_is_integer(id) && json_integer_value(id) == p->id &&
		!json_object_get(message, "method"))
		p->is_answered = true;
	if (message)
		h->link.user.on_message(h->link.user.arg, message);
	else if (!p->is_done && !h->is_closing && !p->is_standing)
		h->link.user.on_loss(h->link.user.arg, &loss);
	json_decref(message);
}

static bool is_token(const char *text)
{
	for (; *text; text++)
		if (*text < '!' || *text > '~')
			return false;
	return true;
}

static int on_event(void *arg, const struct sse_event *event)
{
	struct post *p = arg;
	if (strlen(event->id) < sizeof p->last_event)
		snprintf(p->last_event, sizeof p->last_event, "%s",
			is_token(event->id) ? event->id : "");
	if (p->is_standing)
		p->n_resumed = 0;
	/* A stream may begin with an event that has no data. The id of this event only tells
	 * from where to resume the stream, so there is no message to hand on. */
	if (event->data_bytes > 0)
		hand_on(p, event->data, event->data_bytes);
	return p->is_done;
}

/* Report that the handshake is over: the standing stream is open or refused, or STAND_MS have
 * passed. */
static void tell_greeted(struct post *p)
{
	const struct mcp_link_user *user = &p->http->link.user;
	p->wake_at_ms = 0;
	if (p->id != MCP_GREETING || p->http->is_closing)
		return;
	p->id = MCP_NOTICE;
	user->on_loss(user->arg, &(struct mcp_loss){.id = MCP_GREETING, .status = HTTP_ACCEPTED});
}

static void on_headers(void *arg)
{
	struct post *p = arg;
	struct http *h = p->http;
	char type[64] = "", session[SESSION_BYTES];
	int status = net_status(p->call);
	(void)net_header(p->call, "content-type", type, sizeof type);
	p->is_stream =
		status >= 200 && status < 300 && strncasecmp(type, "text/event-stream", 17) == 0;
	if (!p->is_modern && status >= 200 && status < 300 &&
		net_header(p->call, "mcp-session-id", session, sizeof session) && is_token(session))
		snprintf(h->session, sizeof h->session, "%s", session);
	h->n_inside++;
	if (p->is_standing && p->is_stream)
		tell_greeted(p);
	h->n_inside--;
	sweep(h);
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct post *p = arg;
	struct http *h = p->http;
	struct mcp_loss loss = {.id = p->id};
	int r;
	if (!p->is_stream && p->is_standing)
		return -1;
	if (!p->is_stream)
		buf_append(&p->body, data, bytes);
	if (!p->is_stream)
		return buf_error(&p->body);
	h->n_inside++;
	r = sse_feed(&p->sse, data, bytes, &loss.err);
	if (r < 0 && !p->is_done) {
		end_post(p);
		if (!p->is_standing)
			h->link.user.on_loss(h->link.user.arg, &loss);
	}
	h->n_inside--;
	bool is_done = p->is_done;
	sweep(h);
	return is_done ? -1 : 0;
}

/* ---- resuming an event stream that has broken off ---- */

static int go(struct http *h, struct post *p, const struct mcp_message *m, const char *method,
	struct err *err);

static void set_timer(struct http *h);

static void on_wake(uv_timer_t *t)
{
	struct http *h = t->data;
	uint64_t now = timer_now();
	h->n_inside++;
	for (struct post *p = h->posts; p; p = p->next) {
		struct mcp_loss loss = {.id = p->id};
		if (p->is_done || !p->wake_at_ms || p->wake_at_ms > now)
			continue;
		p->wake_at_ms = 0;
		if (p->call)
			/* STAND_MS have passed. Stop waiting for the standing stream, which may
			 * still open later. */
			tell_greeted(p);
		if (p->is_done || p->call || go(h, p, NULL, "GET", &loss.err) == 0)
			continue;
		p->is_done = true;
		if (!p->is_standing)
			h->link.user.on_loss(h->link.user.arg, &loss);
	}
	h->n_inside--;
	set_timer(h);
	sweep(h);
}

static void set_timer(struct http *h)
{
	uint64_t nearest = UINT64_MAX, now = timer_now();
	for (const struct post *p = h->posts; p; p = p->next)
		if (!p->is_done && p->wake_at_ms)
			nearest = MIN(nearest, p->wake_at_ms);
	if (nearest != UINT64_MAX && !h->is_closing)
		timer_start(&h->timer, on_wake, nearest > now ? nearest - now : 0, 0);
}

static bool is_good(const struct net_result *r)
{
	return r->end == NET_ANSWER && r->status >= 200 && r->status < 300;
}

/*
 * Return whether the stream of @p can be resumed after it has ended with @result.
 * - The response to a request can be resumed if it is an event stream of the legacy era that broke
 *   off before the answer, and had an event id.
 * - The standing stream is resumed, unless the server has refused it or this side has ended it.
 */
static bool can_resume(const struct post *p, const struct net_result *result)
{
	if (p->is_done || p->http->is_closing)
		return false;
	if (p->is_standing)
		return is_good(result) ? p->is_stream
				       : result->end != NET_ANSWER && result->end != NET_STOPPED;
	return (is_good(result) || result->end == NET_CUT) && p->is_stream && !p->is_modern &&
		!p->is_answered && p->id >= 0 && p->last_event[0] && p->n_resumed < RESUMED_MAX;
}

static void resume(struct post *p)
{
	struct http *h = p->http;
	int64_t retry_ms = p->sse.retry_ms, wait = retry_ms >= 0 ? retry_ms : RETRY_MS;
	/* If a server ends the standing stream again and again, wait longer each time. */
	for (int i = 0; p->is_standing && i < p->n_resumed && wait < RETRY_MAX_MS; i++)
		wait = MAX(2 * wait, RETRY_MS);
	p->n_resumed++;
	p->wake_at_ms = timer_now() + (uint64_t)MIN(wait, RETRY_MAX_MS) + 1;
	sse_done(&p->sse);
	sse_init(&p->sse, MCP_MESSAGE_BYTES, on_event, p);
	p->sse.retry_ms = retry_ms;
	p->is_stream = false;
	set_timer(h);
}

/* ---- requesting the standing stream ---- */

/* Request the standing stream at the end of the handshake. tell_greeted() is called when it is open
 * or refused. Returns: false if it cannot be requested. */
static bool stand(struct http *h, const struct post *greeting)
{
	struct err err = {0};
	struct post *p = new_post(h, MCP_GREETING);
	p->is_standing = true;
	memcpy(p->version, greeting->version, sizeof p->version);
	p->wake_at_ms = timer_now() + STAND_MS;
	p->is_done = go(h, p, NULL, "GET", &err) < 0;
	set_timer(h);
	return !p->is_done;
}

/* ---- the end of a response ---- */

static void describe(const struct post *p, const struct net_result *result, struct mcp_loss *loss)
{
	if (result->end != NET_ANSWER) {
		loss->err = result->err;
		return;
	}
	loss->status = result->status;
	if (result->status == HTTP_UNAUTHORIZED || result->status == HTTP_FORBIDDEN) {
		err_fail(&loss->err, ERR_AUTH,
			"put a key into \"headers\" of its configuration, as ${VARIABLE}",
			"it requires a key (HTTP %d)", result->status);
	} else if (result->status >= 300 && result->status < 400) {
		(void)err_set(&loss->err, ERR_UNREACHABLE, "it redirects elsewhere (HTTP %d)",
			result->status);
	} else if (result->status >= 400) {
		(void)err_set(&loss->err, ERR_UNREACHABLE, "HTTP %d", result->status);
	} else {
		(void)err_set(&loss->err, ERR_UNREACHABLE, "%s ended without an answer",
			p->is_stream ? "the stream" : "what it sent");
	}
}

static void on_done(void *arg, const struct net_result *result)
{
	struct post *p = arg;
	struct http *h = p->http;
	struct mcp_loss loss = {.id = p->id};
	json_error_t wrong;
	json_t *body = NULL;
	h->n_inside++;
	p->call = NULL;
	if (p->is_standing)
		tell_greeted(p);
	if (can_resume(p, result)) {
		resume(p);
		goto out;
	}
	if (is_good(result) && !p->is_stream && p->body.bytes > 0 && p->id >= 0)
		hand_on(p, p->body.data, p->body.bytes);
	else if (!is_good(result) && p->body.bytes > 0)
		body = json_loadb(p->body.data, p->body.bytes, 0, &wrong);
	bool is_told = p->is_done || p->is_answered || p->id == MCP_NOTICE || h->is_closing ||
		(p->id == MCP_GREETING && is_good(result) && stand(h, p));
	p->is_done = true;
	if (!is_told) {
		describe(p, result, &loss);
		loss.body = body;
		h->link.user.on_loss(h->link.user.arg, &loss);
	}
	json_decref(body);
out:
	h->n_inside--;
	sweep(h);
}

/* ---- sending messages, starting and closing the link ---- */

struct headers {
	struct net_header list[NET_HEADERS_MAX];
	size_t n;
	char name[512];
};

static void add(struct headers *h, const char *name, const char *value)
{
	if (value && *value && h->n < NET_HEADERS_MAX)
		h->list[h->n++] = (struct net_header){name, value};
}

static int go(struct http *h, struct post *p, const struct mcp_message *m, const char *method,
	struct err *err)
{
	const struct tool_server *s = h->link.server;
	struct headers headers = {0};
	const char *name;
	json_t *value;
	if (m)
		add(&headers, "Content-Type", "application/json");
	add(&headers, "Accept", m ? "application/json, text/event-stream" : "text/event-stream");
	add(&headers, "User-Agent", "retort");
	add(&headers, "MCP-Protocol-Version", p->version);
	if (!p->is_modern)
		add(&headers, "Mcp-Session-Id", h->session);
	if (m && p->is_modern) {
		add(&headers, "Mcp-Method", m->method);
		add(&headers, "Mcp-Name", m->name && is_token(m->name) ? m->name : NULL);
	}
	if (m && p->is_modern)
		json_object_foreach((json_t *)m->headers, name, value)
			add(&headers, name, json_string_value(value));
	if (!m)
		add(&headers, "Last-Event-ID", p->last_event);
	if (s->headers.n + headers.n > NET_HEADERS_MAX)
		return err_set(err, ERR_LIMIT, "over %d headers", NET_HEADERS_MAX - HEADERS_MAX);
	for (size_t i = 0; i < s->headers.n; i++)
		add(&headers, s->headers.item[i].name, s->headers.item[i].value);
	const struct net_request request = {.method = method,
		.url = s->url,
		.headers = headers.list,
		.n_headers = headers.n,
		.body = m ? m->text : NULL,
		.body_bytes = m ? m->bytes : 0,
		.answer_max_bytes = p->is_standing ? UINT64_MAX : MCP_MESSAGE_BYTES,
		.connect_ms = CONNECT_MS,
		.whole_ms = p->whole_ms,
		.arg = p,
		.on_headers = on_headers,
		.on_data = on_data,
		.on_done = on_done};
	return net_start(h->net, &request, &p->call, err);
}

static int post_message(struct mcp_link *link, const struct mcp_message *m, struct err *err)
{
	struct http *h = container_of(link, struct http, link);
	if (m->bytes > MCP_MESSAGE_BYTES)
		return err_set(err, ERR_LIMIT, "a message over %d bytes", MCP_MESSAGE_BYTES);
	sweep(h);
	struct post *p = new_post(h, m->id);
	p->is_modern = m->is_modern;
	p->whole_ms = m->whole_ms;
	snprintf(p->version, sizeof p->version, "%s", m->version ? m->version : "");
	int r = go(h, p, m, "POST", err);
	if (r < 0)
		p->is_done = true;
	return r;
}

static void forget(struct mcp_link *link, int64_t id)
{
	struct http *h = container_of(link, struct http, link);
	for (struct post *p = h->posts; p; p = p->next)
		if (p->id == id && id != MCP_NOTICE)
			end_post(p);
	sweep(h);
}

/* Ask the server to end the session. A failure is ignored. */
static void say_goodbye(struct http *h)
{
	struct err err = {0};
	struct post *p = new_post(h, MCP_NOTICE);
	p->whole_ms = GOODBYE_MS;
	if (go(h, p, NULL, "DELETE", &err) < 0)
		p->is_done = true;
}

static void close_http(struct mcp_link *link)
{
	struct http *h = container_of(link, struct http, link);
	if (h->is_closing)
		return;
	for (struct post *p = h->posts; p; p = p->next)
		end_post(p);
	if (h->session[0])
		say_goodbye(h);
	h->is_closing = true;
	(void)uv_timer_stop(&h->timer);
	sweep(h);
}

static int start(struct mcp_link **out, uv_loop_t *loop, const struct tool_server *server,
	const struct mcp_link_user *user, struct err *err)
{
	struct http *h = xnew(struct http);
	h->link = (struct mcp_link){&mcp_http, server, *user, loop};
	int r = net_open(&h->net, loop, err);
	if (r < 0) {
		free(h);
		return r;
	}
	(void)uv_timer_init(loop, &h->timer);
	h->timer.data = h;
	*out = &h->link;
	return 0;
}

const struct mcp_link_kind mcp_http = {start, post_message, forget, close_http};
