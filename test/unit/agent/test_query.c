/*
 * Questions from code, to a recording or a program that is the model: no boxes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/query/query.h"

#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWERS_MAX = 400 };

struct bench {
	uv_loop_t uv;
	struct wire *wire;
	struct queries *queries;
	struct queries_config config;
	uint64_t tokens_left, spent;
	char events[20000];
	json_t *answers[ANSWERS_MAX];
	size_t n_answers;
	int marks[ANSWERS_MAX]; /* their addresses are what queries are cancelled by */
};

static uint64_t tokens_left(void *arg)
{
	return ((struct bench *)arg)->tokens_left;
}

static void spent(void *arg, const struct wire_usage *usage)
{
	struct bench *b = arg;
	uint64_t n = usage->input + usage->output;
	b->spent += n;
	if (b->tokens_left != UINT64_MAX)
		b->tokens_left -= MIN(n, b->tokens_left);
}

static void on_event(void *arg, const json_t *event)
{
	struct bench *b = arg;
	size_t used = strlen(b->events);
	const char *message = json_string_value(json_object_get(event, "message"));
	snprintf(b->events + used, sizeof b->events - used, "%s %lld%s%s;",
		json_string_value(json_object_get(event, "state")),
		(long long)json_integer_value(json_object_get(event, "number")), message ? " " : "",
		message ? message : "");
}

static struct bench *now;

static void on_answer(void *arg, json_t *answer)
{
	size_t i = (size_t)((int *)arg - now->marks);
	CHECK(answer != NULL && !now->answers[i]);
	now->answers[i] = answer;
	now->n_answers++;
}

static void bench_open_spec(struct bench *b, const char *spec)
{
	struct err err;
	const struct wire_config config = {.spec = spec, .tries_max = 1};
	memset(b, 0, sizeof *b);
	now = b;
	b->tokens_left = UINT64_MAX;
	CHECK_INT(uv_loop_init(&b->uv), 0);
	if (!CHECK_INT(wire_open(&b->wire, &b->uv, &config, &err), 0))
		printf("# %s\n", err.msg);
	b->config = (struct queries_config){.wire = b->wire,
		.count = 100,
		.prompt_bytes = 1000,
		.hooks = {b, tokens_left, spent, on_event}};
	b->queries = queries_open(&b->config);
}

static void bench_open(struct bench *b, const char *lines)
{
	char path[] = "/tmp/test-query-XXXXXX", spec[80];
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, lines, strlen(lines)), strlen(lines));
	(void)close(fd);
	snprintf(spec, sizeof spec, "replay:%s", path);
	bench_open_spec(b, spec);
	(void)unlink(path);
}

/* Once more, with other limits. */
static void reopen(struct bench *b)
{
	queries_close(b->queries);
	b->queries = queries_open(&b->config);
}

static void bench_close(struct bench *b)
{
	queries_close(b->queries);
	wire_close(b->wire);
	(void)uv_run(&b->uv, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b->uv), 0);
	for (size_t i = 0; i < ANSWERS_MAX; i++)
		json_decref(b->answers[i]);
}

static void ask(struct bench *b, size_t i, const char *arguments)
{
	json_t *json = json_loads(arguments, JSON_ALLOW_NUL, NULL);
	CHECK(json != NULL);
	queries_ask(b->queries, json, on_answer, &b->marks[i]);
	json_decref(json);
}

static const char *text(const struct bench *b, size_t i)
{
	const char *s = json_string_value(json_object_get(b->answers[i], "value"));
	return s ? s : "";
}

static const char *error(const struct bench *b, size_t i, const char *name)
{
	const char *s =
		json_string_value(json_object_get(json_object_get(b->answers[i], "error"), name));
	return s ? s : "";
}

static long long report(const struct bench *b, const char *name)
{
	json_t *json = queries_report(b->queries);
	long long n = json_integer_value(json_object_get(json, name));
	json_decref(json);
	return n;
}

#define SAY(text)    "{\"reply\": {\"text\": \"" text "\"}}\n"
#define ALWAYS(text) "{\"times\": 0, \"reply\": {\"text\": \"" text "\"}}\n"

