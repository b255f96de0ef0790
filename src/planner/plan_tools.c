/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_tools.h"

#include "agent/query/asker.h"
#include "plan/program/call.h"
#include "tool/fixture.h"
#include "tool/mcp_provider.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { N_SIGNALS = 2, NAMES_MAX = 512, NAMES_BYTES = 1 << 20 };

struct plan_tools {
	struct fixture *fixture;
	struct tool_servers servers;
	struct mcp_provider *mcp;
	struct asker *asker;
	struct tool_provider provider;
	const char *text;
	bool has_loop, has_signals, is_given_up, has_planner;
	uv_loop_t loop;
	uv_signal_t signals[N_SIGNALS];
	uv_async_t async;
	uv_poll_t planner; /* detects the end of the planner process */
	struct plan_stop *stop;
	struct sigaction before; /* how SIGPIPE was handled before open_loop() */
};

/* ---- the event loop, and the events that end a wait ---- */

static void on_signal(uv_signal_t *s, int number)
{
	struct plan_tools *t = s->data;
	(void)number;
	t->is_given_up = true;
}

static void on_stop(uv_async_t *async)
{
	struct plan_tools *t = async->data;
	t->is_given_up = true;
}

static void on_planner(uv_poll_t *poll, int status, int events)
{
	struct plan_tools *t = poll->data;
	if (status < 0 || (events & UV_DISCONNECT))
		t->is_given_up = true;
}

void plan_tools_watch(struct plan_tools *t, int channel)
{
	if (!t->has_loop || uv_poll_init(&t->loop, &t->planner, channel) < 0)
		return;
	t->has_planner = true;
	t->planner.data = t;
	(void)uv_poll_start(&t->planner, UV_DISCONNECT, on_planner);
	uv_unref((uv_handle_t *)&t->planner);
}

void plan_tools_unwatch(struct plan_tools *t)
{
	if (!t->has_planner)
		return;
	t->has_planner = false;
	uv_close((uv_handle_t *)&t->planner, NULL);
	(void)uv_run(&t->loop, UV_RUN_NOWAIT);
}

/* Handle SIGINT and SIGTERM only while waiting for servers or the model. At other times, they have
 * their default action. */
static void watch_signals(struct plan_tools *t, bool is_waiting)
{
	static const int numbers[N_SIGNALS] = {SIGINT, SIGTERM};
	for (int i = 0; t->has_signals && i < N_SIGNALS; i++)
		(void)(is_waiting ? uv_signal_start(&t->signals[i], on_signal, numbers[i])
				  : uv_signal_stop(&t->signals[i]));
}

static int open_loop(struct plan_tools *t, const struct plan_tools_config *config, struct err *err)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	if (uv_loop_init(&t->loop) < 0)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for a loop");
	t->has_loop = true;
	(void)uv_async_init(&t->loop, &t->async, on_stop);
	t->async.data = t;
	uv_unref((uv_handle_t *)&t->async);
	for (int i = 0; i < N_SIGNALS; i++) {
		(void)uv_signal_init(&t->loop, &t->signals[i]);
		t->signals[i].data = t;
		uv_unref((uv_handle_t *)&t->signals[i]);
	}
	t->has_signals = config->has_signals;
	t->stop = config->stop;
	if (t->stop)
		plan_stop_watch(t->stop, &t->async);
	/* A write to a server that has ended must not kill this process. */
	if (t->has_signals)
		(void)sigaction(SIGPIPE, &ignore, &t->before);
	return 0;
}

static void close_loop(struct plan_tools *t)
{
	if (!t->has_loop)
		return;
	if (t->stop)
		plan_stop_watch(t->stop, NULL);
	uv_close((uv_handle_t *)&t->async, NULL);
	for (int i = 0; i < N_SIGNALS; i++)
		uv_close((uv_handle_t *)&t->signals[i], NULL);
	(void)uv_run(&t->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&t->loop);
	if (t->has_signals)
		(void)sigaction(SIGPIPE, &t->before, NULL);
}

/* ---- calls of tools, and questions to the model ---- */

static int call(
	void *ctx, const struct tool *tool, const char *arguments, struct buf *out, struct err *err)
{
	struct plan_tools *t = ctx;
	const struct tool_provider *of =
		t->mcp ? mcp_provider_tools(t->mcp) : fixture_provider(t->fixture);
	watch_signals(t, true);
	int r = of->call(of->ctx, tool, arguments, out, err);
	watch_signals(t, false);
	return r;
}

static int ask(void *ctx, const struct tool_question *q, struct buf *out, struct err *err)
{
	struct plan_tools *t = ctx;
	const struct tool_provider *of = t->fixture ? fixture_provider(t->fixture) : NULL;
	if (!t->asker && of)
		return of->ask(of->ctx, q, out, err);
	if (!t->asker) {
		(void)err_set(err, ERR_USAGE, "no model is named that can answer");
		(void)err_hint(err, "name a model: --model PROVIDER:NAME");
		return TOOL_UNSENT;
	}
	watch_signals(t, true);
	int r = asker_ask(t->asker, q, out, err);
	watch_signals(t, false);
	return r;
}

