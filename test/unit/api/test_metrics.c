/* What is written for Prometheus. SPDX-License-Identifier: Apache-2.0 */
#include "api/operation/metrics.h"

#include "api/operation/principal.h"
#include "api/run/runs.h"
#include "unit/registry/fake_registry.h"
#include "registry/stats.h"
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scene {
	struct registry *registry;
	struct metrics *metrics;
	struct runs *runs;
	struct operation_context context;
	struct buf text;
};

static void scene_open(struct scene *s)
{
	struct err err;
	s->registry = fake_registry_new(NULL);
	CHECK_INT(metrics_open(&s->metrics, &err), 0);
	s->runs = runs_open(NULL);
	s->context = (struct operation_context){.registry = s->registry,
		.metrics = s->metrics,
		.runs = s->runs,
		.version = "1.2.3"};
	s->text = BUF_INIT(METRICS_BYTES);
}

static void scene_close(struct scene *s)
{
	metrics_close(s->metrics);
	fake_registry_free(s->registry);
	runs_close(s->runs);
	buf_done(&s->text);
}
#define SCENE                                                                                      \
	cleanup(scene_close) struct scene s;                                                       \
	scene_open(&s)

static void ignore(void *arg, const json_t *result, const struct err *err)
{
	(void)arg;
	(void)result;
	(void)err;
}

static void call(struct scene *s, const char *method, json_t *params)
{
	const struct operation_listener listener = {.done = ignore};
	struct operation_call *slot;
	operation_start(&s->context, operation_find(method), params, &listener, &slot);
	json_decref(params);
}

TEST(everything_is_there_once_and_well_formed)
{
	SCENE;
	char name[128] = "", type[32];
	CHECK_INT(metrics_write(&s.text, &s.context), 0);
	const char *text = buf_str(&s.text);
	CHECK(s.text.bytes > 0 && text[s.text.bytes - 1] == '\n');
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		char of[128];
		if (sscanf(line, "# HELP %127s", of) == 1) {
			char again[160];
			snprintf(again, sizeof again, "# HELP %s ", of);
			CHECK(strstr(line + 1, again) == NULL);
			memcpy(name, of, sizeof of);
			continue;
		}
		if (line[0] == '#') {
			CHECK_INT(sscanf(line, "# TYPE %127s %31s", of, type), 2);
			CHECK_STR(of, name);
			CHECK(strstr("gauge counter histogram", type) != NULL);
			/* What only grows says so by its name. */
			size_t n = strlen(name);
			CHECK((strcmp(type, "counter") == 0) ==
				(n > 6 && strcmp(name + n - 6, "_total") == 0));
			continue;
		}
		CHECK_INT(strncmp(line, name, strlen(name)), 0);
	}
}

TEST(values_are_where_they_belong)
{
	static const char *const lines[] = {"retort_sessions{state=\"opening\"} 1\n",
		"retort_sessions{state=\"stored\"} 5\n", "retort_boxes 6\n",
		"retort_steps_running 7\n", "retort_queued 8\n", "retort_memory_limit_bytes 9\n",
		"retort_refused_total{reason=\"sessions\"} 10\n",
		"retort_refused_total{reason=\"memory\"} 11\n",
		"retort_refused_total{reason=\"steps\"} 12\n",
		"retort_refused_total{reason=\"rate\"} 13\n",
		"retort_refused_total{reason=\"engine\"} 14\n",
		"retort_refused_total{reason=\"paths\"} 15\n", "retort_sessions_expired_total 16\n",
		"retort_journal_bytes 17\n", "retort_journal_changes_total 18\n",
		"retort_standby{template=\"s-1\",owner=\"a\\\"b\\\\c\\nd\"} 19\n",
		"retort_steps_total{runtime=\"python\",status=\"ok\"} 100\n",
		"retort_steps_total{runtime=\"javascript\",status=\"timeout\"} 112\n",
		"retort_step_outcomes_total{outcome=\"rolled_back\"} 20\n",
		/* Buckets are cumulated; what is longer than all of them is only in +Inf. */
		"retort_step_seconds_bucket{le=\"0.001\"} 1\n",
		"retort_step_seconds_bucket{le=\"0.005\"} 1\n",
		"retort_step_seconds_bucket{le=\"0.01\"} 3\n",
		"retort_step_seconds_bucket{le=\"60\"} 3\n",
		"retort_step_seconds_bucket{le=\"300\"} 7\n",
		"retort_step_seconds_bucket{le=\"+Inf\"} 15\n", "retort_step_seconds_sum 2.5\n",
		"retort_step_seconds_count 15\n", "retort_info{version=\"1.2.3\"} 1\n"};
	SCENE;
	CHECK_INT(metrics_write(&s.text, &s.context), 0);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		CHECK_HAS(buf_str(&s.text), lines[i]);
}

