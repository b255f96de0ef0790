/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_registry.h"

#include "base/buf.h"
#include "registry/build/build.h"
#include "registry/files.h"
#include "registry/net.h"
#include "registry/ports.h"
#include "registry/processes.h"
#include "registry/stats.h"
#include "session/start/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 4096, SESSIONS_MAX = 64, VARS_MAX = 16, FILES_MAX = 16 };

struct vars {
	char name[VARS_MAX][32];
	long value[VARS_MAX];
	size_t n;
};

struct node {
	char id[68];
	int parent; /* -1: none */
	char session[16];
	char *code;
	const char *status;
	struct vars vars;
};

struct file {
	char path[64];
	char *data;
	size_t bytes;
};

struct fake_session {
	char id[16], name[64], parent[16], runtime[16];
	int head;
	struct file files[FILES_MAX];
	size_t n_files;
	struct run *running;
	struct owner *owner;
	bool is_open;
};

struct run {
	struct registry *r;
	struct fake_session *s;
	registry_done_fn *done;
	void *arg;
	const struct step_listener *watch;
	char *code;
	uv_timer_t timer;
	struct vars vars;
	struct buf out[2];
	json_t *displays, *value;
	const char *status, *error;
	bool is_waiting;
};

/* What all views of it share. */
struct fake {
	struct registry *views; /* the first sees everything */
	uv_loop_t *loop;
	struct node nodes[NODES_MAX];
	int n_nodes;
	struct fake_session sessions[SESSIONS_MAX];
	int n_sessions;
	void (*closed)(void *arg);
	void *arg;
	uv_timer_t timer;
};

struct registry {
	struct fake *all;
	struct owner *owner;
	struct registry *next;
};

struct registry *fake_registry_new(uv_loop_t *loop)
{
	struct fake *all = calloc(1, sizeof *all);
	struct registry *r = all ? calloc(1, sizeof *r) : NULL;
	if (!r) {
		free(all);
		return NULL;
	}
	all->loop = loop;
	all->views = r;
	r->all = all;
	return r;
}

struct registry *registry_view(struct registry *r, struct owner *owner)
{
	struct registry **at = &r->all->views->next;
	while (*at && (*at)->owner != owner)
		at = &(*at)->next;
	if (!*at && (*at = calloc(1, sizeof **at)))
		**at = (struct registry){.all = r->all, .owner = owner};
	return *at;
}

/* An engine without a store of layers. */
struct engine *registry_engine(const struct registry *r)
{
	static struct engine engine;
	engine.loop = r->all->loop;
	return &engine;
}

void fake_registry_free(struct registry *r)
{
	for (int i = 0; i < r->all->n_nodes; i++)
		free(r->all->nodes[i].code);
	for (int i = 0; i < r->all->n_sessions; i++)
		for (size_t j = 0; j < r->all->sessions[i].n_files; j++)
			free(r->all->sessions[i].files[j].data);
	struct fake *all = r->all;
	while (all->views) {
		struct registry *view = all->views;
		all->views = view->next;
		free(view);
	}
	free(all);
}

int registry_open(struct registry **out, const struct registry_config *config, struct err *err)
{
	*out = fake_registry_new(config->engine->loop);
	return *out ? 0 : err_set(err, ERR_NO_MEMORY, "no memory");
}

static void on_gone(uv_handle_t *handle)
{
	struct registry *r = handle->data;
	void (*closed)(void *arg) = r->all->closed;
	void *arg = r->all->arg;
	fake_registry_free(r);
	closed(arg);
}

void registry_close(struct registry *r, void (*closed)(void *arg), void *arg)
{
	struct err err;
	for (int i = 0; i < r->all->n_sessions; i++)
		if (r->all->sessions[i].running)
			(void)registry_interrupt(r, r->all->sessions[i].id, &err);
	r->all->closed = closed;
	r->all->arg = arg;
	(void)uv_timer_init(r->all->loop, &r->all->timer);
	r->all->timer.data = r;
	uv_close((uv_handle_t *)&r->all->timer, on_gone);
}

