/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/template.h"

#include "base/timer.h"
#include "registry/order_text.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

/* Soon when none is left; else when whoever took one has probably had its first answer. */
enum { REFILL_MS = 2, REFILL_STOCKED_MS = 20 };

/* Somebody waits for a session; or nobody does, and it is kept ready. */
struct birth {
	struct birth *next;
	struct template *template;
	struct session *session;
	template_done_fn *done; /* NULL: to be kept ready */
	void *arg;
	bool is_second; /* the first one's template died meanwhile */
};

enum template_state { TEMPLATE_MAKING, TEMPLATE_READY, TEMPLATE_OVER };

struct template
{
	struct template *next;
	struct templates *all; /* held */
	unsigned n_refs;
	enum template_state state;
	char *owner, *text;
	struct order_kept kept;
	struct order_checked order;
	struct session *session; /* the template itself */
	struct stem *stem;	 /* held */
	struct birth *waiting;
	struct session *ready[STANDBY_MAX];
	unsigned n_ready, n_making;
	uint64_t used_ns;
};

struct templates {
	struct engine *engine;
	struct template *first;
	unsigned n_refs, n_standby, n_checkpoints;
	uv_timer_t refill;
	bool is_closing;
};

/* ---- its end ---- */

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
	return t->stem && !stem_is_dead(t->stem) ? t->stem : NULL;
}

void template_let_go(struct template *t)
{
	if (--t->n_refs > 0)
		return;
	free(t->text);
	free(t->owner);
	order_done(&t->order);
	order_kept_done(&t->kept);
	let_all_go(t->all);
	free(t);
}

const struct order_checked *template_order(const struct template *t)
{
	return &t->order;
}

static void on_session_closed(void *arg)
{
	template_let_go(arg);
}

static void close_own(struct template *t, struct session *s)
{
	static const struct session_events none = {0};
	struct session_events events = none;
	events.arg = t;
	events.closed = on_session_closed;
	t->n_refs++;
	session_silence(s, &events);
	session_close(s);
}

/* Out of the list: no more sessions from it. Whoever waits is told @err. */
static void end_template(struct template *t, const struct err *err)
{
	struct template **at = &t->all->first;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->state = TEMPLATE_OVER;
	while (t->waiting) {
		struct birth *b = t->waiting;
		t->waiting = b->next;
		if (b->done)
			b->done(b->arg, NULL, NULL, err);
		free(b);
		t->n_refs--; /* the birth's; its own is there until the end */
	}
	while (t->n_ready > 0)
		close_own(t, t->ready[--t->n_ready]);
	if (t->stem)
		stem_let_go(take_ptr(t->stem));
	if (t->session)
		close_own(t, take_ptr(t->session));
	template_let_go(t);
}

/* ---- sessions of it ---- */

static void want_refill(struct templates *all);

static void born(struct birth *b, const struct err *err)
{
	struct template *t = b->template;
	if (b->done && !err) {
		t->n_refs++; /* the taker's */
		b->done(b->arg, b->session, t, NULL);
	} else if (!err && t->state == TEMPLATE_READY && t->n_ready < STANDBY_MAX) {
		t->ready[t->n_ready++] = b->session;
	} else {
		if (b->session)
			close_own(t, b->session);
		if (b->done)
			b->done(b->arg, NULL, NULL, err);
	}
	if (!err) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the birth holds it until below */
		want_refill(t->all);
	free(b);
	template_let_go(t);
}

static void get(struct templates *all, const struct template_key *key, const struct birth *asked);

static bool is_dead(const struct template *t)
{
	return t->stem && stem_is_dead(t->stem);
}

/*
 * A stem that has died takes its template along; so does one whose branch was gone before it was
 * there, which may be how its death is heard of first. Whoever waited for a session of it gets one
 * of another; once, for what kills templates must come to be told.
 */
