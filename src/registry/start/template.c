/*
 * Templates: sessions that have imported their modules. Other sessions branch from them.
 *
 * It takes some hundred milliseconds to start Python and import modules. To branch a process that
 * has done so takes only a few milliseconds. So a template is a session that imports and then
 * becomes a stem:
 *
 *     MAKING   the session opens and imports; requests wait in `waiting`
 *     READY    the session is a stem; a pool (pool.c) makes branches of it
 *     OVER     the template failed, its stem died, or it made room for another template
 *
 * One template serves all sessions that have the same order and owner (struct template_key). There
 * are at most TEMPLATES_MAX templates, and at most TEMPLATES_OWNER_MAX of one owner. To make
 * another, the least recently used one is ended.
 *
 * One timer refills the pools of all templates, one branch at a time. After a branch was taken, the
 * timer is set: to REFILL_MS if any pool is empty, otherwise to REFILL_STOCKED_MS. After this
 * longer time, the client that took the branch has probably got its first answer, so the refill
 * does not delay this answer.
 *
 * A stem can die, for example for lack of memory. Then its template ends. A request that waits for
 * a branch gets one of a new template. This is done only once per request, because what kills two
 * stems in a row would kill a third.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/start/template.h"

#include "base/alloc.h"
#include "base/timer.h"
#include "registry/start/order_text.h"
#include "registry/start/pool.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

/* Delays before the pools are refilled. REFILL_MS: if any pool is empty. REFILL_STOCKED_MS:
 * otherwise; after this time, the client that took a branch has probably got its first answer. */
enum { REFILL_MS = 2, REFILL_STOCKED_MS = 20 };

/* A request for a session that is a branch of a template. */
struct request {
	struct request *next;
	struct template *template; /* counted reference */
	template_done_fn *done;
	void *arg;
	bool is_second; /* the request is repeated, because its first template died */
};

enum template_state { TEMPLATE_MAKING, TEMPLATE_READY, TEMPLATE_OVER };

struct template
{
	struct template *next;
	struct templates *all; /* counted reference */
	unsigned n_refs;
	enum template_state state;
	char *owner, *text;
	struct shared_order *order; /* counted reference; NULL when `text` cannot be parsed */
	struct session *session;    /* the session that imports the modules and becomes the stem */
	struct pool *pool;	    /* branches of the stem; NULL in the state MAKING */
	struct request *waiting;    /* requests that wait in the state MAKING */
	uint64_t used_ns;
};

struct templates {
	struct engine *engine;
	struct template *first;
	unsigned n_refs, n_standby, n_checkpoints;
	uv_timer_t refill;
	bool is_closing;
};

/* ---- references, and the end of a template ---- */

static void let_all_go(struct templates *all)
{
	if (--all->n_refs == 0)
		free(all);
}

struct template *template_hold(struct template *t)
{
	t->n_refs++;
	return t;
}

struct stem *template_stem(const struct template *t)
{
	struct stem *stem = t->pool ? pool_stem(t->pool) : NULL;
	return stem && !stem_is_dead(stem) ? stem : NULL;
}

void template_let_go(struct template *t)
{
	if (--t->n_refs > 0)
		return;
	free(t->text);
	free(t->owner);
	shared_order_let_go(t->order);
	let_all_go(t->all);
	free(t);
}

struct shared_order *template_order(const struct template *t)
{
	return t->order;
}

static void on_session_closed(void *arg)
{
	template_let_go(arg);
}

static void close_own(struct template *t, struct session *s)
{
	const struct session_events events = {.arg = template_hold(t), .closed = on_session_closed};
	session_silence(s, &events);
	session_close(s);
}

/* End a template: remove it from the list of templates, and answer its waiting requests with
 * @err. */
static void end_template(struct template *t, const struct err *err)
{
	struct template **at = &t->all->first;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->state = TEMPLATE_OVER;
	while (t->waiting) {
		struct request *q = t->waiting;
		t->waiting = q->next;
		q->done(q->arg, NULL, NULL, err);
		free(q);
		/* Release the request's reference. This is never the last one, because the
		 * template's own reference is released below. */
		t->n_refs--;
	}
	pool_close(take_ptr(t->pool));
	if (t->session)
		close_own(t, take_ptr(t->session));
	template_let_go(t);
}

/* ---- branches of a template ---- */

static void get(struct templates *all, const struct template_key *key, const struct request *asked);

static bool is_dead(const struct template *t)
{
	return t->pool && !template_stem(t);
}

static void on_refill(uv_timer_t *timer)
{
	struct templates *all = timer->data;
	for (struct template *t = all->first; t; t = t->next) {
		if (t->state != TEMPLATE_READY || pool_is_making(t->pool) ||
			pool_n_ready(t->pool) >= all->n_standby)
			continue;
		pool_fill(t->pool);
		/* Make only one branch each time the timer expires, because the branches
		 * that clients wait for come first. */
		return;
	}
}