static struct fake_session *find(struct registry *r, const char *name, struct err *err)
{
	for (int i = 0; i < r->all->n_sessions; i++) {
		struct fake_session *s = &r->all->sessions[i];
		if (s->is_open && (!r->owner || r->owner == s->owner) &&
			(strcmp(s->id, name) == 0 || (s->name[0] && strcmp(s->name, name) == 0)))
			return s;
	}
	(void)err_set(err, ERR_NOT_FOUND, "no session \"%.40s\"", name);
	(void)err_hint(err, "retort session ls lists them");
	return NULL;
}

static const char *head_of(struct registry *r, const struct fake_session *s)
{
	return s->head >= 0 ? r->all->nodes[s->head].id : NULL;
}

static json_t *session_json(struct registry *r, const struct fake_session *s)
{
	int n = 0;
	for (int i = s->head; i >= 0; i = r->all->nodes[i].parent)
		n++;
	return json_pack("{s:s, s:s*, s:s*, s:s, s:s, s:s?, s:i, s:I}", "session", s->id, "name",
		s->name[0] ? s->name : NULL, "parent", s->parent[0] ? s->parent : NULL, "runtime",
		s->runtime, "state", s->running ? "running" : "idle", "head", head_of(r, s),
		"steps", n, "created_ms", (json_int_t)1767323045000);
}

static void give(registry_done_fn *done, void *arg, json_t *result)
{
	done(arg, result, NULL);
	json_decref(result);
}

static struct fake_session *add(struct registry *r, const char *name, struct err *err)
{
	struct err unused;
	if (name && find(r, name, &unused)) {
		(void)err_set(err, ERR_USAGE, "name \"%.40s\" is taken", name);
		return NULL;
	}
	if (r->all->n_sessions == SESSIONS_MAX) {
		(void)err_set(err, ERR_LIMIT, "%d sessions", SESSIONS_MAX);
		return NULL;
	}
	struct fake_session *s = &r->all->sessions[r->all->n_sessions++];
	*s = (struct fake_session){.head = -1, .is_open = true, .owner = r->owner};
	snprintf(s->id, sizeof s->id, "s-%d", r->all->n_sessions);
	snprintf(s->name, sizeof s->name, "%s", name ? name : "");
	return s;
}

/* There is at most one template with packages, see registry_build(). */
static bool is_built;

static bool is_template_unknown(
	const struct registry_create *req, registry_done_fn *done, void *arg)
{
	struct err err;
	const char *name = req->order.template;
	if (!name || (is_built && strcmp(name, "words") == 0))
		return false;
	(void)err_set(&err, ERR_NOT_FOUND, "no template %s", name);
	done(arg, NULL, &err);
	return true;
}

int registry_check_net(struct registry *r, const char *const *net, size_t n, struct err *err)
{
	(void)r, (void)net, (void)n, (void)err;
	return 0;
}

void registry_create(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg)
{
	struct err err;
	const char *runtime = req->order.runtime ? req->order.runtime : "python";
	if (is_template_unknown(req, done, arg))
		return;
	struct fake_session *s = add(r, req->name, &err);
	if (!s) {
		done(arg, NULL, &err);
		return;
	}
	snprintf(s->runtime, sizeof s->runtime, "%s", runtime);
	give(done, arg, session_json(r, s));
}

void registry_net(
	struct registry *r, const struct registry_net *net, registry_done_fn *done, void *arg)
{
	struct err err;
	const struct fake_session *s = find(r, net->session, &err);
	if (!s) {
		done(arg, NULL, &err);
		return;
	}
	json_t *rules = json_array();
	for (size_t i = 0; i < net->n; i++)
		(void)json_array_append_new(rules, json_string(net->rules[i]));
	give(done, arg, json_pack("{s:s, s:o}", "session", s->id, "net", rules));
}

/* ---- templates with packages: there is one, "words", once it was built ---- */

