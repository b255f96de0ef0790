/* The gate: who answers what is retort's own, and what becomes of calls when somebody goes. Servers
 * here never answer, or end. SPDX-License-Identifier: Apache-2.0 */
#include "api/gate/gate.h"

#include "api/gate/gate_count.h"
#include "base/attr.h"
#include "t.h"
#include "tool/catalog.h"
#include "tree.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char silent[] = "{\"mcpServers\": {\"a\": {\"command\": \"/bin/sleep\", \"args\": "
			     "[\"600\"]}, \"b\": {\"command\": \"/bin/sleep\", \"args\": "
			     "[\"600\"]}}}";
static const char ending[] = "{\"mcpServers\": {\"a\": {\"command\": \"/bin/false\"}}}";

struct bench {
	uv_loop_t loop;
	struct gate *gate;
	struct tree tree;
	int n_answers, n_lines;
	char last[64]; /* the name of an error, or "ok" */
	char end[64];  /* of the last line of the log */
	bool is_tainted, is_closed;
};

static bool may_use_tools(void *arg, const char *owner)
{
	(void)arg;
	return strcmp(owner, "ann") == 0;
}

static void on_line(void *arg, const struct gate_line *line)
{
	struct bench *b = arg;
	b->n_lines++;
	snprintf(b->end, sizeof b->end, "%s", line->end);
}

static void bench_open(struct bench *b, const char *servers)
{
	struct err err = {0};
	(void)signal(SIGPIPE, SIG_IGN);
	*b = (struct bench){.tree = tree_new()};
	CHECK_INT(uv_loop_init(&b->loop), 0);
	if (servers)
		tree_put(&b->tree, "/mcp.json", servers);
	const struct gate_config config = {.loop = &b->loop,
		.path = servers ? tree_path(&b->tree, "/mcp.json") : NULL,
		.arg = b,
		.may_use_tools = may_use_tools,
		.log = {b, on_line}};
	CHECK_INT(gate_open(&b->gate, &config, &err), 0);
}

static void bench_done(struct bench *b)
{
	if (!b->is_closed)
		gate_close(b->gate);
	(void)uv_run(&b->loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b->loop), 0);
	gate_free(b->gate);
	tree_done(&b->tree);
}
#define BENCH cleanup(bench_done) struct bench

static void on_answer(void *arg, json_t *answer, bool is_untrusted)
{
	struct bench *b = arg;
	const json_t *name = json_object_get(json_object_get(answer, "error"), "name");
	b->n_answers++;
	b->is_tainted |= is_untrusted;
	snprintf(b->last, sizeof b->last, "%s", name ? json_string_value(name) : "ok");
	json_decref(answer);
}

static struct gate_call *call_as(struct bench *b, const char *owner, const char *name)
{
	json_t *none = json_object();
	const struct gate_request request = {.session = "s-1",
		.owner = owner,
		.name = name,
		.arguments = none,
		.arg = b,
		.answer = on_answer};
	struct gate_call *started = gate_start(b->gate, &request);
	json_decref(none);
	return started;
}

static struct gate_call *call(struct bench *b, const char *name)
{
	return call_as(b, "", name);
}

/* ---- handlers ---- */

struct standing {
	struct gate_handler handler;
	struct gate_call *taken;
	bool is_willing, is_at_once;
	int n_cancelled;
};

static bool on_call(void *arg, struct gate_call *taken)
{
	struct standing *s = arg;
	if (!s->is_willing)
		return false;
	s->taken = taken;
	if (s->is_at_once)
		gate_answer(taken, json_pack("{s:s}", "value", gate_call_name(taken)));
	return true;
}

static void on_cancel(void *arg, struct gate_call *taken)
{
	struct standing *s = arg;
	CHECK(s->taken == taken);
	s->n_cancelled++;
}

static void stand(struct bench *b, struct standing *s, const char *session, bool is_willing)
{
	*s = (struct standing){.handler = {.arg = s, .call = on_call, .cancel = on_cancel},
		.is_willing = is_willing};
	gate_attach(b->gate, session, &s->handler);
}

