/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/ask.h"

#include "base/alloc.h"
#include "base/num.h"
#include "gateway/process/headers.h"
#include "gateway/process/tunnel.h"
#include "net/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEPT_CONNECTIONS = 8, CONNECT_MS = 10000, URL_BYTES = RULE_HOST_BYTES + 32 };
/* In seconds without a piece of either body: when to pass on what is held back; when to give up. */
enum { HELD_TICKS = 2, STUCK_TICKS = 10 };

static size_t n_left(const struct buf *b, size_t at)
{
	return b->bytes - at;
}

/* Take up to @max bytes from the front of @b. */
static size_t take(struct buf *b, size_t *at, char *out, size_t max)
{
	size_t n = MIN(n_left(b, *at), max);
	if (n == 0)
		return 0;
	memcpy(out, b->data + *at, n);
	exchange_drop(b, at, n);
	return n;
}

/* ---- connections to servers ---- */

/* Connections to servers. They are kept for later requests of the same box. */
struct upstream {
	struct service *service;
	struct net *net;
	unsigned n_refs; /* that of the box, and one of each request */
};

static void let_go(struct upstream *u)
{
	if (--u->n_refs > 0)
		return;
	net_close(u->net);
	u->service->n_fds -= KEPT_CONNECTIONS;
	free(u);
}

static int start(struct exchange *x, const struct net_request *request, struct err *err)
{
	struct net_box *b = x->client->box;
	if (!b->upstream) {
		struct upstream *u = xnew(struct upstream);
		int r = net_open(&u->net, b->service->loop, err);
		if (r < 0) {
			free(u);
			return r;
		}
		net_keep(u->net, KEPT_CONNECTIONS);
		u->service = b->service;
		u->service->n_fds += KEPT_CONNECTIONS;
		u->n_refs = 1;
		b->upstream = u;
	}
	int r = net_start(b->upstream->net, request, &x->call, err);
	if (r == 0) {
		x->upstream = b->upstream;
		x->upstream->n_refs++;
	}
	return r;
}

static void end_call(struct exchange *x)
{
	x->call = NULL;
	let_go(take_ptr(x->upstream));
}

/* ---- counting ---- */

static void count(const struct exchange *x, enum gateway_verdict verdict, const char *reason)
{
	const struct web_client *c = x->client;
	net_box_count(c->box, c->name->host, c->port, verdict, reason);
}

static void count_allowed(struct exchange *x)
{
	if (!x->is_counted)
		count(x, GATEWAY_ALLOWED, "");
	x->is_counted = true;
}

void ask_count(struct exchange *x)
{
	const struct web_client *c = x->client;
	struct gateway_row row = {
		.port = c->port, .bytes_in = x->bytes_in, .bytes_out = x->bytes_out};
	snprintf(row.name, sizeof row.name, "%s", c->name->host);
	if (x->call && !x->is_counted) /* it was sent, or is being sent */
		count_allowed(x);
	if (!x->is_counted || (x->bytes_in == 0 && x->bytes_out == 0))
		return;
	x->bytes_in = x->bytes_out = 0;
	net_box_note(c->box, &row);
}

/* ---- the response ---- */

static ssize_t on_read(void *arg, uint64_t at, char *out, size_t max)
{
	struct exchange *x = arg;
	(void)at;
	size_t n = x->client->is_ended ? 0 : take(&x->down, &x->down_at, out, max);
	if (n > 0)
		web_progress(x->client->box->service->web);
	if (n == 0 && x->is_broken)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n == 0 && x->is_down_over)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0)
		exchange_suspend(x);
	if (x->is_down_full && n_left(&x->down, x->down_at) < EXCHANGE_BYTES / 2)
		ask_go_on(x);
	return (ssize_t)n;
}

/* Return the length of the response's body, -1 if only its end will tell. */
static int64_t answer_length(const struct exchange *x, int status)
{
	char text[32];
	bool has_length = net_header(x->call, "Content-Length", text, sizeof text);
	return message_answer_length(has_length ? text : NULL, status, x->method);
}

/* Return whether the server has accepted a WebSocket. */
static bool is_switched(const struct exchange *x)
{
	return x->is_websocket && x->status == MHD_HTTP_SWITCHING_PROTOCOLS;
}

static void check_coding(void *arg, const char *name, const char *value)
{
	bool *is_coded = arg;
	if (strcasecmp(name, "Content-Encoding") == 0 && strcasecmp(value, "identity") != 0)
		*is_coded = true;
}

