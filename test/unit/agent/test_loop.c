/*
 * The loop with a recording for a model and a table for a runner: no boxes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/answer/grounding.h"
#include "agent/loop/loop.h"

#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the next step gives, as JSON; the last one stays. */
struct bench {
	uv_loop_t uv;
	struct wire *wire;
	struct loop *loop;
	struct loop_config config;
	const char *records[8];
	size_t n_ran, n_interrupts;
	bool is_hanging;  /* no step ends */
	bool is_refused;  /* no step begins */
	bool is_end;	  /* the interrupt ends all */
	uint64_t cost;	  /* of a step, in tokens */
	unsigned n_rooms; /* branches that there is room for */
	bool is_late;	  /* branches are made when they are waited for no more */
	unsigned late[16], n_late;
	char places[200]; /* what was asked of branches */
	uv_idle_t idle;	  /* what is done from the loop */
	char codes[2000], events[8000];
	json_t *result, *kept;
	char path[64];
};

static void note(struct bench *b, char what, unsigned place)
{
	size_t used = strlen(b->places);
	snprintf(b->places + used, sizeof b->places - used, "%c%u ", what, place);
}

static int on_run(void *arg, const struct loop_code *code, struct err *err)
{
	struct bench *b = arg;
	size_t used = strlen(b->codes), n = b->n_ran++;
	snprintf(b->codes + used, sizeof b->codes - used, "%s:%.*s;",
		code->runtime ? code->runtime : "-", (int)code->bytes, code->code);
	if (b->is_refused)
		return err_set(err, ERR_GONE, "the session is gone");
	if (code->place > 0)
		note(b, code->is_check ? 'c' : 'r', code->place);
	if (b->is_hanging)
		return 0;
	while (n > 0 && !b->records[n])
		n--;
	if (b->cost > 0)
		loop_spend(b->loop, &(struct wire_usage){.input = b->cost, .is_estimated = true},
			NULL);
	json_t *record = json_loads(b->records[n], 0, NULL);
	CHECK(record != NULL);
	loop_ran(b->loop, code->place, record, NULL);
	json_decref(record);
	return 0;
}

static int on_branch(void *arg, unsigned place, struct err *err)
{
	struct bench *b = arg;
	note(b, 'b', place);
	if (place > b->n_rooms && place % 2)
		return err_set(err, ERR_QUOTA, "no room");
	if (place > b->n_rooms)
		(void)err_set(err, ERR_QUOTA, "no room");
	if (b->is_late)
		b->late[b->n_late++] = place;
	else
		loop_branched(b->loop, place, place > b->n_rooms ? err : NULL);
	return 0;
}

static void on_adopt(void *arg, unsigned place)
{
	struct bench *b = arg;
	note(b, 'a', place);
	loop_adopted(b->loop, NULL);
}

static void on_interrupt(void *arg)
{
	struct bench *b = arg;
	json_t *record = json_pack("{s:s}", "status", "killed");
	b->n_interrupts++;
	loop_ran(b->loop, 0, record, NULL);
	json_decref(record);
}

/* What waits for its branch gets it now. */
static void on_interrupt_late(void *arg)
{
	struct bench *b = arg;
	for (unsigned i = 0; i < b->n_late; i++)
		loop_branched(b->loop, b->late[i], NULL);
}

static json_t *on_observe(void *arg, const json_t *record)
{
	(void)arg;
	return json_pack("{s:o}", "text",
		json_sprintf("%s %s", json_string_value(json_object_get(record, "status")),
			json_object_get(record, "stdout")
				? json_string_value(json_object_get(record, "stdout"))
				: ""));
}

static void on_event(void *arg, const json_t *event)
{
	struct bench *b = arg;
	size_t used = strlen(b->events);
	snprintf(b->events + used, sizeof b->events - used, "%s ",
		json_string_value(json_object_get(event, "event")));
}