TEST(what_no_tool_has_is_for_who_stands_by_the_session)
{
	BENCH b;
	struct standing old, other, new;
	bench_open(&b, NULL);
	CHECK(call(&b, "retort.llm_query") == NULL);
	CHECK_STR(b.last, "ToolDenied");
	stand(&b, &old, "s-1", true);
	stand(&b, &other, "s-2", true);
	stand(&b, &new, "s-1", false);
	CHECK(call(&b, "retort.llm_query") != NULL);
	CHECK(old.taken && !other.taken && !new.taken);
	CHECK_STR(gate_call_name(old.taken), "retort.llm_query");
	CHECK(json_is_object(gate_call_arguments(old.taken)));
	gate_answer(old.taken, json_pack("{s:i}", "value", 1));
	CHECK_STR(b.last, "ok");
	new.is_willing = new.is_at_once = true;
	CHECK(call(&b, "retort.llm_query") == NULL);
	CHECK(new.taken != NULL);
	CHECK_INT(b.n_answers, 3);
	CHECK_INT(b.n_lines, 3);
	CHECK(!b.is_tainted);
	gate_detach(&old.handler);
	gate_detach(&other.handler);
	gate_detach(&new.handler);
	gate_detach(&new.handler);
	CHECK(call(&b, "retort.llm_query") == NULL);
	CHECK_STR(b.last, "ToolDenied");
}

TEST(calls_are_counted_by_how_they_end)
{
	BENCH b;
	struct standing s;
	uint64_t n[GATE_ENDS];
	bench_open(&b, silent);
	stand(&b, &s, "s-1", true);
	gate_cancel(call(&b, "retort.llm_query"));
	gate_cancel(call(&b, "b.x"));
	gate_cancel(call(&b, "b.x"));
	(void)call(&b, "retort.llm_query");
	gate_answer(s.taken, json_pack("{s:i}", "value", 1));
	(void)call(&b, "nobody.x");
	(void)call_as(&b, "eve", "a.x");
	static const struct {
		const char *server;
		uint64_t n[GATE_ENDS]; /* as gate_ends has them */
	} rows[] = {{"a", {[2] = 1}}, {"b", {[6] = 2}}, {"", {[0] = 1, [3] = 1, [6] = 1}}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_STR(gate_counted(b.gate, i, n), rows[i].server);
		for (size_t k = 0; k < GATE_ENDS; k++)
			CHECK_INT(n[k], rows[i].n[k]);
	}
	CHECK(gate_counted(b.gate, ARRAY_LEN(rows), n) == NULL);
	gate_detach(&s.handler);
}

TEST(no_memory_for_an_answer_is_an_answer)
{
	BENCH b;
	struct standing s;
	bench_open(&b, NULL);
	stand(&b, &s, "s-1", true);
	(void)call(&b, "retort.llm_query");
	gate_answer(s.taken, NULL);
	CHECK_STR(b.last, "ToolLost");
	gate_detach(&s.handler);
}

TEST(who_goes_leaves_no_call_behind)
{
	BENCH b;
	struct standing s;
	bench_open(&b, NULL);
	stand(&b, &s, "s-1", true);
	(void)call(&b, "retort.llm_query");
	(void)call(&b, "retort.skill_save");
	gate_detach(&s.handler);
	CHECK_INT(b.n_answers, 2);
	CHECK_STR(b.last, "ToolLost");
	CHECK_INT(s.n_cancelled, 0);
}

TEST(what_is_given_up_is_not_answered)
{
	BENCH b;
	struct standing s;
	bench_open(&b, silent);
	stand(&b, &s, "s-1", true);
	gate_cancel(call(&b, "retort.llm_query"));
	CHECK_INT(s.n_cancelled, 1);
	gate_cancel(call(&b, "a.x"));
	gate_cancel(call(&b, "retort.tools"));
	CHECK_INT(b.n_answers, 0);
	CHECK_INT(b.n_lines, 3);
	CHECK_STR(b.end, "cancelled");
	gate_detach(&s.handler);
}

/* ---- servers ---- */

TEST(who_may_not_use_tools_is_told_nothing_of_them)
{
	static const char *const names[] = {
		"retort.tools", "retort.search", "retort.describe", "a.x"};
	BENCH b;
	bench_open(&b, silent);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CHECK(call_as(&b, "bob", names[i]) == NULL);
		CHECK_STR(b.last, "ToolDenied");
	}
	CHECK(call_as(&b, "ann", "a.x") != NULL);
}

TEST(without_servers_there_are_no_tools)
{
	BENCH b;
	bench_open(&b, NULL);
	CHECK(!gate_has_tools(b.gate));
	CHECK(call(&b, "retort.tools") == NULL);
	CHECK_STR(b.last, "ok");
	CHECK(call(&b, "a.x") == NULL);
	CHECK_STR(b.last, "ToolArgumentError");
	CHECK(call(&b, "retort.describe") == NULL);
	CHECK_STR(b.last, "ToolArgumentError");
}

