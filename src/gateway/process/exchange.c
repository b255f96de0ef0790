/*
 * The request's side of an exchange. See ask.c for the server's.
 *
 * Nothing of what the program wrote reaches the server as it was: the library has parsed it, and
 * libcurl writes it anew. So a message that two readers would take apart in two ways has no way
 * through.
 *
 * The library and libcurl each move at their own speed. Between them are two buffers; who finds its
 * buffer full or empty is suspended, and woken by the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/process/exchange.h"

#include "base/alloc.h"
#include "gateway/process/ask.h"
#include "gateway/process/tunnel.h"
#include "net/message.h"
#include "net/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct microhttpd *exchange_library(const struct exchange *x)
{
	return web_library(x->client->box->service->web);
}

const char *exchange_header(const struct exchange *x, const char *name)
{
	return exchange_library(x)->lookup_connection_value(x->client->mhd, MHD_HEADER_KIND, name);
}

void exchange_drop(struct buf *b, size_t *at, size_t n)
{
	*at += n;
	/* Move what is left to the front only if that is less than what was dropped. */
	if (*at < b->bytes / 2)
		return;
	buf_consume(b, *at);
	*at = 0;
}

void exchange_suspend(struct exchange *x)
{
	if (!x->is_suspended)
		exchange_library(x)->suspend_connection(x->client->mhd);
	x->is_suspended = true;
}

void exchange_resume(struct exchange *x)
{
	bool was_suspended = x->is_suspended;
	x->is_suspended = false;
	if (was_suspended)
		web_resume(x->client);
}

/* ---- refusing ---- */

void exchange_refuse(struct exchange *x, unsigned status, enum gateway_verdict verdict,
	const char *reason, const char *advice)
{
	const struct web_client *c = x->client;
	char shown[GATEWAY_REASON_BYTES];
	snprintf(shown, sizeof shown, "%s", reason);
	for (char *at = shown; *at; at++)
		*at = *at >= ' ' && *at <= '~' ? *at : '?'; /* a server may have chosen it */
	net_box_count(c->box, c->name->host, c->port, verdict, shown);
	x->status = status;
	buf_clear(&x->text);
	buf_addf(&x->text, "retort: %s:%u %s: %s%s%s\n", c->name->host, (unsigned)c->port,
		gateway_verdict_word(verdict), shown, advice[0] ? ": " : "", advice);
	x->is_refused = true;
	exchange_resume(x);
}

