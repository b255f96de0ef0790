/*
 * Ports of boxes, reached through the HTTP server.
 *
 * A request goes through these states:
 *
 *     CONNECTING  a connection to the program is made (api/call/port_connection.h)
 *     ASKING      libcurl sends the request over it and reads the response; bodies are passed on as
 * they come. When the receiver of one is behind, its sender has to wait. SWITCHING   the program
 * has accepted a WebSocket; the client is told so RELAYING    bytes are copied both ways
 * (base/relay.h) OVER        what is left is freed
 *
 * It has two parties: the client (`x`, NULL when it has gone) and the program (`link`). Either may
 * end first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/web/port_route.h"

#include "api/call/port_connection.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/relay.h"
#include "net/client.h"
#include "net/message.h"
#include "serve/web/port_headers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SESSION_BYTES = 128, NOTE_BYTES = 32 };

struct port_way {
	uv_loop_t *loop;
	struct net *net;
	char *scratch; /* of all relays */
};

enum request_state { CONNECTING, ASKING, SWITCHING, RELAYING, OVER };

struct port_request {
	struct port_way *way;
	struct http_exchange *x;
	struct port_link *link;
	struct net_call *call; /* in ASKING */
	struct relay *relay;   /* in RELAYING */
	enum request_state state;
	struct port_view view;
	char session[SESSION_BYTES], prefix[SESSION_BYTES + sizeof "/s//65535"];
	uint16_t port;
	char *target;	  /* what the program sees: path and query */
	int fd;		  /* of the program, in SWITCHING */
	struct buf early; /* what it has sent already */
	struct net_header headers[NET_HEADERS_MAX];
	size_t n_headers;
	bool is_begun, is_full; /* the response has begun; too many headers, or too long */
	bool has_protocol;	/* the program has chosen a subprotocol */
};

/* ---- the end ---- */

static void finish(struct port_request *q)
{
	q->state = OVER;
	if (q->link)
		port_disconnect(q->link);
	for (size_t i = 0; i < q->n_headers; i++) {
		free((char *)q->headers[i].name);
		free((char *)q->headers[i].value);
	}
	free((char *)q->view.connection);
	free((char *)q->view.host);
	free(q->target);
	fd_close(&q->fd);
	buf_done(&q->early);
	free(q);
}

/* Tell the client that there is no response, or that it ends here. */
static void fail(struct port_request *q, unsigned status, const struct err *err)
{
	struct http_exchange *x = take_ptr(q->x);
	if (x && (q->is_begun || q->state == SWITCHING))
		http_stream_cut(x);
	else if (x)
		http_refuse(x, status, err);
}

/* End the request from outside, whatever its state. */
static void stop(struct port_request *q, unsigned status, const struct err *why)
{
	if (q->state == RELAYING) {
		relay_stop(q->relay); /* on_relayed() follows */
		return;
	}
	if (q->call)
		net_cancel(take_ptr(q->call));
	fail(q, status, why);
	finish(q);
}

static void on_gone(void *arg)
{
	struct port_request *q = arg;
	q->x = NULL;
	stop(q, 0, NULL);
}

static void on_stop(void *arg)
{
	static const struct err stopping = {
		.code = ERR_INTERRUPTED, .msg = "the engine is being stopped"};
	stop(arg, 503, &stopping);
}

static void on_closed(void *arg)
{
	static const struct err closed = {.code = ERR_GONE, .msg = "the port was closed"};
	stop(arg, 502, &closed);
}

/* ---- passing a WebSocket on ---- */

static void on_relayed(void *arg)
{
	struct port_request *q = arg;
	if (q->x)
		http_upgrade_end(q->x);
	finish(q);
}

static void on_opened(void *arg, int fd, const char *early, size_t bytes)
{
	struct port_request *q = arg;
	if (!q->way->scratch)
		q->way->scratch = xcalloc(1, RELAY_BYTES);
	q->relay = relay_start(q->way->loop, fd, take_fd(q->fd), q->way->scratch, on_relayed, q);
	if (!q->relay) {
		on_relayed(q);
		return;
	}
	q->state = RELAYING;
	relay_note_time(q->relay, port_link_time(q->link));
	if (relay_begin(q->relay, 0, buf_str(&q->early), q->early.bytes) < 0 ||
		relay_begin(q->relay, 1, early, bytes) < 0)
		relay_stop(q->relay);
}

