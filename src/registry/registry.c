/*
 * Sessions: their creation, their end, and their queues.
 *
 * An entry is a session of the engine: an id, perhaps a name, the id of its last step (its head) in
 * the journal, and a queue of jobs. Its states:
 *
 *     OPENING   its box is being made, or its state is being rebuilt
 *     IDLE      the queue is empty
 *     WORKING   the first job is under way
 *     ENDING    it is being closed; every job was answered with an error
 *
 * registry_create() makes an entry. A session that begins in Python is a branch of a template,
 * whose imports are done already (templates_get()); any other opens a box of its own
 * (open_fresh()). When its session is open, entry_opened() writes it into the journal, and only
 * then is the caller answered. So a session that a caller knows of survives a crash of the engine.
 *
 * A session that is only in the journal (session_table.c) is opened in the same way. But if it has
 * run steps, these are run again first (replay.c), and the new records are compared with the old.
 *
 * Jobs run one after the other, in the order in which they were asked for, with one exception:
 * branches of one session are made side by side, up to BRANCHES_AT_ONCE, because each only waits
 * for its own box. entry_add_job() appends a job, next_job() starts one, entry_answer() answers the
 * first one and starts the next. A callback may close the session or add jobs, so a reference to
 * the entry is held (entry_hold()) during each answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/registry.h"

#include "base/json.h"
#include "base/alloc.h"
#include "base/timer.h"
#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/secret.h"
#include "registry/session_table.h"
#include "registry/lifetime.h"
#include "registry/net.h"
#include "registry/start/order_text.h"
#include "registry/start/pool.h"
#include "registry/replay.h"
#include "registry/sliced_work.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* IDLE_MS: longest delay of idle work, such as syncing the journal. BRANCHES_AT_ONCE: how many
 * branches of a session are made at once; while the stem forks one, the engine finishes others. */
enum { IDLE_MS = 100, BRANCHES_AT_ONCE = 4 };

/* ---- making, freeing and describing an entry ---- */

struct entry *entry_new(struct session_table *table, const char *owner, const char *id,
	const char *name, const char *text)
{
	struct entry *e = xnew(struct entry);
	struct timespec now;
	e->order_text = xstrdup(text);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	e->table = table;
	e->n_holds = 1;
	e->created_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
	e->last = &e->first;
	e->rebuilt = RECORD_COMMITTED;
	e->used_ns = uv_hrtime();
	snprintf(e->id, sizeof e->id, "%s", id);
	snprintf(e->name, sizeof e->name, "%s", name ? name : "");
	snprintf(e->owner, sizeof e->owner, "%s", owner);
	e->next = table->first;
	table->first = e;
	engine_hold(table->engine);
	return e;
}

void entry_hold(struct entry *e)
{
	e->n_holds++;
}

/* Release a reference; the last one frees the entry. The session has one reference, and releases
 * it when it is closed. */
void entry_release(struct entry *e)
{
	struct session_table *table = e->table;
	if (--e->n_holds > 0)
		return;
	struct entry **at = &table->first;
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (e->template)
		template_let_go(e->template);
	shared_order_let_go(e->shared);
	entry_drop_secrets(e);
	free(e->order_text);
	json_decref(e->due_rules);
	json_decref(e->rewritten);
	free(e);
	engine_release(table->engine);
}

json_t *entry_json(const struct entry *e)
{
	static const char *const states[] = {"opening", "idle", "working", "closing"};
	json_t *out = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "session", e->id, "state",
		states[e->state], "head", e->head, "steps", (json_int_t)e->n_steps, "created_ms",
		(json_int_t)e->created_ms, "runtime",
		e->order ? e->order->runtime->name : "python");
	if (e->name[0])
		json_put_text(out, "name", e->name);
	if (e->parent[0])
		json_put_text(out, "parent", e->parent);
	if (e->rebuilt != RECORD_COMMITTED)
		json_put_text(
			out, "outcome", e->rebuilt == RECORD_DIVERGED ? "diverged" : "replayed");
	if (e->difference[0])
		json_put_text(out, "difference", e->difference);
	if (e->is_tainted)
		json_put_bool(out, "untrusted", true);
	json_put_new(out, "net", registry_net_json(e));
	if (e->shared)
		json_put_text(out, "template", e->shared->kept.order.template);
	lifetime_tell(e, out);
	return out;
}

/* ---- the queue of an entry ---- */

static void begin(struct job *job)
{
	job->is_started = true;
	job_start(job);
}

/* Start the next waiting job at once if this job and all running jobs make branches: only such jobs
 * may run at the same time. Running jobs come first in the queue. */