/* Answer with x->text. */
static enum MHD_Result say_text(struct exchange *x)
{
	const struct microhttpd *lib = exchange_library(x);
	struct MHD_Response *response = lib->create_response_from_buffer(
		x->text.bytes, (void *)buf_str(&x->text), MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	(void)lib->add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
	(void)lib->add_response_header(response, "Connection", "close");
	enum MHD_Result r = lib->queue_response(x->client->mhd, x->status, response);
	lib->destroy_response(response);
	x->is_answered = true;
	return r;
}

/* ---- checking ---- */

struct host_check {
	const struct web_client *client;
	unsigned n;
	bool is_right;
};

/* The host of a request must be the name that was connected to, with or without the port. */
static enum MHD_Result check_host(
	void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct host_check *check = arg;
	char host[RULE_HOST_BYTES];
	uint16_t port = 0;
	(void)kind;
	if (strcasecmp(name, "Host") != 0)
		return MHD_YES;
	check->n++;
	value = value ? value : "";
	size_t bytes = strcspn(value, ":");
	check->is_right = rule_name(host, value, bytes) &&
		strcmp(host, check->client->name->host) == 0 &&
		(value[bytes] == '\0' ||
			(rule_port(&port, value + bytes + 1, strlen(value + bytes + 1)) &&
				port == check->client->port));
	return MHD_YES;
}

static bool is_for_host(const struct exchange *x)
{
	struct host_check check = {.client = x->client};
	(void)exchange_library(x)->get_connection_values(
		x->client->mhd, MHD_HEADER_KIND, check_host, &check);
	return check.n == 1 && check.is_right;
}

static bool is_allowed_with(const struct exchange *x, const char *method)
{
	const struct web_client *c = x->client;
	const struct rule_request request = {
		.method = method, .target = x->target, .is_websocket = x->is_websocket};
	return rules_allow_request(&c->box->rules, c->name->host, c->port, &request);
}

struct method_check {
	const struct exchange *exchange;
	const char *refused;
};

/* Some servers take the method from one of these headers. */
static enum MHD_Result check_method(
	void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	static const char *const others[] = {
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"};
	struct method_check *check = arg;
	(void)kind;
	for (size_t i = 0; value && !check->refused && i < ARRAY_LEN(others); i++)
		if (strcasecmp(name, others[i]) == 0 && !is_allowed_with(check->exchange, value))
			check->refused = value;
	return MHD_YES;
}

/* Return the method for which no rule allows the request, or NULL. */
static const char *refused_method(const struct exchange *x)
{
	struct method_check check = {.exchange = x};
	if (!is_allowed_with(x, x->method))
		return x->method;
	(void)exchange_library(x)->get_connection_values(
		x->client->mhd, MHD_HEADER_KIND, check_method, &check);
	return check.refused;
}

bool exchange_is_allowed(const struct exchange *x)
{
	return !refused_method(x) && ask_is_allowed(x);
}

/* Write the first @n letters of @path so that they can stand in quotes of a shell. */
static void write_path(char *out, size_t max, const char *path, int n)
{
	size_t at = 0;
	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(
			out + at, max - at, path[i] == '\'' ? "%%27" : "%c", path[i]);
	out[at] = '\0';
}

/* Say which rule would allow the request, whose method @method is refused. */
static void refuse_request(struct exchange *x, const char *method)
{
	enum { SHOWN = 60 };
	char reason[GATEWAY_REASON_BYTES], advice[2 * GATEWAY_REASON_BYTES] = "";
	const struct web_client *c = x->client;
	size_t bytes = strcspn(x->target, "?");
	int path = (int)MIN(bytes, (size_t)SHOWN);
	const char *more = bytes > SHOWN ? "*" : "";
	bool is_plain = rule_target_is_plain(x->target);
	if (x->is_websocket)
		method = "WEBSOCKET";
	char shown[3 * SHOWN + 1];
	write_path(shown, sizeof shown, x->target, path);
	bool is_default = c->port == RULE_PORT_HTTP || c->port == RULE_PORT_HTTPS;
	char port[8] = "";
	if (!is_default)
		snprintf(port, sizeof port, ":%u", (unsigned)c->port);
	snprintf(reason, sizeof reason,
		is_plain ? "no rule allows %.24s %.80s%s"
			 : "its path can be read in two ways: %.24s %.80s%s",
		method, shown, more);
	if (is_plain && *method != '*' && rule_is_method(method, strlen(method)))
		snprintf(advice, sizeof advice, "--net '%s %.60s%s%s%s'", method, c->name->host,
			port, shown, more);
	exchange_refuse(x, MHD_HTTP_FORBIDDEN, GATEWAY_REFUSED, reason, advice);
}

struct header_check {
	const struct swap *swap;
	bool is_in;
};

static enum MHD_Result check_header(
	void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct header_check *check = arg;
	cleanup_buf struct buf out = BUF_INIT(WEB_HEAD_BYTES);
	const struct swap swap = {.placeholder = check->swap->placeholder, .value = ""};
	(void)kind;
	(void)name;
	check->is_in = check->is_in || swap_header(&swap, 1, value ? value : "", &out);
	return MHD_YES;
}

static bool has_header_with(const struct exchange *x, const struct swap *swap)
{
	struct header_check check = {.swap = swap};
	(void)exchange_library(x)->get_connection_values(
		x->client->mhd, MHD_HEADER_KIND, check_header, &check);
	return check.is_in;
}

/* Without TLS, a value goes to the port of HTTP, or to what the owner has given an address, but not
 * to the port of HTTPS. */
static bool is_safe(const struct web_client *c)
{
	const struct rule *rule = rules_for_port(&c->box->rules, c->name->host, c->port);
	return c->is_tls || c->port == RULE_PORT_HTTP ||
		(c->port != RULE_PORT_HTTPS && rule && rule->is_mapped);
}

static bool refuse_secret(
	struct exchange *x, const struct secret *s, const char *format, const char *advice)
{
	char reason[GATEWAY_REASON_BYTES];
	size_t before = strcspn(format, "%");
	snprintf(reason, sizeof reason, "%.*s%s%s", (int)before, format, s->name,
		format + before + 1);
	exchange_refuse(x, MHD_HTTP_FORBIDDEN, GATEWAY_REFUSED, reason, advice);
	return false;
}

/* Returns: false if the request was refused. */
static bool take_secret(struct exchange *x, const struct secret *s)
{
	const struct swap swap = {.placeholder = s->placeholder, .value = s->value};
	size_t path = strcspn(x->target, "?");
	bool is_in_path = swap_is_in(&swap, 1, x->target, path);
	bool is_in_query = swap_is_in(&swap, 1, x->target + path, strlen(x->target + path));
	bool is_ready = s->value && is_safe(x->client);
	bool is_used = is_in_path || is_in_query || (!is_ready && has_header_with(x, &swap));
	if (is_used && !s->value)
		return refuse_secret(x, s, "this session has no value of the secret %",
			"retort session net SESSION --secret NAME=SOURCE; for a branch: retort "
			"session branch --secrets");
	if (is_used && !is_ready)
		return refuse_secret(x, s, "the secret % is not sent without TLS",
			"use https:// here; or, for http://, --secret NAME=SOURCE@HOST:80");
	if (is_in_path)
		return refuse_secret(x, s, "the secret % is not for paths",
			"send it in a header; or in a query, with --secret NAME=SOURCE@HOST,query");
	if (is_in_query && !(s->places & SECRET_IN_QUERY))
		return refuse_secret(x, s, "the secret % is not for queries",
			"name the place: --secret NAME=SOURCE@HOST,query");
	if (!is_ready)
		return true;
	x->swaps[x->n_swaps++] = swap;
	if (s->places & SECRET_IN_BODY)
		x->body_swaps[x->n_body_swaps++] = swap;
	if (!x->blot)
		x->blot = blot_new();
	blot_add_value(x->blot, s->value);
	return true;
}

/* Collect the secrets of this host. Returns: false if the request was refused. */
static bool take_secrets(struct exchange *x)
{
	const struct web_client *c = x->client;
	x->secrets = c->box->secrets;
	x->secrets->n_refs++;
	for (size_t i = 0; i < x->secrets->all.n; i++) {
		const struct secret *s = &x->secrets->all.v[i];
		if (s->port != c->port || strcmp(s->host, c->name->host) != 0)
			continue;
		if (!take_secret(x, s))
			return false;
	}
	return true;
}

static bool is_websocket(const struct exchange *x)
{
	const char *upgrade = exchange_header(x, "Upgrade");
	return upgrade && strcasecmp(upgrade, "websocket") == 0 && strcmp(x->method, "GET") == 0 &&
		x->up_bytes == 0;
}

static void check(struct exchange *x)
{
	const char *method = refused_method(x);
	if (!is_for_host(x))
		exchange_refuse(x, MHD_HTTP_MISDIRECTED_REQUEST, GATEWAY_REFUSED,
			"HTTP for another name, or for more than one", "");
	else if (method)
		refuse_request(x, method);
	else if (take_secrets(x))
		ask_begin(x);
}

/* ---- the life of an exchange ---- */

static struct exchange *begin(struct web_client *c, const char *method)
{
	struct exchange *x = xnew(struct exchange);
	*x = (struct exchange){.client = c,
		.target = take_ptr(c->target),
		.text = BUF_INIT(2 * ERR_MSG_BYTES),
		.up = BUF_INIT(EXCHANGE_WHOLE_BYTES + EXCHANGE_BYTES),
		.down = BUF_INIT(4 * EXCHANGE_BYTES)};
	c->exchange = x;
	c->n_requests++;
	snprintf(x->method, sizeof x->method, "%s", method);
	x->up_bytes = message_length(
		exchange_header(x, "Content-Length"), exchange_header(x, "Transfer-Encoding"));
	x->is_websocket = is_websocket(x);
	x->bytes_out = x->target ? strlen(x->target) : 0;
	if (!x->target)
		exchange_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, GATEWAY_FAILED,
			"the gateway has no memory", "");
	else if (strlen(method) >= sizeof x->method)
		exchange_refuse(x, MHD_HTTP_FORBIDDEN, GATEWAY_REFUSED,
			"its method is no word of HTTP", "");
	else
		check(x);
	return x;
}

/* Keep a piece of the body. Returns: how much was taken. */
static size_t take_body(struct exchange *x, const char *data, size_t bytes)
{
	size_t had = x->up.bytes - x->up_at;
	size_t room = x->is_collected ? bytes : EXCHANGE_BYTES - MIN(had, (size_t)EXCHANGE_BYTES);
	if (x->is_refused || x->is_down_over)
		return bytes; /* nobody wants it any more */
	if (x->is_collected && had + bytes > EXCHANGE_WHOLE_BYTES) {
		exchange_refuse(x, MHD_HTTP_CONTENT_TOO_LARGE, GATEWAY_REFUSED,
			"a body in which a secret may be has more than 1 MiB",
			"send less at a time, or leave out ,body of --secret");
		return bytes;
	}
	bytes = MIN(bytes, room);
	if (bytes > 0 && buf_try(&x->up, data, bytes) < 0)
		exchange_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, GATEWAY_FAILED,
			"the gateway has no memory", "");
	return bytes;
}

