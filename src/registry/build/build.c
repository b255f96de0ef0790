/*
 * Builds of templates with packages.
 *
 * A build is a session that nobody sees: it is in no journal, and has no name. Its box has the
 * network of the registries, and writes to the layer, a directory of the host. The program that
 * runs in it is fixed (drivers/packages); what it installs is not trusted, and it runs code of
 * packages.
 *
 *   BEGINNING   a thread makes the directories
 *   INSTALLING  a box runs the package managers
 *   INSTALLED   if a command follows, a thread seals the layer: its box sees what others will see
 *   RUNNING     another box, in which the layer is in its place, runs the command of the template
 *   SEALING     a thread makes the layer read-only and names it; then it gets its place in the
 * store
 *
 * While a box runs, a timer has a thread count what it has written, since no quota limits a
 * directory of the host; a build that is too large is stopped.
 *
 * A box ends with its step (is_once), so that none of its processes writes while the layer is
 * sealed. What a box has written is only read without following links, and up to a limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/build/build.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "base/work.h"
#include "layer/layer_build.h"
#include "layer/layer_tree.h"
#include "registry/admit.h"
#include "registry/build/build_box.h"
#include "registry/build/build_text.h"
#include "registry/session_table.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MEASURE_MS = 1000, TAIL_BYTES = 200, COMMAND_BYTES = 1 << 20 };

enum build_state {
	BUILD_BEGINNING,
	BUILD_INSTALLING,
	BUILD_INSTALLED,
	BUILD_RUNNING,
	BUILD_SEALING,
	BUILD_ENDING,
};

struct build {
	struct build *next, **link;
	struct session_table *table;
	enum build_state state;
	char *owner, *name;
	char *box;	     /* order_text() of the box, without what is different in each state */
	json_t *spec, *lock; /* `lock`: what is to be installed again, or NULL */
	json_t *about;	     /* the template, when it is there; or NULL */
	struct layer_build place;
	uint64_t max_bytes;
	struct layer_sum sum;
	struct build_dirs dirs;
	struct build_cache cache;
	/* in the states INSTALLING and RUNNING: a box, and its parameters */
	struct order_checked order;
	struct session *session;
	const struct step_listener *listener;
	uv_timer_t timer;
	struct work work;
	bool is_upgrade;
	bool is_measuring; /* a thread uses `work` and `sum` */
	bool is_due;	   /* the session has ended while a thread was measuring */
	struct err err;	   /* the first failure; only the loop's thread writes it */
	struct err found;  /* what a thread has found, for the loop to take */
	registry_done_fn *done;
	void *arg;
};

static void fail(struct build *b, const struct err *err)
{
	if (b->err.code == ERR_NONE)
		b->err = *err;
}

/* Take what a thread has found. */
static void take_found(struct build *b)
{
	if (b->found.code != ERR_NONE)
		fail(b, &b->found);
	b->found = (struct err){0};
}

/* ---- the end of a build ---- */

static void on_timer_closed(uv_handle_t *handle)
{
	struct build *b = handle->data;
	struct engine *engine = b->table->engine;
	json_decref(b->spec);
	json_decref(b->lock);
	json_decref(b->about);
	free(b->owner);
	free(b->name);
	free(b->box);
	free(b);
	engine_release(engine);
}

static void answer(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
	b->done(b->arg, b->about, b->err.code == ERR_NONE ? NULL : &b->err);
	uv_close((uv_handle_t *)&b->timer, on_timer_closed);
}

static void perform_end(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	build_dirs_close(&b->dirs);
	build_cache_close(&b->cache);
	layer_build_end(&b->place);
}

static void end(struct build *b)
{
	b->state = BUILD_ENDING;
	work_begin(b->table->engine->loop, WORK_READ, &b->work, perform_end, answer);
}

/* ---- SEALING ---- */