/* In a body with a coding that nobody asked for, no value could be found. */
static bool is_opaque(const struct exchange *x)
{
	bool is_coded = false;
	net_each_header(x->call, check_coding, &is_coded);
	return is_coded && !blot_is_empty(x->blot);
}

/* Return whether the server has switched to something else than a WebSocket. */
static bool is_other_protocol(const struct exchange *x, int status)
{
	char protocol[16];
	return status == MHD_HTTP_SWITCHING_PROTOCOLS &&
		(!net_header(x->call, "Upgrade", protocol, sizeof protocol) ||
			strcasecmp(protocol, "websocket") != 0);
}

static void refuse_answer(struct exchange *x, const char *reason, const char *advice)
{
	count_allowed(x);
	net_cancel(x->call);
	end_call(x);
	exchange_refuse(x, MHD_HTTP_BAD_GATEWAY, GATEWAY_REFUSED, reason, advice);
}

static void on_headers(void *arg)
{
	struct exchange *x = arg;
	int status = net_status(x->call);
	if (is_other_protocol(x, status)) {
		refuse_answer(x, "its server has switched to another protocol", "");
		return;
	}
	if (is_opaque(x)) {
		refuse_answer(
			x, "its answer is compressed, so that no secret could be found in it", "");
		return;
	}
	int64_t bytes = answer_length(x, status);
	x->status = (unsigned)status;
	x->response = is_switched(x) ? tunnel_response(x)
				     : exchange_library(x)->create_response_from_callback(
					       bytes < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)bytes,
					       EXCHANGE_BYTES / 2, on_read, x, NULL);
	if (!x->response)
		return;
	count_allowed(x);
	if (x->is_websocket && !is_switched(x)) /* nothing more is to be sent */
		net_go_on(x->call);
	headers_of_answer(x);
	exchange_resume(x);
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct exchange *x = arg;
	if (!x->response)
		return -ENOMEM;
	x->is_down_full = n_left(&x->down, x->down_at) >= EXCHANGE_BYTES;
	if (x->is_down_full)
		return NET_WAIT;
	x->bytes_in += bytes;
	x->n_ticks = 0;
	/* Whoever waits for a message of a WebSocket may send the next one only then. */
	blot_feed(x->blot, data, bytes, is_switched(x), &x->down);
	if (buf_error(&x->down) < 0)
		return -ENOMEM;
	exchange_resume(x);
	tunnel_go_on(x);
	return 0;
}

static void refuse_failure(struct exchange *x, const struct net_result *result)
{
	char reason[GATEWAY_REASON_BYTES];
	static const char *const before[] = {
		[NET_NO_SERVER] = "no connection: ",
		[NET_UNTRUSTED] = "its server's certificate is not accepted: ",
		[NET_CUT] = "no answer: ",
		[NET_TIMEOUT] = "no answer in time: ",
		[NET_STOPPED] = "its answer is refused: ",
	};
	const char *why = strstr(result->err.msg, ": ");
	bool is_sent = result->end != NET_NO_SERVER && result->end != NET_UNTRUSTED;
	if (is_sent)
		count_allowed(x);
	snprintf(reason, sizeof reason, "%s%.120s", before[result->end],
		why ? why + 2 : result->err.msg);
	exchange_refuse(x,
		result->end == NET_TIMEOUT ? MHD_HTTP_GATEWAY_TIMEOUT : MHD_HTTP_BAD_GATEWAY,
		GATEWAY_FAILED, reason, result->err.hint);
}

static void look_up(struct exchange *x);

/* A kept connection may have been closed by its server just now. Return whether the request can be
 * sent once more: it says itself that nothing changes by that. */
static bool may_repeat(const struct exchange *x, const struct net_result *result)
{
	static const char *const methods[] = {"GET", "HEAD", "OPTIONS"};
	bool is_safe = false;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		is_safe = is_safe || strcmp(x->method, methods[i]) == 0;
	return is_safe && result->is_stale && !x->response && !x->is_repeated && !x->is_websocket &&
		x->up_bytes == 0 && !x->client->is_ended;
}

