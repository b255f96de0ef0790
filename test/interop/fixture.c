/*
 * What the official conformance suite wants to find on a server, served by our core over HTTP:
 *
 *   interop-fixture PORT FIXTURE.json
 *
 * All that is served is data: rows of "tools", "resources", "templates", "prompts", each with its
 * "definition" and what it does before it gives its "result":
 *
 *   "refuse": TEXT             a tool's failure
 *   "ticks": {"progress": […]} or {"log": […]}, one every 50 ms
 *   "asks": [REQUESTS…]        what is asked of the client, round by round; with "is_stateful"
 *                              something is to be kept meanwhile, with "is_modest" only what the
 *                              client declared is asked
 *   "changes": "tools"         tells those who listen
 *
 * "{{NAME}}" in texts is an argument, a field of an answer, "match" of a template, or "answers".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "serve/http/address.h"
#include "serve/http/server.h"
#include "serve/mcp/call.h"
#include "serve/mcp/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { ROWS_MAX = 64, TEXT_MAX_BYTES = 64 << 10, TICK_MS = 50 };

static const char *const kinds[MCP_KIND_END_] = {
	[MCP_TOOL] = "tools",
	[MCP_RESOURCE] = "resources",
	[MCP_TEMPLATE] = "templates",
	[MCP_PROMPT] = "prompts",
};

struct fixture {
	uv_loop_t *loop;
	json_t *data;
	struct mcp_row row[MCP_KIND_END_][ROWS_MAX];
	struct mcp_config config;
	struct mcp_server *server;
};

/* A call that says something every TICK_MS. */
struct ticking {
	uv_timer_t timer;
	struct mcp_call *call;
	const json_t *row, *what;
	bool is_log;
	size_t next;
};

/* jansson's loops want what they do not change. */
static json_t *loose(const json_t *value)
{
	return (json_t *)(uintptr_t)value;
}

static const char *identity_of(const json_t *row)
{
	const json_t *definition = json_object_get(row, "definition");
	const char *uri = json_string_value(json_object_get(definition, "uri"));
	return uri ? uri : json_string_value(json_object_get(definition, "name"));
}

/* The row that a call is about: of a tool, a prompt, a resource; else the template. */
static const json_t *row_of(const struct mcp_call *call)
{
	const struct fixture *f = mcp_call_arg(call);
	size_t i;
	json_t *row;
	if (mcp_call_match(call))
		return json_array_get(json_object_get(f->data, kinds[MCP_TEMPLATE]), 0);
	for (int kind = 0; kind < MCP_KIND_END_; kind++) {
		json_array_foreach(json_object_get(f->data, kinds[kind]), i, row)
		{
			const char *identity = identity_of(row);
			if (identity && strcmp(identity, mcp_call_name(call)) == 0)
				return row;
		}
	}
	return NULL;
}

/* What stands for {{NAME}}, as text that the caller frees. */
static char *look_up(const struct mcp_call *call, const char *name)
{
	if (strcmp(name, "match") == 0 && mcp_call_match(call))
		return strdup(mcp_call_match(call));
	if (strcmp(name, "answers") == 0)
		return json_dumps(mcp_call_answers(call), JSON_COMPACT | JSON_ENCODE_ANY);
	const json_t *found = json_object_get(mcp_call_arguments(call), name);
	const char *key;
	json_t *answer;
	json_object_foreach(loose(mcp_call_answers(call)), key, answer)
	{
		if (!found)
			found = json_object_get(json_object_get(answer, "content"), name);
	}
	return json_is_string(found) ? strdup(json_string_value(found)) : NULL;
}

static json_t *filled_text(const struct mcp_call *call, const char *text)
{
	cleanup_buf struct buf b = BUF_INIT(TEXT_MAX_BYTES);
	for (const char *open; (open = strstr(text, "{{")); text = strstr(open, "}}") + 2) {
		char name[64];
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(open + 2, "}"), open + 2);
		char *value = look_up(call, name);
		buf_append(&b, text, (size_t)(open - text));
		buf_add(&b, value ? value : "");
		free(value);
	}
	buf_add(&b, text);
	return json_string(buf_str(&b));
}

