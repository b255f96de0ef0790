/*
 * A terminal of the front "open-terminal", over a WebSocket.
 *
 * The first message has the token: {"type": "auth", "token"}. Until it has come, nothing is known
 * of the client but its headers, and nothing is told to it. A client that sends none within AUTH_MS
 * is disconnected, and so is the one after WAITING_MAX that wait. After that, binary messages go
 * both ways, and {"type": "resize", "cols", "rows"} sets the size. When the client goes, the
 * terminal ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/openterminal/socket.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "serve/http/token.h"
#include "serve/web/websocket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	AUTH_MS = 10000,
	WAITING_MAX = 64,
	WRITING_BYTES = 64 << 10,
	WRITES_MAX = 256,
	SIDE_MAX = 4096,
	TERMINAL_ID_BYTES = 32,
	PROCESS_BYTES = 64
};

/* Codes that Open Terminal closes with. */
enum { NO_AUTH = 4001, NO_TERMINAL = 4004, IS_CONNECTED = 4009 };

struct ot_socket {
	struct ot_socket *next;
	struct ot *ot;
	struct websocket *socket;		 /* NULL when it is over */
	const struct token_list *tokens;	 /* NULL: no token is needed */
	const struct operation_context *context; /* of who has shown a token; before: of nobody */
	bool is_in;				 /* has shown it, and has the terminal */
	uint64_t since_ms;			 /* on the clock of timer.h */
	char key[OT_KEY_BYTES];			 /* of the box, as the headers say */
	char chat[OT_ID_BYTES + 1];
	bool has_chat;
	char id[TERMINAL_ID_BYTES], session[OT_SESSION_BYTES], process[PROCESS_BYTES];
	struct operation_call *call; /* `process.attach` */
	size_t n_writing, n_writes;  /* bytes and calls without an answer */
};

/* A call whose answer does not matter. It may outlive the WebSocket. */
struct ot_socket_call {
	struct ot_socket *s;
	struct operation_call *call;
	size_t bytes;
};

static void maybe_free(struct ot_socket *s)
{
	struct ot_socket **link = &s->ot->sockets;
	if (s->socket || s->call || s->n_writes > 0)
		return;
	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
	free(s);
}

static void close_socket(struct ot_socket *s, unsigned code, const char *reason)
{
	if (s->socket)
		websocket_close(s->socket, (enum frames_close)code, reason);
}

/* ---- what the client wants ---- */

static void on_called(void *arg, const json_t *result, const struct err *err)
{
	struct ot_socket_call *call = arg;
	struct ot_socket *s = call->s;
	(void)result; /* that a program has ended is told by `process.attach` */
	(void)err;
	s->n_writing -= call->bytes;
	s->n_writes--;
	free(call);
	if (s->socket)
		websocket_pause(
			s->socket, s->n_writing > WRITING_BYTES || s->n_writes > WRITES_MAX);
	maybe_free(s);
}

static json_t *params_of(const struct ot_socket *s)
{
	return json_need(json_pack("{s:s, s:s}", "session", s->session, "process", s->process));
}

static void start_call(struct ot_socket *s, const char *operation, json_t *params, size_t bytes)
{
	struct ot_socket_call *call = xnew(struct ot_socket_call);
	const struct operation_listener listener = {.arg = call, .done = on_called};
	*call = (struct ot_socket_call){.s = s, .bytes = bytes};
	s->n_writing += bytes;
	s->n_writes++;
	if (s->n_writing > WRITING_BYTES || s->n_writes > WRITES_MAX)
		websocket_pause(s->socket, true);
	operation_start(s->context, operation_find(operation), params, &listener, &call->call);
	json_decref(params);
}

static void type_in(struct ot_socket *s, const char *data, size_t bytes)
{
	cleanup_buf struct buf text = BUF_INIT(base64_bytes(FRAMES_MESSAGE_BYTES));
	json_t *params = params_of(s);
	bool is_text = utf8_is_valid(data, bytes);
	if (!is_text && base64_write(&text, data, bytes) == 0)
		json_put_text(params, "encoding", "base64");
	json_put_textn(
		params, "data", is_text ? data : buf_str(&text), is_text ? bytes : text.bytes);
	start_call(s, "process.write", params, bytes);
}