static void on_opened(void *arg, const struct err *err)
{
	struct birth *b = arg;
	struct template *t = b->template;
	const struct birth asked = {.done = b->done, .arg = b->arg, .is_second = true};
	bool is_over = err && (err->code == ERR_GONE || t->state == TEMPLATE_OVER || is_dead(t));
	bool is_again = is_over && b->done && !b->is_second && !t->all->is_closing;
	t->n_making--;
	t->n_refs++;
	if (is_again)
		b->done = NULL;
	born(b, err);
	if (is_over && t->state != TEMPLATE_OVER) /* whoever was told may have ended it */
		end_template(t, err);
	if (is_again)
		get(t->all, &(struct template_key){t->owner, t->text}, &asked);
	template_let_go(t); /* NOLINT(clang-analyzer-unix.Malloc): held until here */
}

static void on_done(void *arg, const struct record *record)
{
	(void)arg;
	(void)record;
}

static void give_birth(struct birth *b)
{
	struct template *t = b->template;
	struct err err;
	const struct session_config config = {.engine = t->all->engine,
		.order = &t->order,
		.id = t->order.id,
		.stem = t->stem,
		.n_checkpoints = t->all->n_checkpoints,
		.stdin_fd = -1};
	const struct session_events events = {.arg = b, .opened = on_opened, .done = on_done};
	t->n_making++;
	if (t->state == TEMPLATE_OVER)
		err_set(&err, ERR_GONE, "the template's process has ended");
	else if (session_open(&b->session, &config, &events, &err) == 0)
		return;
	on_opened(b, &err);
}

static struct birth *new_birth(struct template *t, const struct birth *asked)
{
	struct birth *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	*b = *asked;
	b->template = t;
	t->n_refs++;
	return b;
}

static void on_refill(uv_timer_t *timer)
{
	struct templates *all = timer->data;
	for (struct template *t = all->first; t; t = t->next) {
		if (t->state != TEMPLATE_READY || t->n_making > 0 || t->n_ready >= all->n_standby)
			continue;
		struct birth *b = new_birth(t, &(struct birth){0});
		if (b)
			give_birth(b);
		return; /* one at a time: who waits for a session comes first */
	}
}

static bool is_any_empty(const struct templates *all)
{
	for (const struct template *t = all->first; t; t = t->next)
		if (t->state == TEMPLATE_READY && t->n_ready == 0)
			return true;
	return false;
}

static void want_refill(struct templates *all)
{
	if (!all->is_closing && all->n_standby > 0)
		timer_start(&all->refill, on_refill,
			is_any_empty(all) ? REFILL_MS : REFILL_STOCKED_MS, 0);
}

/* ---- the template itself ---- */

static void on_stem(void *arg, struct stem *stem, const struct err *err)
{
	struct template *t = arg;
	if (err) {
		end_template(t, err);
		return;
	}
	t->stem = stem_hold(stem);
	t->state = TEMPLATE_READY;
	for (struct birth *b = take_ptr(t->waiting), *next; b; b = next) {
		next = b->next;
		give_birth(b); /* the others hold the template, which may end meanwhile */
	}
}

static void on_template_opened(void *arg, const struct err *err)
{
	struct template *t = arg;
	if (err)
		end_template(t, err);
	else
		session_make_stem(t->session, true, on_stem, t);
}

static int open_template(struct template *t, struct err *err)
{
	int r = order_parse(&t->kept, t->text, strlen(t->text), err);
	if (r == 0)
		r = order_check(&t->order, &t->kept.order, &t->all->engine->install, err);
	if (r < 0)
		return r;
	const struct session_config config = {.engine = t->all->engine,
		.order = &t->order,
		.id = t->order.id,
		.is_template = true,
		.preload = t->kept.preload,
		.stdin_fd = -1};
	const struct session_events events = {
		.arg = t, .opened = on_template_opened, .done = on_done};
	return session_open(&t->session, &config, &events, err);
}

