/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/http.h"

#include "api/operation/principal.h"
#include "api/run/discard.h"
#include "api/text/json.h"
#include "base/json.h"
#include "base/timer.h"
#include "serve/http/sse.h"
#include "serve/mcp/call.h"
#include "serve/mcp/head.h"
#include "serve/mcp/peer.h"
#include "serve/mcp/seal.h"
#include "serve/rpc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char media_type[] = "application/json";

struct mcp_session {
	struct mcp_session *next, **link;
	char id[MCP_ID_BYTES];
	const struct operation_context *context; /* the caller's context for operations */
	struct mcp_peer *peer;
	/* The client's open GET request, for messages that belong to no POST; or NULL. */
	struct http_exchange *stream;
	uint64_t used_ms;
};

/* A POST request whose message waits for a response. */
struct post {
	struct post *next, **link;
	struct mcp_http *http;
	struct http_exchange *x;
	/* The session of the request. NULL if the request has a modern protocol revision (enum
	 * mcp_era), because modern revisions have no sessions. */
	struct mcp_session *session;
	/* The peer for this message alone, if the request has a modern protocol revision. NULL if
	 * it has a legacy revision: `session` then has the peer. */
	struct mcp_peer *peer;
	bool is_open; /* the response is a stream that has begun */
	bool is_receiving, is_done;
	bool may_stream;
	/* The request lacks members that modern protocol revisions require, so an error gets HTTP
	 * status 400. */
	bool is_bad;
};

struct mcp_http {
	struct mcp_server *server;
	uv_timer_t timer;
	struct mcp_session *sessions;
	unsigned n_sessions;
	struct post *posts;
};

/* ---- responses that are not the result of a call ---- */

static void answer_error(
	struct http_exchange *x, unsigned status, const json_t *id, int code, const char *text)
{
	http_answer_json(x, status, NULL, mcp_error(id, code, text, NULL), NULL);
}

static void answer_nothing(struct http_exchange *x, unsigned status)
{
	http_answer(x, status, NULL, "", 0);
}

/* ---- ending POST requests that wait for a response, and ending sessions ---- */

