/* SPDX-License-Identifier: Apache-2.0 */
#include "api/service.h"

#include "agent/wire/price.h"
#include "api/operation/metrics.h"
#include "api/operation/outstanding.h"
#include "api/run/runs.h"
#include "api/skill/skill.h"
#include "base/fair_line.h"
#include "base/timer.h"
#include "planner/plan_line.h"
#include "registry/build/build.h"
#include "registry/owner.h"
#include "registry/registry.h"
#include "session/start/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_SIGNALS = 2, LINGER_MS = 500, PROGRAMS_IN_LINE = 4096 /* per caller */ };

struct watch {
	uv_signal_t handle;
	void (*told)(void *arg);
	void *arg;
};

struct service {
	uv_loop_t loop;
	struct engine engine;
	struct registry *registry;
	struct runs *runs;
	struct metrics *metrics;
	struct outstanding_queue *outstanding;
	struct plan_line *plans;
	struct fair_line programs;
	struct gate *gate;
	struct tool_gate tool_gate;
	struct skills *skills; /* or NULL */
	struct operation_context context;
	struct models models;
	struct agent_store agents;
	char *agents_dir; /* or NULL */
	uv_signal_t signals[N_SIGNALS];
	struct watch watches[SERVICE_WATCHES];
	int n_watches;
	uv_poll_t poll;
	bool has_loop, has_signals, is_closed, is_readable;
	unsigned n_interrupts, n_terms;
	struct operation_call *call;
};

static const int numbers[N_SIGNALS] = {SIGINT, SIGTERM};

static void on_signal(uv_signal_t *handle, int number)
{
	struct service *s = handle->data;
	if (number == SIGINT)
		s->n_interrupts++;
	else
		s->n_terms++;
	/* SIGTERM cancels twice, so that a step is stopped at once: the process must end soon. */
	for (int i = 0; s->call && i < (number == SIGTERM ? 2 : 1); i++)
		operation_cancel(s->call);
}

static int watch_signals(struct service *s, struct err *err)
{
	for (int i = 0; i < N_SIGNALS; i++) {
		s->signals[i].data = s;
		(void)uv_signal_init(&s->loop, &s->signals[i]);
	}
	s->has_signals = true;
	for (int i = 0; i < N_SIGNALS; i++) {
		int r = uv_signal_start(&s->signals[i], on_signal, numbers[i]);
		if (r < 0)
			return err_sys(err, ERR_INTERNAL, -r, "watch signals");
	}
	return 0;
}

static void on_watched(uv_signal_t *handle, int number)
{
	struct watch *watch = handle->data;
	(void)number;
	watch->told(watch->arg);
}

int service_watch(
	struct service *s, int number, void (*told)(void *arg), void *arg, struct err *err)
{
	if (s->n_watches == SERVICE_WATCHES)
		return err_set(err, ERR_INTERNAL, "%d signals are watched already", s->n_watches);
	struct watch *watch = &s->watches[s->n_watches++];
	*watch = (struct watch){.told = told, .arg = arg};
	(void)uv_signal_init(&s->loop, &watch->handle);
	watch->handle.data = watch;
	int r = uv_signal_start(&watch->handle, on_watched, number);
	return r < 0 ? err_sys(err, ERR_INTERNAL, -r, "watch signals") : 0;
}

static bool may_use_tools(void *arg, const char *owner)
{
	const struct service *s = arg;
	const struct owner *o = registry_find_owner(s->registry, owner);
	return o && o->may_use_tools;
}

static json_t *find_skills(void *arg, const char *query)
{
	struct service *s = arg;
	return skills_find(s->skills, query);
}

static void on_ended(void *arg, const char *session)
{
	struct service *s = arg;
	runs_forget(s->runs, session);
	gate_forget(s->gate, session);
}

static int open_gate(struct service *s, const struct service_config *config, struct err *err)
{
	const struct gate_config gate = {.loop = &s->loop,
		.path = config->tools,
		.arg = s,
		.may_use_tools = may_use_tools,
		.find_skills = config->skills ? find_skills : NULL,
		.log = config->log};
	int r = gate_open(&s->gate, &gate, err);
	if (r == 0)
		s->tool_gate = gate_of_sessions(s->gate);
	return r;
}

/* More programs at a time would only take the CPUs from each other, and so reach their limits of
 * wall time. */
static size_t usual_programs(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return (size_t)MAX(2 * n, 4);
}

static void set_context(struct service *s, const struct service_config *config)
{
	s->context = (struct operation_context){.registry = s->registry,
		.runs = s->runs,
		.metrics = s->metrics,
		.loop = &s->loop,
		.version = config->version,
		.models = &s->models,
		.agents = &s->agents,
		.gate = s->gate,
		.programs = &s->programs,
		.plans = s->plans,
		.outstanding = s->outstanding,
		.plan_tools = config->plan_tools ? config->plan_tools : config->tools};
	size_t n = config->n_programs ? config->n_programs : usual_programs();
	s->programs = (struct fair_line){.what = "programs",
		.n_max = n,
		.n_each = n - n / 4, /* one caller cannot keep all others out */
		.n_waiting_each = PROGRAMS_IN_LINE};
	s->models = config->models;
	s->agents = config->agents;
	if (!config->session_ttl_ms && !config->session_idle_ms)
		s->agents.idle_ms = AGENT_IDLE_MS;
	if (!s->agents.dir && config->state_dir &&
		asprintf(&s->agents_dir, "%s/served-agents", config->state_dir) >= 0)
		s->agents.dir = s->agents_dir;
}

