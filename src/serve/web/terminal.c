/*
 * A terminal of a session, over a WebSocket.
 *
 * All is done by operations: `process.get` says whether the process has a terminal,
 * `process.attach` brings what it prints, `process.write`, `process.resize` and `process.signal` do
 * what the client wants.
 *
 * While over WRITING_BYTES of what was typed wait for the program, the client is not read. While
 * the client is behind, `process.attach` sends nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/message.h"
#include "serve/web/terminal.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "serve/web/port_headers.h"
#include "serve/web/websocket.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128, SIDE_MAX = 4096, WRITING_BYTES = 64 << 10, WRITES_MAX = 256 };

struct terminal {
	struct http_exchange *x; /* until the WebSocket is opened */
	const struct operation_context *context;
	struct websocket *socket;    /* NULL when it is over */
	struct operation_call *call; /* `process.get`, then `process.attach` */
	char session[NAME_BYTES], process[NAME_BYTES];
	uint64_t rows, cols, offset;
	size_t n_writing, n_writes; /* bytes and calls of `process.write` without an answer */
	bool is_over;
};

/* A call whose answer matters only if it is an error. It may outlive the WebSocket. */
struct terminal_call {
	struct terminal *t;
	struct operation_call *call;
	size_t bytes; /* that are written by it */
};

static void maybe_free(struct terminal *t)
{
	if (!t->x && !t->socket && !t->call && t->n_writes == 0)
		free(t);
}

/* ---- messages to the client ---- */

static void send_json(struct terminal *t, const char *type, json_t *message)
{
	json_put_text(message, "type", type);
	char *text = json_dumps(message, JSON_COMPACT);
	if (text && t->socket)
		(void)websocket_send(t->socket, true, text, strlen(text));
	free(text);
	json_decref(message);
}

static void send_error(struct terminal *t, const struct err *err)
{
	json_t *message = json_need(json_object());
	json_put_text(message, "code", err_word(err->code));
	json_put_text(message, "message", err->msg);
	if (err->hint[0])
		json_put_text(message, "hint", err->hint);
	send_json(t, "error", message);
}

/* ---- what the client wants ---- */

static void on_called(void *arg, const json_t *result, const struct err *err)
{
	struct terminal_call *c = arg;
	struct terminal *t = c->t;
	t->n_writing -= c->bytes;
	t->n_writes--;
	free(c);
	/* That a program has ended is told by `process.attach`. */
	if (!result && t->socket && err->code != ERR_GONE)
		send_error(t, err);
	if (t->socket)
		websocket_pause(
			t->socket, t->n_writing > WRITING_BYTES || t->n_writes > WRITES_MAX);
	maybe_free(t);
}

static json_t *params_of(const struct terminal *t)
{
	json_t *params = json_need(json_object());
	json_put_text(params, "session", t->session);
	json_put_text(params, "process", t->process);
	return params;
}

static void call(struct terminal *t, const char *method, json_t *params, size_t bytes)
{
	struct terminal_call *c = xnew(struct terminal_call);
	const struct operation_listener listener = {.arg = c, .done = on_called};
	*c = (struct terminal_call){.t = t, .bytes = bytes};
	t->n_writing += bytes;
	t->n_writes++;
	if (t->n_writing > WRITING_BYTES || t->n_writes > WRITES_MAX)
		websocket_pause(t->socket, true);
	operation_start(t->context, operation_find(method), params, &listener, &c->call);
	json_decref(params);
}

static void type_in(struct terminal *t, const char *data, size_t bytes)
{
	cleanup_buf struct buf text = BUF_INIT(base64_bytes(FRAMES_MESSAGE_BYTES));
	json_t *params = params_of(t);
	bool is_text = utf8_is_valid(data, bytes);
	if (!is_text && base64_write(&text, data, bytes) == 0)
		json_put_text(params, "encoding", "base64");
	json_put_textn(
		params, "data", is_text ? data : buf_str(&text), is_text ? bytes : text.bytes);
	call(t, "process.write", params, bytes);
}

