/* Runs: waited for, asked for by id, read in parts, interrupted; and how many are remembered.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/run/runs.h"

#include "api/operation/operation.h"
#include "unit/registry/fake_registry.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 10000 };

struct bench {
	uv_loop_t loop;
	struct registry *registry;
	struct runs *runs;
	struct operation_context context;
};

static void bench_open(struct bench *b)
{
	CHECK_INT(uv_loop_init(&b->loop), 0);
	b->registry = fake_registry_new(&b->loop);
	b->runs = runs_open(&b->loop);
	b->context = (struct operation_context){
		.registry = b->registry, .runs = b->runs, .version = "1"};
}

static void bench_done(struct bench *b)
{
	(void)uv_run(&b->loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b->loop), 0);
	runs_close(b->runs);
	fake_registry_free(b->registry);
}
#define BENCH cleanup(bench_done) struct bench

struct heard {
	int n_done;
	json_t *result;
	struct err err;
	struct operation_call *slot;
};

static void heard_done(struct heard *h)
{
	json_decref(h->result);
}
#define HEARD cleanup(heard_done) struct heard

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct heard *h = arg;
	h->n_done++;
	h->result = json_incref((json_t *)(uintptr_t)result);
	if (err)
		h->err = *err;
}

/* Takes @params. */
static void begin(struct bench *b, struct heard *h, const char *method, json_t *params)
{
	const struct operation_listener listener = {.arg = h, .done = on_done};
	*h = (struct heard){.n_done = 0};
	CHECK(params != NULL);
	operation_start(&b->context, operation_find(method), params, &listener, &h->slot);
	json_decref(params);
}

static void await(struct bench *b, const struct heard *h)
{
	for (int i = 0; i < TURNS && h->n_done == 0; i++)
		(void)uv_run(&b->loop, UV_RUN_ONCE);
	CHECK_INT(h->n_done, 1);
}

static void call(struct bench *b, struct heard *h, const char *method, json_t *params)
{
	begin(b, h, method, params);
	await(b, h);
}

static const char *text(const struct heard *h, const char *name)
{
	const char *found = json_string_value(json_object_get(h->result, name));
	return found ? found : "";
}

static json_t *order(const char *session, const char *code)
{
	return json_pack("{s:s, s:s}", "session", session, "code", code);
}

/* Start @code, answered at once. */
static void start(struct bench *b, struct heard *h, const char *code)
{
	json_t *params = order("s-1", code);
	(void)json_object_set_new(params, "wait_ms", json_integer(0));
	call(b, h, "step.run", params);
}

static void make_session(struct bench *b)
{
	HEARD made;
	call(b, &made, "session.create", json_object());
	CHECK(made.result != NULL);
}

TEST(a_step_that_is_not_waited_for_goes_on)
{
	BENCH b;
	bench_open(&b);
	make_session(&b);
	HEARD run, got, ended, done;
	start(&b, &run, "print one\nwait");
	CHECK_STR(text(&run, "status"), "running");
	CHECK_INT(strlen(text(&run, "run")), 28);
	call(&b, &got, "step.get", json_pack("{s:s}", "run", text(&run, "run")));
	CHECK_STR(text(&got, "status"), "running");
	CHECK_STR(text(&got, "run"), text(&run, "run"));
	CHECK_STR(text(&got, "stdout"), "one\n");
	call(&b, &ended, "step.interrupt", json_pack("{s:s}", "run", text(&run, "run")));
	CHECK(ended.result != NULL);
	call(&b, &done, "step.get",
		json_pack("{s:s, s:i}", "run", text(&run, "run"), "wait_ms", 60000));
	CHECK_STR(text(&done, "status"), "killed");
	CHECK_STR(text(&done, "run"), text(&run, "run"));
	HEARD by_step;
	call(&b, &by_step, "step.get",
		json_pack("{s:s, s:s%}", "session", "s-1", "step", text(&done, "step"), 8));
	CHECK_STR(text(&by_step, "run"), text(&run, "run"));
}

TEST(what_was_told_of_a_step_that_runs_does_not_change)
{
	BENCH b;
	bench_open(&b);
	make_session(&b);
	HEARD run, first, second, ended;
	start(&b, &run, "show\nwait");
	call(&b, &first, "step.get", json_pack("{s:s}", "run", text(&run, "run")));
	call(&b, &second, "step.get", json_pack("{s:s}", "run", text(&run, "run")));
	const json_t *told = json_object_get(first.result, "displays");
	const json_t *again = json_object_get(second.result, "displays");
	CHECK_INT(json_array_size(told), 1);
	CHECK(json_equal(told, again));
	/* What comes later is added to neither: they may be read in another thread. */
	CHECK(told != again);
	call(&b, &ended, "step.interrupt", json_pack("{s:s}", "run", text(&run, "run")));
}