static void on_done(void *arg, const struct net_result *result)
{
	struct exchange *x = arg;
	end_call(x);
	if (may_repeat(x, result)) {
		x->is_repeated = true;
		look_up(x);
		return;
	}
	x->is_down_over = true;
	if (x->response) {
		blot_feed(x->blot, "", 0, true, &x->down);
		x->is_broken = result->end != NET_ANSWER || buf_error(&x->down) < 0;
		if (x->is_broken && !is_switched(x))
			count(x, GATEWAY_FAILED, "its answer was cut");
		exchange_resume(x);
		tunnel_go_on(x);
	} else {
		refuse_failure(x, result);
	}
}

/* ---- the request ---- */

/* Give back the place that a collected body has taken: it was sent, or is not sent any more. */
static void end_collection(struct exchange *x)
{
	if (!x->is_collected)
		return;
	x->client->box->n_collected--;
	x->is_collected = false;
	buf_wipe(&x->up);
	x->up_at = 0;
}

static ssize_t on_body(void *arg, char *out, size_t max)
{
	struct exchange *x = arg;
	size_t n = take(&x->up, &x->up_at, out, max);
	x->n_ticks = 0;
	if (n_left(&x->up, x->up_at) == 0)
		end_collection(x);
	/* The library may be waiting to give more, or for the response. */
	if (n > 0 && !x->is_up_over)
		exchange_resume(x);
	if (n > 0)
		tunnel_go_on(x);
	return n > 0 ? (ssize_t)n : x->is_up_over && !is_switched(x) ? 0 : NET_WAIT;
}

static void write_addresses(char out[NET_TO_BYTES], const struct ip *ips, size_t n)
{
	size_t at = 0;
	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		char text[IP_TEXT_BYTES];
		ip_write(&ips[i], text);
		bool is_v6 = strchr(text, ':') != NULL;
		at += (size_t)snprintf(out + at, NET_TO_BYTES - at, "%s%s%s%s", i > 0 ? "," : "",
			is_v6 ? "[" : "", text, is_v6 ? "]" : "");
	}
}

/* Send the request to @ips, with its secrets. */
static void send_request(struct exchange *x, const struct ip *ips, size_t n, uint16_t to_port)
{
	const struct web_client *c = x->client;
	char url[URL_BYTES], to[NET_TO_BYTES];
	cleanup_wipe_buf struct buf target = BUF_INIT(NET_HEADER_BYTES);
	struct headers list;
	size_t path = strcspn(x->target, "?");
	struct err err = {0};
	snprintf(url, sizeof url, "%s://%s:%u/", c->is_tls ? "https" : "http", c->name->host,
		(unsigned)c->port);
	write_addresses(to, ips, n);
	(void)buf_append(&target, x->target, path);
	(void)swap_text(x->swaps, x->n_swaps, SWAP_URL, x->target + path, strlen(x->target + path),
		&target);
	headers_of_request(&list, x);
	bool has_body = x->up_bytes != 0 || x->is_websocket;
	const struct net_pass pass = {.fd = -1,
		.target = buf_str(&target),
		.to = to,
		.to_port = to_port,
		.is_switch = x->is_websocket};
	const struct net_request request = {.pass = &pass,
		.method = x->method,
		.url = url,
		.headers = list.v,
		.n_headers = list.n,
		.on_body = has_body ? on_body : NULL,
		.whole_bytes = x->is_websocket ? -1 : x->up_bytes,
		.answer_max_bytes = UINT64_MAX,
		.connect_ms = CONNECT_MS,
		.arg = x,
		.on_headers = on_headers,
		.on_data = on_data,
		.on_done = on_done};
	if (buf_error(&target) < 0 || target.bytes >= NET_URL_BYTES)
		exchange_refuse(x, MHD_HTTP_URI_TOO_LONG, GATEWAY_REFUSED,
			"its path and query have more than 8191 bytes", "send more in the body");
	else if (list.why_not)
		exchange_refuse(x, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, GATEWAY_REFUSED,
			list.why_not, "send fewer or shorter headers");
	else if (start(x, &request, &err) < 0)
		exchange_refuse(x, MHD_HTTP_BAD_GATEWAY, GATEWAY_FAILED, err.msg, err.hint);
	headers_done(&list);
}