static enum MHD_Result on_body(struct exchange *x, const char *data, size_t *bytes)
{
	size_t taken = take_body(x, data, *bytes);
	*bytes -= taken;
	x->bytes_out += taken;
	if (*bytes > 0)
		exchange_suspend(x);
	if (x->call && !x->is_collected)
		net_go_on(x->call);
	return MHD_YES;
}

static enum MHD_Result on_body_over(struct exchange *x)
{
	bool was_over = x->is_up_over;
	x->is_up_over = true;
	if (x->is_refused)
		return say_text(x);
	if (!was_over && x->is_collected)
		ask_collected(x);
	else if (!was_over && x->call)
		net_go_on(x->call);
	if (x->is_refused)
		return say_text(x);
	if (!x->response) {
		exchange_suspend(x);
		return MHD_YES;
	}
	x->is_answered = true;
	return exchange_library(x)->queue_response(x->client->mhd, x->status, x->response);
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
enum MHD_Result exchange_on_request(void *arg, struct MHD_Connection *mhd, const char *url,
	const char *method, const char *version, const char *data, size_t *bytes, void **slot)
{
	const struct web *w = arg;
	struct exchange *x = *slot;
	(void)url;
	(void)version;
	web_progress(arg);
	if (!x) {
		struct web_client *c =
			web_library(w)
				->get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
				->socket_context;
		/* What is refused is answered when the whole request has come: else the program
		 * could miss the answer while it sends. */
		*slot = begin(c, method);
		return MHD_YES;
	}
	if (x->client->is_ended)
		return MHD_NO;
	if (x->is_answered) {
		*bytes = 0;
		return MHD_YES;
	}
	return *bytes > 0 ? on_body(x, data, bytes) : on_body_over(x);
}

void exchange_on_completed(
	void *arg, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode how)
{
	struct exchange *x = take_ptr(*slot);
	(void)arg;
	(void)mhd;
	(void)how;
	if (!x)
		return;
	tunnel_end(x);
	ask_end(x);
	x->client->exchange = NULL;
	if (x->response)
		exchange_library(x)->destroy_response(x->response);
	blot_free(x->blot);
	held_secrets_let_go(x->secrets);
	buf_done(&x->text);
	buf_done(&x->up);
	buf_done(&x->down);
	free(x->target);
	free(x);
}

bool exchange_is_left(const struct exchange *x)
{
	return x->is_suspended && tcp_has_left(x->client->fd);
}

void exchange_abandon(struct exchange *x)
{
	x->is_broken = true;
	tunnel_end(x);
	exchange_resume(x);
}