/* Pass a control message on as the operation @method: its members are parameters. */
static void pass(struct terminal *t, const char *method, const json_t *message)
{
	json_t *params = params_of(t);
	const char *key;
	json_t *value;
	json_object_foreach(json_unconst(message), key, value) if (strcmp(key, "type") != 0 &&
		!json_object_get(params, key)) json_put_shared(params, key, value);
	call(t, method, params, 0);
}

static void control(struct terminal *t, const char *data, size_t bytes)
{
	struct err err;
	cleanup_json json_t *message = json_loadb(data, bytes, JSON_REJECT_DUPLICATES, NULL);
	const char *type = json_get_text(message, "type");
	if (strcmp(type, "resize") == 0) {
		pass(t, "process.resize", message);
	} else if (strcmp(type, "signal") == 0) {
		pass(t, "process.signal", message);
	} else {
		err_fail(&err, ERR_USAGE,
			"text messages are {\"type\": \"resize\", …} or {\"type\": \"signal\", "
			"…}; what is typed goes into binary messages",
			message ? "unknown type of message \"%.40s\""
				: "a text message that is not JSON%.0s",
			type);
		send_error(t, &err);
	}
}

static void on_message(void *arg, bool is_text, const char *data, size_t bytes)
{
	struct terminal *t = arg;
	if (is_text)
		control(t, data, bytes);
	else if (bytes > 0)
		type_in(t, data, bytes);
}

/* ---- what the program prints ---- */

static void send_output(struct terminal *t, const json_t *event)
{
	const json_t *data = json_object_get(event, "data");
	const char *text = json_string_value(data);
	size_t bytes = json_string_length(data);
	cleanup_buf struct buf raw = BUF_INIT(bytes + 1);
	struct err err;
	json_int_t cut = json_get_int(event, "cut_bytes");
	if (cut > 0)
		send_json(t, "cut", json_need(json_pack("{s:I}", "bytes", cut)));
	if (strcmp(json_get_text(event, "encoding"), "base64") != 0)
		(void)websocket_send(t->socket, false, text, bytes);
	else if (base64_read(&raw, text, bytes, &err) == 0)
		(void)websocket_send(t->socket, false, buf_str(&raw), raw.bytes);
}

static void on_event(void *arg, const json_t *event)
{
	struct terminal *t = arg;
	const char *name = json_get_text(event, "event");
	if (!t->socket)
		return;
	if (strcmp(name, "attached") == 0) {
		json_t *message = json_need(json_copy(json_unconst(event)));
		(void)json_object_del(message, "event");
		send_json(t, "attached", message);
	} else if (strcmp(name, "output") == 0) {
		send_output(t, event);
	}
}

static bool is_behind(void *arg)
{
	const struct terminal *t = arg;
	return t->socket && websocket_is_behind(t->socket);
}

static void on_ended(void *arg, const json_t *result, const struct err *err)
{
	struct terminal *t = arg;
	t->is_over = true;
	t->call = NULL;
	if (t->socket && result)
		send_json(t, "exit", json_need(json_copy(json_unconst(result))));
	else if (t->socket)
		send_error(t, err);
	/* A process that has not ended by itself has gone with its box or its session. */
	bool is_taken = result && json_get_text(result, "ended")[0];
	if (t->socket)
		websocket_close(t->socket,
			is_taken	 ? FRAMES_GOING_AWAY
				: result ? FRAMES_NORMAL
					 : FRAMES_FAILED,
			"");
	maybe_free(t);
}

/* ---- opening ---- */

static void on_opened(void *arg)
{
	struct terminal *t = arg;
	const struct operation_listener listener = {
		.arg = t, .event = on_event, .is_behind = is_behind, .done = on_ended};
	if (t->rows > 0 && t->cols > 0) {
		json_t *size = params_of(t);
		json_put_int(size, "rows", (int64_t)t->rows);
		json_put_int(size, "cols", (int64_t)t->cols);
		call(t, "process.resize", size, 0);
	}
	json_t *params = params_of(t);
	json_put_int(params, "stdout_offset", (int64_t)t->offset);
	json_put_bool(params, "stream", true);
	operation_start(t->context, operation_find("process.attach"), params, &listener, &t->call);
	json_decref(params);
}