static void set_header(struct port_request *q, const char *name, const char *value)
{
	if (*value && http_set_header(q->x, name, value) < 0)
		q->is_full = true;
}

static void on_answer_header(void *arg, const char *name, const char *value)
{
	struct port_request *q = arg;
	cleanup_buf struct buf out = BUF_INIT(NET_HEADER_BYTES);
	q->has_protocol |= strcasecmp(name, "Sec-WebSocket-Protocol") == 0;
	if (port_answer_header(&q->view, name, value, &out))
		set_header(q, name, buf_str(&out));
}

static void refuse_headers(struct port_request *q)
{
	struct err err;
	err_set(&err, ERR_LIMIT, "the program's response has too many headers");
	stop(q, 502, &err);
}

/* The client may have offered no other subprotocol than its token, which the program has not seen.
 */
static void choose_protocol(struct port_request *q)
{
	size_t bytes = 0;
	const char *offered = http_header(q->x, "Sec-WebSocket-Protocol");
	const char *found = offered ? credential_find_protocol(offered, &bytes) : NULL;
	if (!found || q->has_protocol)
		return;
	char *protocol = strndup(found, bytes);
	if (protocol)
		set_header(q, "Sec-WebSocket-Protocol", protocol);
	free(protocol);
}

static void on_upgrade(void *arg, int fd, const char *early, size_t bytes)
{
	struct port_request *q = arg;
	q->fd = fd;
	http_pass_headers(q->x);
	net_each_header(q->call, on_answer_header, q);
	choose_protocol(q);
	q->call = NULL;
	if (q->is_full || buf_append(&q->early, early, bytes) < 0) {
		refuse_headers(q);
		return;
	}
	q->state = SWITCHING;
	http_upgrade(q->x, on_opened, q);
}

/* ---- the response ---- */

static void on_headers(void *arg)
{
	struct port_request *q = arg;
	char length[32];
	int status = net_status(q->call);
	http_pass_headers(q->x);
	net_each_header(q->call, on_answer_header, q);
	if (*q->prefix)
		set_header(q, "Content-Security-Policy", PORT_POLICY);
	if (q->is_full)
		return;
	bool has_length = net_header(q->call, "Content-Length", length, sizeof length);
	int64_t bytes =
		message_answer_length(has_length ? length : NULL, status, http_method(q->x));
	q->is_begun = http_stream_open_sized(q->x, (unsigned)status, NULL, bytes) == 0;
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct port_request *q = arg;
	int r = q->is_begun ? http_stream_put(q->x, data, bytes) : -EPIPE;
	*port_link_time(q->link) = uv_hrtime();
	return r == -E2BIG ? NET_WAIT : r < 0 ? -ECANCELED : 0;
}

static void on_done(void *arg, const struct net_result *result)
{
	struct port_request *q = arg;
	struct err err;
	q->call = NULL;
	if (result->end == NET_ANSWER && q->is_begun) {
		http_stream_end(take_ptr(q->x));
	} else if (q->is_full) {
		refuse_headers(q);
		return;
	} else {
		err_fail(&err, ERR_UNREACHABLE, "is it an HTTP server, and does it run on?",
			"no HTTP response from port %u of the session: %.200s", (unsigned)q->port,
			result->err.msg);
		fail(q, 502, &err);
	}
	finish(q);
}

/* ---- the request ---- */

static ssize_t on_body(void *arg, char *data, size_t max)
{
	struct port_request *q = arg;
	ssize_t n = http_take_body(q->x, data, max);
	*port_link_time(q->link) = uv_hrtime();
	return n < 0 ? NET_WAIT : n;
}

static void on_progress(void *arg)
{
	struct port_request *q = arg;
	if (q->call)
		net_go_on(q->call);
}

static void add_header(struct port_request *q, const char *name, const char *value)
{
	if (q->n_headers == NET_HEADERS_MAX) {
		q->is_full = true;
		return;
	}
	q->headers[q->n_headers++] =
		(struct net_header){.name = xstrdup(name), .value = xstrdup(value)};
}