void entry_branch_on(struct entry *e)
{
	struct job *job = e->first;
	unsigned n = 0;
	while (job && job->is_started && job->child) {
		job = job->next;
		n++;
	}
	bool is_branch = job && !job->is_started && job->kind == JOB_BRANCH;
	if (is_branch && n < BRANCHES_AT_ONCE && e->state == ENTRY_WORKING &&
		!session_is_lost(e->session))
		begin(job);
}

static void next_job(struct entry *e)
{
	if (e->state == ENTRY_WORKING)
		entry_branch_on(e);
	if (e->state != ENTRY_IDLE || !e->first)
		return;
	e->state = ENTRY_WORKING;
	begin(e->first);
}

void entry_add_job(struct entry *e, struct job *job)
{
	if (!job_may_wait(e, job))
		return;
	job->entry = e;
	job->asked_ns = uv_hrtime();
	lifetime_use(e);
	*e->last = job;
	e->last = &job->next;
	next_job(e);
}

static void take_out(struct job *job)
{
	struct entry *e = job->entry;
	struct job **at = &e->first;
	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (e->last == &job->next)
		e->last = at;
}

void entry_answer_job(struct job *job, const json_t *result, const struct err *err)
{
	struct entry *e = job->entry;
	take_out(job);
	if (e->state == ENTRY_WORKING && !(e->first && e->first->is_started))
		e->state = ENTRY_IDLE;
	lifetime_use(e);
	entry_hold(e);
	job->done(job->arg, result, err);
	job_free(job);
	/* Set the timer of the idle work, which syncs the journal. The fuller the journal's log
	 * is, the sooner the work begins. Requests that arrive before that are answered first. */
	uint64_t pause_ms = 1 + IDLE_MS * (100 - journal_fill(e->table->journal)) / 100;
	e->table->is_idle_next = false;
	if (!e->table->is_closing)
		timer_start(&e->table->idle, e->table->on_idle, pause_ms, 0);
	next_job(e);
	entry_release(e);
}

void entry_answer(struct entry *e, const json_t *result, const struct err *err)
{
	entry_answer_job(e->first, result, err);
}

static void fail_jobs(struct entry *e, const struct err *err)
{
	while (e->first) {
		struct job *job = e->first;
		take_out(job);
		/* End the branch that the job is making. This must not call the callback of the
		 * branch, which would answer the job: job->done() answers it below. */
		if (job->child && job->child->done) {
			job->child->done = NULL;
			entry_end(job->child);
		}
		job->done(job->arg, NULL, err);
		job_free(job);
	}
}

/* ---- opening and ending a session ---- */

static void on_closed(void *arg)
{
	struct entry *e = arg;
	e->session = NULL;
	entry_release(e);
}

/* End an entry. Close its session first: a closed session makes no more callbacks, so the data
 * that its callbacks use can be freed. */
void entry_end_because(struct entry *e, const struct err *why)
{
	if (e->state == ENTRY_ENDING)
		return;
	e->state = ENTRY_ENDING;
	if (e->is_kept)
		lifetime_watch(e);
	entry_hold(e);
	pool_close(take_ptr(e->pool));
	(void)port_list_close(&e->ports, 0);
	if (e->session)
		session_close(e->session);
	replay_abort(e, why);
	registry_done_fn *done = take_ptr(e->done);
	if (done)
		done(e->arg, NULL, why);
	fail_jobs(e, why);
	if (e->table->ended)
		e->table->ended(e->table->ended_arg, e->id);
	/* Release the session's reference, unless on_closed() or entry_take_branch() will. */
	if (!e->session && !e->is_waiting)
		entry_release(e);
	entry_release(e); /* NOLINT(clang-analyzer-unix.Malloc) */
}

void entry_end(struct entry *e)
{
	struct err err;
	err_set(&err, ERR_GONE, "the session was closed");
	entry_end_because(e, &err);
}

static int keep(struct entry *e, struct err *err)
{
	struct journal_session row = {.order = e->order_text, .order_bytes = strlen(e->order_text)};
	if (e->is_kept)
		return 0;
	snprintf(row.id, sizeof row.id, "%s", e->id);
	snprintf(row.name, sizeof row.name, "%s", e->name);
	snprintf(row.owner, sizeof row.owner, "%s", e->owner);
	snprintf(row.parent, sizeof row.parent, "%s", e->parent);
	snprintf(row.fork, sizeof row.fork, "%s", e->fork);
	row.created_ms = e->created_ms;
	row.ttl_ms = e->ttl_ms;
	row.idle_ms = e->idle_ms;
	row.is_tainted = e->is_tainted;
	if (e->is_unkept)
		return 0;
	int r = journal_session_add(e->table->journal, &row, err);
	e->is_kept = r == 0;
	if (e->is_kept)
		lifetime_watch(e);
	return r;
}

