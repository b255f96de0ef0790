/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timer.h"
#include "base/fd.h"
#include "base/num.h"
#include "net/message.h"
#include "net/tcp.h"
#include "serve/http/inside.h"

#include "api/text/json.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/http/sse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* ---- reading the request, and setting its callbacks ---- */

const char *http_header(const struct http_exchange *x, const char *name)
{
	return x->connection
		? x->server->lib.lookup_connection_value(x->connection->mhd, MHD_HEADER_KIND, name)
		: NULL;
}

const char *http_method(const struct http_exchange *x)
{
	return x->method;
}

const char *http_target(const struct http_exchange *x)
{
	return x->connection && x->connection->target ? x->connection->target : x->path;
}

const char *http_query(const struct http_exchange *x, const char *name)
{
	return x->connection ? x->server->lib.lookup_connection_value(
				       x->connection->mhd, MHD_GET_ARGUMENT_KIND, name)
			     : NULL;
}

struct header_visit {
	void (*each)(void *arg, const char *name, const char *value);
	void *arg;
};

static enum MHD_Result on_each_header(
	void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const struct header_visit *visit = arg;
	(void)kind;
	visit->each(visit->arg, name, value ? value : "");
	return MHD_YES;
}

void http_each_header(const struct http_exchange *x,
	void (*each)(void *arg, const char *name, const char *value), void *arg)
{
	struct header_visit visit = {.each = each, .arg = arg};
	if (x->connection)
		(void)x->server->lib.get_connection_values(
			x->connection->mhd, MHD_HEADER_KIND, on_each_header, &visit);
}

enum credential http_credential(const struct http_exchange *x)
{
	return x->credential;
}

const struct host_site *http_site(const struct http_exchange *x)
{
	return &x->site;
}

int64_t http_body_length(const struct http_exchange *x)
{
	return message_length(
		http_header(x, "Content-Length"), http_header(x, "Transfer-Encoding"));
}

void http_on_progress(struct http_exchange *x, void (*progress)(void *arg), void *arg)
{
	x->progress = progress;
	x->progress_arg = arg;
}

size_t http_body_bytes(const struct http_exchange *x)
{
	return x->body.bytes;
}

const char *http_body(const struct http_exchange *x)
{
	return x->body.bytes > 0 ? x->body.data : "";
}

const struct operation_context *http_context(const struct http_exchange *x)
{
	return x->context;
}

void http_set_context(struct http_exchange *x, const struct operation_context *context)
{
	x->context = context;
	if (x->connection)
		x->connection->is_proven = true;
}

void http_note(struct http_exchange *x, const char *what)
{
	size_t bytes = utf8_cut(what, strlen(what), sizeof x->note - 1);
	memcpy(x->note, what, bytes);
	x->note[bytes] = '\0';
}

bool http_has_left(const struct http_exchange *x)
{
	return x->is_gone || !x->connection || tcp_has_left(x->connection->fd);
}

void http_on_gone(struct http_exchange *x, void (*gone)(void *arg), void *arg)
{
	x->gone = gone;
	x->gone_arg = arg;
}

void http_on_stop(struct http_exchange *x, void (*stop)(void *arg), void *arg)
{
	x->stop = stop;
	x->stop_arg = arg;
}

/* ---- freeing an exchange when the library and the handler have released it ---- */

static void free_exchange(struct http_exchange *x)
{
	outstanding_set(&x->owed, NULL, 0);
	if (x->server) {
		http_uncount_body(x, x->body.bytes);
		*x->link = x->next;
		if (x->next)
			x->next->link = x->link;
	}
	if (x->server && x->response)
		x->server->lib.destroy_response(x->response);
	for (unsigned i = 0; i < 2 * x->n_set; i++)
		free(x->set[i]);
	buf_done(&x->body);
	buf_done(&x->out);
	json_decref(x->json);
	free(x);
}

void http_release(struct http_exchange *x)
{
	if (!x->connection && !x->is_held)
		free_exchange(x);
}

/* End the handler's ownership of the exchange, after the handler has given its response. */
static void let_go(struct http_exchange *x)
{
	x->is_held = false;
	x->gone = x->stop = x->progress = NULL;
	if (x->connection)
		http_resume(x);
	http_release(x);
}

/* Give the socket of an upgraded connection back to the library, which closes it. */
static void end_upgrade(struct http_exchange *x)
{
	if (!x->upgrade)
		return;
	(void)x->server->lib.upgrade_action(take_ptr(x->upgrade), MHD_UPGRADE_ACTION_CLOSE);
	x->server->is_due = true;
	http_plan(x->server);
}

void http_lose(struct http_exchange *x)
{
	void (*gone)(void *) = x->gone;
	x->is_gone = true;
	end_upgrade(x);
	if (!x->is_held || !gone)
		return;
	x->is_held = false;
	x->gone = x->stop = x->progress = NULL;
	gone(x->gone_arg);
}

/* ---- setting headers, and sending a response with a complete body ---- */