/* ---- reading the file of tools, and starting its servers ---- */

static const char *variable(const char *name)
{
	return getenv(name);
}

/* Refuse a server that has the name of a built-in, because a name in a plan must have one
 * meaning. */
static int check_names(const struct plan_tools *t, struct err *err)
{
	static const struct heap_limits limits = {
		.fuel = 1 << 20, .bytes = NAMES_BYTES, .depth = 10};
	const struct tool_set *tools = mcp_provider_tools(t->mcp)->tools, none = {0};
	const uint64_t seed[2] = {0};
	const struct dialect dialect = DIALECT_PLAN;
	struct predeclared *names;
	struct heap heap;
	heap_init(&heap, &limits, seed);
	int n = program_names(&heap, &dialect, &none, &names), r = 0;
	for (size_t i = 0; i < tools->n && r == 0; i++) {
		const char *name = tools->tool[i].name;
		size_t bytes = strcspn(name, ".");
		for (int k = 0; k < n && r == 0; k++)
			if (strlen(names[k].name) == bytes &&
				strncmp(names[k].name, name, bytes) == 0)
				r = err_set(err, ERR_USAGE,
					"tools: server %.*s: %s is a built-in name of plans",
					(int)bytes, name, names[k].name);
	}
	heap_done(&heap);
	return r < 0 ? err_hint(err, "give the server another name in the list of servers") : 0;
}

static int open_servers(struct plan_tools *t, const struct plan_tools_config *c, struct err *err)
{
	const char *const texts[] = {c->plan, c->policy};
	const struct mcp_provider_config config = {.loop = &t->loop,
		.servers = &t->servers,
		.texts = texts,
		.n_texts = c->needs_all ? 0 : ARRAY_LEN(texts),
		.is_given_up = &t->is_given_up};
	if (!c->may_start)
		return plan_tools_refuse_servers(c->name, err);
	int r = servers_read(&t->servers, c->text, strlen(c->text), c->name, variable, err);
	if (r < 0)
		return r;
	watch_signals(t, true);
	r = mcp_provider_open(&t->mcp, &config, err);
	watch_signals(t, false);
	return r < 0 ? r : check_names(t, err);
}

static int open_parts(struct plan_tools *t, const struct plan_tools_config *c, struct err *err)
{
	const struct asker_config model = {.loop = &t->loop,
		.model = c->model,
		.key_file = c->key_file,
		.is_given_up = &t->is_given_up};
	bool is_list = plan_tools_lists_servers(c->text);
	int r = is_list || c->model ? open_loop(t, c, err) : 0;
	if (r == 0)
		r = is_list ? open_servers(t, c, err)
			    : plan_tools_read(c->text, c->name, &t->fixture, err);
	if (r == 0 && c->model)
		r = asker_open(&t->asker, &model, err);
	if (r < 0)
		return r;
	t->text = t->mcp ? mcp_provider_text(t->mcp) : c->text;
	return 0;
}

int plan_tools_open(
	struct plan_tools **out, const struct plan_tools_config *config, struct err *err)
{
	struct plan_tools *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for tools");
	int r = open_parts(t, config, err);
	if (r < 0) {
		plan_tools_close(t);
		return r;
	}
	const struct tool_provider *of =
		t->mcp ? mcp_provider_tools(t->mcp) : fixture_provider(t->fixture);
	t->provider =
		(struct tool_provider){.ctx = t, .tools = of->tools, .call = call, .ask = ask};
	*out = t;
	return 0;
}

int plan_tools_check(const char *text, const char *name, struct err *err)
{
	struct tool_servers servers = {0};
	struct fixture *fixture = NULL;
	int r = plan_tools_lists_servers(text)
		? servers_read(&servers, text, strlen(text), name, variable, err)
		: plan_tools_read(text, name, &fixture, err);
	servers_done(&servers);
	fixture_free(fixture);
	return r;
}

void plan_tools_close(struct plan_tools *t)
{
	if (!t)
		return;
	mcp_provider_close(t->mcp);
	asker_close(t->asker);
	close_loop(t);
	servers_done(&t->servers);
	fixture_free(t->fixture);
	free(t);
}

const struct tool_provider *plan_tools_provider(const struct plan_tools *t)
{
	return &t->provider;
}

const char *plan_tools_text(const struct plan_tools *t)
{
	return t->text;
}

bool plan_tools_is_given_up(const struct plan_tools *t)
{
	return t->is_given_up;
}

bool plan_tools_has_model(const struct plan_tools *t)
{
	return t->asker != NULL;
}

json_t *plan_tools_tokens(const struct plan_tools *t)
{
	struct wire_usage u = asker_usage(t->asker);
	json_t *out = json_pack("{s:s, s:I, s:I}", "model", asker_name(t->asker), "input",
		(json_int_t)u.input, "output", (json_int_t)u.output);
	if (u.is_estimated)
		(void)json_object_set_new(out, "is_estimated", json_true());
	return out;
}
