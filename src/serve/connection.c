/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/connection.h"

#include "api/operation/outstanding.h"
#include "api/run/discard.h"
#include "api/text/json.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/work.h"
#include "serve/rpc.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10 };

/* How long one client may occupy the event loop before the other clients are served: 10 ms. */
static const uint64_t TURN_NS = 10000000;

/* One request. It may outlive its connection. */
struct request {
	const struct operation *op;
	struct connection *connection; /* NULL if the client has disconnected */
	struct request *next, **link;
	struct operation_call *call;
	json_t *id; /* the id that the client chose; NULL for a notification */
	bool is_streaming, is_raw, is_detached, is_cancelled;
	bool is_waiting; /* it has events that wait until the client has read */
	uint64_t turn;	 /* number of the last turn in which it could send them */
	bool is_cut;	 /* the client reads too slowly, so it gets no more events */
	/* from here on: for a long response, which another thread serializes */
	struct work work;
	json_t *result;
	struct buf text;
	struct outstanding_part owed;
	int status;
};

/* State of the thread that parses a line of more than WORK_BYTES at the front of the input. The
 * lines after it wait meanwhile, so that requests are handled in order. */
struct parsing {
	struct work work;
	struct rpc_request request;
	struct err err;
	size_t bytes;
	int status;
	bool is_on;
};

struct connection {
	struct connection_config config;
	int fd;
	uv_poll_t poll;
	int events; /* the events that `poll` watches for */
	struct buf in, out;
	/* The unsent bytes of long responses in `out`, as counted against the caller's limit
	 * (outstanding.h). */
	struct outstanding_part owed;
	size_t in_seen, out_at;
	uint64_t n_turns; /* of requests that have waited (resume()) */
	struct request *requests;
	unsigned n_requests;
	struct parsing parsing;
	bool is_ended; /* the client will send no more input, or the server is draining */
	/* Read no more input, and close the connection once all output is sent. */
	bool is_failing;
	bool is_pumping, is_closing, is_closed;
	bool is_full;	 /* the socket takes no more until on_poll() is called */
	bool is_put_off; /* `in` has more lines, for the next turn of the loop */
};

static void update(struct connection *c);

static size_t owed_bytes(const struct connection *c)
{
	return c->out.bytes - c->out_at;
}

/* Send what is owed, and @data behind it, in one call. Returns: how many bytes of @data were sent;
 * the caller keeps the others in `out`. An error is left to write_owed(). */
static size_t send_two(struct connection *c, const char *data, size_t bytes)
{
	size_t owed = owed_bytes(c);
	struct iovec parts[] = {{c->out.data + c->out_at, owed}, {(void *)(uintptr_t)data, bytes}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts)};
	ssize_t n = c->is_full ? 0 : sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	size_t sent = n > 0 ? (size_t)n : 0;
	c->is_full = sent < owed + bytes;
	c->out_at += MIN(sent, owed);
	if (sent < owed)
		return 0;
	buf_clear(&c->out);
	c->out_at = 0;
	return sent - owed;
}

/* ---- handling requests ---- */

static void request_free(struct request *q)
{
	if (q->connection) {
		q->connection->n_requests--;
		*q->link = q->next;
		if (q->next)
			q->next->link = q->link;
	}
	json_decref(q->id);
	json_decref(q->result);
	buf_done(&q->text);
	outstanding_set(&q->owed, NULL, 0);
	free(q);
}

static void on_event(void *arg, const json_t *event)
{
	struct request *q = arg;
	struct connection *c = q->connection;
	if (!c || operation_is_last(q->op, event))
		return;
	q->is_cut = q->is_cut || owed_bytes(c) > CONNECTION_SOFT_BYTES;
	if (!q->is_cut && rpc_put_event(&c->out, q->id, event) < 0)
		q->is_cut = true;
	update(c);
}

/* Send an event, and the bytes that belong to it, from where they are: most of them are never
 * copied to `out`. The client counts the bytes behind the line, so it gets both or neither. */