static int open_parts(struct service *s, const struct service_config *config, struct err *err)
{
	struct registry_config registry = {.engine = &s->engine,
		.state_dir = config->state_dir,
		.layers_dir = config->layers_dir,
		.n_standby = config->n_standby,
		.n_checkpoints = config->n_checkpoints,
		.max_sessions = config->max_sessions,
		.max_memory_bytes = config->max_memory_bytes,
		.ttl_ms = config->session_ttl_ms,
		.idle_ms = config->session_idle_ms,
		.retain_ms = config->retain_ms,
		.shared_python = config->shared_python,
		.runtime_dir = config->runtime_dir,
		.ended = on_ended,
		.arg = s};
	int r = config->models.prices ? price_check(config->models.prices, err) : 0;
	if (r < 0)
		return r;
	if ((r = engine_start(&s->engine, err)) < 0)
		return r;
	s->engine.socket_dirs[0] = config->socket_dir;
	s->engine.socket_dirs[1] = config->runtime_dir;
	if ((r = uv_loop_init(&s->loop)) < 0)
		return err_sys(err, ERR_INTERNAL, -r, "event loop");
	s->has_loop = true;
	s->loop.data = s;
	r = watch_signals(s, err);
	if (r == 0)
		r = engine_attach(&s->engine, &s->loop, err);
	if (r == 0)
		s->runs = runs_open(&s->loop);
	if (r == 0)
		r = open_gate(s, config, err);
	if (r == 0 && config->skills)
		r = skills_open(&s->skills, config->skills, err);
	registry.gate = &s->tool_gate;
	registry.skills = s->skills ? skills_dir(s->skills) : NULL;
	if (r == 0)
		r = registry_open(&s->registry, &registry, err);
	if (r == 0 && s->skills)
		skills_attach(s->skills, s->gate, s->registry);
	if (r == 0)
		r = metrics_open(&s->metrics, err);
	if (r == 0)
		r = plan_line_open(&s->plans, &s->loop, err);
	if (r < 0)
		return r;
	s->outstanding = outstanding_open(&s->loop);
	set_context(s, config);
	return 0;
}

static void ignore(int number)
{
	(void)number;
}

int service_open(struct service **out, const struct service_config *config, struct err *err)
{
	*out = NULL;
	struct service *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(err, ERR_NO_MEMORY, "no memory for an engine");
	/* The reader of our output may close it at any time. Then the write must fail, but the
	 * process must not end, so SIGPIPE is ignored. A write beyond the file size limit,
	 * `ulimit -f`, must not end the process either. For this, SIGXFSZ gets a handler:
	 * programs that we start would inherit SIG_IGN, but do not inherit a handler. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, ignore);
	int r = open_parts(s, config, err);
	if (r < 0) {
		service_close(s);
		return r;
	}
	*out = s;
	return 0;
}

static void on_closed(void *arg)
{
	struct service *s = arg;
	s->is_closed = true;
}

void service_close(struct service *s)
{
	if (!s)
		return;
	outstanding_close(s->outstanding);
	s->is_closed = !s->registry;
	if (s->registry) {
		registry_build_stop_all(s->registry);
		registry_close(s->registry, on_closed, s);
	}
	while (!s->is_closed)
		(void)uv_run(&s->loop, UV_RUN_ONCE);
	skills_close(s->skills);
	gate_close(s->gate);
	runs_close(s->runs);
	for (int i = 0; s->has_signals && i < N_SIGNALS; i++)
		uv_close((uv_handle_t *)&s->signals[i], NULL);
	for (int i = 0; i < s->n_watches; i++)
		uv_close((uv_handle_t *)&s->watches[i].handle, NULL);
	engine_stop(&s->engine);
	if (s->has_loop) {
		(void)uv_run(&s->loop, UV_RUN_DEFAULT);
		(void)uv_loop_close(&s->loop);
	}
	gate_free(s->gate);
	metrics_close(s->metrics);
	plan_line_close(s->plans);
	outstanding_free(s->outstanding);
	free(s->agents_dir);
	free(s);
}

uv_loop_t *service_loop(struct service *s)
{
	return &s->loop;
}

const struct operation_context *service_context(struct service *s)
{
	return &s->context;
}

/* ---- calling an operation, and waiting for its result ---- */

struct waiting {
	const struct operation_listener *events;
	bool is_done, has_result;
	json_t *result;
	struct err err;
};

static void on_event(void *arg, const json_t *event)
{
	struct waiting *w = arg;
	if (w->events && w->events->event)
		w->events->event(w->events->arg, event);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct waiting *w = arg;
	w->is_done = true;
	w->result = json_incref((json_t *)(uintptr_t)result);
	if (!result)
		w->err = *err;
}

int service_call(struct service *s, const char *method, json_t *params,
	const struct operation_listener *events, json_t **result, struct err *err)
{
	struct waiting w = {.events = events};
	const struct operation_listener listener = {.arg = &w, .event = on_event, .done = on_done};
	const struct operation *op = operation_find(method);
	if (!op) {
		json_decref(params);
		return operation_unknown(method, err);
	}
	operation_start(&s->context, op, params, &listener, &s->call);
	json_decref(params);
	while (!w.is_done)
		(void)uv_run(&s->loop, UV_RUN_ONCE);
	/* A SIGINT during the call has cancelled the call. It must not also end a later wait. */
	s->n_interrupts = 0;
	if (!w.result) {
		*err = w.err;
		return -err_errno(w.err.code);
	}
	*result = w.result;
	return 0;
}

/* ---- running the event loop until input, a signal, a timeout or the end of the engine ---- */

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct service *s = poll->data;
	(void)status;
	(void)events;
	s->is_readable = true;
}