static void on_over(void *arg)
{
	struct terminal *t = arg;
	t->socket = NULL;
	if (t->call)
		operation_cancel(t->call); /* on_ended() may free the terminal */
	else
		maybe_free(t);
}

static void refuse(struct terminal *t, unsigned status, const struct err *err)
{
	http_refuse(take_ptr(t->x), status, err);
	maybe_free(t);
}

/* A client that offers subprotocols expects that one is chosen: ours, or that which has its token.
 * Owns: the caller frees the result. */
static char *choose_protocol(const struct http_exchange *x)
{
	size_t bytes = 0;
	const char *offered = http_header(x, "Sec-WebSocket-Protocol");
	if (!offered)
		return NULL;
	if (message_list_has(offered, TERMINAL_PROTOCOL))
		return xstrdup(TERMINAL_PROTOCOL);
	const char *found = credential_find_protocol(offered, &bytes);
	return found ? strndup(found, bytes) : NULL;
}

static void on_found(void *arg, const json_t *about, const struct err *err)
{
	struct terminal *t = arg;
	struct err no_terminal;
	const struct websocket_user user = {
		.opened = on_opened, .message = on_message, .over = on_over, .arg = t};
	t->call = NULL;
	if (!t->x) {
		maybe_free(t);
	} else if (!about) {
		refuse(t, (unsigned)err_http(err->code), err);
	} else if (!json_get_bool(about, "terminal")) {
		err_fail(&no_terminal, ERR_USAGE,
			"start it with `terminal.open`, or follow it with `process.attach`",
			"process %s has no terminal", t->process);
		refuse(t, 400, &no_terminal);
	} else {
		char *protocol = choose_protocol(t->x);
		http_on_gone(t->x, NULL, NULL);
		websocket_open(&t->socket, t->context->loop, take_ptr(t->x), protocol, &user);
		free(protocol);
	}
}

static void on_gone(void *arg)
{
	struct terminal *t = arg;
	t->x = NULL; /* on_found() follows */
}

/* Read the number @name of the query, 0 if it is missing. Returns: false if it is none up to @max.
 */
static bool read_number(
	const struct http_exchange *x, const char *name, uint64_t max, uint64_t *out)
{
	struct err err;
	const char *text = http_query(x, name);
	return !text || num_parse_count(text, (struct num_range){0, max}, out, &err) == 0;
}

/* Read "/terminal/SESSION/PROCESS". */
static bool read_path(struct terminal *t, const char *target)
{
	const char *session = target + strlen(TERMINAL_PATH);
	size_t n = strcspn(session, "/?");
	const char *process = session + n + (session[n] == '/');
	size_t n_process = strcspn(process, "?");
	if (n == 0 || session[n] != '/' || n >= NAME_BYTES || n_process == 0 ||
		n_process >= NAME_BYTES)
		return false;
	memcpy(t->session, session, n);
	memcpy(t->process, process, n_process);
	return true;
}

void terminal_start(void *arg, struct http_exchange *x)
{
	struct err err;
	struct terminal *t = xnew(struct terminal);
	const struct operation_listener listener = {.arg = t, .done = on_found};
	(void)arg;
	t->x = x;
	t->context = http_context(x);
	http_note(x, "terminal");
	if (!read_path(t, http_target(x))) {
		err_fail(&err, ERR_USAGE, "write /terminal/SESSION/PROCESS",
			"\"%.100s\" is no terminal", http_target(x));
		refuse(t, 404, &err);
		return;
	}
	if (!read_number(x, "rows", SIDE_MAX, &t->rows) ||
		!read_number(x, "cols", SIDE_MAX, &t->cols) ||
		!read_number(x, "offset", INT64_MAX, &t->offset)) {
		err_fail(&err, ERR_USAGE, "for example ?rows=24&cols=80",
			"rows, cols and offset are whole numbers, rows and cols up to %d",
			SIDE_MAX);
		refuse(t, 400, &err);
		return;
	}
	if (websocket_check(x) < 0) {
		t->x = NULL;
		maybe_free(t);
		return;
	}
	http_on_gone(x, on_gone, t);
	json_t *params = params_of(t);
	operation_start(t->context, operation_find("process.get"), params, &listener, &t->call);
	json_decref(params);
}
