/* Requests to models over HTTP. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/inside.h"

#include "base/alloc.h"
#include "base/timer.h"
#include "net/client.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* LINGER_MS: how long the server may take to end the response after the last event. */
enum { LINGER_MS = 250, ANSWER_BYTES_MAX = 256 << 20, CUSTOM_BYTES_MAX = 8192, HEADERS_MAX = 32 };

/* The state of one HTTP request for a reply of the model. If the HTTP request fails, another may
 * follow for the same struct wire_call: the next try. */
struct
try {
	struct wire_call *call;
	struct net_call *net_call;
	struct buf error; /* body of a response that is not a stream */
	int fed;	  /* last result of reduction_feed() */
	bool is_error, is_known;
};

struct headers {
	struct net_header list[HEADERS_MAX];
	size_t n;
	char auth[SECRET_BYTES_MAX + 16];
	char custom[CUSTOM_BYTES_MAX];
};

static void add(struct headers *h, const char *name, const char *value)
{
	if (value && *value && h->n < HEADERS_MAX)
		h->list[h->n++] = (struct net_header){name, value};
}

/* Add headers from lines of the form "Name: value". net_start() checks whether they are valid. */
static void add_custom(struct headers *h, const char *text)
{
	if (!text || strlen(text) >= sizeof h->custom)
		return;
	snprintf(h->custom, sizeof h->custom, "%s", text);
	char *save = NULL;
	for (char *line = strtok_r(h->custom, "\r\n", &save); line;
		line = strtok_r(NULL, "\r\n", &save)) {
		char *colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon++ = '\0';
		add(h, line, colon + strspn(colon, " \t"));
	}
}

static void make_headers(const struct wire *w, struct headers *h)
{
	const struct provider *p = w->model.provider;
	model_env *env = w->config.env;
	h->n = 0;
	add(h, "Content-Type", "application/json");
	add(h, "Accept", p->format->is_lines ? "application/x-ndjson" : "text/event-stream");
	add(h, "User-Agent", "retort");
	if (p->format == &wire_anthropic)
		add(h, "anthropic-version", "2023-06-01");
	snprintf(h->auth, sizeof h->auth, "%s%s", w->key.is_bearer ? "Bearer " : "", w->key.text);
	if (w->key.text[0])
		add(h, w->key.is_bearer ? "Authorization" : p->key_header, h->auth);
	if (p->base_variable && strcmp(p->base_variable, "OPENAI_BASE_URL") == 0) {
		add(h, "OpenAI-Organization", env("OPENAI_ORG_ID"));
		add(h, "OpenAI-Project", env("OPENAI_PROJECT_ID"));
	}
	if (p->custom_variable)
		add_custom(h, env(p->custom_variable));
}

static int prepare(struct wire_call *c, const struct wire_request *q, struct err *err)
{
	struct try *t = xnew(struct try);
	t->error = BUF_INIT(FAILURE_BODY_BYTES);
	c->own = t;
	c->body = format_body(c->wire->model.provider->format, q);
	c->body_bytes = c->body ? strlen(c->body) : 0;
	return c->body ? 0 : err_set(err, ERR_NO_MEMORY, "no memory to ask a model");
}

/* Find out whether the response is a stream, or a single document with an error. */
static void look(struct try *t)
{
	char type[64] = "";
	int status = net_status(t->net_call);
	bool is_lines = t->call->wire->model.provider->format->is_lines;
	t->is_known = true;
	(void)net_header(t->net_call, "content-type", type, sizeof type);
	t->is_error = status < 200 || status > 299 ||
		(!is_lines && strncasecmp(type, "application/json", 16) == 0);
}

static void on_linger(uv_timer_t *timer)
{
	struct wire_call *c = container_of(timer, struct wire_call, timer);
	struct try *t = c->own;
	net_cancel(t->net_call);
	call_over(c, NULL);
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct try *t = arg;
	struct wire_call *c = t->call;
	if (!t->is_known)
		look(t);
	if (t->is_error) {
		size_t room = t->error.max_bytes - t->error.bytes;
		buf_append(&t->error, data, MIN(bytes, room));
		return 0;
	}
	if (t->fed == 1)
		return 0;
	t->fed = reduction_feed(&c->reduction, data, bytes);
	if (c->is_ended || t->fed < 0 || c->reduction.is_stopped)
		return -1;
	if (t->fed == 1)
		timer_start(&c->timer, on_linger, LINGER_MS, 0);
	return 0;
}

static void read_headers(const struct net_call *call, struct failure_headers *h)
{
	*h = (struct failure_headers){.now = time(NULL)};
	(void)net_header(call, "x-should-retry", h->should_retry, sizeof h->should_retry);
	(void)net_header(call, "retry-after", h->retry_after, sizeof h->retry_after);
	(void)net_header(call, "retry-after-ms", h->retry_after_ms, sizeof h->retry_after_ms);
	if (!net_header(call, "x-request-id", h->request_id, sizeof h->request_id))
		(void)net_header(call, "request-id", h->request_id, sizeof h->request_id);
}