static void answer_open(struct entry *e)
{
	registry_done_fn *done = take_ptr(e->done);
	if (e->state != ENTRY_OPENING)
		return;
	e->state = ENTRY_IDLE;
	entry_hold(e);
	if (done) {
		json_t *result = entry_json(e);
		done(e->arg, result, NULL);
		json_decref(result);
	}
	next_job(e);
	entry_release(e);
}

static void on_rebuilt(struct entry *e, const struct replay *result)
{
	if (e->state != ENTRY_OPENING)
		return;
	/* The rebuild was interrupted, so close the session. The next request reopens it. */
	if (result->err.code == ERR_INTERRUPTED) {
		const struct err why = result->err;
		entry_end_because(e, &why);
		return;
	}
	entry_note_rebuilt(e, result);
	session_move_head(e->session, e->head);
	answer_open(e);
}

void entry_opened(struct entry *e, const struct err *err)
{
	struct err error;
	struct replay *replay;
	if (e->state != ENTRY_OPENING)
		return;
	if (!err && keep(e, &error) < 0)
		err = &error;
	if (!err && e->head[0] && !e->is_live_branch) {
		if (replay_load(e->table, e->head, NULL, &replay, &error) == 0) {
			replay_start(e, replay, on_rebuilt);
			return;
		}
		err = &error;
	} else if (!err) {
		session_set_head(e->session, e->head);
		answer_open(e);
		return;
	}
	struct err why = *err;
	entry_end_because(e, &why);
}

static void on_opened(void *arg, const struct err *err)
{
	entry_opened(arg, err);
}
static const struct session_events entry_events = {.opened = on_opened,
	.used = lifetime_on_used,
	.unbegun = entry_on_unbegun,
	.begin = entry_on_begin,
	.call = entry_on_call,
	.cancel = entry_on_cancel,
	.keep = entry_on_keep,
	.widen = entry_on_widen,
	.done = entry_on_done,
	.closed = on_closed};

void entry_take_session(struct entry *e, struct session *s)
{
	struct session_events events = entry_events;
	events.arg = e;
	e->session = s;
	session_silence(s, &events);
	session_set_secrets(s, e->secrets);
}

static const char *inner_id(const struct entry *e)
{
	return e->is_trial ? e->parent : e->id;
}

void entry_take_branch(struct entry *e, struct session *s, const struct err *err)
{
	struct session_events events = entry_events;
	e->is_waiting = false;
	if (!s && e->state == ENTRY_ENDING) {
		entry_release(e);
	} else if (!s) {
		entry_opened(e, err);
	} else {
		events.arg = e;
		e->session = s;
		session_take(s, inner_id(e), &events);
		session_set_secrets(s, e->secrets);
		if (e->state == ENTRY_ENDING)
			session_close(s);
		else
			entry_opened(e, NULL);
	}
}

static void take_order(struct entry *e, struct shared_order *order)
{
	shared_order_let_go(e->shared);
	e->shared = order;
	e->order = &order->order;
}

static void on_template(void *arg, struct session *s, struct template *t, const struct err *err)
{
	struct entry *e = arg;
	if (s) {
		e->template = template_hold(t);
		take_order(e, shared_order_hold(template_order(t)));
	}
	entry_take_branch(e, s, err);
}

static void open_fresh(struct entry *e)
{
	struct err err;
	struct session_events events = entry_events;
	const struct session_config config = {.engine = e->table->engine,
		.order = e->order,
		.id = inner_id(e),
		.preload = e->shared->kept.preload,
		.n_checkpoints = e->table->n_checkpoints,
		.stdin_fd = -1};
	events.arg = e;
	if (session_open(&e->session, &config, &events, &err) < 0)
		entry_opened(e, &err);
	else
		session_set_secrets(e->session, e->secrets);
}

/* Return whether the session begins as a branch of a template. This is so if the session begins
 * in Python, unless its order asks for a new box instead of a branch (is_fresh). */
static bool is_of_template(const struct order_kept *kept)
{
	const char *runtime = kept->order.runtime;
	return !kept->is_fresh && (!runtime || strcmp(runtime, "python") == 0);
}

/* Parse the order of @e. Check the order, too, unless @e is to be a branch of a template: then
 * template.c checks the order when it makes the template. */
static int read_order(struct entry *e, struct err *err)
{
	int r = shared_order_parse(&e->shared, e->order_text, err);
	if (r < 0 || is_of_template(&e->shared->kept))
		return r;
	r = shared_order_check(e->shared, e->table->engine, err);
	if (r == 0)
		e->order = &e->shared->order;
	return r;
}

void entry_begin(struct entry *e)
{
	struct err err;
	int r = read_order(e, &err);
	if (r < 0) {
		entry_opened(e, &err);
	} else if (e->order) {
		open_fresh(e);
	} else {
		e->is_waiting = true;
		templates_get(e->table->templates,
			&(struct template_key){.owner = e->owner, .text = e->order_text},
			on_template, e);
	}
}