static void on_request_header(void *arg, const char *name, const char *value)
{
	struct port_request *q = arg;
	cleanup_buf struct buf out = BUF_INIT(NET_HEADER_BYTES);
	bool is_key = strcasecmp(name, "X-Api-Key") == 0;
	/* Whoever has sent the token in another header may send it in these, too. */
	if ((is_key || strcasecmp(name, "Authorization") == 0) && http_has_token(q->x, value))
		return;
	if (q->view.credential == CREDENTIAL_HEADER && is_key)
		return;
	if (port_request_header(&q->view, name, value, &out))
		add_header(q, name, buf_str(&out));
}

static void ask(struct port_request *q, int fd)
{
	struct err err;
	/* A HEAD request is passed on without its body, if it has one. */
	bool is_head = strcmp(http_method(q->x), "HEAD") == 0;
	int64_t bytes = is_head ? 0 : http_body_length(q->x);
	http_each_header(q->x, on_request_header, q);
	if (q->view.is_upgrade)
		add_header(q, "Connection", "Upgrade");
	if (*q->prefix)
		add_header(q, "X-Forwarded-Prefix", q->prefix);
	const struct net_pass pass = {.fd = fd,
		.target = q->target,
		.on_upgrade = q->view.is_upgrade ? on_upgrade : NULL};
	const struct net_request request = {.pass = &pass,
		.method = http_method(q->x),
		.url = "http://127.0.0.1/",
		.headers = q->headers,
		.n_headers = q->n_headers,
		.on_body = bytes != 0 ? on_body : NULL,
		.whole_bytes = bytes,
		.answer_max_bytes = UINT64_MAX,
		.arg = q,
		.on_headers = on_headers,
		.on_data = on_data,
		.on_done = on_done};
	int r = q->is_full ? err_set(&err, ERR_LIMIT, "over %d headers", NET_HEADERS_MAX) : 0;
	if (q->is_full)
		fd_close(&fd);
	else
		r = net_start(q->way->net, &request, &q->call, &err);
	q->state = ASKING;
	if (r == 0)
		return;
	fail(q, q->is_full ? 431 : 400, &err);
	finish(q);
}

static unsigned status_of(const struct err *err)
{
	return err->code == ERR_BUSY || err->code == ERR_LIMIT ? 503 : 502;
}

static void on_connected(void *arg, int fd, const struct err *err)
{
	struct port_request *q = arg;
	if (fd >= 0) {
		ask(q, fd);
		return;
	}
	fail(q, status_of(err), err);
	finish(q);
}

/* ---- the target ---- */

/* Read "/s/SESSION/PORT/REST?QUERY". Returns: the rest, with its "/", or NULL. */
static const char *read_path(struct port_request *q, const char *target)
{
	uint64_t port;
	struct err err;
	char number[8] = "";
	const char *session = target + strlen(PORT_PATH);
	size_t n = strcspn(session, "/?");
	const char *digits = session + n + (session[n] == '/');
	size_t n_digits = strcspn(digits, "/?");
	if (session[n] != '/' || n == 0 || n >= sizeof q->session || n_digits >= sizeof number)
		return NULL;
	memcpy(q->session, session, n);
	memcpy(number, digits, n_digits);
	if (num_parse_count(number, (struct num_range){1, UINT16_MAX}, &port, &err) < 0)
		return NULL;
	q->port = (uint16_t)port;
	snprintf(q->prefix, sizeof q->prefix, "%s%s/%u", PORT_PATH, q->session, (unsigned)q->port);
	return digits + n_digits;
}