int http_set_header(struct http_exchange *x, const char *name, const char *value)
{
	if (x->n_set == HTTP_SET_MAX || strpbrk(value, "\r\n") || !*value)
		return -E2BIG;
	char **at = &x->set[2 * x->n_set];
	at[0] = strdup(name);
	at[1] = strdup(value);
	if (at[0] && at[1]) {
		x->n_set++;
		return 0;
	}
	free(at[0]);
	free(at[1]);
	return -ENOMEM;
}

void http_pass_headers(struct http_exchange *x)
{
	for (unsigned i = 0; i < 2 * x->n_set; i++)
		free(x->set[i]);
	x->n_set = 0;
	x->is_passed = true;
}

static void set(struct http_exchange *x, const char *name, const char *value)
{
	(void)x->server->lib.add_response_header(x->response, name, value);
}

/* Start a response. Set its status, the headers that the handler has added, and the headers that
 * every response has. */
static void begin(
	struct http_exchange *x, struct MHD_Response *response, unsigned status, const char *type)
{
	x->response = response;
	x->status = status;
	if (type)
		set(x, "Content-Type", type);
	for (unsigned i = 0; i < x->n_set; i++)
		set(x, x->set[2 * i], x->set[2 * i + 1]);
	/* These two headers forbid that the response is cached, and that a browser guesses
	 * another content type for it. */
	if (!x->is_passed) {
		set(x, "Cache-Control", "no-store");
		set(x, "X-Content-Type-Options", "nosniff");
	}
	/* The library accepts a bare LF at the end of a chunk's line, but some proxies do not.
	 * After a request with chunked coding, such a proxy and the library could disagree about
	 * where the next request begins. So allow no next request: close the connection. */
	bool is_chunked = x->connection && http_header(x, "Transfer-Encoding");
	if (x->server && status != 101 && (x->server->is_draining || is_chunked))
		set(x, "Connection", "close");
}

void http_answer_text(
	struct http_exchange *x, unsigned status, const char *type, char *body, size_t bytes)
{
	struct MHD_Response *response = NULL;
	if (body && x->connection && !x->is_gone)
		response = x->server->lib.create_response_from_buffer(
			bytes, body, MHD_RESPMEM_MUST_FREE);
	if (response) {
		x->sent_bytes = bytes;
		begin(x, response, status, type);
	} else {
		free(body);
		x->is_gone = true;
	}
	let_go(x);
}

void http_answer(
	struct http_exchange *x, unsigned status, const char *type, const char *body, size_t bytes)
{
	char *copy = x->connection && !x->is_gone ? malloc(bytes + 1) : NULL;
	if (copy)
		memcpy(copy, body, bytes);
	http_answer_text(x, status, type, copy, bytes);
}

void http_answer_long(
	struct http_exchange *x, unsigned status, const char *type, char *body, size_t bytes)
{
	struct outstanding *of = outstanding_of(x->context);
	struct err err;
	if (of && outstanding_is_full(of)) {
		free(body);
		(void)err_set(&err, ERR_BUSY, "too many long responses are unread");
		http_refuse(x, 503, &err);
		return;
	}
	outstanding_set(&x->owed, of, bytes);
	http_answer_text(x, status, type, body, bytes);
}

bool http_owe(struct http_exchange *x, size_t bytes)
{
	struct outstanding *of = outstanding_of(x->context);
	if (!of || bytes < WORK_BYTES)
		return true;
	outstanding_set(&x->owed, of, bytes);
	bool is_full = outstanding_is_full(of);
	if (is_full)
		outstanding_set(&x->owed, NULL, 0);
	return !is_full;
}

static json_t *flat_error(unsigned status, const struct err *err)
{
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES + 4];
	snprintf(text, sizeof text, "%s%s%s", err->msg, err->hint[0] ? ": " : "", err->hint);
	return json_pack(
		"{s:i, s:o}", "code", (int)status, "message", json_safe_text(text, sizeof text));
}

static json_t *own_error(const struct err *err)
{
	const char *msg = err->msg[0] ? err->msg : err_meaning(err->code);
	json_t *error = json_pack("{s:s, s:o}", "code", err_word(err->code), "message",
		json_safe_text(msg, ERR_MSG_BYTES));
	if (error && err->hint[0])
		json_put_new(error, "hint", json_safe_text(err->hint, ERR_HINT_BYTES));
	return json_pack("{s:o}", "error", error);
}

void http_refuse(struct http_exchange *x, unsigned status, const struct err *err)
{
	bool is_flat = x->route && x->route->has_flat_errors;
	cleanup_json json_t *all = is_flat ? flat_error(status, err) : own_error(err);
	char *text = all ? json_text(all, JSON_COMPACT) : NULL;
	http_answer_text(x, status, "application/json", text, text ? strlen(text) : 0);
}

/* ---- sending a response as a stream ---- */

static size_t owed_bytes(const struct http_exchange *x)
{
	return x->out.bytes - x->out_at;
}