static void on_raw(void *arg, const char *members, const char *data, size_t bytes)
{
	struct request *q = arg;
	struct connection *c = q->connection;
	if (!c)
		return;
	size_t before = c->out.bytes;
	q->is_cut = q->is_cut || owed_bytes(c) > CONNECTION_SOFT_BYTES;
	if (q->is_cut || rpc_put_members(&c->out, q->id, members) < 0 ||
		!buf_reserve(&c->out, bytes)) {
		buf_cut(&c->out, before);
		q->is_cut = true;
		return;
	}
	size_t sent = send_two(c, data, bytes);
	(void)buf_append(&c->out, data + sent, bytes - sent);
	update(c);
}

/* Half of the limit: events may then still be sent for other requests. Raw output is not copied
 * while it waits for its turn, so it waits until nothing else does. */
static bool is_behind(void *arg)
{
	struct request *q = arg;
	size_t limit = q->is_raw ? 0 : CONNECTION_SOFT_BYTES / 2;
	q->is_waiting = q->connection && owed_bytes(q->connection) > limit;
	return q->is_waiting;
}

/* Send the events that have waited, if the client has read. The request whose turn is longest ago
 * comes first, so that much output of one program does not keep back that of another. */
static void resume(struct connection *c)
{
	for (;;) {
		struct request *next = NULL;
		for (struct request *q = c->is_closing ? NULL : c->requests; q; q = q->next)
			if (q->is_waiting && q->call && (!next || q->turn < next->turn))
				next = q;
		if (!next || is_behind(next))
			return;
		next->turn = ++c->n_turns;
		operation_resume(next->call);
	}
}

/* Finish request @q. If @r is 0, its response was appended to the output. If @r is negative, the
 * response did not fit, so append an error instead. */
static void answered(struct request *q, int r)
{
	struct connection *c = q->connection;
	struct err too_long;
	if (c && r < 0) {
		err_fail(&too_long, ERR_LIMIT, "ask for less, or read answers faster",
			"the answer is too long to be sent");
		if (rpc_put_error(&c->out, q->id, 0, &too_long) < 0)
			c->is_failing = true;
	}
	request_free(q);
	if (c)
		update(c);
}

static void write_text(struct work *work)
{
	struct request *q = container_of(work, struct request, work);
	q->status = rpc_put_result(&q->text, q->id, q->result);
	/* Freeing a large value takes long, so this worker thread does it. */
	json_decref(take_ptr(q->result));
}

static void on_written(struct work *work)
{
	struct request *q = container_of(work, struct request, work);
	struct connection *c = q->connection;
	int r = q->status;
	if (c && r == 0)
		outstanding_set(&c->owed, q->owed.of, c->owed.bytes + q->text.bytes);
	if (c && r == 0 && owed_bytes(c) > 0) {
		/* An earlier response still waits in `out`, so copy this one behind it. That may
		 * exceed the limit of `out`; answered() then sends an error. */
		r = buf_try(&c->out, q->text.data, q->text.bytes);
	} else if (c && r == 0) {
		buf_done(&c->out);
		c->out = q->text;
		c->out_at = 0;
		q->text.data = NULL;
	}
	answered(q, r);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct request *q = arg;
	struct connection *c = q->connection;
	int r = 0;
	if (c && q->id && json_is_long(result, WORK_BYTES)) {
		struct outstanding *of = outstanding_of(c->config.context);
		/* Refuse a long response only if this client itself has unread output. All
		 * clients of one caller share a limit, but a client that reads its responses
		 * must not suffer from one that does not. */
		if (owed_bytes(c) > 0 && outstanding_is_full(of)) {
			answered(q, -E2BIG);
			return;
		}
		outstanding_set(&q->owed, of, json_bytes(result));
		q->result = json_incref(json_unconst(result));
		q->text = BUF_INIT(c->out.max_bytes);
		work_begin(c->config.loop, WORK_WRITE, &q->work, write_text, on_written);
		return;
	}
	if (c && q->id)
		r = result ? rpc_put_result(&c->out, q->id, result)
			   : rpc_put_error(&c->out, q->id, 0, err);
	answered(q, r);
}