static void on_done(void *arg, const json_t *result)
{
	struct bench *b = arg;
	b->result = json_incref((json_t *)(uintptr_t)result);
	loop_close(b->loop);
	b->loop = NULL;
	wire_close(b->wire);
}

static void bench_open(struct bench *b, const char *lines)
{
	struct err err;
	char spec[80];
	*b = (struct bench){.records = {"{\"status\": \"ok\", \"stdout\": \"7\"}"}};
	snprintf(b->path, sizeof b->path, "/tmp/test-loop-XXXXXX");
	int fd = mkstemp(b->path);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, lines, strlen(lines)), strlen(lines));
	(void)close(fd);
	snprintf(spec, sizeof spec, "replay:%s", b->path);
	const struct wire_config config = {.spec = spec};
	CHECK_INT(uv_loop_init(&b->uv), 0);
	CHECK_INT(wire_open(&b->wire, &b->uv, &config, &err), 0);
	(void)unlink(b->path);
	b->config = (struct loop_config){.wire = b->wire,
		.task = "The task",
		.budget = budget_default(),
		.is_grounded = true,
		.hooks = {b, on_run, on_interrupt, on_observe, on_event, on_done, on_branch,
			on_adopt}};
	b->n_rooms = 16;
}

static void bench_run(struct bench *b)
{
	struct err err;
	CHECK_INT(loop_open(&b->loop, &b->uv, &b->config, &err), 0);
	(void)uv_run(&b->uv, UV_RUN_DEFAULT);
	CHECK(b->result != NULL);
}

static const char *member(const struct bench *b, const char *name)
{
	const char *text = json_string_value(json_object_get(b->result, name));
	return text ? text : "";
}

static void bench_close(struct bench *b)
{
	json_decref(b->result);
	CHECK_INT(uv_loop_close(&b->uv), 0);
}

/* Run @lines to the end, and see how that is. */
static void check_end(const char *lines, const char *status, const char *answer)
{
	struct bench b;
	bench_open(&b, lines);
	bench_run(&b);
	if (!CHECK_STR(member(&b, "status"), status))
		printf("# %s\n", json_dumps(b.result, 0));
	CHECK_STR(member(&b, "answer"), answer);
	bench_close(&b);
}

#define SAY(text)   "{\"reply\": {\"text\": \"" text "\"}}\n"
#define CODE(text)  "```python\\n" text "\\n```\\n"
#define ALWAYS(say) "{\"times\": 0, \"reply\": {\"text\": \"" say "\"}}\n"

TEST(code_is_run_and_seen)
{
	struct bench b;
	bench_open(&b,
		SAY("I try.\\n" CODE(
			"6 + 1")) "{\"expect_last\": [\"[step 1] ok 7\", \"19 of 20 "
				  "steps left\"], \"reply\": {\"text\": \"It is 7.\"}}\n");
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(member(&b, "answer"), "It is 7.");
	CHECK_STR(b.codes, "python:6 + 1;");
	CHECK_HAS(b.events,
		"model.asked model.delta model.message step.code observation "
		"model.asked model.delta model.message answer ");
	CHECK(json_is_true(json_object_get(b.result, "grounded")));
	bench_close(&b);
}

TEST(only_the_first_block_is_run_and_kept)
{
	struct bench b;
	bench_open(&b,
		"{\"chunk\": 3, \"reply\": {\"text\": \"" CODE("one") "Output: 9\\n" CODE(
			"second()") "\"}}\n"
				    "{\"reject\": [\"second()\", \"Output: 9\"], \"reply\": {\"text\": \"Seven, 7.\"}}\n");
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(b.codes, "python:one;");
	bench_close(&b);
}

TEST(blocks_of_tags_end_the_reply_too)
{
	struct bench b;
	bench_open(&b,
		"{\"chunk\": 2, \"reply\": {\"text\": \"<execute_bash>\\nls\\n</execute_bash>\\nAnd I "
		"see 9 files\"}}\n"
		"{\"reject\": [\"9 files\"], \"reply\": {\"text\": \"Done.\"}}\n");
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(b.codes, "shell:ls;");
	bench_close(&b);
}