static void resize(struct ot_socket *s, const json_t *message)
{
	json_int_t cols = json_get_int(message, "cols"), rows = json_get_int(message, "rows");
	json_t *params = params_of(s);
	json_put_int(params, "cols", cols > 0 ? MIN(cols, SIDE_MAX) : 80);
	json_put_int(params, "rows", rows > 0 ? MIN(rows, SIDE_MAX) : 24);
	start_call(s, "process.resize", params, 0);
}

/* ---- what the program prints ---- */

static void on_event(void *arg, const json_t *event)
{
	const struct ot_socket *s = arg;
	const json_t *data = json_object_get(event, "data");
	const char *text = json_string_value(data);
	size_t bytes = json_string_length(data);
	cleanup_buf struct buf raw = BUF_INIT(bytes + 1);
	struct err err;
	if (!s->socket || strcmp(json_get_text(event, "event"), "output") != 0 || bytes == 0)
		return;
	if (strcmp(json_get_text(event, "encoding"), "base64") != 0)
		(void)websocket_send(s->socket, false, text, bytes);
	else if (base64_read(&raw, text, bytes, &err) == 0)
		(void)websocket_send(s->socket, false, buf_str(&raw), raw.bytes);
}

static bool is_behind(void *arg)
{
	const struct ot_socket *s = arg;
	return s->socket && websocket_is_behind(s->socket);
}

/* The program has ended, or nobody follows it any more. */
static void on_ended(void *arg, const json_t *result, const struct err *err)
{
	struct ot_socket *s = arg;
	(void)result;
	(void)err;
	s->call = NULL;
	close_socket(s, FRAMES_NORMAL, "");
	maybe_free(s);
}

/* ---- the token ---- */

static struct ot_box *find_box(const struct ot_socket *s)
{
	for (struct ot_box *b = s->ot->boxes; b; b = b->next)
		if (b->phase == OT_LIVE && json_object_get(b->terminals, s->id))
			return b;
	return NULL;
}

/* The client has shown who it is: is the terminal its own? Then follow it. */
static void take_terminal(struct ot_socket *s)
{
	const struct operation_listener listener = {
		.arg = s, .event = on_event, .is_behind = is_behind, .done = on_ended};
	const struct ot_box *b = find_box(s);
	json_t *terminal = b ? json_object_get(b->terminals, s->id) : NULL;
	bool is_own = b && b->context->principal == s->context->principal &&
		strcmp(b->key, s->key) == 0 &&
		(!s->has_chat || strcmp(s->chat, json_get_text(terminal, "chat")) == 0);
	if (!is_own) {
		close_socket(s, NO_TERMINAL, "Session not found");
		return;
	}
	if (json_get_bool(terminal, "connected")) {
		close_socket(s, IS_CONNECTED, "Session already connected");
		return;
	}
	json_put_bool(terminal, "connected", true);
	s->is_in = true;
	snprintf(s->session, sizeof s->session, "%s", b->session);
	snprintf(s->process, sizeof s->process, "%s", json_get_text(terminal, "process"));
	json_t *params = params_of(s);
	json_put_bool(params, "stream", true);
	operation_start(s->context, operation_find("process.attach"), params, &listener, &s->call);
	json_decref(params);
}

static void authorize(struct ot_socket *s, const char *data, size_t bytes)
{
	cleanup_json json_t *message = json_loadb(data, bytes, JSON_REJECT_DUPLICATES, NULL);
	const json_t *token = json_object_get(message, "token");
	const json_t *chat = json_object_get(message, "chat_id");
	const struct operation_context *found = s->context;
	bool is_auth = strcmp(json_get_text(message, "type"), "auth") == 0;
	if (s->tokens)
		found = json_is_string(token) ? token_find(s->tokens, json_string_value(token))
					      : NULL;
	if (!is_auth || !found) {
		close_socket(s, NO_AUTH,
			is_auth ? "Invalid API key" : "Auth timeout or invalid payload");
		return;
	}
	if (!s->has_chat && json_is_string(chat) && json_string_length(chat) <= OT_ID_BYTES) {
		s->has_chat = true;
		snprintf(s->chat, sizeof s->chat, "%s", json_string_value(chat));
	}
	s->context = found;
	take_terminal(s);
}