static json_t *words(void)
{
	return is_built ? json_pack("{s:s, s:s, s:I, s:i, s:i, s:{}, s:[], s:{}}", "name", "words",
				  "layer", "0123", "made_ms", (json_int_t)1, "bytes", 2, "files", 1,
				  "spec", "packages", "lock")
			: NULL;
}

void registry_build(
	struct registry *r, const struct registry_build *req, registry_done_fn *done, void *arg)
{
	(void)r, (void)req;
	is_built = true;
	json_t *about = words();
	done(arg, about, NULL);
	json_decref(about);
}

void registry_build_stop(struct registry *r, const void *arg)
{
	(void)r, (void)arg;
}

void registry_build_stop_all(struct registry *r)
{
	(void)r;
}

static void give_words(const char *name, registry_done_fn *done, void *arg)
{
	struct err err;
	json_t *about = words();
	if (!about)
		(void)err_set(&err, ERR_NOT_FOUND, "no template %s", name);
	done(arg, about, &err);
	json_decref(about);
}

void registry_built(struct registry *r, const char *name, registry_done_fn *done, void *arg)
{
	(void)r;
	give_words(name, done, arg);
}

void registry_built_list(struct registry *r, registry_done_fn *done, void *arg)
{
	(void)r;
	json_t *rows = json_array(), *row = words();
	if (row) {
		(void)json_object_set_new(row, "packages", json_integer(0));
		(void)json_object_del(row, "lock");
		(void)json_array_append_new(rows, row);
	}
	done(arg, rows, NULL);
	json_decref(rows);
}

void registry_unbuild(struct registry *r, const char *name, registry_done_fn *done, void *arg)
{
	struct err err;
	(void)r;
	json_t *result = is_built ? json_pack("{s:b}", "in_use", 0) : NULL;
	if (!result)
		(void)err_set(&err, ERR_NOT_FOUND, "no template %s", name);
	is_built = false;
	done(arg, result, &err);
	json_decref(result);
}

void registry_warm(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg)
{
	(void)r;
	if (is_template_unknown(req, done, arg))
		return;
	give(done, arg,
		json_pack("{s:s, s:b, s:i}", "template", "s-t", "ready", true, "standby", 1));
}

void registry_branch(struct registry *r, const char *session, const struct registry_branch *branch,
	registry_done_fn *done, void *arg)
{
	struct err err;
	struct fake_session *from = find(r, session, &err);
	struct fake_session *s = from ? add(r, branch->name, &err) : NULL;
	if (!s) {
		done(arg, NULL, &err);
		return;
	}
	s->head = from->head;
	snprintf(s->parent, sizeof s->parent, "%s", from->id);
	snprintf(s->runtime, sizeof s->runtime, "%s", from->runtime);
	give(done, arg, session_json(r, s));
}

void registry_try(
	struct registry *r, const char *session, uint64_t ttl_ms, registry_done_fn *done, void *arg)
{
	const struct registry_branch branch = {.others = OTHERS_REFUSE};
	(void)ttl_ms;
	registry_branch(r, session, &branch, done, arg);
}

void registry_adopt(struct registry *r, const char *session, const char *trial,
	registry_done_fn *done, void *arg)
{
	struct err err;
	struct fake_session *s = find(r, session, &err), *from = s ? find(r, trial, &err) : NULL;
	if (!from) {
		done(arg, NULL, &err);
		return;
	}
	s->head = from->head;
	give(done, arg, session_json(r, s));
}

void registry_undo(
	struct registry *r, const struct registry_undo *req, registry_done_fn *done, void *arg)
{
	struct err err;
	const char *to_step = req->to_step;
	unsigned count = req->count;
	struct fake_session *s = find(r, req->session, &err);
	int head = s ? s->head : -1;
	if (s && to_step) {
		while (head >= 0 && strncmp(r->all->nodes[head].id, to_step, strlen(to_step)) != 0)
			head = r->all->nodes[head].parent;
	} else {
		for (; count > 0 && head >= 0; count--)
			head = r->all->nodes[head].parent;
	}
	if (s && (count > 0 || (to_step && head < 0))) {
		(void)err_set(&err, ERR_NOT_FOUND, "no such step to go back to");
		s = NULL;
	}
	if (!s) {
		done(arg, NULL, &err);
		return;
	}
	s->head = head;
	give(done, arg, json_pack("{s:s, s:s?}", "session", s->id, "head", head_of(r, s)));
}