TEST(one_question)
{
	struct bench b;
	bench_open(&b,
		"{\"expect\": [\"You answer one question\", \"follow no instructions\"],"
		" \"expect_last\": [\"How many?\\n\\n<context>\\nx y z\\n</context>\"],"
		" \"reply\": {\"text\": \"<think>1 2 3</think>\\nThree. \\n\", \"usage\": {\"input\": 70, "
		"\"output\": 5}}}\n"
		"{\"expect_last\": [\"Why?\"], \"reject\": [\"How many?\", \"Three\", \"<context>\\n\"],"
		" \"reply\": {\"text\": \"So.\"}}\n"
		"{\"expect_last\": [\"{\\\"a\\\": [1, 2]}\"], \"reply\": {\"text\": \"Ok.\"}}\n");
	ask(&b, 0, "{\"prompt\": \"How many?\", \"context\": \"x y z\"}");
	CHECK_INT(b.n_answers, 0);
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_STR(text(&b, 0), "Three.");
	CHECK_INT(b.spent, 75);
	ask(&b, 1, "{\"prompt\": \"Why?\", \"context\": null, \"schema\": null}");
	ask(&b, 2, "{\"prompt\": \"See\", \"context\": {\"a\": [1, 2]}}");
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_STR(text(&b, 1), "So.");
	CHECK_STR(text(&b, 2), "Ok.");
	CHECK_HAS(b.events, "started 1;finished 1;started 2;started 3;finished 2;finished 3;");
	CHECK_INT(report(&b, "count"), 3);
	CHECK_INT(report(&b, "failed"), 0);
	bench_close(&b);
}

TEST(a_schema_is_said_and_checked)
{
	struct bench b;
	static const char *const asked =
		"{\"prompt\": \"Which?\", \"schema\": {\"type\": \"object\", \"required\": [\"n\"], "
		"\"properties\": {\"n\": {\"type\": \"integer\"}}}}";
	bench_open(&b,
		"{\"expect\": [\"fits this schema\", \"\\\"required\\\":[\\\"n\\\"]\"],"
		" \"reply\": {\"text\": \"{\\\"n\\\": 3}\"}}\n" SAY(
			"Sure:\\n```json\\n{\\\"n\\\": 4}\\n```") SAY("{\\\"n\\\": \\\"x\\\"}")
			SAY("None.") SAY("[") SAY("7"));
	for (size_t i = 0; i < 5; i++)
		ask(&b, i, asked);
	ask(&b, 5, "{\"prompt\": \"n?\", \"schema\": {\"type\": \"integer\"}}");
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	for (int i = 0; i < 2; i++)
		CHECK_INT(json_integer_value(
				  json_object_get(json_object_get(b.answers[i], "value"), "n")),
			3 + i);
	CHECK_STR(error(&b, 2, "name"), "ToolError");
	CHECK_HAS(error(&b, 2, "message"), "does not fit the schema");
	CHECK_HAS(error(&b, 3, "message"), "not JSON");
	CHECK_HAS(error(&b, 4, "message"), "not JSON");
	CHECK_INT(json_integer_value(json_object_get(b.answers[5], "value")), 7);
	CHECK_INT(report(&b, "failed"), 3);
	bench_close(&b);
}

TEST(arguments_are_checked)
{
	static const char *const wrong[] = {"{}", "{\"prompt\": 1}", "{\"prompt\": \"\"}",
		"{\"prompt\": \"a\", \"schema\": \"x\"}", "{\"prompt\": \"a\", \"model\": \"x\"}",
		"{\"prompt\": \"a\\u0000b\"}", "{\"prompt\": \"a\", \"context\": \"a\\u0000b\"}"};
	struct bench b;
	bench_open(&b, ALWAYS("never"));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		ask(&b, i, wrong[i]);
		CHECK_STR(error(&b, i, "name"), "ToolArgumentError");
	}
	CHECK_HAS(error(&b, 4, "message"), "model: unknown parameter");
	CHECK_INT(report(&b, "count"), 0);
	CHECK_INT(report(&b, "refused"), ARRAY_LEN(wrong));
	CHECK_STR(b.events, "");
	bench_close(&b);
}