static bool is_any_empty(const struct templates *all)
{
	for (const struct template *t = all->first; t; t = t->next)
		if (t->state == TEMPLATE_READY && pool_n_ready(t->pool) == 0)
			return true;
	return false;
}

static void want_refill(struct templates *all)
{
	if (!all->is_closing && all->n_standby > 0)
		timer_start(&all->refill, on_refill,
			is_any_empty(all) ? REFILL_MS : REFILL_STOCKED_MS, 0);
}

/* Return whether the template can make no more branches. @err is the error with which a branch
 * has failed: ERR_GONE may be the first sign that the stem has died. */
static bool is_over(const struct template *t, const struct err *err)
{
	return err->code == ERR_GONE || t->state == TEMPLATE_OVER || is_dead(t);
}

/* Called by the pool of a template when it has made a branch ahead of any request, or has failed to
 * make it. @err is NULL if the branch is ready. */
static void on_made(void *owner, const struct err *err)
{
	struct template *t = owner;
	if (!err)
		want_refill(t->all);
	else if (is_over(t, err))
		end_template(t, err);
}

/* Answer a request with its branch @s. If the template has died, repeat the request with a new
 * template instead. It is repeated only once, so that after a second death the client gets the
 * error. */
static void on_branch(void *arg, struct session *s, const struct err *err)
{
	struct request *q = arg;
	struct template *t = q->template;
	bool is_end = err && is_over(t, err);
	bool is_again = is_end && !q->is_second && !t->all->is_closing;
	const struct request asked = {.done = q->done, .arg = q->arg, .is_second = true};
	if (!is_again)
		q->done(q->arg, s, s ? t : NULL, err);
	if (s)
		want_refill(t->all);
	free(q);
	/* done() may have ended the template already. */
	if (is_end && t->state != TEMPLATE_OVER)
		end_template(t, err);
	if (is_again)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the request holds a reference */
		get(t->all, &(struct template_key){t->owner, t->text}, &asked);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the request holds a reference */
	template_let_go(t);
}

static void branch(struct request *q)
{
	struct err err;
	if (q->template->state == TEMPLATE_READY) {
		pool_take(q->template->pool, on_branch, q);
		return;
	}
	err_set(&err, ERR_GONE, "the template's process has ended");
	on_branch(q, NULL, &err);
}

/* ---- making and finding templates ---- */

static void on_stem(void *arg, struct stem *stem, const struct err *err)
{
	struct template *t = arg;
	if (err) {
		struct err why = *err;
		if (err->code == ERR_BUSY && t->order->kept.preload[0])
			err_fail(&why, ERR_BUSY,
				"leave that module out of `preload` (--preload), or let sessions "
				"start without a template: `fresh` (--fresh)",
				"what `preload` imports cannot be copied to sessions: %.150s",
				err->msg);
		end_template(t, &why);
		return;
	}
	t->pool = pool_new(&(struct pool_config){.engine = t->all->engine,
		.order = t->order,
		.stem = stem,
		.id = t->order->order.id,
		.n_checkpoints = t->all->n_checkpoints,
		.made = on_made,
		.owner = t});
	t->state = TEMPLATE_READY;
	for (struct request *q = take_ptr(t->waiting), *next; q; q = next) {
		next = q->next;
		/* branch() may end @t. But @t is not freed yet, because each remaining request
		 * has a reference to it. */
		branch(q);
	}
}

static void on_done(void *arg, const struct record *record)
{
	(void)arg;
	(void)record;
}

static void on_template_opened(void *arg, const struct err *err)
{
	struct template *t = arg;
	if (err)
		end_template(t, err);
	else
		session_make_stem(t->session, OTHERS_END, on_stem, t);
}

static int open_template(struct template *t, struct err *err)
{
	int r = shared_order_parse(&t->order, t->text, err);
	if (r == 0)
		r = shared_order_check(t->order, t->all->engine, err);
	if (r < 0)
		return r;
	const struct session_config config = {.engine = t->all->engine,
		.order = &t->order->order,
		.id = t->order->order.id,
		.is_template = true,
		.preload = t->order->kept.preload,
		.stdin_fd = -1};
	const struct session_events events = {
		.arg = t, .opened = on_template_opened, .done = on_done};
	return session_open(&t->session, &config, &events, err);
}

/* If the owner or the engine has as many templates as allowed, end the least recently used one. */
static void make_room(struct templates *all, const char *owner)
{
	struct template *oldest = NULL, *own = NULL;
	struct err err;
	unsigned n = 0, n_own = 0;
	for (struct template *t = all->first; t; t = t->next, n++) {
		bool is_own = strcmp(t->owner, owner) == 0;
		n_own += is_own;
		if (t->state != TEMPLATE_READY)
			continue;
		if (!oldest || t->used_ns < oldest->used_ns)
			oldest = t;
		if (is_own && (!own || t->used_ns < own->used_ns))
			own = t;
	}
	err_set(&err, ERR_GONE, "the template was replaced by a newer one");
	if (owner[0] && n_own >= TEMPLATES_OWNER_MAX && own)
		end_template(own, &err);
	else if (n >= TEMPLATES_MAX && oldest)
		end_template(oldest, &err);
}