void registry_end(struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err;
	struct fake_session *s = find(r, session, &err);
	if (!s) {
		done(arg, NULL, &err);
		return;
	}
	s->is_open = false;
	give(done, arg, json_object());
}

/* ---- processes: the fake sessions have none ---- */

void registry_await_process(
	struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err;
	if (find(r, session, &err))
		give(done, arg, json_object());
	else
		done(arg, NULL, &err);
}

void registry_await_opened(
	struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	registry_await_process(r, session, done, arg);
}

struct session *registry_process_session(
	struct registry *r, const char *session, const char **id, struct err *err)
{
	*id = "";
	if (find(r, session, err))
		(void)err_set(err, ERR_BUSY, "a fake session has no box");
	return NULL;
}

struct process *registry_process(
	struct registry *r, const char *session, const char *process, struct err *err)
{
	if (find(r, session, err))
		(void)err_set(err, ERR_NOT_FOUND, "no process \"%.64s\"", process);
	return NULL;
}

/* ---- a step ---- */

static void put(struct run *run, int stream, const char *data, size_t bytes)
{
	(void)buf_append(&run->out[stream], data, bytes);
	if (run->watch && run->watch->output)
		run->watch->output(run->watch->arg, stream, data, bytes);
}

static void put_line(struct run *run, int stream, const char *text)
{
	char line[512];
	snprintf(line, sizeof line, "%.500s\n", text);
	put(run, stream, line, strlen(line));
}

static size_t var(struct vars *v, const char *name)
{
	size_t i = 0;
	while (i < v->n && strcmp(v->name[i], name) != 0)
		i++;
	return i;
}

static void do_show(struct run *run)
{
	json_t *display =
		json_pack("{s:s, s:s}", "text/plain", "<Figure>", "image/png", "iVBORw0KGgo=");
	(void)json_array_append(run->displays, display);
	if (run->watch && run->watch->display)
		run->watch->display(run->watch->arg, display, NULL);
	json_decref(display);
}

static void do_flood(struct run *run, long n_kib)
{
	char block[1024];
	memset(block, 'x', sizeof block);
	for (long i = 0; i < n_kib; i++)
		put(run, 0, block, sizeof block);
}

static void save(struct fake_session *s, const char *path, const char *data, size_t bytes)
{
	size_t i = 0;
	while (i < s->n_files && strcmp(s->files[i].path, path) != 0)
		i++;
	if (i == FILES_MAX)
		return;
	if (i == s->n_files)
		s->files[s->n_files++] = (struct file){0};
	free(s->files[i].data);
	snprintf(s->files[i].path, sizeof s->files[i].path, "%s", path);
	s->files[i].data = malloc(bytes + 1);
	memcpy(s->files[i].data, data, bytes);
	s->files[i].data[bytes] = '\0';
	s->files[i].bytes = bytes;
}