/* Find out for which port the request is. Returns: 0, or -1 if it was answered. */
static int read_target(struct port_request *q)
{
	struct err err;
	const struct host_site *site = http_site(q->x);
	const char *target = http_target(q->x), *rest = target;
	if (site->port != 0) {
		q->port = site->port;
		snprintf(q->session, sizeof q->session, "%s", site->session);
	} else {
		rest = read_path(q, target);
	}
	/* "http://host/path" and "*" are valid targets, but no client of a server sends the first.
	 */
	if (rest && *rest == '/') {
		q->target = xstrdup(rest);
		return 0;
	}
	struct http_exchange *x = take_ptr(q->x);
	if (rest && site->port == 0) { /* links of a page need the "/" */
		char place[sizeof q->prefix + 1];
		snprintf(place, sizeof place, "%s/", q->prefix);
		(void)http_set_header(x, "Location", place);
		http_answer(x, 308, NULL, "", 0);
	} else {
		err_fail(&err, ERR_USAGE, "write /s/SESSION/PORT/, as `port.open` gives it",
			"\"%.100s\" is no port of a session", target);
		http_refuse(x, site->port ? 400 : 404, &err);
	}
	return -1;
}

static bool is_for_program(struct port_request *q, const struct port_pass *pass)
{
	char place[sizeof q->prefix + 1];
	q->port = pass->port;
	snprintf(q->session, sizeof q->session, "%s", pass->session);
	snprintf(q->prefix, sizeof q->prefix, "%s", pass->prefix);
	q->target = xstrdup(pass->target);
	if (q->target[0] == '/')
		return true;
	snprintf(place, sizeof place, "%s/", q->prefix);
	(void)http_set_header(q->x, "Location", place);
	http_answer(take_ptr(q->x), 308, NULL, "", 0);
	return false;
}

static int open_net(struct port_way *way, struct err *err)
{
	return way->net ? 0 : net_open(&way->net, way->loop, err);
}

static char *copy_header(const struct http_exchange *x, const char *name)
{
	const char *value = http_header(x, name);
	return xstrdup(value ? value : "");
}

/* Connect to the program. */
static void begin(struct port_request *q)
{
	struct http_exchange *x = q->x;
	struct err err;
	char note[NOTE_BYTES];
	snprintf(note, sizeof note, "port:%u", (unsigned)q->port);
	http_note(x, note);
	const char *upgrade = http_header(x, "Upgrade");
	q->view = (struct port_view){.prefix = q->prefix,
		.credential = http_credential(x),
		.connection = copy_header(x, "Connection"),
		.host = copy_header(x, "Host"),
		.is_upgrade = upgrade && strcasecmp(upgrade, "websocket") == 0 &&
			strcmp(http_method(x), "GET") == 0 && http_body_length(x) == 0};
	q->view.is_upgrade &= message_list_has(q->view.connection, "Upgrade");
	const struct port_user user = {.connected = on_connected, .closed = on_closed, .arg = q};
	if (open_net(q->way, &err) < 0) {
		fail(q, 501, &err);
		finish(q);
		return;
	}
	q->link = port_connection_open(http_context(x), q->session, q->port, &user, &err);
	if (!q->link) {
		if (err.code == ERR_BUSY)
			(void)http_set_header(x, "Retry-After", "1");
		bool is_missing = err.code == ERR_NOT_FOUND || err.code == ERR_GONE;
		fail(q, is_missing ? (unsigned)err_http(err.code) : status_of(&err), &err);
		finish(q);
		return;
	}
	http_on_gone(x, on_gone, q);
	http_on_stop(x, on_stop, q);
	http_on_progress(x, on_progress, q);
}

static struct port_request *new_request(struct port_way *way, struct http_exchange *x)
{
	struct port_request *q = xnew(struct port_request);
	*q = (struct port_request){
		.way = way, .x = x, .fd = -1, .early = BUF_INIT(NET_EARLY_BYTES)};
	return q;
}

void port_route_start(void *arg, struct http_exchange *x)
{
	struct port_request *q = new_request(arg, x);
	if (read_target(q) < 0)
		finish(q);
	else
		begin(q);
}

void port_route_pass(struct port_way *way, struct http_exchange *x, const struct port_pass *pass)
{
	struct port_request *q = new_request(way, x);
	if (is_for_program(q, pass))
		begin(q);
	else
		finish(q);
}

struct port_way *port_way_open(uv_loop_t *loop)
{
	struct port_way *way = xnew(struct port_way);
	way->loop = loop;
	return way;
}

void port_way_close(struct port_way *way)
{
	if (way->net)
		net_close(way->net);
	free(way->scratch);
	free(way);
}