static void on_message(void *arg, bool is_text, const char *data, size_t bytes)
{
	struct ot_socket *s = arg;
	if (!s->is_in) {
		authorize(s, is_text ? data : "", is_text ? bytes : 0);
	} else if (!is_text) {
		if (bytes > 0)
			type_in(s, data, bytes);
	} else {
		cleanup_json json_t *message = json_loadb(data, bytes, 0, NULL);
		if (strcmp(json_get_text(message, "type"), "resize") == 0)
			resize(s, message);
	}
}

/* ---- opening and closing ---- */

static void on_opened(void *arg)
{
	(void)arg;
}

static void on_over(void *arg)
{
	struct ot_socket *s = arg;
	struct ot_box *b = s->is_in ? find_box(s) : NULL;
	s->socket = NULL;
	if (b)
		ot_drop_terminal(b, s->id);
	if (s->call)
		operation_cancel(s->call); /* on_ended() may free it */
	else
		maybe_free(s);
}

void ot_look_sockets(struct ot *o, bool is_stopping)
{
	struct ot_socket *next;
	for (struct ot_socket *s = o->sockets; s; s = next) {
		next = s->next;
		if (is_stopping)
			close_socket(s, FRAMES_GOING_AWAY, "the engine is being stopped");
		else if (!s->is_in && timer_since(s->since_ms) >= AUTH_MS)
			close_socket(s, NO_AUTH, "Auth timeout or invalid payload");
	}
}

static unsigned count_waiting(const struct ot *o)
{
	unsigned n = 0;
	for (const struct ot_socket *s = o->sockets; s; s = s->next)
		n += !s->is_in;
	return n;
}

/* Take what the headers say. Returns: false if an id is not valid. */
static bool read_headers(const struct front_call *c, struct ot_socket *s)
{
	const char *user = http_header(c->x, "X-User-Id"),
		   *chat = http_header(c->x, "X-Session-Id");
	const char *place = http_header(c->x, "X-Terminal-Context-Id");
	user = user ? user : http_query(c->x, "user_id");
	const char *ids[] = {user ? user : "", chat ? chat : "", place ? place : ""};
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		if (ids[i][0] && !ot_is_id(ids[i]))
			return false;
	s->has_chat = chat != NULL;
	snprintf(s->chat, sizeof s->chat, "%s", ids[1]);
	const struct digest_part parts[] = {{ids[0], strlen(ids[0])}, {ids[2], strlen(ids[2])}};
	digest_parts(s->key, parts, ARRAY_LEN(parts));
	return true;
}

void ot_open_socket(struct front_call *c, const char *id)
{
	struct ot *o = c->state->own;
	struct ot_socket *s = xnew(struct ot_socket);
	const struct websocket_user user = {
		.opened = on_opened, .message = on_message, .over = on_over, .arg = s};
	bool is_there = strlen(id) < TERMINAL_ID_BYTES && ot_find_terminal(c->state, id);
	if (!is_there || !read_headers(c, s) || count_waiting(o) >= WAITING_MAX) {
		free(s);
		ot_refuse_terminal(c, is_there ? 503 : 404,
			is_there ? "Too many connections" : "Session not found");
		return;
	}
	s->ot = o;
	s->tokens = http_tokens(c->x);
	s->context = c->context;
	s->since_ms = timer_now();
	snprintf(s->id, sizeof s->id, "%s", id);
	const struct operation_context *context = c->context;
	struct http_exchange *x = front_take(c);
	if (!x || websocket_check(x) < 0) {
		free(s);
		return;
	}
	s->next = o->sockets;
	o->sockets = s;
	websocket_open(&s->socket, context->loop, x, NULL, &user);
}