/* Send the request to those of the addresses that the rule allows. */
static void send_to(struct exchange *x, const struct ip *ips, size_t n)
{
	struct ip good[ADDRESSES_MAX];
	char reason[GATEWAY_REASON_BYTES];
	const struct web_client *c = x->client;
	const struct rule *rule = rules_for_port(&c->box->rules, c->name->host, c->port);
	size_t n_good = rule ? connection_choose(rule, true, ips, n, good, reason) : 0;
	if (!rule)
		snprintf(reason, sizeof reason, "the rules have changed");
	if (n_good == 0) {
		exchange_refuse(x, MHD_HTTP_FORBIDDEN, GATEWAY_REFUSED, reason, "");
	} else {
		x->dialled = *rule;
		send_request(x, good, n_good, rule->is_mapped ? rule->to_port : 0);
	}
}

static void on_addresses(
	struct lookup_waiter *w, const struct ip *ips, size_t n, const char *reason)
{
	struct exchange *x = container_of(w, struct exchange, waiter);
	if (n == 0)
		exchange_refuse(x, MHD_HTTP_BAD_GATEWAY, GATEWAY_FAILED, reason, "");
	else
		send_to(x, ips, n);
}

static void look_up(struct exchange *x)
{
	const struct web_client *c = x->client;
	const struct rule *rule = rules_for_port(&c->box->rules, c->name->host, c->port);
	if (rule && rule->is_mapped) {
		send_to(x, NULL, 0);
		return;
	}
	x->waiter.done = on_addresses;
	lookup_start(c->box, c->name, &x->waiter);
}

bool ask_is_allowed(const struct exchange *x)
{
	const struct web_client *c = x->client;
	const struct rule *rule = rules_for_port(&c->box->rules, c->name->host, c->port),
			  *was = &x->dialled;
	return rule &&
		(!x->call ||
			(rule->may_be_private == was->may_be_private &&
				rule->is_mapped == was->is_mapped &&
				rule->to_port == was->to_port &&
				memcmp(&rule->to, &was->to, sizeof rule->to) == 0));
}

/* Return whether both sides wait for us: the server, to go on with its answer, and the program, to
 * go on with its request. The library can give the answer only when it has the whole request. */
static bool is_stuck(const struct exchange *x)
{
	return x->is_down_full && !x->is_up_over && n_left(&x->up, x->up_at) >= EXCHANGE_BYTES;
}

void ask_tick(struct exchange *x)
{
	if (!x->call || !x->response || is_switched(x))
		return;
	x->n_ticks++;
	if (x->n_ticks >= STUCK_TICKS && is_stuck(x)) {
		refuse_answer(x, "its server answers before it has read the request, and waits",
			"send less in a request");
		return;
	}
	if (x->n_ticks < HELD_TICKS || !blot_is_holding(x->blot))
		return;
	blot_feed(x->blot, "", 0, true, &x->down);
	x->is_broken = x->is_broken || buf_error(&x->down) < 0;
	exchange_resume(x);
}

void ask_go_on(struct exchange *x)
{
	x->is_down_full = false;
	if (x->call)
		net_go_on(x->call);
}

void ask_begin(struct exchange *x)
{
	struct net_box *b = x->client->box;
	x->is_collected = x->n_body_swaps > 0 && x->up_bytes != 0;
	b->n_collected += x->is_collected;
	if (!x->is_collected)
		look_up(x);
	else if (b->n_collected > EXCHANGE_COLLECTED_MAX)
		exchange_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, GATEWAY_REFUSED,
			"more than 16 requests at a time have bodies in which a secret may be",
			"wait until earlier ones have been sent");
}

void ask_collected(struct exchange *x)
{
	struct buf body = BUF_INIT(2 * EXCHANGE_WHOLE_BYTES);
	const char *type = exchange_header(x, "Content-Type");
	(void)swap_text(x->body_swaps, x->n_body_swaps, swap_form_of(type), buf_str(&x->up),
		x->up.bytes, &body);
	if (buf_error(&body) < 0) {
		buf_wipe(&body);
		exchange_refuse(x, MHD_HTTP_CONTENT_TOO_LARGE, GATEWAY_REFUSED,
			"its body is too long with its secrets", "");
		return;
	}
	buf_done(&x->up);
	x->up = body;
	x->up_bytes = (int64_t)body.bytes;
	look_up(x);
}

/* ---- the end ---- */

void ask_end(struct exchange *x)
{
	end_collection(x);
	lookup_forget(&x->waiter);
	ask_count(x);
	if (x->call) {
		net_cancel(x->call);
		end_call(x);
	}
}

void ask_renew(struct net_box *b)
{
	if (b->upstream)
		let_go(take_ptr(b->upstream));
}