TEST(ends)
{
	check_end(SAY("Hello."), "ok", "Hello.");
	check_end(SAY("<think>9 or 10</think>\\nHello."), "ok", "Hello.");
	check_end(SAY("It is 8.") SAY("It is 8."), "ok", "It is 8.");
	check_end(SAY("") SAY("  ") SAY(""), "failed", "");
	check_end(SAY("") SAY("Good."), "ok", "Good.");
	check_end("{\"reply\": {\"text\": \"No.\", \"stop\": \"refusal\"}}\n", "failed", "");
	check_end(SAY(CODE("x")), "error", "");
	check_end(ALWAYS(CODE("x")), "stuck", "");
	check_end("{\"failure\": {\"class\": \"auth\"}}\n", "error", "");
	check_end("{\"failure\": {\"class\": \"context\"}}\n", "error", "");
}

/* A record of a failure with a message of 64 KiB. Owns: the caller frees. */
static char *long_failure(const char *printed)
{
	static char message[(64 << 10) + 1];
	char *out = NULL;
	memset(message, 'm', sizeof message - 1);
	CHECK(asprintf(&out,
		      "{\"status\": \"error\", \"stdout\": \"%s\", \"error\": {\"name\": \"E\", "
		      "\"message\": \"%s\"}}",
		      printed, message) > 0);
	return out;
}

TEST(a_long_message_does_not_make_all_ends_the_same)
{
	struct bench b;
	char *records[5];
	bench_open(&b,
		SAY(CODE("x")) SAY(CODE("x")) SAY(CODE("x")) SAY(CODE("x")) SAY(CODE("x"))
			SAY("Done."));
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		char printed[] = {(char)('a' + i), '\0'};
		b.records[i] = records[i] = long_failure(printed);
	}
	b.config.budget.limit[BUDGET_FAILURES] = 0;
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK(!strstr(b.events, "stuck"));
	bench_close(&b);
	for (size_t i = 0; i < ARRAY_LEN(records); i++)
		free(records[i]);
}

TEST(a_number_comes_back_once)
{
	struct bench b;
	bench_open(&b,
		SAY("It is 8.") "{\"times\": 0, \"expect_last\": [\"not taken yet\", \" 8.\"], "
				"\"reply\": {\"text\": \"I say 8.\"}}\n");
	bench_run(&b);
	CHECK_STR(member(&b, "answer"), "I say 8.");
	CHECK(json_is_false(json_object_get(b.result, "grounded")));
	CHECK_INT(json_array_size(json_object_get(b.result, "ungrounded")), 1);
	CHECK_INT(json_integer_value(json_object_get(b.result, "replies")), 2);
	bench_close(&b);
}

TEST(final_answer_ends_it)
{
	struct bench b;
	bench_open(&b, SAY(CODE("final_answer(f())")));
	b.records[0] = "{\"status\": \"ok\", \"displays\": [{\"text/plain\": \"42\", "
		       "\"application/json\": 42, \"application/vnd.retort.answer+json\": {}}]}";
	bench_run(&b);
	CHECK_STR(member(&b, "answer"), "42");
	CHECK_INT(json_integer_value(json_object_get(b.result, "value")), 42);
	bench_close(&b);
	/* Not in a step that failed. */
	bench_open(&b, SAY(CODE("final_answer(f()); 1/0")) SAY("No."));
	b.records[0] = "{\"status\": \"error\", \"displays\": [{\"text/plain\": \"42\", "
		       "\"application/vnd.retort.answer+json\": {}}]}";
	bench_run(&b);
	CHECK_STR(member(&b, "answer"), "No.");
	bench_close(&b);
}

