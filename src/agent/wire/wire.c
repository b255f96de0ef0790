/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/inside.h"

#include "base/alloc.h"
#include "base/timer.h"
#include "net/client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { HTTP_PROXY_WANTS_AUTH = 407 };

static const struct wire_kind *const kinds[] = {
	[MODEL_HTTP] = &wire_http, [MODEL_EXEC] = &wire_exec, [MODEL_REPLAY] = &wire_replay};

static void wire_let_go(struct wire *w)
{
	if (--w->n_refs > 0)
		return;
	if (w->net)
		net_close(w->net);
	recorded_done(&w->recording);
	key_done(&w->key);
	free(w);
}

static int open_parts(struct wire *w, struct err *err)
{
	const struct wire_config *c = &w->config;
	model_env *env = c->env;
	int r = model_parse(&w->model, c->spec, env, err);
	if (r == 0)
		r = key_find(&w->key, &w->model, c->key_file, env, err);
	if (r < 0)
		return r;
	model_show(&w->model, w->name, sizeof w->name);
	w->kind = kinds[w->model.provider->kind];
	if (w->kind == &wire_http)
		return net_open(&w->net, w->loop, err);
	if (w->kind == &wire_replay)
		return replay_open(w, err);
	return 0;
}

static void set_defaults(struct wire_config *c)
{
	c->env = c->env ? c->env : getenv;
	c->connect_ms = c->connect_ms ? c->connect_ms : WIRE_CONNECT_MS;
	c->idle_ms = c->idle_ms ? c->idle_ms : WIRE_IDLE_MS;
	c->whole_ms = c->whole_ms ? c->whole_ms : WIRE_WHOLE_MS;
	c->tries_max = c->tries_max ? MAX(c->tries_max, 0) : RETRY_TRIES_MAX;
	/* Weak randomness is good enough: it only keeps clients from retrying at the same time. */
	if (c->random == 0 && getrandom(&c->random, sizeof c->random, GRND_NONBLOCK) < 0)
		c->random = 1;
}

int wire_open(struct wire **out, uv_loop_t *loop, const struct wire_config *config, struct err *err)
{
	struct wire *w = xnew(struct wire);
	w->loop = loop;
	w->n_refs = 1;
	w->config = *config;
	set_defaults(&w->config);
	int r = open_parts(w, err);
	/* The caller may free the config's texts now. */
	w->config.spec = w->config.key_file = NULL;
	if (r < 0)
		wire_let_go(w);
	else
		*out = w;
	return r;
}

void wire_close(struct wire *w)
{
	w->is_closing = true;
	while (w->calls)
		wire_cancel(w->calls);
	wire_let_go(w);
}

const char *wire_name(const struct wire *w)
{
	return w->name;
}

void call_hold(struct wire_call *c)
{
	c->n_handles++;
}

void call_let_go(struct wire_call *c)
{
	if (--c->n_handles > 0)
		return;
	struct wire *w = c->wire;
	reduction_done(&c->reduction);
	w->kind->release(c);
	free(c->body);
	free(c);
	wire_let_go(w);
}

static void timer_closed(uv_handle_t *h)
{
	call_let_go(h->data);
}

/* End a call: remove it from the list and close its timer. The call is freed when the last of
 * its handles is closed. */
static void end(struct wire_call *c)
{
	struct wire_call **p = &c->wire->calls;
	while (*p && *p != c)
		p = &(*p)->next;
	if (*p)
		*p = c->next;
	c->is_ended = true;
	uv_close((uv_handle_t *)&c->timer, timer_closed);
}

void wire_cancel(struct wire_call *c)
{
	if (c->is_ended)
		return;
	if (c->is_trying)
		c->wire->kind->stop(c);
	c->is_trying = false;
	end(c);
}

static int on_delta(void *arg, struct delta *d)
{
	struct wire_call *c = arg;
	if (c->is_ended || !c->watch.on_delta)
		return c->is_ended;
	return c->watch.on_delta(c->watch.arg, d) != 0 || c->is_ended;
}

static void begin(struct wire_call *c)
{
	reduction_init(
		&c->reduction, c->wire->model.provider->format, c->wire->key.text, on_delta, c);
	c->is_trying = true;
	c->wire->kind->start(c);
}

static void on_timer(uv_timer_t *t)
{
	begin(container_of(t, struct wire_call, timer));
}

static void tell(struct wire_call *c, const struct failure *why)
{
	struct failure f;
	if (why) {
		f = *why;
		if (f.class == FAILURE_AUTH && f.status != HTTP_PROXY_WANTS_AUTH)
			key_advise(&c->wire->key, &c->wire->model, &f.err);
		(void)err_wrap(&f.err, "%s", c->wire->name);
	}
	c->watch.done(c->watch.arg, &c->reduction.reply, why ? &f : NULL);
	if (!c->is_ended)
		end(c);
}

/* Return whether the request may be repeated. If the caller has received a part of the reply,
 * on_restart decides. */
static bool may_restart(struct wire_call *c, const struct failure *why)
{
	if (!c->reduction.has_delta || !c->watch.on_delta)
		return true;
	return c->watch.on_restart && c->watch.on_restart(c->watch.arg, why) == 0;
}

void call_over(struct wire_call *c, const struct failure *why)
{
	c->is_trying = false;
	if (c->is_ended)
		return;
	if (!why && reduction_finish(&c->reduction, c->body_bytes) < 0)
		why = &c->reduction.failure;
	if (!why) {
		tell(c, NULL);
		return;
	}
	struct failure f = *why;
	int64_t ms = retry_next(&c->retry, &f);
	bool is_tried = ms >= 0 && may_restart(c, &f);
	/* on_restart may have cancelled the call. */
	if (c->is_ended)
		return;
	if (!is_tried) {
		tell(c, &f);
		return;
	}
	reduction_done(&c->reduction);
	if (c->watch.on_wait)
		c->watch.on_wait(c->watch.arg, &f, ms);
	if (!c->is_ended)
		timer_start(&c->timer, on_timer, (uint64_t)ms, 0);
}

int wire_ask(struct wire *w, const struct wire_request *request, const struct wire_watch *watch,
	struct wire_call **out, struct err *err)
{
	struct wire_call *c = xnew(struct wire_call);
	struct wire_request q = *request;
	q.model = w->model.name;
	q.is_classic = w->model.provider->is_classic;
	c->wire = w;
	c->watch = *watch;
	c->retry = RETRY_INIT(w->config.random++);
	c->retry.tries_max = w->config.tries_max;
	int r = w->kind->prepare(c, &q, err);
	if (r < 0) {
		w->kind->release(c);
		free(c->body);
		free(c);
		return r;
	}
	(void)uv_timer_init(w->loop, &c->timer);
	c->timer.data = c;
	call_hold(c);
	w->n_refs++;
	c->next = w->calls;
	w->calls = c;
	timer_start(&c->timer, on_timer, 0, 0);
	*out = c;
	return 0;
}