TEST(a_step_that_ends_in_time_is_answered_with_its_record)
{
	BENCH b;
	bench_open(&b);
	make_session(&b);
	HEARD run, again;
	json_t *params = order("s-1", "x = 4\nx");
	(void)json_object_set_new(params, "wait_ms", json_integer(60000));
	call(&b, &run, "step.run", params);
	CHECK_STR(text(&run, "status"), "ok");
	call(&b, &again, "step.get", json_pack("{s:s}", "run", text(&run, "run")));
	CHECK(json_equal(run.result, again.result));
}

TEST(many_may_wait_and_each_may_leave)
{
	BENCH b;
	bench_open(&b);
	make_session(&b);
	HEARD run, one, two;
	start(&b, &run, "wait");
	begin(&b, &one, "step.get",
		json_pack("{s:s, s:i}", "run", text(&run, "run"), "wait_ms", 60000));
	begin(&b, &two, "step.get",
		json_pack("{s:s, s:i}", "run", text(&run, "run"), "wait_ms", 60000));
	CHECK_INT(one.n_done + two.n_done, 0);
	operation_cancel(one.slot);
	CHECK_STR(text(&one, "status"), "running");
	CHECK_INT(two.n_done, 0);
	HEARD kill;
	call(&b, &kill, "step.interrupt",
		json_pack("{s:s, s:b}", "run", text(&run, "run"), "kill", 1));
	await(&b, &two);
	CHECK_STR(text(&two, "status"), "killed");
}

TEST(what_was_printed_is_read_in_parts)
{
	BENCH b;
	bench_open(&b);
	make_session(&b);
	HEARD run, part, rest, found, code, value;
	start(&b, &run, "print alpha\nprint beta\nwarn w\nx = 7\nx");
	const char *id = text(&run, "run");
	HEARD done;
	call(&b, &done, "step.get", json_pack("{s:s, s:i}", "run", id, "wait_ms", 60000));
	call(&b, &part, "step.output", json_pack("{s:s, s:i}", "run", id, "limit", 8));
	CHECK_STR(text(&part, "text"), "alpha\nbe");
	CHECK(json_is_false(json_object_get(part.result, "is_end")));
	json_t *next = json_object_get(part.result, "next_offset");
	CHECK_INT(json_integer_value(next), 8);
	call(&b, &rest, "step.output", json_pack("{s:s, s:O}", "run", id, "offset", next));
	CHECK_STR(text(&rest, "text"), "ta\n");
	CHECK(json_is_true(json_object_get(rest.result, "is_end")));
	CHECK(!json_object_get(rest.result, "next_offset"));
	CHECK_INT(json_integer_value(json_object_get(rest.result, "bytes")), 11);
	call(&b, &found, "step.output", json_pack("{s:s, s:s}", "run", id, "grep", "eta"));
	CHECK_STR(text(&found, "text"), "2:beta\n");
	call(&b, &code, "step.output",
		json_pack("{s:s, s:s, s:i}", "run", id, "stream", "code", "limit", 11));
	CHECK_STR(text(&code, "text"), "print alpha");
	call(&b, &value, "step.output", json_pack("{s:s, s:s}", "run", id, "stream", "value"));
	CHECK_STR(text(&value, "text"), "7");
}

TEST(what_is_not_there_is_said)
{
	static const struct {
		const char *method, *params, *message, *hint;
		enum err_code code;
	} rows[] = {
		{"step.get", "{\"run\": \"r-x\"}", "no run r-x", "last 32", ERR_NOT_FOUND},
		{"step.get", "{}", "run: missing", "session", ERR_USAGE},
		{"step.get", "{\"session\": \"s-1\"}", "step: missing", "which", ERR_USAGE},
		{"step.get", "{\"session\": \"s-1\", \"run\": \"r\"}", "session: given together",
			"one of them", ERR_USAGE},
		{"step.get", "{\"session\": \"s-9\", \"step\": \"1\"}", "no session", "ls",
			ERR_NOT_FOUND},
		{"step.get", "{\"session\": \"s-1\", \"step\": \"1\"}", "no run of step 1",
			"session.log", ERR_NOT_FOUND},
		{"step.output", "{\"run\": \"r-x\"}", "no run r-x", "last", ERR_NOT_FOUND},
		{"step.output", "{\"run\": \"r-x\", \"stream\": \"stdin\"}", "stream: \"stdin\"",
			"std", ERR_USAGE},
		{"step.interrupt", "{\"run\": \"r-x\"}", "no run r-x", "last", ERR_NOT_FOUND},
		{"step.interrupt", "{}", "run: missing", "session", ERR_USAGE},
		{"step.interrupt", "{\"session\": \"s-9\"}", "no session", "ls", ERR_NOT_FOUND},
	};
	BENCH b;
	bench_open(&b);
	make_session(&b);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		HEARD h;
		call(&b, &h, rows[i].method, json_loads(rows[i].params, 0, NULL));
		CHECK_INT(h.err.code, rows[i].code);
		CHECK_HAS(h.err.msg, rows[i].message);
		CHECK_HAS(h.err.hint, rows[i].hint);
	}
	HEARD run, value;
	start(&b, &run, "wait");
	call(&b, &value, "step.output",
		json_pack("{s:s, s:s}", "run", text(&run, "run"), "stream", "value"));
	CHECK_INT(value.err.code, ERR_NOT_FOUND);
	CHECK_HAS(value.err.hint, "still runs");
	HEARD ended;
	call(&b, &ended, "step.interrupt", json_pack("{s:s}", "session", "s-1"));
}

