/*
 * Whose request is begun next. Theory of operation: most operations are done at once, in the loop's
 * thread, and some take it long. So when a turn of the loop has lasted TURN_NS, the requests that
 * come in it wait for the next, and then the caller is first who was served least recently: one who
 * asks for much, on many connections, waits for himself. Another's request needs more turns than
 * one (it is accepted, read, answered): so a caller whose request has taken the loop for long
 * begins his next when the loop was free for as long. SPDX-License-Identifier: Apache-2.0
 */
#include "base/timer.h"
#include "serve/http/inside.h"
#include "serve/rpc.h"

static const uint64_t TURN_NS = 10000000;
/* One for 0 ms would ring again in the same turn, before any socket is looked at. */
enum { NEXT_MS = 1 };

/* Two callers may share one: then they take turns as one does. */
static struct http_served *served(struct http_exchange *x)
{
	return &x->server->served[((uintptr_t)x->context >> 4) % HTTP_CALLERS];
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

/* He has one long body parsed at a time: others' come between his. */
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

/* NULL: none may start now. */
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