static int seal(struct build *b, struct err *err)
{
	cleanup_json json_t *packages = NULL, *lock = NULL;
	struct timespec now;
	int r = json_object_get(b->spec, "command") ? build_dirs_join(&b->place, b->name, err) : 0;
	if (r == 0)
		r = layer_seal(b->place.tree_fd, b->max_bytes, &b->sum, err);
	if (r == 0)
		r = build_text_read(b->dirs.out_fd, &packages, &lock, err);
	if (r < 0)
		return r;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	b->about = json_need(json_object());
	json_put_text(b->about, "name", b->name);
	json_put_int(b->about, "made_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
	json_put_int(b->about, "bytes", (int64_t)b->sum.bytes);
	json_put_int(b->about, "files", (int64_t)b->sum.files);
	json_put_shared(b->about, "spec", b->spec);
	json_put_shared(b->about, "packages", packages);
	json_put_shared(b->about, "lock", lock);
	return layer_build_commit(&b->place, b->sum.digest, b->owner, b->about, err);
}

static void perform_seal(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	if (seal(b, &b->found) < 0)
		json_decref(take_ptr(b->about));
}

/* A build that was stopped meanwhile has succeeded all the same. */
static void on_sealed(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	if (b->about)
		b->err = (struct err){0};
	else
		take_found(b);
	end(b);
}

/* ---- INSTALLING and RUNNING ---- */

static int open_box(struct build *b, struct err *err);
static void next(struct build *b);

static void perform_installed(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	(void)layer_seal(b->place.tree_fd, b->max_bytes, &b->sum, &b->found);
}

static void on_installed(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	take_found(b);
	next(b);
}

/* The session of a state has ended, or the thread of INSTALLED has. */
static void next(struct build *b)
{
	struct err err;
	if (b->is_measuring) {
		b->is_due = true;
		return;
	}
	b->is_due = false;
	if (b->err.code != ERR_NONE) {
		end(b);
		return;
	}
	if (b->state == BUILD_INSTALLING && json_object_get(b->spec, "command")) {
		b->state = BUILD_INSTALLED;
		work_begin(b->table->engine->loop, WORK_READ, &b->work, perform_installed,
			on_installed);
		return;
	}
	if (b->state == BUILD_INSTALLED) {
		b->state = BUILD_RUNNING;
		if (open_box(b, &err) == 0)
			return;
		fail(b, &err);
		end(b);
		return;
	}
	b->state = BUILD_SEALING;
	work_begin(b->table->engine->loop, WORK_READ, &b->work, perform_seal, on_sealed);
}

static void on_closed(void *arg)
{
	struct build *b = arg;
	(void)uv_timer_stop(&b->timer);
	b->session = NULL;
	order_done(&b->order);
	next(b);
}

/* Stop what runs in the box. */
static void stop(struct build *b)
{
	for (int i = 0; i < 2 && b->session; i++)
		session_interrupt(b->session);
}

static void perform_measure(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	const int counted[] = {b->place.tree_fd, b->dirs.command_fd, b->dirs.out_fd};
	int r = 0;
	b->sum = (struct layer_sum){.bytes = 0};
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(counted); i++)
		r = layer_measure(counted[i], b->max_bytes, &b->sum, &b->found);
	if (r == 0)
		(void)build_cache_check(&b->cache, b->max_bytes, &b->found);
}

static void on_measured(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	b->is_measuring = false;
	take_found(b);
	if (b->is_due)
		next(b);
	else if (b->err.code != ERR_NONE)
		stop(b);
}

static void on_timer(uv_timer_t *timer)
{
	struct build *b = timer->data;
	if (b->is_measuring)
		return;
	b->is_measuring = true;
	work_begin(b->table->engine->loop, WORK_READ, &b->work, perform_measure, on_measured);
}