TEST(a_check_decides)
{
	struct bench b;
	bench_open(&b,
		SAY("Done.") "{\"expect_last\": [\"make test\", \"error\"], \"reply\": "
			     "{\"text\": \"Now.\"}}\n");
	b.config.check = "make test";
	b.records[0] = "{\"status\": \"error\"}";
	b.records[1] = "{\"status\": \"ok\"}";
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(member(&b, "answer"), "Now.");
	CHECK_STR(b.codes, "shell:make test;shell:make test;");
	bench_close(&b);
	bench_open(&b, ALWAYS("Done."));
	b.config.check = "false";
	b.records[0] = "{\"status\": \"error\"}";
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "check_failed");
	bench_close(&b);
}

TEST(budgets)
{
	static const struct {
		enum budget_kind kind;
		uint64_t limit;
		const char *status;
	} rows[] = {{BUDGET_STEPS, 2, "steps"}, {BUDGET_TOKENS, 1000, "budget"},
		{BUDGET_FAILURES, 1, "stuck"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bench b;
		bench_open(&b, SAY(CODE("1")) SAY(CODE("2")) ALWAYS("I have 7."));
		b.config.budget.limit[rows[i].kind] = rows[i].limit;
		b.records[0] = rows[i].kind == BUDGET_FAILURES
			? "{\"status\": \"error\", \"stdout\": \"7\"}"
			: b.records[0];
		bench_run(&b);
		if (rows[i].kind == BUDGET_FAILURES)
			CHECK_INT(b.n_ran, 1);
		CHECK_STR(member(&b, "status"), rows[i].status);
		CHECK_STR(member(&b, "spent"), budget_word(rows[i].kind));
		bench_close(&b);
	}
}

TEST(time_stops_the_step_that_runs)
{
	struct bench b;
	bench_open(&b,
		SAY(CODE("sleep")) "{\"expect_last\": [\"killed\", \"Nothing more\"], \"reply\": "
				   "{\"text\": \"Nothing.\"}}\n");
	b.is_hanging = true;
	b.config.budget.limit[BUDGET_WALL] = 20;
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "budget");
	CHECK_STR(member(&b, "answer"), "Nothing.");
	CHECK_INT(b.n_interrupts, 1);
	bench_close(&b);
}

static void on_idle(uv_idle_t *idle)
{
	struct bench *b = idle->data;
	if (b->loop && b->n_ran > 0 && b->n_interrupts == 0)
		loop_interrupt(b->loop, b->is_end);
	if (b->result)
		uv_close((uv_handle_t *)idle, NULL);
}

TEST(an_interrupt_stops_the_step)
{
	struct bench b;
	bench_open(&b, SAY(CODE("sleep")) SAY("It was stopped."));
	b.is_hanging = true;
	(void)uv_idle_init(&b.uv, &b.idle);
	b.idle.data = &b;
	(void)uv_idle_start(&b.idle, on_idle);
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_INT(b.n_interrupts, 1);
	CHECK_HAS(b.events, "interrupt ");
	bench_close(&b);
}

TEST(an_interrupt_can_end_it)
{
	struct bench b;
	bench_open(&b, SAY(CODE("sleep")) SAY("It was stopped."));
	b.is_hanging = b.is_end = true;
	(void)uv_idle_init(&b.uv, &b.idle);
	b.idle.data = &b;
	(void)uv_idle_start(&b.idle, on_idle);
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "interrupted");
	CHECK_INT(json_integer_value(json_object_get(b.result, "replies")), 1);
	bench_close(&b);
}

TEST(a_session_that_is_gone_ends_it)
{
	struct bench b;
	bench_open(&b, SAY(CODE("x")));
	b.is_refused = true;
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "error");
	CHECK_STR(json_string_value(json_object_get(json_object_get(b.result, "error"), "code")),
		"gone");
	bench_close(&b);
}

TEST(what_a_model_can_read_is_learned)
{
	struct bench b;
	bench_open(&b,
		SAY(CODE("1")) SAY(CODE("2")) SAY(CODE("3")) SAY(CODE("4")) SAY(CODE(
			"5")) "{\"failure\": {\"class\": \"context\"}}\n"
			      "{\"expect\": [\"left out later\"], \"reply\": {\"text\": \"Done.\"}}\n");
	char *record = malloc(40100);
	size_t n = (size_t)sprintf(record, "{\"status\": \"ok\", \"stdout\": \"first\\n");
	memset(record + n, 'y', 40000);
	strcpy(record + n + 40000, "\"}");
	b.records[0] = record;
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	bench_close(&b);
	free(record);
}