/* Read the error from a response that is not a stream. */
static void read_error(const struct try *t, struct failure *out)
{
	struct failure_headers h;
	const struct wire *w = t->call->wire;
	int status = net_status(t->net_call);
	read_headers(t->net_call, &h);
	if (status >= 300 || status < 200 ||
		memmem(buf_str(&t->error), t->error.bytes, "\"error\"", 7))
		failure_read(out, status, &h, buf_str(&t->error), t->error.bytes, w->key.text);
	else
		(void)failure_set(out, FAILURE_STREAM, "the server did not stream its answer");
	char said[FAILURE_SAID_BYTES];
	char location[1024];
	if (status >= 300 && status < 400 &&
		net_header(t->net_call, "location", location, sizeof location)) {
		failure_said(said, location, strcspn(location, "?"), w->key.text);
		(void)failure_set(out, FAILURE_REQUEST, "the server is elsewhere (HTTP %d): %.100s",
			status, said);
	}
	out->status = status;
}

/* Find out why a response is missing or incomplete. Returns: true, and the failure is in @out;
 * false if the reply is complete nevertheless. */
static bool read_end(const struct try *t, const struct net_result *result, struct failure *out)
{
	static const enum failure_class classes[] = {
		[NET_NO_SERVER] = FAILURE_CONNECTION,
		[NET_UNTRUSTED] = FAILURE_UNTRUSTED,
		[NET_CUT] = FAILURE_CONNECTION,
		[NET_TIMEOUT] = FAILURE_TIMEOUT,
		[NET_STOPPED] = FAILURE_OURS,
	};
	const struct reduction *r = &t->call->reduction;
	if (t->fed < 0) {
		*out = r->failure;
		return true;
	}
	if (r->is_over || r->is_stopped || (result->end == NET_CUT && r->has_stop))
		return false;
	bool is_begun = result->status >= 200 && result->status < 300;
	enum failure_class class =
		result->end == NET_CUT && is_begun ? FAILURE_STREAM : classes[result->end];
	(void)failure_set(out, class, "%s", result->err.msg);
	if (result->err.hint[0])
		(void)err_hint(&out->err, "%s", result->err.hint);
	out->status = result->status;
	/* If no server listens on this host now, none will a moment later, so do not retry. */
	if (result->end == NET_NO_SERVER && key_is_here(t->call->wire->model.base))
		out->should_retry = 0;
	return true;
}

static void on_net_done(void *arg, const struct net_result *result)
{
	struct try *t = arg;
	struct wire_call *c = t->call;
	struct failure f = {0};
	struct failure_headers h;
	bool is_failed;
	if (!t->is_known && result->end == NET_ANSWER)
		look(t);
	if (result->end == NET_ANSWER && t->is_error) {
		read_error(t, &f);
		is_failed = true;
	} else {
		is_failed = result->end == NET_ANSWER ? t->fed < 0 : true;
		if (result->end == NET_ANSWER && is_failed)
			f = c->reduction.failure;
		else if (is_failed)
			is_failed = read_end(t, result, &f);
		read_headers(t->net_call, &h);
		failure_said(f.request_id, h.request_id, strlen(h.request_id), c->wire->key.text);
		snprintf(c->reduction.reply.request_id, sizeof c->reduction.reply.request_id,
			"%.100s", f.request_id);
	}
	(void)uv_timer_stop(&c->timer);
	call_over(c, is_failed ? &f : NULL);
}

static int send_body(struct wire_call *c, struct try *t, struct err *err)
{
	const struct wire *w = c->wire;
	struct headers *h = xnew(struct headers);
	cleanup_buf struct buf url = BUF_INIT(NET_URL_BYTES);
	if (buf_addf(&url, "%s%s", w->model.base, w->model.provider->format->path) < 0) {
		free(h);
		return err_set(err, ERR_NO_MEMORY, "no memory to ask a model");
	}
	make_headers(w, h);
	const struct net_request request = {.url = url.data,
		.headers = h->list,
		.n_headers = h->n,
		.body = c->body,
		.body_bytes = c->body_bytes,
		.answer_max_bytes = ANSWER_BYTES_MAX,
		.connect_ms = w->config.connect_ms,
		.idle_ms = w->config.idle_ms,
		.whole_ms = w->config.whole_ms,
		.arg = t,
		.on_data = on_data,
		.on_done = on_net_done};
	int r = net_start(w->net, &request, &t->net_call, err);
	explicit_bzero(h, sizeof *h);
	free(h);
	return r;
}

static void start(struct wire_call *c)
{
	struct err err = {0};
	struct failure f;
	struct try *t = c->own;
	buf_clear(&t->error);
	*t = (struct try){.call = c, .error = t->error};
	if (send_body(c, t, &err) == 0)
		return;
	(void)failure_set(
		&f, err.code == ERR_USAGE ? FAILURE_REQUEST : FAILURE_OURS, "%s", err.msg);
	call_over(c, &f);
}

static void stop(struct wire_call *c)
{
	struct try *t = c->own;
	net_cancel(t->net_call);
}

static void release(struct wire_call *c)
{
	struct try *t = c->own;
	if (t)
		buf_done(&t->error);
	free(t);
}

const struct wire_kind wire_http = {
	.prepare = prepare, .start = start, .stop = stop, .release = release};