TEST(answers_and_fronts_are_counted)
{
	SCENE;
	call(&s, "session.create", NULL);
	call(&s, "session.create", json_pack("{s:i}", "name", 5));
	call(&s, "session.get", json_pack("{s:s}", "session", "s-1"));
	call(&s, "session.get", json_pack("{s:s}", "session", "nosuch"));
	call(&s, "session.get", json_pack("{s:s}", "session", "nosuch"));
	metrics_count(s.metrics, METRICS_REQUESTS, 3);
	metrics_count(s.metrics, METRICS_REQUESTS, -1);
	metrics_count(NULL, METRICS_REQUESTS, 1);
	CHECK_INT(metrics_write(&s.text, &s.context), 0);
	const char *text = buf_str(&s.text);
	CHECK_HAS(text, "retort_operations_total{operation=\"session.create\",code=\"ok\"} 1\n");
	CHECK_HAS(text, "retort_operations_total{operation=\"session.create\",code=\"usage\"} 1\n");
	CHECK_HAS(text, "retort_operations_total{operation=\"session.get\",code=\"ok\"} 1\n");
	CHECK_HAS(
		text, "retort_operations_total{operation=\"session.get\",code=\"not_found\"} 2\n");
	CHECK_HAS(text, "retort_requests_running 2\n");
}

TEST(only_some_may_see_it)
{
	SCENE;
	struct err err;
	struct principal *ann, *watcher;
	const struct principal_limits none = {0}, all = {.may_see_metrics = true};
	CHECK_INT(principal_new(&ann, "ann", &none, &err), 0);
	CHECK_INT(principal_new(&watcher, "watcher", &all, &err), 0);
	s.context.principal = ann;
	CHECK_INT(metrics_write(&s.text, &s.context), -EPERM);
	CHECK_INT(s.text.bytes, 0);
	s.context.principal = watcher;
	CHECK_INT(metrics_write(&s.text, &s.context), 0);
	principal_free(ann);
	principal_free(watcher);
}

TEST(a_buffer_that_is_too_small_stays_as_it_was)
{
	SCENE;
	cleanup_buf struct buf small = BUF_INIT(300);
	CHECK_INT(buf_add(&small, "before"), 0);
	CHECK_INT(metrics_write(&small, &s.context), -E2BIG);
	CHECK_INT(small.bytes, 6);
}

TEST(times_go_into_their_buckets)
{
	struct stats_steps steps = {0};
	struct record record = {.runtime = "python", .status = RECORD_TIMEOUT};
	static const double wall_ms[] = {0.5, 1, 1.001, 300000, 300001};
	for (size_t i = 0; i < ARRAY_LEN(wall_ms); i++) {
		record.wall_ms = wall_ms[i];
		stats_add(&steps, &record);
	}
	CHECK_INT(steps.wall.n[0], 2);
	CHECK_INT(steps.wall.n[1], 1);
	CHECK_INT(steps.wall.n[STATS_BUCKETS - 1], 1);
	CHECK_INT(steps.wall.n_all, 5);
	CHECK_INT(steps.n[runtime_index(&runtime_python)][RECORD_TIMEOUT], 5);
	CHECK_INT(steps.n_outcomes[RECORD_COMMITTED], 5);
}