/* Handle the request "$/cancel" {"id"}. It concerns only this connection, so it is not in the table
 * of operations. */
static void cancel(struct connection *c, const struct rpc_request *r)
{
	const json_t *id = json_object_get(r->params, "id");
	cleanup_json json_t *result = json_object();
	struct request *q = c->requests;
	while (q && !(q->id && q->call && json_equal(q->id, id)))
		q = q->next;
	/* If several requests have that id, cancel the newest. This may free the request, and
	 * others. */
	if (q)
		operation_cancel(q->call);
	if (r->id)
		(void)rpc_put_result(&c->out, r->id, result);
}

static void start(struct connection *c, const struct rpc_request *r)
{
	struct err err;
	if (strcmp(r->method, "$/cancel") == 0) {
		cancel(c, r);
		return;
	}
	const struct operation *op = operation_find(r->method);
	if (!op) {
		(void)operation_unknown(r->method, &err);
		if (r->id)
			(void)rpc_put_error(&c->out, r->id, RPC_NO_METHOD, &err);
		return;
	}
	struct request *q = xnew(struct request);
	*q = (struct request){.connection = c,
		.op = op,
		.next = c->requests,
		.link = &c->requests,
		.id = json_incref(json_unconst(r->id)),
		.is_streaming = op->has_events && r->id && param_flag(r->params, "stream"),
		.is_raw = param_flag(r->params, "raw"),
		.is_detached = param_flag(r->params, "detach")};
	if (q->next)
		q->next->link = &q->next;
	c->requests = q;
	c->n_requests++;
	const struct operation_listener listener = {.arg = q,
		.event = q->is_streaming ? on_event : NULL,
		.raw = q->is_streaming ? on_raw : NULL,
		.is_behind = is_behind,
		.done = on_done};
	operation_start(c->config.context, op, r->params, &listener, &q->call);
}

enum { BLANK = 1 };

/* Parse one line. Returns: BLANK for a line of blanks, which needs no response; otherwise as
 * rpc_parse(). */
static int read_line(const char *line, size_t bytes, struct rpc_request *out, struct err *err)
{
	*out = (struct rpc_request){0};
	return strspn(line, " \t\r") >= bytes ? BLANK : rpc_parse(line, bytes, out, err);
}

/* Handle a parsed line: start its operation, or send an error. @r is the return value of
 * read_line(). */
static void take(struct connection *c, struct rpc_request *request, size_t bytes, int r,
	const struct err *err)
{
	if (r < 0)
		(void)rpc_put_error(&c->out, request->id, r, err);
	else if (r != BLANK)
		start(c, request);
	discard(c->config.loop, take_ptr(request->root), bytes);
}

static void parse(struct work *work)
{
	struct connection *c = container_of(work, struct connection, parsing.work);
	struct parsing *p = &c->parsing;
	p->status = read_line(buf_str(&c->in), p->bytes, &p->request, &p->err);
}

static void free_connection(struct connection *c);

static void on_parsed(struct work *work)
{
	struct connection *c = container_of(work, struct connection, parsing.work);
	struct parsing *p = &c->parsing;
	p->is_on = false;
	if (c->is_closing) {
		rpc_request_done(&p->request);
		if (c->is_closed)
			free_connection(c);
		return;
	}
	buf_consume(&c->in, p->bytes + 1);
	take(c, &p->request, p->bytes, p->status, &p->err);
	update(c);
}

static void take_line(struct connection *c, const char *line, size_t bytes)
{
	struct rpc_request request;
	struct err err;
	int r = read_line(line, bytes, &request, &err);
	take(c, &request, bytes, r, &err);
}

static void take_long_line(struct connection *c, size_t bytes)
{
	c->parsing.bytes = bytes;
	c->parsing.is_on = true;
	c->in_seen = 0;
	work_begin(c->config.loop, WORK_PARSE, &c->parsing.work, parse, on_parsed);
}

