/*
 * Whose request is begun next. Theory of operation: most operations are done at once, in the loop's
 * thread, and some take it long. So when a turn of the loop has lasted TURN_NS, the requests that
 * come in it wait for the next, and then the caller is first who was served least recently: one who
 * asks for much, on many connections, waits for himself. SPDX-License-Identifier: Apache-2.0
 */
#include "base/timer.h"
#include "serve/http/exchange.h"

static const uint64_t TURN_NS = 10000000;
/* One for 0 ms would ring again in the same turn, before any socket is looked at. */
enum { NEXT_MS = 1 };

/* Two callers may share one: then they take turns as one does. */
static uint64_t *served(struct http_exchange *x)
{
	return &x->server->served[((uintptr_t)x->context >> 4) % HTTP_TURNS];
}

static void start(struct http_exchange *x)
{
	*served(x) = ++x->server->n_served;
	x->route->start(x->route->arg, x);
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

static void on_turn(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	http_turn_begin(s);
	while (s->waiting && uv_hrtime() - s->turn_ns < TURN_NS) {
		struct http_exchange *first = s->waiting;
		for (struct http_exchange *x = first->next_waiting; x; x = x->next_waiting)
			if (*served(x) < *served(first))
				first = x;
		take_out(first);
		first->gone = NULL;
		start(first);
	}
	if (s->waiting && !s->is_closing)
		timer_start(&s->turn, on_turn, NEXT_MS, 0);
}

void http_turn_begin(struct http_server *s)
{
	s->turn_ns = uv_hrtime();
}

void http_turn_take(struct http_exchange *x)
{
	struct http_server *s = x->server;
	struct http_exchange **last = &s->waiting;
	if (!s->waiting && uv_hrtime() - s->turn_ns < TURN_NS) {
		start(x);
		return;
	}
	while (*last)
		last = &(*last)->next_waiting;
	*last = x;
	http_on_gone(x, on_gone, x);
	timer_start(&s->turn, on_turn, NEXT_MS, 0);
}