/* A copy with every {{NAME}} filled in. As deep as our own data. */
static json_t *filled(const struct mcp_call *call, const json_t *value)
{
	if (json_is_string(value))
		return filled_text(call, json_string_value(value));
	json_t *copy = json_copy(loose(value)), *part;
	const char *key;
	size_t i;
	json_object_foreach(loose(value), key, part)
	{
		json_object_set_new(copy, key, filled(call, part));
	}
	json_array_foreach(loose(value), i, part)
	{
		json_array_set_new(copy, i, filled(call, part));
	}
	return copy;
}

static void give(struct mcp_call *call, const json_t *row)
{
	mcp_call_give(call, filled(call, json_object_get(row, "result")));
}

static void free_ticking(uv_handle_t *timer)
{
	free(timer->data);
}

static void tick(uv_timer_t *timer)
{
	struct ticking *t = timer->data;
	json_t *now = json_array_get(t->what, t->next++);
	if (!now) {
		give(t->call, t->row);
		uv_close((uv_handle_t *)timer, free_ticking);
	} else if (t->is_log) {
		mcp_call_log(t->call, "info", "fixture", json_incref(now));
	} else {
		mcp_call_progress(t->call, json_number_value(now), 100, NULL);
	}
}

static void start_ticks(struct mcp_call *call, const json_t *row, const json_t *ticks)
{
	const struct fixture *f = mcp_call_arg(call);
	struct ticking *t = calloc(1, sizeof(*t));
	if (!t) {
		mcp_call_fail(call, MCP_INTERNAL, "no memory", NULL);
		return;
	}
	const json_t *log = json_object_get(ticks, "log");
	*t = (struct ticking){
		.call = call,
		.row = row,
		.is_log = log != NULL,
		.what = log ? log : json_object_get(ticks, "progress"),
	};
	t->timer.data = t;
	uv_timer_init(f->loop, &t->timer);
	uv_timer_start(&t->timer, tick, 0, TICK_MS);
}

/* "sampling" of "sampling/createMessage" */
static bool is_declared(const struct mcp_call *call, const json_t *request)
{
	const char *method = json_string_value(json_object_get(request, "method"));
	char capability[32];
	snprintf(capability, sizeof(capability), "%.*s", (int)strcspn(method, "/"), method);
	return mcp_call_can(call, capability);
}

static void ask(struct mcp_call *call, const json_t *row, size_t round)
{
	json_t *requests = filled(call, json_array_get(json_object_get(row, "asks"), round));
	if (json_is_true(json_object_get(row, "is_modest"))) {
		const char *key;
		json_t *request;
		void *next;
		json_object_foreach_safe(requests, next, key, request)
		{
			if (!is_declared(call, request))
				json_object_del(requests, key);
		}
	}
	bool is_kept = json_is_true(json_object_get(row, "is_stateful"));
	mcp_call_ask(
		call, requests, is_kept ? json_pack("{s:I}", "round", (json_int_t)round) : NULL);
}

enum verdict { ANSWERED, NOT_ALL, FAILED };

static enum verdict judge(const struct mcp_call *call, const json_t *row, const json_t *requests)
{
	bool is_modest = json_is_true(json_object_get(row, "is_modest"));
	const char *key;
	json_t *request;
	json_object_foreach(loose(requests), key, request)
	{
		const json_t *answer = json_object_get(mcp_call_answers(call), key);
		if (json_object_get(answer, "error"))
			return FAILED;
		if (!json_is_object(answer) && (!is_modest || is_declared(call, request)))
			return NOT_ALL;
	}
	return ANSWERED;
}