static bool may_take(const struct connection *c)
{
	return !c->is_closing && !c->is_failing && !c->parsing.is_on &&
		c->n_requests < CONNECTION_CALLS_MAX && owed_bytes(c) <= CONNECTION_SOFT_BYTES;
}

static void take_lines(struct connection *c)
{
	ssize_t n = 0;
	size_t at = 0;
	uint64_t began_ns = uv_hrtime();
	c->is_put_off = false;
	/* Remove the handled lines from the buffer once, after the loop, because each removal moves
	 * the rest of the input. */
	while (may_take(c)) {
		c->is_put_off = at > 0 && uv_hrtime() - began_ns > TURN_NS;
		if (c->is_put_off)
			break;
		struct buf rest = {.data = c->in.data + at, .bytes = c->in.bytes - at};
		if (rest.bytes == 0 || (n = rpc_line(&rest, &c->in_seen)) < 0)
			break;
		c->in.data[at + (size_t)n] = '\0';
		if (n > WORK_BYTES) {
			buf_consume(&c->in, at);
			at = 0;
			take_long_line(c, (size_t)n);
			continue;
		}
		take_line(c, c->in.data + at, (size_t)n);
		at += (size_t)n + 1;
		c->in_seen = 0;
	}
	if (c->parsing.is_on)
		return;
	buf_consume(&c->in, at);
	if (c->is_ended && c->in.bytes > 0 && may_take(c) && !c->is_put_off) {
		/* No more input is read. So the rest of the input is the last line, although it
		 * does not end with a newline. */
		if (c->in.bytes > WORK_BYTES) {
			take_long_line(c, c->in.bytes);
			return;
		}
		take_line(c, buf_str(&c->in), c->in.bytes);
		buf_done(&c->in);
	}
	if (!c->is_put_off && c->in.bytes >= RPC_LINE_BYTES && c->in_seen == c->in.bytes &&
		!c->is_failing) {
		struct err err;
		err_fail(&err, ERR_LIMIT, "send files in parts, or put them into a volume",
			"a message over %d MiB", RPC_LINE_BYTES >> 20);
		(void)rpc_put_error(&c->out, NULL, RPC_INVALID, &err);
		c->is_failing = true;
		buf_done(&c->in);
	}
}

/* ---- sending and receiving, opening and closing ---- */