/* Tell the handler if the client is not behind any more. Returns: @n. */
static ssize_t tell_room(const struct http_exchange *x, bool was_behind, size_t n)
{
	if (was_behind && !http_stream_is_behind(x) && x->progress && x->is_held)
		x->progress(x->progress_arg);
	return (ssize_t)n;
}

static ssize_t on_read(void *arg, uint64_t at, char *data, size_t max)
{
	struct http_exchange *x = arg;
	size_t n = MIN(owed_bytes(x), max);
	(void)at;
	if (x->is_gone)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n == 0 && !x->is_held)
		return x->is_cut ? MHD_CONTENT_READER_END_WITH_ERROR
				 : MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		http_suspend(x);
		return 0;
	}
	bool was_behind = http_stream_is_behind(x);
	memcpy(data, x->out.data + x->out_at, n);
	x->out_at += n;
	x->sent_bytes += n;
	/* buf_consume() moves the unsent bytes to the front. Call it only if more bytes were sent
	 * than are left, so that moving never costs more than sending. */
	if (owed_bytes(x) == 0)
		buf_clear(&x->out);
	else if (x->out_at > x->out.bytes / 2)
		buf_consume(&x->out, x->out_at);
	else
		return tell_room(x, was_behind, n);
	x->out_at = 0;
	return tell_room(x, was_behind, n);
}

int http_stream_open(struct http_exchange *x, unsigned status, const char *type)
{
	int r = http_stream_open_sized(x, status, type, -1);
	x->is_events = r == 0 && strcmp(type, SSE_TYPE) == 0;
	return r;
}

int http_stream_open_sized(
	struct http_exchange *x, unsigned status, const char *type, int64_t bytes)
{
	if (!x->connection || x->is_gone)
		return -EPIPE;
	struct MHD_Response *response = x->server->lib.create_response_from_callback(
		bytes < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)bytes, HTTP_PART_BYTES, on_read, x, NULL);
	if (!response)
		return -ENOMEM;
	x->told_ms = x->since_ms;
	x->out.max_bytes = HTTP_HARD_BYTES;
	begin(x, response, status, type);
	http_resume(x);
	return 0;
}

static int add(struct http_exchange *x, const char *data, size_t bytes)
{
	if (!x->connection || x->is_gone)
		return -EPIPE;
	int r = buf_try(&x->out, data, bytes);
	if (r < 0)
		return r;
	x->told_ms = timer_now();
	http_resume(x);
	return 0;
}

int http_stream_put(struct http_exchange *x, const char *data, size_t bytes)
{
	return owed_bytes(x) > HTTP_SOFT_BYTES ? -E2BIG : add(x, data, bytes);
}

bool http_stream_is_behind(const struct http_exchange *x)
{
	return owed_bytes(x) > HTTP_SOFT_BYTES / 2;
}

int http_stream_add(struct http_exchange *x, struct buf *text)
{
	if (owed_bytes(x) > 0 || !x->connection || x->is_gone)
		return add(x, text->data, text->bytes);
	buf_done(&x->out);
	x->out.data = text->data;
	x->out.bytes = text->bytes;
	x->out.room = text->room;
	x->out_at = 0;
	*text = BUF_INIT(text->max_bytes);
	return add(x, "", 0);
}

void http_stream_end(struct http_exchange *x)
{
	let_go(x);
}

void http_stream_cut(struct http_exchange *x)
{
	x->is_cut = true;
	let_go(x);
}

/* ---- upgrading the connection ---- */

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static void on_upgrade(void *arg, struct MHD_Connection *mhd, void *slot, const char *early,
	size_t bytes, MHD_socket socket, struct MHD_UpgradeResponseHandle *upgrade)
{
	struct http_exchange *x = arg;
	(void)mhd;
	(void)slot;
	x->upgrade = upgrade;
	cleanup_fd int fd = x->is_held ? fcntl(socket, F_DUPFD_CLOEXEC, 3) : -1;
	if (fd < 0) {
		http_lose(x);
		return;
	}
	(void)fd_set_nonblock(fd, true);
	x->opened(x->opened_arg, take_fd(fd), early, bytes);
}

void http_upgrade(struct http_exchange *x,
	void (*opened)(void *arg, int fd, const char *early, size_t bytes), void *arg)
{
	struct MHD_Response *response = !x->connection || x->is_gone
		? NULL
		: x->server->lib.create_response_for_upgrade(on_upgrade, x);
	x->opened = opened;
	x->opened_arg = arg;
	if (response) {
		x->is_passed = true;
		begin(x, response, 101, NULL);
		http_resume(x);
	} else if (x->connection) {
		http_resume(x);
		http_lose(x);
	}
}

void http_upgrade_end(struct http_exchange *x)
{
	end_upgrade(x);
	let_go(x);
}

void http_stream_beat(struct http_exchange *x)
{
	static const char beat[] = ":\n\n";
	if (x->is_events && x->is_suspended && timer_since(x->told_ms) >= HTTP_BEAT_MS)
		(void)add(x, beat, sizeof beat - 1);
}