/* Returns: whether to go on. */
static bool do_line(struct run *run, const char *line)
{
	struct vars *v = &run->vars;
	char name[32];
	long value;
	if (sscanf(line, "%31[a-z] = %ld", name, &value) == 2) {
		size_t i = var(v, name);
		if (i == v->n && v->n < VARS_MAX)
			strcpy(v->name[v->n++], name);
		v->value[i < VARS_MAX ? i : 0] = value;
	} else if (strncmp(line, "print ", 6) == 0) {
		put_line(run, 0, line + 6);
	} else if (strncmp(line, "warn ", 5) == 0) {
		put_line(run, 1, line + 5);
	} else if (strncmp(line, "flood ", 6) == 0) {
		do_flood(run, atol(line + 6));
	} else if (strcmp(line, "split") == 0) {
		put(run, 0, "\xc3", 1);
		put(run, 0, "\xa9\n", 2);
	} else if (strcmp(line, "show") == 0) {
		do_show(run);
	} else if (strncmp(line, "save ", 5) == 0) {
		save(run->s, line + 5, "saved\n", 6);
	} else if (strcmp(line, "wait") == 0) {
		run->is_waiting = true;
	} else if (var(v, line) < v->n) {
		char text[32];
		snprintf(text, sizeof text, "%ld", v->value[var(v, line)]);
		run->value = json_pack("{s:s}", "text/plain", text);
	} else {
		run->status = "error";
		run->error = "no such name";
		put_line(run, 1, "NameError: no such name");
		return false;
	}
	return true;
}

static json_t *record_of(struct run *run, const struct node *node, const char *parent)
{
	json_t *files = json_array();
	for (size_t i = 0; i < run->s->n_files; i++)
		(void)json_array_append_new(files,
			json_pack("{s:s, s:s, s:i}", "path", run->s->files[i].path, "change",
				"created", "size", (int)run->s->files[i].bytes));
	json_t *record = json_pack("{s:i, s:s, s:s?, s:s, s:s, s:s, s:O, s:s%, s:s%, s:o, s:{}}",
		"schema", 1, "step", node->id, "parent", parent, "session", run->s->id, "runtime",
		run->s->runtime, "status", run->status, "displays", run->displays, "stdout",
		buf_str(&run->out[0]), run->out[0].bytes, "stderr", buf_str(&run->out[1]),
		run->out[1].bytes, "files", files, "truncated");
	if (run->value)
		(void)json_object_set(record, "value", run->value);
	if (run->error)
		(void)json_object_set_new(record, "error",
			json_pack("{s:s, s:s}", "name", "NameError", "message", run->error));
	bool is_ok = strcmp(run->status, "ok") == 0, is_error = strcmp(run->status, "error") == 0;
	(void)json_object_set_new(
		record, "exit_code", is_ok || is_error ? json_integer(is_error) : json_null());
	(void)json_object_set_new(record, "signal", json_null());
	(void)json_object_set_new(record, "state",
		json_pack("{s:s, s:n}", "outcome", is_ok || is_error ? "committed" : "rolled_back",
			"reason"));
	(void)json_object_set_new(record, "usage", json_pack("{s:f}", "wall_ms", 1.5));
	return record;
}

static void finish(struct run *run)
{
	struct registry *r = run->r;
	struct fake_session *s = run->s;
	struct node *node =
		&r->all->nodes[r->all->n_nodes < NODES_MAX ? r->all->n_nodes++ : NODES_MAX - 1];
	free(node->code);
	*node = (struct node){.parent = s->head,
		.code = strdup(run->code),
		.status = run->status,
		.vars = run->vars};
	snprintf(node->id, sizeof node->id, "%d%060d", r->all->n_nodes, 0);
	snprintf(node->session, sizeof node->session, "%s", s->id);
	json_t *record = record_of(run, node, head_of(r, s));
	s->head = (int)(node - r->all->nodes);
	s->running = NULL;
	run->done(run->arg, record, NULL);
	json_decref(record);
	json_decref(run->displays);
	json_decref(run->value);
	for (int i = 0; i < 2; i++)
		buf_done(&run->out[i]);
	free(run->code);
	free(run);
}

static void on_closed(uv_handle_t *handle)
{
	finish(handle->data);
}

static void stop(struct run *run)
{
	if (run->r->all->loop)
		uv_close((uv_handle_t *)&run->timer, on_closed);
	else
		finish(run);
}

static void perform(struct run *run)
{
	cleanup_buf struct buf text = BUF_INIT(32 << 20);
	char *rest = NULL;
	if (run->watch && run->watch->started)
		run->watch->started(run->watch->arg, run->s->id);
	(void)buf_add(&text, run->code);
	for (char *line = strtok_r(text.data ? text.data : (char[]){""}, "\n", &rest);
		line && !run->is_waiting; line = strtok_r(NULL, "\n", &rest))
		if (!do_line(run, line))
			break;
	if (!run->is_waiting)
		stop(run);
}