TEST(an_engine_that_ends_answers_what_waits)
{
	BENCH b;
	bench_open(&b, silent);
	for (int i = 0; i < 3; i++)
		CHECK(call(&b, "a.x") && call(&b, "b.x") && call(&b, "retort.tools"));
	(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	CHECK_INT(b.n_answers, 0);
	gate_close(b.gate);
	b.is_closed = true;
	CHECK_INT(b.n_answers, 9);
	CHECK_STR(b.last, "ToolLost");
}

TEST(a_session_has_so_many_calls_in_a_minute)
{
	BENCH b;
	bench_open(&b, NULL);
	for (int i = 0; i < GATE_CALLS_PER_MINUTE; i++)
		(void)call(&b, "a.x");
	CHECK_STR(b.last, "ToolArgumentError");
	/* Time goes on meanwhile: some more are let through. */
	for (int i = 0; i < GATE_CALLS_PER_MINUTE && strcmp(b.last, "ToolLimit") != 0; i++)
		(void)call(&b, "a.x");
	CHECK_STR(b.last, "ToolLimit");
	gate_forget(b.gate, "s-1");
	(void)call(&b, "a.x");
	CHECK_STR(b.last, "ToolArgumentError");
}

/* ---- the catalog below it ---- */

struct shelf {
	uv_loop_t loop;
	struct tool_servers servers;
	struct catalog *catalog;
	int n_told;
	bool is_closed_by_first;
};

static const char *no_env(const char *name)
{
	(void)name;
	return NULL;
}

static void shelf_open(struct shelf *s, const char *text)
{
	struct err err = {0};
	(void)signal(SIGPIPE, SIG_IGN);
	*s = (struct shelf){0};
	CHECK_INT(uv_loop_init(&s->loop), 0);
	CHECK_INT(servers_read(&s->servers, text, strlen(text), "x", no_env, &err), 0);
	const struct catalog_config config = {.loop = &s->loop, .servers = &s->servers};
	s->catalog = catalog_new(&config);
}

static void shelf_done_(struct shelf *s)
{
	catalog_close(s->catalog);
	(void)uv_run(&s->loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&s->loop), 0);
	servers_done(&s->servers);
}
#define SHELF cleanup(shelf_done_) struct shelf

static void on_told(void *arg)
{
	struct shelf *s = arg;
	s->n_told++;
	if (s->is_closed_by_first)
		catalog_close(take_ptr(s->catalog));
}

TEST(a_catalog_that_is_closed_tells_nobody)
{
	SHELF s;
	struct err err = {0};
	shelf_open(&s, silent);
	CHECK_INT(catalog_load(s.catalog, NULL, on_told, &s, &err), 0);
	CHECK_INT(catalog_load(s.catalog, "a", on_told, &s, &err), 0);
	CHECK_INT(catalog_load(s.catalog, NULL, on_told, &s, &err), 0);
	CHECK(catalog_load(s.catalog, "c", on_told, &s, &err) < 0);
	(void)uv_run(&s.loop, UV_RUN_NOWAIT);
	catalog_close(take_ptr(s.catalog));
	(void)uv_run(&s.loop, UV_RUN_DEFAULT);
	CHECK_INT(s.n_told, 0);
}

TEST(everybody_who_waits_for_a_list_is_told_once)
{
	SHELF s;
	struct err err = {0};
	size_t n;
	shelf_open(&s, ending);
	for (int i = 0; i < 3; i++)
		CHECK_INT(catalog_load(s.catalog, i ? NULL : "a", on_told, &s, &err), 0);
	while (s.n_told < 3)
		(void)uv_run(&s.loop, UV_RUN_ONCE);
	CHECK(catalog_servers(s.catalog, &n)->err.code != ERR_NONE);
	CHECK_INT(catalog_load(s.catalog, NULL, on_told, &s, &err), 0);
	while (s.n_told < 4)
		(void)uv_run(&s.loop, UV_RUN_ONCE);
}

TEST(the_first_who_is_told_may_close_it)
{
	SHELF s;
	struct err err = {0};
	shelf_open(&s, ending);
	s.is_closed_by_first = true;
	for (int i = 0; i < 3; i++)
		CHECK_INT(catalog_load(s.catalog, NULL, on_told, &s, &err), 0);
	(void)uv_run(&s.loop, UV_RUN_DEFAULT);
	CHECK_INT(s.n_told, 1);
}