/* The one that was not used for longest makes room. */
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
	err_set(&err, ERR_GONE, "the template made room for another");
	if (owner[0] && n_own >= TEMPLATES_OWNER_MAX && own)
		end_template(own, &err);
	else if (n >= TEMPLATES_MAX && oldest)
		end_template(oldest, &err);
}

static struct template *new_template(
	struct templates *all, const struct template_key *key, struct err *err)
{
	make_room(all, key->owner);
	struct template *t = calloc(1, sizeof *t);
	if (!t || !(t->text = strdup(key->text)) || !(t->owner = strdup(key->owner))) {
		if (t)
			free(t->text);
		free(t);
		err_set(err, ERR_NO_MEMORY, "no memory for a template");
		return NULL;
	}
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

/* What they keep ready goes with them. */
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

static void get(struct templates *all, const struct template_key *key, const struct birth *asked)
{
	struct err err = {0};
	drop_dead(all);
	struct template *t = find_template(all, key);
	if (!t)
		t = new_template(all, key, &err);
	struct birth *b = t ? new_birth(t, asked) : NULL;
	if (!b) {
		if (t)
			err_set(&err, ERR_NO_MEMORY, "no memory for a session");
		asked->done(asked->arg, NULL, NULL, &err);
		return;
	}
	t->used_ns = uv_hrtime();
	if (t->state == TEMPLATE_MAKING) {
		b->next = t->waiting;
		t->waiting = b;
	} else if (t->n_ready > 0) {
		b->session = t->ready[0];
		memmove(t->ready, t->ready + 1, --t->n_ready * sizeof t->ready[0]);
		born(b, NULL);
	} else {
		give_birth(b);
	}
}

void templates_get(
	struct templates *all, const struct template_key *key, template_done_fn *done, void *arg)
{
	get(all, key, &(struct birth){.done = done, .arg = arg});
}

/* ---- all of them ---- */

int templates_open(struct templates **out, struct engine *engine, unsigned n_standby,
	unsigned n_checkpoints, struct err *err)
{
	struct templates *all = calloc(1, sizeof *all);
	if (!all)
		return err_set(err, ERR_NO_MEMORY, "no memory for templates");
	*all = (struct templates){.engine = engine,
		.n_refs = 1,
		.n_standby = MIN(n_standby, (unsigned)STANDBY_MAX),
		.n_checkpoints = n_checkpoints};
	(void)uv_timer_init(engine->loop, &all->refill);
	all->refill.data = all;
	engine_hold(engine);
	*out = all;
	return 0;
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
		out[n++] = (struct template_stats){t->order.id, t->owner, t->n_ready};
	return n;
}

static json_t *about(const struct template *t)
{
	json_t *row = json_pack("{s:s, s:i, s:b}", "template", t->order.id, "standby",
		(int)t->n_ready, "ready", t->state == TEMPLATE_READY);
	json_t *preload = json_object_get(t->kept.json, "preload");
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

/* ---- one made ahead ---- */

struct warming {
	template_warm_fn *done;
	void *arg;
};

/* The session that was made is put aside, for whoever asks next. */
static void on_warm(void *arg, struct session *s, struct template *t, const struct err *err)
{
	struct warming *w = arg;
	json_t *row = NULL;
	if (s && t->state == TEMPLATE_READY && t->n_ready < STANDBY_MAX)
		t->ready[t->n_ready++] = s;
	else if (s)
		close_own(t, s);
	if (s)
		row = about(t);
	w->done(w->arg, row, err);
	json_decref(row);
	free(w);
	if (s)
		template_let_go(t);
}

void templates_warm(
	struct templates *all, const struct template_key *key, template_warm_fn *done, void *arg)
{
	struct err err;
	struct warming *w = malloc(sizeof *w);
	if (!w) {
		err_set(&err, ERR_NO_MEMORY, "no memory for a template");
		done(arg, NULL, &err);
		return;
	}
	*w = (struct warming){done, arg};
	get(all, key, &(struct birth){.done = on_warm, .arg = w});
}