TEST(of_a_session_the_newest_are_kept)
{
	enum { MORE = 5 };
	BENCH b;
	bench_open(&b);
	make_session(&b);
	char ids[RUNS_PER_SESSION + MORE][RUN_ID_BYTES];
	for (int i = 0; i < RUNS_PER_SESSION + MORE; i++) {
		HEARD run;
		call(&b, &run, "step.run", order("s-1", "print x"));
		snprintf(ids[i], sizeof ids[i], "%s", text(&run, "run"));
		for (int j = 0; j < i; j++)
			CHECK(strcmp(ids[i], ids[j]) != 0);
	}
	for (int i = 0; i < RUNS_PER_SESSION + MORE; i++) {
		HEARD got;
		call(&b, &got, "step.get", json_pack("{s:s}", "run", ids[i]));
		CHECK_INT(got.result != NULL, i >= MORE);
	}
}

TEST(what_is_kept_of_outputs_is_bounded)
{
	enum { RUNS = 7, MIB = 6 };
	BENCH b;
	bench_open(&b);
	make_session(&b);
	char first[RUN_ID_BYTES], code[32];
	snprintf(code, sizeof code, "flood %d", MIB << 10);
	for (int i = 0; i < RUNS; i++) {
		HEARD run, last;
		call(&b, &run, "step.run", order("s-1", code));
		CHECK_INT(json_string_length(json_object_get(run.result, "stdout")), MIB << 20);
		if (i == 0)
			snprintf(first, sizeof first, "%s", text(&run, "run"));
		call(&b, &last, "step.output",
			json_pack("{s:s, s:i}", "run", text(&run, "run"), "limit", 3));
		CHECK_STR(text(&last, "text"), "xxx");
	}
	HEARD got, output;
	call(&b, &got, "step.get", json_pack("{s:s}", "run", first));
	CHECK_STR(text(&got, "status"), "ok");
	CHECK_STR(text(&got, "stdout"), "");
	CHECK(json_is_true(json_object_get(json_object_get(got.result, "truncated"), "dropped")));
	call(&b, &output, "step.output", json_pack("{s:s}", "run", first));
	CHECK_INT(output.err.code, ERR_GONE);
}

TEST(runs_go_with_their_session)
{
	BENCH b;
	bench_open(&b);
	make_session(&b);
	HEARD run, got;
	call(&b, &run, "step.run", order("s-1", "print x"));
	runs_forget(b.runs, "s-1");
	runs_forget(b.runs, "s-1");
	call(&b, &got, "step.get", json_pack("{s:s}", "run", text(&run, "run")));
	CHECK_INT(got.err.code, ERR_NOT_FOUND);
}

/* Another's registry has no such session. */
TEST(runs_of_another_are_not_there)
{
	static const char *const methods[] = {"step.get", "step.output", "step.interrupt"};
	BENCH b;
	bench_open(&b);
	make_session(&b);
	struct registry *const own = b.registry, *const other = fake_registry_new(&b.loop);
	HEARD run;
	call(&b, &run, "step.run", order("s-1", "print x"));
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		HEARD mine, others;
		b.context.registry = other;
		call(&b, &others, methods[i], json_pack("{s:s}", "run", text(&run, "run")));
		CHECK_INT(others.err.code, ERR_NOT_FOUND);
		b.context.registry = own;
		call(&b, &mine, methods[i], json_pack("{s:s}", "run", text(&run, "run")));
		CHECK(mine.result != NULL);
	}
	fake_registry_free(other);
}