TEST(an_empty_task_is_refused)
{
	struct bench b;
	struct err err;
	bench_open(&b, SAY("x"));
	b.config.task = " \n";
	CHECK(loop_open(&b.loop, &b.uv, &b.config, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	wire_close(b.wire);
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b.uv), 0);
}

/* What a step asked a model is paid from the same purse. */
TEST(queries_are_told_of_and_paid)
{
	struct bench b;
	bench_open(&b,
		"{\"expect\": [\"llm_query(prompt\", \"9000 bytes\", \"7 in all\"], \"reply\": "
		"{\"text\": \"" CODE(
			"one") "\"}}\n"
			       "{\"expect_last\": [\"Nothing more can be run\"], \"reply\": {\"text\": \"Enough.\"}}\n");
	b.config.n_queries = 7;
	b.config.query_bytes = 9000;
	b.config.budget.limit[BUDGET_TOKENS] = 100000;
	b.cost = 100000;
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "budget");
	CHECK_STR(member(&b, "spent"), "tokens");
	CHECK_STR(member(&b, "answer"), "Enough.");
	CHECK(json_integer_value(json_object_get(json_object_get(b.result, "usage"), "input")) >
		100000);
	bench_close(&b);
	bench_open(&b, "{\"reject\": [\"llm_query\"], \"reply\": {\"text\": \"Enough.\"}}\n");
	bench_run(&b);
	CHECK_STR(member(&b, "answer"), "Enough.");
	bench_close(&b);
}
/* ---- candidates ---- */

#define OK(value)                                                                                  \
	"{\"status\": \"ok\", \"value\": {\"application/json\": " value                            \
	"}, \"state\": {\"outcome\": "                                                             \
	"\"committed\"}}"
#define BAD                                                                                        \
	"{\"status\": \"error\", \"error\": {\"name\": \"E\"}, \"state\": {\"outcome\": "          \
	"\"committed\"}}"
#define LOST "{\"status\": \"killed\", \"state\": {\"outcome\": \"rolled_back\"}}"

/* A round of three, then an answer: what is asked of branches, and how it ends. */
static void check_round(const char *records[3], const char *places, const char *codes)
{
	struct bench b;
	bench_open(&b, SAY(CODE("a")) SAY(CODE("b")) SAY(CODE("c")) ALWAYS("Done."));
	b.config.best_of = 3;
	for (size_t i = 0; i < 3; i++)
		b.records[i] = records[i];
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(b.places, places);
	CHECK_STR(b.codes, codes);
	bench_close(&b);
}

TEST(the_best_is_adopted)
{
	static const char tried[] = "python:a;python:b;python:c;";
	check_round((const char *[]){OK("1"), OK("2"), OK("2")}, "b1 r1 b2 r2 b3 r3 a2 a0 ", tried);
	check_round(
		(const char *[]){OK("1"), OK("2"), OK("1.0")}, "b1 r1 b2 r2 b3 r3 a1 a0 ", tried);
	check_round((const char *[]){BAD, LOST, OK("1")}, "b1 r1 b2 r2 b3 r3 a3 a0 ", tried);
	check_round((const char *[]){LOST, LOST, BAD}, "b1 r1 b2 r2 b3 r3 a0 a0 ", tried);
}

TEST(without_branches_there_is_one)
{
	struct bench b;
	bench_open(&b, SAY(CODE("a")) SAY(CODE("b")) SAY(CODE("c")) SAY("Done."));
	b.config.best_of = 3;
	b.n_rooms = 0;
	b.records[0] = OK("1");
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(b.places, "b1 b2 b3 a0 ");
	CHECK_STR(b.codes, "python:a;");
	CHECK_INT(json_integer_value(json_object_get(b.result, "replies")), 4);
	bench_close(&b);
}