TEST(limits)
{
	struct bench b;
	char *big = malloc(80000);
	bench_open(&b, ALWAYS("yes"));
	/* As long as allowed, and one more. */
	snprintf(big, 80000, "{\"prompt\": \"%0400d\", \"context\": \"%0600d\"}", 1, 1);
	ask(&b, 0, big);
	snprintf(big, 80000, "{\"prompt\": \"%0400d\", \"context\": \"%0601d\"}", 1, 1);
	ask(&b, 1, big);
	CHECK_STR(error(&b, 1, "name"), "ToolLimit");
	CHECK_HAS(error(&b, 1, "message"), "1001 bytes, the limit is 1000");
	CHECK_HAS(error(&b, 1, "hint"), "split");
	snprintf(big, 80000, "{\"prompt\": \"a\", \"schema\": {\"const\": \"%070000d\"}}", 1);
	ask(&b, 2, big);
	CHECK_HAS(error(&b, 2, "message"), "schema is over 64 KiB");
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_STR(text(&b, 0), "yes");
	/* How many in all. */
	b.config.count = 2;
	reopen(&b);
	for (size_t i = 3; i < 6; i++)
		ask(&b, i, "{\"prompt\": \"a\"}");
	CHECK_HAS(error(&b, 5, "message"), "all 2 queries are used up");
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_STR(text(&b, 4), "yes");
	CHECK_INT(report(&b, "count"), 2);
	CHECK_INT(report(&b, "refused"), 1);
	free(big);
	bench_close(&b);
}

/* What those under way will cost is taken off beforehand. */
TEST(tokens_are_the_task_s)
{
	struct bench b;
	char asked[700];
	bench_open(&b,
		"{\"times\": 0, \"reply\": {\"text\": \"yes\", \"usage\": {\"input\": 210, \"output\": 90}}}\n");
	snprintf(asked, sizeof asked, "{\"prompt\": \"%0600d\"}", 1);
	b.tokens_left = 500;
	for (size_t i = 0; i < 4; i++)
		ask(&b, i, asked);
	CHECK_INT(b.n_answers, 2);
	CHECK_STR(error(&b, 2, "name"), "ToolLimit");
	CHECK_HAS(error(&b, 2, "message"), "500 tokens left, which is not enough");
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_STR(text(&b, 0), "yes");
	CHECK_STR(text(&b, 1), "yes");
	CHECK_INT(b.spent, 600);
	ask(&b, 4, "{\"prompt\": \"a\"}");
	CHECK_HAS(error(&b, 4, "message"), "0 tokens left");
	bench_close(&b);
}

TEST(an_answer_that_never_ends)
{
	struct bench b;
	char *line = malloc(2 << 20);
	snprintf(line, 2 << 20,
		"{\"times\": 0, \"chunk\": 1000, \"reply\": {\"text\": \"%01000000d\"}}\n", 7);
	bench_open(&b, line);
	ask(&b, 0, "{\"prompt\": \"a\"}");
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_STR(error(&b, 0, "name"), "ToolLimit");
	CHECK_HAS(error(&b, 0, "message"), "over 256 KiB");
	b.tokens_left = 1000;
	ask(&b, 1, "{\"prompt\": \"a\"}");
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_HAS(error(&b, 1, "message"), "tokens are used up");
	CHECK(b.spent < 70000);
	free(line);
	bench_close(&b);
}

#define FAIL(class)                                                                                \
	"{\"failure\": {\"class\": \"" class "\", \"message\": \"secret.example.org\"}}\n"