static struct template *new_template(
	struct templates *all, const struct template_key *key, struct err *err)
{
	make_room(all, key->owner);
	struct template *t = xnew(struct template);
	t->text = xstrdup(key->text);
	t->owner = xstrdup(key->owner);
	t->n_refs = 1;
	t->all = all;
	all->n_refs++;
	t->next = all->first;
	all->first = t;
	if (open_template(t, err) == 0)
		return t;
	end_template(t, err);
	return NULL;
}

/* End templates whose stem has died. Their ready branches are closed. */
static void drop_dead(struct templates *all)
{
	struct err err;
	err_set(&err, ERR_GONE, "the template's process has ended");
	for (struct template *t = all->first; t;) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed ones have left the list */
		bool is_over = is_dead(t);
		if (is_over)
			end_template(t, &err);
		t = is_over ? all->first : t->next;
	}
}

static struct template *find_template(struct templates *all, const struct template_key *key)
{
	for (struct template *t = all->first; t; t = t->next)
		if (strcmp(t->text, key->text) == 0 && strcmp(t->owner, key->owner) == 0 &&
			!is_dead(t))
			return t;
	return NULL;
}

static void get(struct templates *all, const struct template_key *key, const struct request *asked)
{
	struct err err;
	drop_dead(all);
	struct template *t = find_template(all, key);
	if (!t)
		t = new_template(all, key, &err);
	if (!t) {
		asked->done(asked->arg, NULL, NULL, &err);
		return;
	}
	struct request *q = xnew(struct request);
	*q = *asked;
	q->template = template_hold(t);
	t->used_ns = uv_hrtime();
	if (t->state == TEMPLATE_MAKING) {
		q->next = t->waiting;
		t->waiting = q;
	} else {
		branch(q);
	}
}

void templates_get(
	struct templates *all, const struct template_key *key, template_done_fn *done, void *arg)
{
	get(all, key, &(struct request){.done = done, .arg = arg});
}

/* ---- the set of all templates ---- */

struct templates *templates_open(struct engine *engine, unsigned n_standby, unsigned n_checkpoints)
{
	struct templates *all = xnew(struct templates);
	*all = (struct templates){.engine = engine,
		.n_refs = 1,
		.n_standby = MIN(n_standby, (unsigned)STANDBY_MAX),
		.n_checkpoints = n_checkpoints};
	(void)uv_timer_init(engine->loop, &all->refill);
	all->refill.data = all;
	engine_hold(engine);
	return all;
}

static void on_closed(uv_handle_t *handle)
{
	struct templates *all = handle->data;
	struct engine *e = all->engine;
	let_all_go(all);
	engine_release(e);
}

void templates_close(struct templates *all)
{
	struct err err;
	err_set(&err, ERR_GONE, "the engine is stopping");
	all->is_closing = true;
	while (all->first) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed ones have left it */
		end_template(all->first, &err);
	uv_close((uv_handle_t *)&all->refill, on_closed);
}

size_t templates_stats(const struct templates *all, struct template_stats *out, size_t room)
{
	size_t n = 0;
	for (const struct template *t = all->first; t && n < room; t = t->next)
		out[n++] = (struct template_stats){
			t->order->order.id, t->owner, t->pool ? pool_n_ready(t->pool) : 0};
	return n;
}

static json_t *about(const struct template *t)
{
	json_t *row = json_pack("{s:s, s:i, s:b}", "template", t->order->order.id, "standby",
		t->pool ? (int)pool_n_ready(t->pool) : 0, "ready", t->state == TEMPLATE_READY);
	json_t *preload = json_object_get(t->order->kept.json, "preload");
	if (preload)
		(void)json_object_set(row, "preload", preload);
	return row;
}

json_t *templates_json(const struct templates *all, const char *owner)
{
	json_t *rows = json_array();
	for (const struct template *t = all->first; t; t = t->next)
		if (!owner || strcmp(t->owner, owner) == 0)
			(void)json_array_append_new(rows, about(t));
	return json_pack("{s:o}", "templates", rows);
}

/* ---- making a template before it is needed ---- */

struct warming {
	template_warm_fn *done;
	void *arg;
};

/* Put the new session into the template's pool, for the next request. */
static void on_warm(void *arg, struct session *s, struct template *t, const struct err *err)
{
	struct warming *w = arg;
	json_t *row = NULL;
	if (s) {
		if (t->pool)
			pool_put(t->pool, s);
		else
			close_own(t, s); /* the template has ended meanwhile */
		row = about(t);
	}
	w->done(w->arg, row, err);
	json_decref(row);
	free(w);
}

void templates_warm(
	struct templates *all, const struct template_key *key, template_warm_fn *done, void *arg)
{
	struct warming *w = xnew(struct warming);
	*w = (struct warming){done, arg};
	get(all, key, &(struct request){.done = on_warm, .arg = w});
}
