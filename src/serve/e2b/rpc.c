/*
 * Connect, the protocol of envd: messages in JSON over HTTP/1.1.
 *
 * A unary request has one message as its body, and so has its response; an error is an HTTP status
 * and {"code": word, "message": text}. A stream has status 200 in any case, and a body of
 * envelopes: a byte of flags, four of length, big-endian, and a message. The last envelope has the
 * flag 2, and says how the stream has ended. A body without it was broken off.
 *
 * Source: connectrpc.com, "Connect Protocol Reference".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/num.h"
#include "base/timer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UNARY_TYPE  "application/json"
#define STREAM_TYPE "application/connect+json"

enum { HEAD_BYTES = 5, LAST = 2, COMPRESSED = 1, PING_S = 90, PING_MAX_S = 3600 };
enum { USER_BYTES = 64, LATE_MAX_MS = 1 << 30 };

/* ---- errors ---- */

/* Words of Connect, and the HTTP status of each. Source: as above, "Error Codes". */
static const struct code {
	const char *word;
	unsigned status;
} codes[] = {
	{"canceled", 499},
	{"unknown", 500},
	{"invalid_argument", 400},
	{"deadline_exceeded", 504},
	{"not_found", 404},
	{"already_exists", 409},
	{"permission_denied", 403},
	{"resource_exhausted", 429},
	{"failed_precondition", 400},
	{"aborted", 409},
	{"out_of_range", 400},
	{"unimplemented", 501},
	{"internal", 500},
	{"unavailable", 503},
	{"data_loss", 500},
	{"unauthenticated", 401},
};

static unsigned status_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (strcmp(codes[i].word, word) == 0)
			return codes[i].status;
	return 500;
}

/* Words of Connect for errors of operations; for all others it is "internal". */
static const struct word {
	enum err_code code;
	const char *word;
} words[] = {
	{ERR_USAGE, "invalid_argument"},
	{ERR_RUNTIME, "invalid_argument"},
	{ERR_NOT_FOUND, "not_found"},
	{ERR_ACCESS, "permission_denied"},
	{ERR_DENIED, "permission_denied"},
	{ERR_LIMIT, "resource_exhausted"},
	{ERR_QUOTA, "resource_exhausted"},
	{ERR_NO_SPACE, "resource_exhausted"},
	{ERR_NO_MEMORY, "resource_exhausted"},
	{ERR_BUSY, "aborted"},
	{ERR_AUTH, "unauthenticated"},
	{ERR_GONE, "unavailable"},
	{ERR_BOX, "unavailable"},
	{ERR_INTERRUPTED, "unavailable"},
};

const char *e2b_rpc_word(enum err_code code)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (words[i].code == code)
			return words[i].word;
	return "internal";
}

static json_t *error_json(const char *word, const char *message)
{
	return json_pack(
		"{s:s, s:o}", "code", word, "message", json_new_text(message, strlen(message)));
}

void e2b_rpc_refuse(struct front_call *c, const char *word, const char *fmt, ...)
{
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES + 4];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	front_answer(c, status_of(word), error_json(word, text));
}

void e2b_rpc_fail(struct front_call *c, const struct err *err)
{
	e2b_rpc_refuse(c, e2b_rpc_word(err->code), "%s%s%s", err->msg, err->hint[0] ? ": " : "",
		err->hint);
}

/* ---- requests ---- */

static bool has_type(const struct front_call *c, const char *type)
{
	const char *given = http_header(c->x, "Content-Type");
	size_t n = strlen(type);
	return given && strncasecmp(given, type, n) == 0 && (given[n] == '\0' || given[n] == ';');
}

static bool is_compressed(const struct front_call *c, const char *header)
{
	const char *coding = http_header(c->x, header);
	return coding && strcasecmp(coding, "identity") != 0;
}