static void on_poll_closed(uv_handle_t *handle)
{
	handle->data = NULL;
}

/* Return whether the loop can watch @fd. It cannot watch regular files and directories; they are
 * always readable. */
static bool is_watchable(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int service_wait(struct service *s, int fd)
{
	if (!is_watchable(fd)) {
		(void)uv_run(&s->loop, UV_RUN_NOWAIT);
		return s->n_terms ? -ECANCELED : 0;
	}
	int flags = fcntl(fd, F_GETFL);
	int r = uv_poll_init(&s->loop, &s->poll, fd);
	if (r < 0)
		return r == UV_EPERM ? 0 : r;
	s->poll.data = s;
	s->is_readable = false;
	r = uv_poll_start(&s->poll, UV_READABLE, on_readable);
	while (r == 0 && !s->is_readable && !s->n_interrupts && !s->n_terms)
		(void)uv_run(&s->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&s->poll, on_poll_closed);
	while (s->poll.data)
		(void)uv_run(&s->loop, UV_RUN_NOWAIT);
	/* libuv has made @fd non-blocking. Other processes that share @fd would notice, so
	 * restore its flags. */
	(void)fcntl(fd, F_SETFL, flags);
	if (s->n_terms)
		return -ECANCELED;
	if (s->n_interrupts) {
		s->n_interrupts = 0;
		return -EINTR;
	}
	return r;
}

static void on_linger(uv_timer_t *timer)
{
	timer->data = NULL;
}

/* The warden has ended, and its boxes end with it. Run the loop for a moment, so that each
 * running step gets its record, and its caller an answer. */
static void linger(struct service *s)
{
	uv_timer_t timer;
	(void)uv_timer_init(&s->loop, &timer);
	timer.data = s;
	timer_start(&timer, on_linger, LINGER_MS, 0);
	while (timer.data)
		(void)uv_run(&s->loop, UV_RUN_ONCE);
	timer.data = s;
	uv_close((uv_handle_t *)&timer, on_poll_closed);
	while (timer.data)
		(void)uv_run(&s->loop, UV_RUN_NOWAIT);
}

int service_run(struct service *s, struct err *err)
{
	s->n_interrupts = 0;
	while (!s->n_interrupts && !s->n_terms && !engine_is_over(&s->engine))
		(void)uv_run(&s->loop, UV_RUN_ONCE);
	if (s->n_interrupts || s->n_terms)
		return s->n_terms ? SIGTERM : SIGINT;
	linger(s);
	err_set(err, ERR_GONE, "the warden was ended, and every box with it");
	return err_hint(err, "start the engine again: it restores its sessions from the journal");
}

bool service_is_ended(const struct service *s)
{
	return s->n_interrupts || s->n_terms || engine_is_over(&s->engine);
}

void service_turn(struct service *s)
{
	(void)uv_run(&s->loop, UV_RUN_ONCE);
}

bool service_is_over(const struct service *s)
{
	return engine_is_over(&s->engine);
}

int service_drain(struct service *s, bool (*is_over)(void *arg), void *arg, uint64_t ms)
{
	uv_timer_t timer;
	unsigned n_signals = s->n_interrupts + s->n_terms;
	(void)uv_timer_init(&s->loop, &timer);
	timer.data = s;
	timer_start(&timer, on_linger, ms, 0);
	while (timer.data && !is_over(arg) && s->n_interrupts + s->n_terms == n_signals &&
		!engine_is_over(&s->engine))
		(void)uv_run(&s->loop, UV_RUN_ONCE);
	int r = is_over(arg) ? 0 : timer.data ? -EINTR : -ETIME;
	timer.data = s;
	uv_close((uv_handle_t *)&timer, on_poll_closed);
	while (timer.data)
		(void)uv_run(&s->loop, UV_RUN_NOWAIT);
	return r;
}