static void ask_on(struct mcp_call *call, const json_t *row)
{
	const json_t *rounds = json_object_get(row, "asks"), *state = mcp_call_state(call);
	bool is_kept = json_is_true(json_object_get(row, "is_stateful"));
	if (!mcp_call_answers(call) || (is_kept && !state)) {
		ask(call, row, 0);
		return;
	}
	size_t round = (size_t)json_integer_value(json_object_get(state, "round"));
	enum verdict verdict = judge(call, row, json_array_get(rounds, round));
	if (verdict == FAILED)
		mcp_call_refuse(call, "the client did not answer");
	else if (verdict == NOT_ALL)
		ask(call, row, round);
	else if (round + 1 < json_array_size(rounds))
		ask(call, row, round + 1);
	else
		give(call, row);
}

static void start(struct mcp_call *call)
{
	const struct fixture *f = mcp_call_arg(call);
	const json_t *row = row_of(call), *refusal = json_object_get(row, "refuse"),
		     *ticks = json_object_get(row, "ticks");
	const char *changes = json_string_value(json_object_get(row, "changes"));
	if (changes)
		mcp_changed(f->server, strcmp(changes, "tools") == 0 ? MCP_TOOL : MCP_PROMPT);
	if (refusal)
		mcp_call_refuse(call, json_string_value(refusal));
	else if (ticks)
		start_ticks(call, row, ticks);
	else if (json_object_get(row, "asks"))
		ask_on(call, row);
	else
		give(call, row);
}

static void complete(struct mcp_call *call)
{
	mcp_call_give(call,
		json_pack("{s:{s:[],s:i,s:b}}", "completion", "values", "total", 0, "hasMore", 0));
}

static int fill(struct fixture *f, const char *path)
{
	json_error_t wrong;
	f->data = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
	if (!f->data) {
		fprintf(stderr, "interop-fixture: %s:%d: %s\n", path, wrong.line, wrong.text);
		return -1;
	}
	f->config = (struct mcp_config){
		.name = "retort-interop-fixture",
		.version = "1",
		.has_logging = true,
		.has_subscribe = true,
		.complete = complete,
		.list_ttl_ms = 1000,
		.arg = f,
	};
	for (int kind = 0; kind < MCP_KIND_END_; kind++) {
		const json_t *rows = json_object_get(f->data, kinds[kind]);
		size_t n = json_array_size(rows) < ROWS_MAX ? json_array_size(rows) : ROWS_MAX;
		for (size_t i = 0; i < n; i++) {
			const json_t *row = json_array_get(rows, i);
			f->row[kind][i] = (struct mcp_row){
				.definition = json_object_get(row, "definition"),
				.start = start,
			};
		}
		f->config.rows[kind] = (struct mcp_rows){
			.row = f->row[kind],
			.n = n,
			.has_list_changed = kind == MCP_TOOL || kind == MCP_PROMPT,
		};
	}
	return 0;
}

static int listen_at(struct http_server *http, const char *port, struct err *err)
{
	struct address address;
	int r = address_parse(port, &address, err);
	if (r == 0)
		r = address_listen(&address, err);
	return r < 0 ? r : http_server_listen(http, r, false, err);
}

/* Until it is killed. */
int main(int argc, char **argv)
{
	static struct fixture f;
	static struct http_route routes[MCP_HTTP_ROUTES];
	static const struct operation_context nobody;
	if (argc != 3 || fill(&f, argv[2]) < 0) {
		fprintf(stderr, "usage: interop-fixture PORT FIXTURE.json\n");
		return 2;
	}
	struct err err = {.code = 0};
	struct http_server *http;
	f.loop = uv_default_loop();
	f.server = mcp_server_new(&f.config);
	mcp_http_routes(mcp_http_open(f.loop, f.server), routes);
	const struct http_config config = {
		.loop = f.loop,
		.context = &nobody,
		.routes = routes,
		.n_routes = MCP_HTTP_ROUTES,
		.n_connections_max = 64,
		.request_ms = 10000,
		.idle_ms = 60000,
	};
	int r = http_server_open(&http, &config, &err);
	if (r == 0)
		r = listen_at(http, argv[1], &err);
	if (r < 0) {
		fprintf(stderr, "interop-fixture: %s\n", err.msg);
		return 1;
	}
	return uv_run(f.loop, UV_RUN_DEFAULT);
}