bool e2b_read_envelope(struct e2b_envelope *e, const char *data, size_t bytes)
{
	const unsigned char *head = (const unsigned char *)data;
	*e = (struct e2b_envelope){0};
	if (bytes < HEAD_BYTES)
		return false;
	e->is_compressed = head[0] & COMPRESSED;
	e->bytes = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
	e->all_bytes = HEAD_BYTES + e->bytes;
	e->data = data + HEAD_BYTES;
	return e->all_bytes <= bytes;
}

/* Answer a request that has no message, in the way of its kind. */
static void refuse_message(struct front_call *c, bool is_stream, const char *word, const char *why)
{
	if (is_stream)
		e2b_stream_refuse(c, word, why);
	else
		e2b_rpc_refuse(c, word, "%s", why);
}

bool e2b_check_type(struct front_call *c, bool is_stream)
{
	const char *type = is_stream ? STREAM_TYPE : UNARY_TYPE;
	if (!has_type(c, type)) {
		struct http_exchange *x = front_take(c);
		(void)http_set_header(x, "Accept-Post", type);
		http_answer(x, 415, NULL, "", 0);
		return false;
	}
	if (is_compressed(c, is_stream ? "Connect-Content-Encoding" : "Content-Encoding")) {
		refuse_message(c, is_stream, "unimplemented", "messages must not be compressed");
		return false;
	}
	return true;
}

bool e2b_read_message(struct front_call *c, bool is_stream)
{
	struct e2b_envelope e = {.data = http_body(c->x), .bytes = http_body_bytes(c->x)};
	json_t *message = NULL;
	if (!e2b_check_type(c, is_stream))
		return false;
	if (!is_stream || (e2b_read_envelope(&e, e.data, e.bytes) && !e.is_compressed))
		message = json_loadb(e.data, e.bytes, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(message)) {
		json_decref(message);
		refuse_message(
			c, is_stream, "invalid_argument", "the body is not a message in JSON");
		return false;
	}
	json_decref(c->body);
	c->body = message;
	return true;
}

struct e2b_sandbox *e2b_enter_procedure(struct front_call *c, const char *dir,
	const struct e2b_procedure *all, size_t n, const struct e2b_procedure **found)
{
	char path[E2B_PATH_BYTES];
	bool is_well = e2b_read_path(c, dir, path);
	*found = NULL;
	for (size_t i = 0; i < n && is_well; i++)
		if (strcmp(all[i].name, path) == 0)
			*found = &all[i];
	if (!*found) {
		e2b_rpc_refuse(c, "unimplemented", "there is no such procedure");
		return NULL;
	}
	struct e2b_sandbox *s = e2b_enter(c, E2B_ENVD_PORT);
	return s && e2b_read_message(c, (*found)->is_stream) ? s : NULL;
}

const char *e2b_rpc_user(const struct front_call *c, char out[64])
{
	const char *given = c->x ? http_header(c->x, "Authorization") : NULL;
	cleanup_buf struct buf text = BUF_INIT(USER_BYTES + 16);
	struct err err;
	out[0] = '\0';
	if (!given || strncasecmp(given, "Basic ", 6) != 0)
		return out;
	given += 6 + strspn(given + 6, " ");
	if (base64_read(&text, given, strlen(given), &err) < 0)
		return out;
	snprintf(out, USER_BYTES, "%.*s", (int)strcspn(buf_str(&text), ":"), buf_str(&text));
	return out;
}

/* ---- streams ---- */

/* One is freed when its two timers are closed. */
struct e2b_stream {
	struct front_call *c; /* NULL when it is over */
	const char *keepalive;
	void (*late)(struct front_call *c, struct e2b_stream *s);
	uint64_t ping_ms;
	uv_timer_t ping, end;
	unsigned n_timers;
	bool is_lost; /* the client does not read */
};

static void on_timer_closed(uv_handle_t *handle)
{
	struct e2b_stream *s = handle->data;
	if (--s->n_timers == 0)
		free(s);
}