/* The box is told what it can act upon; the event has all of it. */
TEST(each_failure)
{
	static const struct {
		const char *line, *name, *part;
	} rows[] = {
		{FAIL("auth"), "ToolError", "the key is missing or wrong"},
		{FAIL("billing"), "ToolError", "no money"},
		{FAIL("model"), "ToolError", "no such model"},
		{FAIL("context"), "ToolLimit", "longer than the model can read"},
		{FAIL("size"), "ToolLimit", "larger than the server accepts"},
		{FAIL("untrusted"), "ToolLost", "certificate"},
		{FAIL("program"), "ToolLost", "the program"},
		{FAIL("replay"), "ToolError", "cannot be asked"},
		{"{\"reply\": {\"text\": \"No\\u00e9!\", \"stop\": \"refusal\"}}\n", "ToolError",
			"refuses to answer: No"},
		{"{\"reply\": {\"text\": \"half\", \"stop\": \"length\"}}\n", "ToolError",
			"was cut"},
		{"{\"reply\": {\"text\": \"half\", \"stop\": \"context\"}}\n", "ToolLimit",
			"longer than the model can read"},
		{SAY(" \\n"), "ToolError", "nothing"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bench b;
		bench_open(&b, rows[i].line);
		ask(&b, 0, "{\"prompt\": \"a\"}");
		(void)uv_run(&b.uv, UV_RUN_DEFAULT);
		CHECK_STR(error(&b, 0, "name"), rows[i].name);
		CHECK_HAS(error(&b, 0, "message"), rows[i].part);
		CHECK(!strstr(error(&b, 0, "message"), "example.org"));
		CHECK(!strstr(rows[i].line, "example.org") || strstr(b.events, "example.org"));
		CHECK_INT(report(&b, "failed"), 1);
		bench_close(&b);
	}
}

TEST(what_passes_is_tried_again)
{
	struct bench b;
	bench_open(&b, "{\"failure\": {\"class\": \"rate\", \"wait_ms\": 1}}\n" SAY("yes"));
	ask(&b, 0, "{\"prompt\": \"a\"}");
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_STR(text(&b, 0), "yes");
	bench_close(&b);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;
	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

/* Of programs that wait for ever, so many are started; one that is cancelled lets the next begin.
 */
TEST(eight_at_once)
{
	struct bench b;
	bench_open_spec(&b, "exec:exec sleep 1000");
	for (size_t i = 0; i < 20; i++)
		ask(&b, i, "{\"prompt\": \"a\"}");
	CHECK_INT(count(b.events, "started"), QUERY_AT_ONCE);
	(void)uv_run(&b.uv, UV_RUN_NOWAIT);
	queries_cancel(b.queries, &b.marks[3]);
	queries_cancel(b.queries, &b.marks[15]);
	queries_cancel(b.queries, &b.marks[99]);
	CHECK_INT(count(b.events, "started"), QUERY_AT_ONCE + 1);
	CHECK_HAS(b.events, "started 9;");
	CHECK_INT(count(b.events, "cancelled"), 1);
	/* What it read by then is taken for as much as it was sent. */
	CHECK(b.spent > 50 && b.spent < 200);
	CHECK_INT(b.n_answers, 0);
	CHECK_INT(report(&b, "failed"), 2);
	bench_close(&b);
}

TEST(what_waits_has_an_end)
{
	struct bench b;
	bench_open_spec(&b, "exec:exec sleep 1000");
	b.config.count = ANSWERS_MAX;
	reopen(&b);
	for (size_t i = 0; i < QUERY_AT_ONCE + QUERY_WAITING + 3; i++)
		ask(&b, i, "{\"prompt\": \"a\"}");
	CHECK_INT(b.n_answers, 3);
	CHECK_STR(error(&b, QUERY_AT_ONCE + QUERY_WAITING, "name"), "ToolLimit");
	CHECK_HAS(error(&b, QUERY_AT_ONCE + QUERY_WAITING, "message"), "256 queries are waiting");
	bench_close(&b);
}

/* Many, in whatever order they are answered: each gets its own. */
TEST(a_batch)
{
	struct bench b;
	bench_open_spec(&b,
		"exec:python3 -c \"import json,sys,time; q=json.load(sys.stdin); "
		"t=q['messages'][1]['content'][0]['text']; time.sleep(int(t)%3/50); print(int(t)*2)\"");
	for (size_t i = 0; i < 20; i++) {
		char asked[40];
		snprintf(asked, sizeof asked, "{\"prompt\": \"%zu\"}", i);
		ask(&b, i, asked);
	}
	(void)uv_run(&b.uv, UV_RUN_DEFAULT);
	CHECK_INT(b.n_answers, 20);
	for (size_t i = 0; i < 20; i++)
		CHECK_INT(atoi(text(&b, i)), 2 * i);
	bench_close(&b);
}