static void write_owed(struct connection *c)
{
	while (owed_bytes(c) > 0 && !c->is_full) {
		ssize_t n = send(
			c->fd, c->out.data + c->out_at, owed_bytes(c), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		c->is_full = n < 0 && errno == EAGAIN;
		if (n < 0 && errno != EAGAIN)
			connection_close(c);
		if (n < 0)
			break;
		c->out_at += (size_t)n;
	}
	if (c->owed.bytes > owed_bytes(c))
		outstanding_set(&c->owed, c->owed.of, owed_bytes(c));
	/* buf_consume() moves the unsent bytes to the front. Call it only if more bytes were sent
	 * than are left, so that moving never costs more than sending. */
	if (owed_bytes(c) == 0 && c->out.room > CONNECTION_SOFT_BYTES)
		buf_done(&c->out);
	else if (owed_bytes(c) == 0)
		buf_clear(&c->out);
	else if (c->out_at > c->out.bytes / 2)
		buf_consume(&c->out, c->out_at);
	else
		return;
	c->out_at = 0;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct connection *c = poll->data;
	c->is_full = c->is_full && status == 0 && !(events & UV_WRITABLE);
	if (status == 0 && (events & UV_READABLE) && may_take(c) && c->in.bytes < RPC_LINE_BYTES) {
		char *at = buf_reserve(&c->in, READ_BYTES);
		ssize_t n = at ? recv(c->fd, at, READ_BYTES, MSG_DONTWAIT) : -1;
		int sys = at ? errno : ENOMEM;
		if (n > 0)
			buf_grown(&c->in, (size_t)n);
		else if (n == 0)
			c->is_ended = true;
		else if (sys != EAGAIN && sys != EINTR)
			status = -sys;
	}
	if (status < 0)
		connection_close(c);
	else
		update(c);
	resume(c);
	connection_check(c);
}

static void watch(struct connection *c)
{
	/* If lines are put off until the next turn of the loop, on_poll() must be called again even
	 * if no input arrives. So watch for UV_WRITABLE, too: the socket is nearly always writable,
	 * and libuv calls on_poll() as soon as it has served the other clients. */
	int events = owed_bytes(c) > 0 || c->is_put_off ? UV_WRITABLE : 0;
	if (!c->is_ended && may_take(c))
		events |= UV_READABLE;
	/* Avoid uv_poll_start() if nothing changes, because it costs two system calls. */
	if (events == c->events)
		return;
	c->events = events;
	if (events)
		(void)uv_poll_start(&c->poll, events, on_poll);
	else
		(void)uv_poll_stop(&c->poll);
}

/* Do all work that is possible now: send output, handle input lines, close the connection if it is
 * over, and set the events to watch. */
static void update(struct connection *c)
{
	if (c->is_closing || c->is_pumping)
		return;
	c->is_pumping = true;
	write_owed(c);
	take_lines(c);
	if (!c->is_closing)
		write_owed(c);
	c->is_pumping = false;
	bool is_over = c->is_failing ||
		(c->is_ended && c->n_requests == 0 && !c->is_put_off && !c->parsing.is_on);
	if (is_over && owed_bytes(c) == 0)
		connection_close(c);
	if (!c->is_closing)
		watch(c);
}

static void free_connection(struct connection *c)
{
	buf_done(&c->in);
	buf_done(&c->out);
	outstanding_set(&c->owed, NULL, 0);
	c->config.closed(c->config.arg, c);
	free(c);
}

static void on_closed(uv_handle_t *handle)
{
	struct connection *c = handle->data;
	fd_close(&c->fd);
	c->is_closed = true;
	if (!c->parsing.is_on)
		free_connection(c);
}

void connection_close(struct connection *c)
{
	if (c->is_closing)
		return;
	c->is_closing = true;
	/* Detach each request before cancelling it, because cancelling one request may end
	 * others. */
	while (c->requests) {
		struct request *q = c->requests;
		c->requests = q->next;
		if (q->next)
			q->next->link = &c->requests;
		c->n_requests--;
		q->connection = NULL;
		if (q->call && !q->is_detached)
			operation_cancel(q->call);
	}
	uv_close((uv_handle_t *)&c->poll, on_closed);
}

void connection_drain(struct connection *c)
{
	c->is_ended = true;
	update(c);
}

unsigned connection_n_running(const struct connection *c)
{
	return c->n_requests + c->parsing.is_on + (owed_bytes(c) > 0);
}

void connection_interrupt(struct connection *c)
{
	/* Search from the beginning each time, because cancelling one request may end others. */
	for (;;) {
		struct request *q = c->requests;
		while (q && (q->is_cancelled || !q->call))
			q = q->next;
		if (!q)
			return;
		q->is_cancelled = true;
		operation_cancel(q->call);
	}
}

void connection_check(struct connection *c)
{
	struct pollfd p = {.fd = c->fd};
	/* Requests that have arrived are started even if the client has already disconnected. So do
	 * not close while more input can be read. */
	if (!c->is_closing && !c->parsing.is_on && poll(&p, 1, 0) == 1 &&
		(p.revents & (POLLHUP | POLLERR)) && (c->is_ended || !may_take(c)))
		connection_close(c);
}

struct connection *connection_open(int fd, const struct connection_config *config)
{
	struct connection *c = xnew(struct connection);
	if (uv_poll_init(config->loop, &c->poll, fd) < 0) {
		fd_close(&fd);
		free(c);
		return NULL;
	}
	c->config = *config;
	c->fd = fd;
	c->in = BUF_INIT(RPC_LINE_BYTES + READ_BYTES);
	c->out = BUF_INIT(config->hard_bytes ? config->hard_bytes : CONNECTION_HARD_BYTES);
	c->poll.data = c;
	watch(c);
	return c;
}