TEST(as_many_as_there_is_room_for)
{
	struct bench b;
	bench_open(&b,
		SAY(CODE("a")) SAY(CODE("b")) SAY(CODE("c")) SAY(CODE("d")) SAY(CODE("e"))
			ALWAYS("Done."));
	b.config.best_of = 3;
	b.n_rooms = 2;
	b.records[0] = OK("1");
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(b.places, "b1 r1 b2 r2 b3 a1 b1 r1 b2 r2 a1 a0 ");
	bench_close(&b);
}

TEST(a_host_without_branches_is_asked_once)
{
	struct bench b;
	bench_open(&b, SAY("Done."));
	b.config.best_of = 3;
	b.config.hooks.branch = NULL;
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_INT(json_integer_value(json_object_get(b.result, "replies")), 1);
	bench_close(&b);
}

TEST(steps_that_fail_to_begin_are_no_candidates)
{
	struct bench b;
	bench_open(&b, SAY(CODE("a")) SAY(CODE("b")));
	b.config.best_of = 2;
	b.is_refused = true;
	bench_run(&b);
	/* Neither in a branch nor in the session. */
	CHECK_STR(member(&b, "status"), "error");
	CHECK_STR(b.places, "b1 b2 a0 ");
	bench_close(&b);
}

TEST(a_command_is_run_for_all_that_went_well)
{
	struct bench b;
	bench_open(&b, SAY(CODE("a")) SAY(CODE("b")) SAY("No.") ALWAYS("Done."));
	b.config.best_of = 3;
	b.config.check = "make";
	b.config.budget.limit[BUDGET_STEPS] = 3;
	b.records[0] = BAD;
	b.records[1] = OK("1"); /* b; its check; that of the text; */
	bench_run(&b);
	CHECK_STR(b.places, "b1 r1 b2 r2 c2 b3 c3 a2 ");
	bench_close(&b);
}

TEST(time_ends_a_round)
{
	struct bench b;
	bench_open(&b, SAY(CODE("a")) SAY(CODE("b")) SAY("Nothing."));
	b.config.best_of = 2;
	b.is_late = true; /* no branch is ever there */
	b.config.budget.limit[BUDGET_WALL] = 20;
	b.is_hanging = true;
	b.config.hooks.interrupt = on_interrupt_late;
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "budget");
	CHECK_STR(member(&b, "answer"), "Nothing.");
	bench_close(&b);
}

TEST(an_interrupt_while_all_are_asked_ends_it)
{
	struct bench b;
	bench_open(&b, "{\"times\": 0, \"failure\": {\"class\": \"rate\", \"wait_ms\": 60000}}\n");
	b.config.best_of = 2;
	(void)uv_idle_init(&b.uv, &b.idle);
	b.idle.data = &b;
	b.n_ran = 1;
	(void)uv_idle_start(&b.idle, on_idle);
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "interrupted");
	CHECK_STR(b.places, "");
	bench_close(&b);
}

TEST(a_check_of_python_and_a_schema)
{
	struct bench b;
	bench_open(&b, SAY("five") SAY("six"));
	b.config.check = "python:answer == 'six'";
	b.records[0] = BAD;
	b.records[1] = OK("1");
	bench_run(&b);
	CHECK_STR(member(&b, "answer"), "six");
	CHECK_HAS(b.codes, "python:if not");
	bench_close(&b);
	bench_open(&b,
		"{\"expect\": [\"minLength\"], \"reply\": {\"text\": \"five\"}}\n"
		"{\"expect_last\": [\"does not fit\"], \"reply\": {\"text\": \"seven\"}}\n");
	b.config.check = "schema:{\"minLength\": 5}";
	bench_run(&b);
	CHECK_STR(member(&b, "answer"), "seven");
	CHECK_INT(b.n_ran, 0);
	bench_close(&b);
}

