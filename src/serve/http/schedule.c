/*
 * Fair scheduling: which request is started next.
 *
 * Most operations run directly in the loop's thread, and some take long. When a turn of the event
 * loop has lasted TURN_NS, the requests that are left wait for the next turn. There, the caller
 * whose last request was started longest ago comes first. So a caller that sends many requests,
 * even on many connections, delays only itself.
 *
 * This is not enough if each request of a caller takes long. A new request of a second caller needs
 * several turns before it can start, because its connection must be accepted and its data read. In
 * each of these turns, the first caller could start one more long request. So a caller whose
 * request has blocked the loop for more than TURN_NS must pause afterwards, for as long as that
 * request took.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/timer.h"
#include "serve/http/inside.h"
#include "serve/rpc.h"

static const uint64_t TURN_NS = 10000000;
/* The delay until the next turn. A timer of 0 ms would fire in the same turn, before any socket is
 * served. */
enum { NEXT_MS = 1 };

/* Return the entry of the caller, which a hash of the pointer to the caller's context selects.
 * Callers with the same hash share an entry, and are scheduled as one caller. */
static struct http_served *served(struct http_exchange *x)
{
	return &x->server->served[((uintptr_t)x->context >> 4) % HTTP_CALLERS];
}

bool http_count_body(struct http_exchange *x, size_t bytes)
{
	struct http_server *s = x->server;
	struct http_served *sender = x->sender ? x->sender : served(x);
	if (s->bodies_bytes + bytes > HTTP_BODIES_BYTES ||
		sender->bodies_bytes + bytes > HTTP_BODIES_BYTES / 2)
		return false;
	x->sender = sender;
	s->bodies_bytes += bytes;
	sender->bodies_bytes += bytes;
	return true;
}

void http_uncount_body(struct http_exchange *x, size_t bytes)
{
	if (!x->server || !x->sender)
		return;
	x->server->bodies_bytes -= bytes;
	x->sender->bodies_bytes -= bytes;
}

static void read_body(struct work *work)
{
	struct http_exchange *x = container_of(work, struct http_exchange, reading);
	x->json_status = rpc_load(buf_str(&x->body), x->body.bytes, &x->json, &x->json_err);
}

int http_take_json(struct http_exchange *x, json_t **root, struct err *err)
{
	if (!x->is_read)
		read_body(&x->reading);
	x->is_read = true;
	*root = take_ptr(x->json);
	*err = x->json_err;
	return x->json_status;
}

static bool is_to_be_read(const struct http_exchange *x)
{
	return x->route->is_json && !x->is_read && x->body.bytes > WORK_BYTES;
}

static void on_read(struct work *work)
{
	struct http_exchange *x = container_of(work, struct http_exchange, reading);
	x->is_read = true;
	if (x->server)
		served(x)->n_reading--;
	if (x->server && !x->is_gone)
		http_schedule(x);
	else
		http_stream_end(x);
}

static void start(struct http_exchange *x)
{
	struct http_served *caller = served(x);
	uint64_t began_ns = uv_hrtime(), ended_ns;
	caller->order = ++x->server->n_served;
	if (is_to_be_read(x)) {
		caller->n_reading++;
		work_begin(x->server->config.loop, WORK_PARSE, &x->reading, read_body, on_read);
		return;
	}
	x->route->start(x->route->arg, x);
	ended_ns = uv_hrtime();
	if (ended_ns - began_ns > TURN_NS)
		caller->rests_until_ns = ended_ns + (ended_ns - began_ns);
}

/* Return whether the request may start now. Of each caller, at most one long body is parsed at a
 * time, so that the bodies of other callers are parsed too. */
static bool may_start(struct http_exchange *x)
{
	uint64_t now_ns = uv_hrtime();
	struct http_served *caller = served(x);
	return now_ns - x->server->turn_ns < TURN_NS && now_ns >= caller->rests_until_ns &&
		!(is_to_be_read(x) && caller->n_reading > 0);
}

static void take_out(struct http_exchange *x)
{
	struct http_exchange **at = &x->server->waiting;
	while (*at && *at != x)
		at = &(*at)->next_waiting;
	if (*at)
		*at = x->next_waiting;
	x->next_waiting = NULL;
}

static void on_gone(void *arg)
{
	take_out(arg);
}

/* Find the request to start next. Returns: NULL if no request may start now. */
static struct http_exchange *find_first(struct http_server *s)
{
	struct http_exchange *first = NULL;
	for (struct http_exchange *x = s->waiting; x; x = x->next_waiting)
		if (may_start(x) && (!first || served(x)->order < served(first)->order))
			first = x;
	return first;
}

static void on_turn(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	struct http_exchange *first;
	http_schedule_begin(s);
	while ((first = find_first(s))) {
		take_out(first);
		first->gone = NULL;
		start(first);
	}
	if (s->waiting && !s->is_closing)
		timer_start(&s->turn, on_turn, NEXT_MS, 0);
}

void http_schedule_begin(struct http_server *s)
{
	s->turn_ns = uv_hrtime();
}

void http_schedule(struct http_exchange *x)
{
	struct http_server *s = x->server;
	struct http_exchange **last = &s->waiting;
	if (!s->waiting && may_start(x)) {
		start(x);
		return;
	}
	while (*last)
		last = &(*last)->next_waiting;
	*last = x;
	http_on_gone(x, on_gone, x);
	if (!uv_is_active((uv_handle_t *)&s->turn))
		timer_start(&s->turn, on_turn, NEXT_MS, 0);
}