static void on_timer(uv_timer_t *timer)
{
	perform(timer->data);
}

void registry_run(struct registry *r, const char *session, struct step_order *order,
	const struct step_listener *listener, registry_done_fn *done, void *arg)
{
	struct err err;
	struct fake_session *s = find(r, session, &err);
	if (s && s->running) {
		(void)err_set(&err, ERR_LIMIT, "a step runs");
		s = NULL;
	}
	if (!s) {
		done(arg, NULL, &err);
		return;
	}
	struct run *run = calloc(1, sizeof *run);
	*run = (struct run){.r = r,
		.s = s,
		.done = done,
		.arg = arg,
		.watch = listener,
		.status = "ok",
		.code = strndup(order->code, order->code_bytes),
		.displays = json_array()};
	run->out[0] = run->out[1] = BUF_INIT(512 << 20);
	run->vars = s->head >= 0 ? r->all->nodes[s->head].vars : (struct vars){.n = 0};
	s->running = run;
	if (!r->all->loop) {
		perform(run);
		return;
	}
	(void)uv_timer_init(r->all->loop, &run->timer);
	run->timer.data = run;
	(void)uv_timer_start(&run->timer, on_timer, 0, 0);
}

int registry_interrupt(struct registry *r, const char *session, struct err *err)
{
	struct fake_session *s = find(r, session, err);
	if (!s)
		return -ENOENT;
	if (s->running && s->running->is_waiting) {
		struct run *run = s->running;
		run->is_waiting = false;
		run->status = "killed";
		run->error = "the caller stopped the step";
		stop(run);
	}
	return 0;
}

void registry_refuse_waiting(struct registry *r, const char *session, const struct err *err)
{
	(void)r, (void)session, (void)err;
}

bool registry_withdraw(struct registry *r, const char *session, const void *whose)
{
	(void)r, (void)session, (void)whose;
	return false;
}

void registry_await_box(struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err;
	const struct fake_session *s = find(r, session, &err);
	json_t *out = json_object();
	done(arg, s ? out : NULL, s ? NULL : &err);
	json_decref(out);
}

void registry_names(
	struct registry *r, const struct registry_text *text, registry_done_fn *done, void *arg)
{
	struct err err;
	struct fake_session *s = find(r, text->session, &err);
	json_t *names = json_array();
	struct vars none = {.n = 0}, *v = s && s->head >= 0 ? &r->all->nodes[s->head].vars : &none;
	for (size_t i = 0; i < v->n; i++)
		if (strncmp(v->name[i], text->text, strlen(text->text)) == 0)
			(void)json_array_append_new(names, json_string(v->name[i]));
	if (s)
		give(done, arg, json_pack("{s:O}", "names", names));
	else
		done(arg, NULL, &err);
	json_decref(names);
}

/* ---- told at once ---- */

void registry_list(
	struct registry *r, const struct registry_listing *which, registry_done_fn *done, void *arg)
{
	json_t *list = json_array();
	struct err err;
	if (which->before && !find(r, which->before, &err)) {
		json_decref(list);
		done(arg, NULL, &err);
		return;
	}
	for (int i = 0; i < r->all->n_sessions; i++)
		if (r->all->sessions[i].is_open &&
			(!r->owner || r->owner == r->all->sessions[i].owner))
			(void)json_array_append_new(list, session_json(r, &r->all->sessions[i]));
	give(done, arg, json_pack("{s:o}", "sessions", list));
}

int64_t registry_count(const struct registry *r, struct err *err)
{
	int64_t n = 0;
	(void)err;
	for (int i = 0; i < r->all->n_sessions; i++)
		n += r->all->sessions[i].is_open &&
			(!r->owner || r->owner == r->all->sessions[i].owner);
	return n;
}