TEST(a_check_that_is_none)
{
	struct bench b;
	struct err err;
	bench_open(&b, SAY("x"));
	b.config.check = "schema:[]";
	CHECK(loop_open(&b.loop, &b.uv, &b.config, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	wire_close(b.wire);
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b.uv), 0);
}

/* ---- what is kept, and gone on with ---- */

static void on_keep(void *arg, const json_t *state)
{
	struct bench *b = arg;
	json_decref(b->kept);
	b->kept = json_deep_copy(state);
}

/* Run @lines after what was kept of @first, with @task. */
static void bench_go_on(struct bench *b, const char *first, const char *lines, const char *task)
{
	bench_open(b, first);
	b->config.hooks.save = on_keep;
	bench_run(b);
	json_t *kept = b->kept;
	bench_close(b);
	bench_open(b, lines);
	const struct loop_past past = {.state = kept, .remark = "All is there."};
	b->config.task = task;
	b->config.past = &past;
	bench_run(b);
	json_decref(kept);
}

#define DOWN "{\"failure\": {\"class\": \"auth\"}}\n"

TEST(it_goes_on_where_it_was)
{
	struct bench b;
	bench_go_on(&b, SAY(CODE("6 + 1")) DOWN,
		"{\"expect\": [\"The task\", \"[step 1] ok 7\"], \"expect_last\": [\"All is there.\", "
		"\"19 of 20\"], \"reply\": {\"text\": \"It is 7.\"}}\n",
		NULL);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK(json_is_true(json_object_get(b.result, "grounded")));
	CHECK_INT(json_integer_value(json_object_get(b.result, "steps")), 1);
	bench_close(&b);
}

TEST(more_can_be_asked)
{
	struct bench b;
	bench_go_on(&b, SAY("Seven."),
		"{\"expect_last\": [\"And then?\", \"20 of 20\"], \"reply\": {\"text\": "
		"\"Eight.\"}}\n",
		"And then?");
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(member(&b, "answer"), "Eight.");
	CHECK_INT(json_integer_value(json_object_get(b.result, "replies")), 2);
	bench_close(&b);
}

TEST(a_check_that_was_under_way_is_made_again)
{
	struct bench b;
	bench_open(&b, SAY("Done."));
	b.config.check = "make test";
	b.config.hooks.save = on_keep;
	b.is_refused = true;
	bench_run(&b);
	(void)json_object_set_new(b.kept, "state", json_string("checking"));
	(void)json_object_set_new(b.kept, "end", json_string(""));
	json_t *kept = b.kept;
	bench_close(&b);
	bench_open(&b, DOWN);
	const struct loop_past past = {.state = kept};
	b.config.task = NULL;
	b.config.check = "make test";
	b.config.past = &past;
	bench_run(&b);
	CHECK_STR(member(&b, "status"), "ok");
	CHECK_STR(member(&b, "answer"), "Done.");
	CHECK_STR(b.codes, "shell:make test;");
	bench_close(&b);
	json_decref(kept);
}

TEST(more_numbers_than_can_be_remembered)
{
	enum { N = GROUNDING_NUMBERS_MAX + 10, BYTES = 9 * N + 100 };
	struct bench b;
	bench_open(&b, SAY(CODE("print")) SAY("It is 8.5."));
	char *record = malloc(BYTES);
	size_t at = (size_t)snprintf(record, BYTES, "{\"status\": \"ok\", \"stdout\": \"");
	for (int i = 0; i < N; i++)
		at += (size_t)snprintf(record + at, BYTES - at, "%d ", 1000000 + i);
	snprintf(record + at, BYTES - at, "\"}");
	b.records[0] = record;
	bench_run(&b);
	CHECK_STR(member(&b, "answer"), "It is 8.5.");
	CHECK(json_object_get(b.result, "grounded") == NULL);
	CHECK_INT(json_integer_value(json_object_get(b.result, "replies")), 2);
	bench_close(&b);
	free(record);
}