static int put(struct e2b_stream *s, unsigned flags, const char *text, size_t bytes)
{
	const unsigned char head[HEAD_BYTES] = {(unsigned char)flags, (unsigned char)(bytes >> 24),
		(unsigned char)(bytes >> 16), (unsigned char)(bytes >> 8), (unsigned char)bytes};
	cleanup_buf struct buf all = BUF_INIT(bytes + HEAD_BYTES + 1);
	if (buf_append(&all, (const char *)head, HEAD_BYTES) < 0 ||
		buf_append(&all, text, bytes) < 0)
		return -1;
	return http_stream_put(s->c->x, buf_str(&all), all.bytes);
}

static void on_ping(uv_timer_t *timer)
{
	struct e2b_stream *s = timer->data;
	if (s->c && s->c->x && put(s, 0, s->keepalive, strlen(s->keepalive)) < 0)
		s->is_lost = true;
}

static void on_late(uv_timer_t *timer)
{
	struct e2b_stream *s = timer->data;
	if (s->c)
		s->late(s->c, s);
}

static uint64_t read_number(
	const struct front_call *c, const char *header, uint64_t max, uint64_t fallback)
{
	uint64_t value;
	struct err err;
	const char *text = http_header(c->x, header);
	if (!text || num_parse_count(text, (struct num_range){1, max}, &value, &err) < 0)
		return fallback;
	return value;
}

struct e2b_stream *e2b_stream_open(struct front_call *c, const char *keepalive,
	void (*late)(struct front_call *c, struct e2b_stream *s))
{
	struct e2b_stream *s = xnew(struct e2b_stream);
	uint64_t late_ms = read_number(c, "Connect-Timeout-Ms", LATE_MAX_MS, 0);
	s->c = c;
	s->keepalive = keepalive;
	s->late = late;
	s->ping_ms = 1000 * read_number(c, "Keepalive-Ping-Interval", PING_MAX_S, PING_S);
	(void)uv_timer_init(c->context->loop, &s->ping);
	(void)uv_timer_init(c->context->loop, &s->end);
	s->ping.data = s->end.data = s;
	s->n_timers = 2;
	timer_start(&s->ping, on_ping, s->ping_ms, s->ping_ms);
	if (late && late_ms > 0)
		timer_start(&s->end, on_late, late_ms, 0);
	(void)http_stream_open(c->x, 200, STREAM_TYPE);
	return s;
}

bool e2b_stream_send(struct e2b_stream *s, json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	bool is_sent = text && s->c && s->c->x && put(s, 0, text, strlen(text)) == 0;
	s->is_lost |= s->c && s->c->x && !is_sent;
	timer_start(&s->ping, on_ping, s->ping_ms, s->ping_ms);
	free(text);
	json_decref(message);
	return is_sent;
}

/* End the call. Returns: the exchange, NULL if the client has gone. */
static struct http_exchange *close_stream(struct e2b_stream *s)
{
	struct http_exchange *x = front_take(take_ptr(s->c));
	uv_close((uv_handle_t *)&s->ping, on_timer_closed);
	uv_close((uv_handle_t *)&s->end, on_timer_closed);
	return x;
}

void e2b_stream_end(struct e2b_stream *s, const char *word, const char *message)
{
	json_t *last = word ? json_pack("{s:o}", "error", error_json(word, message)) : NULL;
	char *text = last ? json_dumps(last, JSON_COMPACT) : NULL;
	const char *end = text ? text : "{}";
	bool is_whole = !s->is_lost && s->c->x && put(s, LAST, end, strlen(end)) == 0;
	struct http_exchange *x = close_stream(s);
	if (x && is_whole)
		http_stream_end(x);
	else if (x)
		http_stream_cut(x);
	free(text);
	json_decref(last);
}

void e2b_stream_refuse(struct front_call *c, const char *word, const char *message)
{
	if (c->x)
		e2b_stream_end(e2b_stream_open(c, "", NULL), word, message);
	else
		(void)front_take(c);
}

void e2b_stream_cut(struct e2b_stream *s)
{
	struct http_exchange *x = close_stream(s);
	if (x)
		http_stream_cut(x);
}