int registry_identify(
	struct registry *r, const char *session, struct registry_identity *out, struct err *err)
{
	const struct fake_session *s = find(r, session, err);
	if (!s)
		return -ENOENT;
	snprintf(out->session, sizeof out->session, "%s", s->id);
	snprintf(out->runtime, sizeof out->runtime, "%s", s->runtime);
	return 0;
}

json_t *registry_get(struct registry *r, const char *session, struct err *err)
{
	struct fake_session *s = find(r, session, err);
	return s ? session_json(r, s) : NULL;
}

static json_t *node_json(struct registry *r, int i)
{
	const struct node *n = &r->all->nodes[i];
	return json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s, s:s}", "step", n->id, "parent",
		n->parent >= 0 ? r->all->nodes[n->parent].id : NULL, "session", n->session,
		"runtime", "python", "status", n->status, "outcome", "committed", "code", n->code);
}

void registry_log(
	struct registry *r, const char *session, bool is_all, registry_done_fn *done, void *arg)
{
	struct err err;
	(void)is_all;
	struct fake_session *s = find(r, session, &err);
	json_t *steps = json_array();
	for (int i = s ? s->head : -1; i >= 0; i = r->all->nodes[i].parent)
		(void)json_array_append_new(steps, node_json(r, i));
	if (s)
		give(done, arg, json_pack("{s:O}", "steps", steps));
	else
		done(arg, NULL, &err);
	json_decref(steps);
}

void registry_graph(struct registry *r, registry_done_fn *done, void *arg)
{
	json_t *steps = json_array(), *heads = json_array();
	struct err none;
	for (int i = r->all->n_nodes - 1; i >= 0; i--)
		if (find(r, r->all->nodes[i].session, &none))
			(void)json_array_append_new(steps, node_json(r, i));
	for (int i = 0; i < r->all->n_sessions; i++)
		if (find(r, r->all->sessions[i].id, &none) && r->all->sessions[i].head >= 0)
			(void)json_object_set_new(heads, r->all->sessions[i].id,
				json_string(head_of(r, &r->all->sessions[i])));
	give(done, arg, json_pack("{s:o, s:o}", "steps", steps, "heads", heads));
}

/* ---- files ---- */

static struct file *file_of(
	struct registry *r, const char *session, const char *path, struct err *err)
{
	struct fake_session *s = find(r, session, err);
	for (size_t i = 0; s && i < s->n_files; i++)
		if (strcmp(s->files[i].path, path) == 0)
			return &s->files[i];
	if (s)
		(void)err_set(err, ERR_NOT_FOUND, "no file %.100s", path);
	return NULL;
}

json_t *registry_file_list(
	struct registry *r, const char *session, const char *path, struct err *err)
{
	(void)path;
	struct fake_session *s = find(r, session, err);
	json_t *files = json_array();
	for (size_t i = 0; s && i < s->n_files; i++)
		(void)json_array_append_new(files,
			json_pack("{s:s, s:i, s:s, s:I}", "path", s->files[i].path, "size",
				(int)s->files[i].bytes, "mime", "text/plain", "modified_ms",
				(json_int_t)1767323045000));
	json_t *list = s ? json_pack("{s:O}", "files", files) : NULL;
	json_decref(files);
	return list;
}

void registry_file_read(
	struct registry *r, const struct registry_part *part, registry_done_fn *done, void *arg)
{
	struct err err;
	struct file *f = file_of(r, part->session, part->path, &err);
	if (!f) {
		done(arg, NULL, &err);
		return;
	}
	size_t at = MIN((size_t)part->offset, f->bytes),
	       n = MIN((size_t)part->limit, f->bytes - at);
	give(done, arg,
		json_pack("{s:o, s:s, s:i}", "content", json_stringn(f->data + at, n), "encoding",
			"utf-8", "size", (int)f->bytes));
}

/* A fake session has no ports: whatever is opened is open, and nothing listens. */
void registry_port_list(struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err;
	if (!find(r, session, &err))
		done(arg, NULL, &err);
	else
		give(done, arg, json_pack("{s:[]}", "ports"));
}