static struct mcp_session *find_session(
	struct mcp_http *h, const char *id, const struct operation_context *context)
{
	for (struct mcp_session *s = h->sessions; s; s = s->next)
		if (s->context->principal == context->principal && strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

static void post_free(struct post *post)
{
	*post->link = post->next;
	if (post->next)
		post->next->link = post->link;
	mcp_peer_free(post->peer);
	free(post);
}

static void let_go(struct post *post)
{
	http_on_gone(post->x, NULL, NULL);
	http_on_stop(post->x, NULL, NULL);
}

/* Cancel the calls of the post, and free the post. End the stream, or respond with @status if no
 * stream has begun. */
static void post_drop(struct post *post, unsigned status)
{
	struct http_exchange *x = post->x;
	struct mcp_peer *peer = post->session ? post->session->peer : post->peer;
	bool is_open = post->is_open;
	let_go(post);
	mcp_peer_forget(peer, post, true);
	post_free(post);
	if (is_open)
		http_stream_end(x);
	else
		answer_nothing(x, status);
}

static void close_stream(struct mcp_session *s)
{
	struct http_exchange *x = s->stream;
	s->stream = NULL;
	if (!x)
		return;
	http_on_gone(x, NULL, NULL);
	http_on_stop(x, NULL, NULL);
	http_stream_end(x);
}

static void session_end(struct mcp_http *h, struct mcp_session *s)
{
	for (struct post *post = h->posts, *next; post; post = next) {
		next = post->next;
		if (post->session == s)
			post_drop(post, 404);
	}
	close_stream(s);
	mcp_peer_free(s->peer);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	h->n_sessions--;
	free(s);
}

/* If a new session would exceed a limit, end the session that was unused for longest: a session
 * of the same principal if there is one, otherwise a session of any principal. */
static void make_room(struct mcp_http *h, const struct operation_context *context)
{
	struct mcp_session *oldest = NULL, *own = NULL;
	unsigned n_own = 0;
	for (struct mcp_session *s = h->sessions; s; s = s->next) {
		bool is_own = s->context->principal == context->principal;
		n_own += is_own ? 1 : 0;
		if (is_own && (!own || s->used_ms <= own->used_ms))
			own = s;
		if (!oldest || s->used_ms <= oldest->used_ms)
			oldest = s;
	}
	if (n_own >= MCP_PRINCIPAL_SESSIONS_MAX)
		session_end(h, own);
	else if (h->n_sessions >= MCP_SESSIONS_MAX)
		session_end(h, own ? own : oldest);
}

static void on_check(uv_timer_t *timer)
{
	struct mcp_http *h = timer->data;
	for (struct mcp_session *s = h->sessions, *next; s; s = next) {
		next = s->next;
		bool is_used = s->stream || mcp_peer_n_calls(s->peer) > 0;
		if (!is_used && timer_since(s->used_ms) > MCP_SESSION_IDLE_MS)
			session_end(h, s);
	}
}

/* ---- sending messages to a client ---- */

static char *sse_text(const json_t *message, struct buf *out)
{
	char *text = json_text(message, JSON_COMPACT);
	if (text && sse_put(out, "message", text, strlen(text)) < 0) {
		free(text);
		text = NULL;
	}
	return text;
}

/* Send a message that belongs to no POST, such as a notification of a change, to the GET stream. */
static void send_loose(void *arg, const json_t *message, bool is_last)
{
	struct mcp_session *s = arg;
	cleanup_buf struct buf out = BUF_INIT(HTTP_HARD_BYTES);
	(void)is_last;
	if (!s->stream)
		return;
	char *text = sse_text(message, &out);
	if (text)
		(void)http_stream_put(s->stream, buf_str(&out), out.bytes);
	free(text);
}

static unsigned status_of(const struct post *post, const json_t *message)
{
	json_t *error = json_object_get(message, "error");
	json_int_t code = json_integer_value(json_object_get(error, "code"));
	bool is_misuse = code == RPC_PARSE || code == RPC_INVALID || code == MCP_HEADER_MISMATCH ||
		code == MCP_MISSING_CAPABILITY || code == MCP_UNSUPPORTED_VERSION;
	if (!error)
		return 200;
	if (is_misuse || post->is_bad)
		return 400;
	return code == RPC_NO_METHOD && !post->session ? 404 : 200;
}

static void answer(struct post *post, const json_t *message)
{
	const json_t *id = json_object_get(message, "id");
	http_answer_json(post->x, status_of(post, message), post->is_open ? "message" : NULL,
		json_incref(json_unconst(message)),
		mcp_error(id, MCP_INTERNAL, "the answer is too long to be sent", NULL));
}

static void put(struct post *post, const json_t *message)
{
	cleanup_buf struct buf out = BUF_INIT(HTTP_HARD_BYTES);
	if (!post->may_stream)
		return;
	if (!post->is_open) {
		(void)http_set_header(post->x, "X-Accel-Buffering", "no");
		post->is_open = http_stream_open(post->x, 200, SSE_TYPE) == 0;
	}
	char *text = post->is_open ? sse_text(message, &out) : NULL;
	if (text)
		(void)http_stream_put(post->x, buf_str(&out), out.bytes);
	free(text);
}

static void send_message(void *arg, const json_t *message, bool is_last)
{
	struct post *post = arg;
	if (post->is_done)
		return;
	if (!is_last) {
		put(post, message);
		return;
	}
	answer(post, message);
	post->is_done = true;
	if (!post->is_receiving)
		post_free(post);
}

/* ---- keeping a POST request until its response is sent, and handling its message ---- */

static void on_gone(void *arg)
{
	struct post *post = arg;
	/* With a modern protocol revision (enum mcp_era), a client cancels a call by disconnecting.
	 * With a legacy revision, a lost connection does not cancel the call. */
	mcp_peer_forget(post->session ? post->session->peer : post->peer, post, !post->session);
	if (post->is_receiving)
		post->is_done = true;
	else
		post_free(post);
}

static void on_stop(void *arg)
{
	post_drop(arg, 503);
}

static struct post *post_new(struct mcp_http *h, struct http_exchange *x, struct mcp_session *s)
{
	struct post *post = xnew(struct post);
	const char *accept = http_header(x, "Accept");
	*post = (struct post){.next = h->posts,
		.link = &h->posts,
		.http = h,
		.x = x,
		.session = s,
		.may_stream = sse_is_accepted(accept)};
	if (post->next)
		post->next->link = &post->next;
	h->posts = post;
	http_on_gone(x, on_gone, post);
	http_on_stop(x, on_stop, post);
	return post;
}

/* Handle the message @body of the post. Respond with status 202 if it needs no response. */
static void receive(struct post *post, struct mcp_peer *peer, const json_t *body)
{
	const struct mcp_out out = {.arg = post, .send = send_message};
	post->is_receiving = true;
	unsigned n = mcp_peer_take(peer, body, &out);
	post->is_receiving = false;
	if (n == 0 && !post->is_done) {
		let_go(post);
		answer_nothing(post->x, 202);
		post->is_done = true;
	}
	if (post->is_done)
		post_free(post);
}

static const char *principal_of(const struct operation_context *context)
{
	return context->principal ? principal_name(context->principal) : NULL;
}

/* ---- POST requests with a modern protocol revision ---- */

static bool says_enough(const json_t *body)
{
	const json_t *meta = json_object_get(json_object_get(body, "params"), "_meta");
	return json_is_string(json_object_get(meta, "io.modelcontextprotocol/protocolVersion")) &&
		json_is_object(json_object_get(meta, "io.modelcontextprotocol/clientCapabilities"));
}

static void start_modern(struct mcp_http *h, struct http_exchange *x, const struct mcp_head *head,
	const json_t *body)
{
	const json_t *id = json_object_get(body, "id");
	struct err err;
	if (id && mcp_head_check(head, body, &err) < 0) {
		answer_error(x, 400, id, MCP_HEADER_MISMATCH, err.msg);
		return;
	}
	const struct mcp_peer_config config = {.server = h->server,
		.context = http_context(x),
		.principal = principal_of(http_context(x)),
		.is_modern_only = true};
	struct post *post = post_new(h, x, NULL);
	post->peer = mcp_peer_new(&config);
	post->is_bad = !says_enough(body);
	receive(post, post->peer, body);
}

/* ---- POST requests with a legacy protocol revision ---- */

static void start_session(struct mcp_http *h, struct http_exchange *x, const json_t *body)
{
	const struct operation_context *context = http_context(x);
	make_room(h, context);
	struct mcp_session *s = xnew(struct mcp_session);
	struct post *post = post_new(h, x, s);
	const struct mcp_peer_config config = {.server = h->server,
		.context = context,
		.principal = principal_of(context),
		.out = {.arg = s, .send = send_loose}};
	s->peer = mcp_peer_new(&config);
	s->context = context;
	s->used_ms = timer_now();
	s->next = h->sessions;
	s->link = &h->sessions;
	if (s->next)
		s->next->link = &s->next;
	h->sessions = s;
	h->n_sessions++;
	mcp_id_make(s->id);
	(void)http_set_header(x, "Mcp-Session-Id", s->id);
	receive(post, s->peer, body);
	/* The handshake was refused. */
	if (!mcp_peer_version(s->peer))
		session_end(h, s);
}

/* Find the session that the header Mcp-Session-Id names. Returns: NULL after an error was sent. */
static struct mcp_session *take_session(
	struct mcp_http *h, struct http_exchange *x, const struct mcp_head *head, const json_t *id)
{
	struct mcp_session *s;
	if (!head->session) {
		answer_error(x, 400, id, RPC_INVALID,
			"the header Mcp-Session-Id is missing: initialize first");
		return NULL;
	}
	if (head->version && mcp_version_era(head->version) != MCP_LEGACY) {
		answer_error(x, 400, id, RPC_INVALID, "MCP-Protocol-Version is not supported here");
		return NULL;
	}
	s = find_session(h, head->session, http_context(x));
	if (!s) {
		answer_error(x, 404, id, RPC_INVALID,
			"unknown session, or it has ended: initialize again");
		return NULL;
	}
	s->used_ms = timer_now();
	return s;
}

static void start_legacy(struct mcp_http *h, struct http_exchange *x, const struct mcp_head *head,
	const json_t *body)
{
	const char *method = json_string_value(json_object_get(body, "method"));
	if (method && strcmp(method, "initialize") == 0) {
		start_session(h, x, body);
		return;
	}
	struct mcp_session *s = take_session(h, x, head, json_object_get(body, "id"));
	if (s)
		receive(post_new(h, x, s), s->peer, body);
}

/* ---- the HTTP routes ---- */

static struct mcp_head head_of(const struct http_exchange *x)
{
	return (struct mcp_head){.version = http_header(x, "MCP-Protocol-Version"),
		.method = http_header(x, "Mcp-Method"),
		.name = http_header(x, "Mcp-Name"),
		.session = http_header(x, "Mcp-Session-Id")};
}

static bool accepts_something(const struct http_exchange *x)
{
	const char *accept = http_header(x, "Accept");
	return !accept || strstr(accept, "*/*") || strstr(accept, "application/*") ||
		strstr(accept, media_type) || sse_is_accepted(accept);
}

static void on_post(void *arg, struct http_exchange *x)
{
	const struct mcp_head head = head_of(x);
	struct mcp_http *h = arg;
	json_t *body = NULL;
	struct err err;
	size_t bytes = http_body_bytes(x);
	uv_loop_t *loop = http_context(x)->loop;
	int r = http_take_json(x, &body, &err);
	const char *method = json_string_value(json_object_get(body, "method"));
	if (method)
		http_note(x, method);
	if (!accepts_something(x))
		answer_error(x, 406, NULL, RPC_INVALID,
			"Accept has neither application/json nor text/event-stream");
	else if (r < 0)
		answer_error(x, 400, NULL, r, err.msg);
	else if (mcp_head_is_modern(&head, body))
		start_modern(h, x, &head, body);
	else
		start_legacy(h, x, &head, body);
	discard(loop, body, bytes);
}

static void refuse_method(struct http_exchange *x)
{
	(void)http_set_header(x, "Allow", "POST");
	answer_error(x, 405, NULL, RPC_INVALID, "only POST, but for sessions of a handshake");
}

static bool has_session(const struct mcp_head *head)
{
	return head->session && (!head->version || mcp_version_era(head->version) == MCP_LEGACY);
}

static void on_stream_gone(void *arg)
{
	struct mcp_session *s = arg;
	s->stream = NULL;
}

static void on_stream_stop(void *arg)
{
	close_stream(arg);
}

static void on_get(void *arg, struct http_exchange *x)
{
	const struct mcp_head head = head_of(x);
	struct mcp_http *h = arg;
	struct mcp_session *s;
	if (!has_session(&head)) {
		refuse_method(x);
	} else if (!sse_is_accepted(http_header(x, "Accept"))) {
		answer_error(x, 406, NULL, RPC_INVALID, "Accept has no text/event-stream");
	} else if ((s = take_session(h, x, &head, NULL))) {
		if (s->stream) {
			answer_error(x, 409, NULL, RPC_INVALID, "the session has a stream already");
		} else if (http_stream_open(x, 200, SSE_TYPE) == 0) {
			s->stream = x;
			http_on_gone(x, on_stream_gone, s);
			http_on_stop(x, on_stream_stop, s);
		}
	}
}

static void on_delete(void *arg, struct http_exchange *x)
{
	const struct mcp_head head = head_of(x);
	struct mcp_http *h = arg;
	struct mcp_session *s;
	if (!has_session(&head)) {
		refuse_method(x);
	} else if ((s = take_session(h, x, &head, NULL))) {
		session_end(h, s);
		answer_nothing(x, 204);
	}
}

void mcp_http_routes(struct mcp_http *h, struct http_route out[MCP_HTTP_ROUTES])
{
	const struct http_route rows[MCP_HTTP_ROUTES] = {
		{"POST", MCP_HTTP_PATH, media_type, RPC_LINE_BYTES, .is_json = true, .arg = h,
			.start = on_post},
		{"GET", MCP_HTTP_PATH, .arg = h, .start = on_get},
		{"DELETE", MCP_HTTP_PATH, .arg = h, .start = on_delete},
	};
	memcpy(out, rows, sizeof rows);
}

/* ---- starting and ending the service of MCP ---- */

struct mcp_http *mcp_http_open(uv_loop_t *loop, struct mcp_server *server)
{
	struct mcp_http *h = xnew(struct mcp_http);
	h->server = server;
	(void)uv_timer_init(loop, &h->timer);
	h->timer.data = h;
	timer_start(&h->timer, on_check, MCP_CHECK_MS, MCP_CHECK_MS);
	return h;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void mcp_http_close(struct mcp_http *h)
{
	if (!h)
		return;
	/* post_drop() and session_end() remove the element from its list, so each loop empties a
	 * list. */
	while (h->posts)
		post_drop(h->posts, 503); /* NOLINT(clang-analyzer-unix.Malloc) */
	while (h->sessions)
		session_end(h, h->sessions); /* NOLINT(clang-analyzer-unix.Malloc) */
	uv_close((uv_handle_t *)&h->timer, on_timer_closed);
}