void registry_create(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	char id[ORDER_ID_BYTES];
	uint64_t memory_bytes = admit_memory(&req->order.limits);
	struct order order = req->order;
	struct order_layer layer = ORDER_LAYER_INIT;
	char *text = NULL;
	int bad = r->table->is_closing
		? err_set(&err, ERR_GONE, "the engine is stopping")
		: session_table_check_name(r->table, registry_owner(r), req->name, &err);
	if (bad == 0)
		bad = admit_order(r, &req->order, &err);
	if (bad == 0)
		bad = admit_session(r, memory_bytes, true, &err);
	if (bad == 0)
		bad = order_layer_find(&layer, &order, r->table->layers, registry_owner(r), &err);
	if (bad == 0 &&
		!(text = order_text_with(r->table->skills, &order, req->preload, req->is_fresh)))
		bad = err_set(&err, ERR_USAGE, "a name or path of the session is not UTF-8");
	order_layer_done(&layer);
	if (bad < 0) {
		free(text);
		done(arg, NULL, &err);
		return;
	}
	order_new_id(id);
	struct entry *e = entry_new(r->table, registry_owner(r), id, req->name, text);
	free(text);
	e->memory_bytes = memory_bytes;
	e->is_tainted = order_has_net(req->order.net, req->order.n_net);
	entry_keep_secrets(e, req->order.secrets, true);
	lifetime_choose(r, e, req->ttl_ms, req->idle_ms);
	e->done = done;
	e->arg = arg;
	entry_begin(e);
}

/* ---- opening and closing the registry ---- */

int registry_open(struct registry **out, const struct registry_config *config, struct err *err)
{
	struct session_table *r = xnew(struct session_table);
	r->engine = config->engine;
	r->n_checkpoints = config->n_checkpoints;
	r->n_standby = config->n_standby;
	r->max_sessions = config->max_sessions;
	r->max_memory_bytes = config->max_memory_bytes;
	r->ttl_ms = config->ttl_ms;
	r->idle_ms = config->idle_ms;
	r->retain_ms = config->retain_ms;
	r->shared_python = config->shared_python;
	r->on_idle = session_table_on_idle;
	r->ended = config->ended;
	r->ended_arg = config->arg;
	r->gate = config->gate;
	r->skills = config->skills;
	r->runtime_dir = config->runtime_dir;
	int bad = config->state_dir ? journal_open(&r->journal, config->state_dir, err)
				    : journal_open_nameless(&r->journal, err);
	if (bad == 0 && config->layers_dir)
		bad = layer_store_open(&r->layers, config->layers_dir, err);
	if (bad < 0) {
		journal_close(r->journal);
		free(r);
		return bad;
	}
	r->engine->layers = r->layers;
	r->templates = templates_open(r->engine, config->n_standby, r->n_checkpoints);
	(void)uv_timer_init(r->engine->loop, &r->idle);
	r->idle.data = r;
	lifetime_open(r);
	sliced_work_open(r);
	r->all.table = r;
	*out = &r->all;
	return 0;
}

static void on_idle_closed(uv_handle_t *handle)
{
	struct session_table *r = handle->data;
	void (*closed)(void *) = r->closed;
	void *arg = r->arg;
	journal_close(r->journal);
	layer_store_close(r->layers);
	while (r->all.next) {
		struct registry *view = r->all.next;
		r->all.next = view->next;
		free(view);
	}
	free(r);
	closed(arg);
}

static void on_lifetimes_closed(uv_handle_t *handle)
{
	struct session_table *r = handle->data;
	uv_close((uv_handle_t *)&r->idle, on_idle_closed);
}

static void on_emptied(struct engine *engine)
{
	struct session_table *r = engine->arg;
	engine->emptied = NULL;
	uv_close((uv_handle_t *)&r->lifetimes, on_lifetimes_closed);
}

void registry_close(struct registry *registry, void (*closed)(void *arg), void *arg)
{
	struct session_table *r = registry->table;
	struct engine *engine = r->engine;
	r->is_closing = true;
	prune_stop(r);
	sliced_work_stop(r);
	r->closed = closed;
	r->arg = arg;
	engine_hold(engine);
	engine->emptied = on_emptied;
	engine->arg = r;
	engine_end_boxes(engine); /* ending all boxes at once is faster than closing each session */
	/* Ending a session may end others, so continue from the head of the list. */
	for (struct entry *e = r->first; e;) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was freed is not in the list */
		bool is_news = e->state != ENTRY_ENDING;
		entry_end(e);
		e = is_news ? r->first : e->next;
	}
	templates_close(r->templates);
	engine_release(engine);
}