/* Return whether the line says nothing about what has failed. */
static bool is_noise(const char *line)
{
	static const char *const begins[] = {
		"npm error Log files", "npm error A complete log", "Got "};
	line += strspn(line, " \t");
	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncmp(line, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Copy the last line of @text that says something to @out. */
static void last_line(const char *all, char out[TAIL_BYTES])
{
	size_t end = strlen(all), begin;
	do {
		while (end > 0 && strchr(" \r\n\t", all[end - 1]))
			end--;
		begin = end;
		while (begin > 0 && all[begin - 1] != '\n')
			begin--;
		if (begin == 0 || !is_noise(all + begin))
			break;
		end = begin;
	} while (true);
	size_t bytes = utf8_cut(all + begin, end - begin, TAIL_BYTES - 1);
	memcpy(out, all + begin, bytes);
	out[bytes] = '\0';
}

/* The first name that the network rules have refused is probably why. */
static void hint_network(const struct record *record, struct err *err)
{
	size_t i;
	const json_t *row;
	json_array_foreach(record->network, i, row)
	{
		const char *name = json_get_text(row, "name");
		const char *reason = json_get_text(row, "reason");
		/* apt and others ask for "_http._tcp.HOST" first, and do without */
		if (strcmp(json_get_text(row, "verdict"), "refused") != 0 || name[0] == '_')
			continue;
		(void)err_hint(err,
			strncmp(reason, "its address", 11) == 0
				? "%.80s: %.80s: if the registry is in your network, --net '!pypi', "
				  "'!npm' or '!debian'"
				: "%.80s was refused: %.80s: --net NAME allows it",
			name, reason);
		return;
	}
}

static void explain(const struct build *b, const struct record *record, struct err *err)
{
	char line[TAIL_BYTES];
	const char *what =
		b->state == BUILD_INSTALLING ? "the installation of the packages" : "the command";
	last_line(json_get_text(record->outputs, "stderr"), line);
	if (record->status != RECORD_ERROR)
		(void)err_set(err, ERR_BUILD, "%.64s: %s was stopped (%s)", b->name, what,
			record_status_word(record->status));
	else if (line[0])
		(void)err_set(err, ERR_BUILD, "%.64s: %s has failed: %s", b->name, what, line);
	else
		(void)err_set(err, ERR_BUILD, "%.64s: %s has failed, with exit status %d", b->name,
			what, record->exit_code);
	if (record->status == RECORD_TIMEOUT)
		(void)err_hint(err, "give it more time: --timeout");
	else if (record->status == RECORD_OOM || record->usage.n_oom_kills > 0)
		(void)err_hint(err, "give it more memory: --memory");
	else
		hint_network(record, err);
}

static void on_done(void *arg, const struct record *record)
{
	struct build *b = arg;
	struct err err;
	if (record->status != RECORD_OK) {
		explain(b, record, &err);
		fail(b, &err);
	}
	session_close(b->session);
}

static int run_step(struct build *b, struct err *err)
{
	cleanup_buf struct buf code = BUF_INIT(COMMAND_BYTES);
	char dir[80];
	snprintf(dir, sizeof dir, "/opt/%s", b->name);
	int r = b->state == BUILD_INSTALLING
		? buf_add(&code, "bash " BUILD_RECIPE "/build.bash")
		: build_text_command(&code, dir, json_object_get(b->spec, "command"));
	if (r < 0)
		return err_set(err, ERR_LIMIT, "the command is too long");
	struct step_order *order = step_order_new(&(struct step_order){.runtime = &runtime_shell,
							  .code = buf_str(&code),
							  .code_bytes = code.bytes,
							  .stdin_fd = -1},
		err);
	r = order ? session_run(b->session, order, b->listener, err) : -ENOMEM;
	step_order_let_go(order);
	return r;
}

static void on_opened(void *arg, const struct err *failed)
{
	struct build *b = arg;
	struct err err;
	if (failed)
		fail(b, failed);
	else if (b->err.code == ERR_NONE && run_step(b, &err) < 0)
		fail(b, &err);
	if (b->err.code != ERR_NONE)
		session_close(b->session);
}

static int open_session(struct build *b, const struct order *order, struct err *err)
{
	struct engine *engine = b->table->engine;
	int r = order_check(&b->order, order, &engine->install, engine->trust, err);
	if (r < 0)
		return r;
	const struct session_config config = {.engine = engine,
		.order = &b->order,
		.id = b->order.id,
		.is_once = true,
		.stdin_fd = -1};
	const struct session_events events = {
		.arg = b, .opened = on_opened, .done = on_done, .closed = on_closed};
	r = session_open(&b->session, &config, &events, err);
	if (r < 0)
		order_done(&b->order);
	else
		timer_start(&b->timer, on_timer, MEASURE_MS, MEASURE_MS);
	return r;
}

static bool has_apt(const struct build *b)
{
	return json_object_get(b->spec, "apt") != NULL;
}

/* Open the box of the present state. */
static int open_box(struct build *b, struct err *err)
{
	struct order_kept kept;
	struct build_volumes volumes;
	int r = order_parse(&kept, b->box, strlen(b->box), err);
	if (r < 0)
		return r;
	const struct build_what what = {.name = b->name, .has_apt = has_apt(b)};
	build_volumes_of(&volumes, b->table->engine, &b->place, &b->cache, &what);
	struct order order = kept.order;
	if (b->state == BUILD_INSTALLING) {
		order.volumes = volumes.installing;
		order.n_volumes = volumes.n_installing;
	} else {
		order.volumes = volumes.running;
		order.n_volumes = volumes.n_running;
		order.layer_tree = volumes.tree;
	}
	r = open_session(b, &order, err);
	order_kept_done(&kept);
	return r;
}

/* ---- beginning a build ---- */

static int admit(struct registry *r, const struct registry_build *req, struct err *err)
{
	unsigned n = 0;
	int bad = r->table->is_closing ? err_set(err, ERR_GONE, "the engine is stopping")
				       : layer_check_name(req->name, err);
	if (bad == 0 && !r->table->layers)
		bad = err_fail(err, ERR_NOT_FOUND, "start it with a state directory",
			"this engine has no place for templates with packages");
	for (const struct build *b = r->table->builds; b && bad == 0; b = b->next, n++)
		if (strcmp(b->owner, registry_owner(r)) == 0)
			bad = err_fail(err, ERR_BUSY, "build this one when it is done",
				"template %.64s is being built", b->name);
	if (bad == 0 && n >= BUILDS_MAX)
		bad = err_fail(err, ERR_BUSY, "try again later", "%u templates are being built", n);
	if (bad == 0)
		bad = admit_order(r, &req->order, err);
	if (bad == 0)
		bad = admit_session(r, admit_memory(&req->order.limits), true, err);
	return bad;
}

static int make_places(struct build *b, struct err *err)
{
	int r = has_apt(b) ? build_check_sources(err) : 0;
	if (r == 0)
		r = layer_build_begin(&b->place, b->table->layers, b->owner, b->name, err);
	if (r == 0)
		r = build_dirs_make(&b->dirs, &b->place, err);
	if (r == 0)
		r = build_text_write(b->dirs.in_fd, b->spec, b->lock, b->is_upgrade, err);
	if (r == 0)
		build_cache_open(&b->cache, layer_store_dir(b->table->layers), b->owner);
	return r;
}

static void perform_begin(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	(void)make_places(b, &b->found);
}

static void on_begun(struct work *work)
{
	struct build *b = container_of(work, struct build, work);
	struct err err;
	take_found(b);
	b->state = BUILD_INSTALLING;
	if (b->err.code == ERR_NONE && open_box(b, &err) == 0)
		return;
	if (b->err.code == ERR_NONE)
		fail(b, &err);
	end(b);
}

/* Return order_text() of the box, without what is different in each state. */
static char *box_text(const struct registry_build *req)
{
	struct order order = req->order;
	bool has_python = json_object_get(req->spec, "pip") || order.interpreter;
	order.runtime = has_python ? "python" : "shell";
	order.is_session = true;
	return order_text(&order, NULL, true);
}

void registry_build(
	struct registry *r, const struct registry_build *req, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	char *box = NULL;
	if (admit(r, req, &err) == 0 && !(box = box_text(req)))
		(void)err_set(&err, ERR_USAGE, "a path of the build is not UTF-8");
	if (!box) {
		done(arg, NULL, &err);
		return;
	}
	struct build *b = xnew(struct build);
	*b = (struct build){.next = r->table->builds,
		.link = &r->table->builds,
		.table = r->table,
		.owner = xstrdup(registry_owner(r)),
		.name = xstrdup(req->name),
		.box = box,
		.spec = json_incref(json_unconst(req->spec)),
		.lock = json_incref(json_unconst(req->lock)),
		.place = LAYER_BUILD_INIT,
		.dirs = BUILD_DIRS_INIT,
		.cache = {.lock_fd = -1},
		.is_upgrade = req->is_upgrade,
		.max_bytes = req->layer_bytes,
		.listener = req->listener,
		.done = done,
		.arg = arg};
	if (b->next)
		b->next->link = &b->next;
	r->table->builds = b;
	engine_hold(r->table->engine);
	(void)uv_timer_init(r->table->engine->loop, &b->timer);
	b->timer.data = b;
	work_begin(r->table->engine->loop, WORK_READ, &b->work, perform_begin, on_begun);
}

static void interrupt(struct build *b, enum err_code code, const char *why)
{
	struct err err;
	(void)err_set(&err, code, "%s", why);
	fail(b, &err);
	stop(b);
}

void registry_build_stop(struct registry *r, const void *arg)
{
	for (struct build *b = r->table->builds; b; b = b->next)
		if (b->arg == arg) {
			interrupt(b, ERR_INTERRUPTED, "the build was stopped");
			return;
		}
}

void registry_build_stop_all(struct registry *r)
{
	for (struct build *b = r->table->builds; b; b = b->next)
		interrupt(b, ERR_GONE, "the engine is stopping");
}