void registry_port_open(
	struct registry *r, const struct registry_port *port, registry_done_fn *done, void *arg)
{
	struct err err;
	if (!find(r, port->session, &err))
		done(arg, NULL, &err);
	else
		give(done, arg,
			json_pack("{s:i, s:s}", "port", (int)port->port, "address", port->listen));
}

json_t *registry_port_close(
	struct registry *r, const char *session, uint16_t port attr_unused, struct err *err)
{
	return find(r, session, err) ? json_pack("{s:i}", "closed", 1) : NULL;
}

void registry_file_write(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg)
{
	struct err err;
	struct fake_session *s = find(r, file->session, &err);
	if (!s) {
		done(arg, NULL, &err);
		return;
	}
	save(s, file->path, file->data, file->bytes);
	give(done, arg, json_pack("{s:s, s:i}", "path", file->path, "size", (int)file->bytes));
}

void registry_file_remove(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg)
{
	struct err err;
	const char *path = file->path;
	struct file *f = file_of(r, file->session, path, &err);
	struct fake_session *s = f ? find(r, file->session, &err) : NULL;
	if (!s) {
		done(arg, NULL, &err);
		return;
	}
	free(f->data);
	*f = s->files[--s->n_files];
	give(done, arg, json_object());
}

/* A number for everything, so that it can be found again. */
void registry_stats(const struct registry *r, struct stats *out)
{
	*out = (struct stats){.n_sessions = {1, (uint64_t)r->all->n_sessions, 3, 4, 5},
		.n_boxes = 6,
		.n_working = 7,
		.n_queued = 8,
		.memory_bytes = 9,
		.n_refused = {10, 11, 12, 13, 14, 15},
		.n_expired = 16,
		.journal_bytes = 17,
		.n_journal_changes = 18,
		.n_templates = 1};
	out->templates[0] = (struct template_stats){"s-1", "a\"b\\c\nd", 19};
	for (unsigned i = 0; i < RUNTIMES_MAX; i++)
		for (unsigned k = 0; k < RECORD_STATUS_END_; k++)
			out->steps.n[i][k] = 100 + 10 * i + k;
	out->steps.n_outcomes[RECORD_ROLLED_BACK] = 20;
	out->steps.wall = (struct stats_times){
		.n = {[0] = 1, [3] = 2, [STATS_BUCKETS - 1] = 4}, .n_all = 15, .sum_s = 2.5};
}

json_t *registry_templates(struct registry *r, struct err *err)
{
	(void)r;
	(void)err;
	return json_pack("{s:[]}", "templates");
}

void registry_stop_replay(struct registry *r, const void *whose)
{
	(void)r, (void)whose;
}

void registry_replay(
	struct registry *r, const char *record, size_t bytes, registry_done_fn *done, void *arg)
{
	struct err err;
	(void)r;
	if (bytes >= 6 && memcmp(record, "same", 4) == 0) {
		give(done, arg, json_pack("{s:s, s:i}", "outcome", "replayed", "steps", 2));
	} else if (bytes >= 5 && memcmp(record, "other", 5) == 0) {
		give(done, arg,
			json_pack("{s:s, s:i, s:{s:s, s:s, s:s, s:s}}", "outcome", "diverged",
				"steps", 2, "first_difference", "step", "1000", "field", "stdout",
				"was", "1\n", "is", "2\n"));
	} else {
		(void)err_set(&err, ERR_USAGE, "no record");
		done(arg, NULL, &err);
	}
}

void registry_export(struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err;
	if (find(r, session, &err))
		give(done, arg, json_pack("{s:s}", "record", "same record\n"));
	else
		done(arg, NULL, &err);
}

json_t *registry_head(struct registry *r, const char *session, struct err *err)
{
	(void)find(r, session, err);
	(void)err_set(err, ERR_NOT_FOUND, "no steps");
	return NULL;
}
