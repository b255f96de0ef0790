/* The life of a step: the whole table, and every way to end. SPDX-License-Identifier: Apache-2.0 */
#include "session/step/step.h"

#include "t.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define NO   STEP_NONE
#define ASK  STEP_ASKED
#define RUN  STEP_RUNNING
#define STOP STEP_STOPPING
#define SETL STEP_SETTLING
#define NAME STEP_NAMING

/* Columns: SENT RESULT EXITED BROKEN LIMIT MEMORY GRACE SETTLED NAMED. */
static const struct step_move want_moves[STEP_STATE_END_][STEP_EVENT_END_] = {
	{{NO, STEP_IGNORE}, {NO, STEP_IGNORE}, {NO, STEP_IGNORE}, {NO, STEP_IGNORE},
		{NO, STEP_IGNORE}, {NO, STEP_IGNORE}, {NO, STEP_IGNORE}, {NO, STEP_IGNORE},
		{NO, STEP_IGNORE}},
	{{RUN, STEP_IGNORE}, {ASK, STEP_IGNORE}, {ASK, STEP_IGNORE}, {SETL, STEP_SETTLE},
		{SETL, STEP_SETTLE}, {SETL, STEP_SETTLE}, {ASK, STEP_IGNORE}, {ASK, STEP_IGNORE},
		{ASK, STEP_IGNORE}},
	{{RUN, STEP_IGNORE}, {SETL, STEP_SETTLE}, {SETL, STEP_SETTLE}, {SETL, STEP_SETTLE},
		{STOP, STEP_INTERRUPT}, {SETL, STEP_SETTLE}, {RUN, STEP_IGNORE}, {RUN, STEP_IGNORE},
		{RUN, STEP_IGNORE}},
	{{STOP, STEP_IGNORE}, {SETL, STEP_SETTLE}, {SETL, STEP_SETTLE}, {SETL, STEP_SETTLE},
		{STOP, STEP_IGNORE}, {SETL, STEP_SETTLE}, {SETL, STEP_SETTLE}, {STOP, STEP_IGNORE},
		{STOP, STEP_IGNORE}},
	{{SETL, STEP_IGNORE}, {SETL, STEP_IGNORE}, {SETL, STEP_IGNORE}, {SETL, STEP_IGNORE},
		{SETL, STEP_IGNORE}, {SETL, STEP_IGNORE}, {SETL, STEP_IGNORE}, {NAME, STEP_NAME},
		{SETL, STEP_IGNORE}},
	{{NAME, STEP_IGNORE}, {NAME, STEP_IGNORE}, {NAME, STEP_IGNORE}, {NAME, STEP_IGNORE},
		{NAME, STEP_IGNORE}, {NAME, STEP_IGNORE}, {NAME, STEP_IGNORE}, {NAME, STEP_IGNORE},
		{NO, STEP_FINISH}},
};

TEST(every_state_and_event)
{
	for (int s = 0; s < STEP_STATE_END_; s++)
		for (int e = 0; e < STEP_EVENT_END_; e++) {
			struct step_move move =
				step_advance((enum step_state)s, (enum step_event)e);
			int same = move.next == want_moves[s][e].next &&
				move.action == want_moves[s][e].action;
			if (!CHECK(same))
				printf("# state %d, event %d: next %d, action %d\n", s, e,
					move.next, move.action);
		}
}

TEST(out_of_range_is_ignored)
{
	struct step_move move = step_advance(STEP_STATE_END_, STEP_RESULT);
	CHECK_INT(move.action, STEP_IGNORE);
	CHECK_INT(move.next, STEP_STATE_END_);
	move = step_advance(STEP_RUNNING, STEP_EVENT_END_);
	CHECK_INT(move.action, STEP_IGNORE);
	CHECK_INT(move.next, STEP_RUNNING);
}

/* Whatever comes in whatever order: settled once, finished once, and only in that order. */
TEST(any_order_of_events_settles_and_finishes_once)
{
	for (unsigned seed = 0; seed < 2000; seed++) {
		enum step_state state = seed % 2 ? STEP_ASKED : STEP_RUNNING;
		int n_settled = 0, n_finished = 0;
		unsigned random = seed;
		for (int i = 0; i < 60; i++) {
			random = random * 1664525u + 1013904223u;
			struct step_move move = step_advance(
				state, (enum step_event)((random >> 16) % STEP_EVENT_END_));
			n_settled += move.action == STEP_SETTLE;
			n_finished += move.action == STEP_FINISH;
			CHECK(move.action != STEP_FINISH || n_settled == 1);
			CHECK(move.action != STEP_INTERRUPT || n_settled == 0);
			state = move.next;
		}
		CHECK(n_settled <= 1 && n_finished <= n_settled);
		CHECK_INT(state == STEP_NONE, n_finished == 1);
	}
}

/* As wait(2) encodes them on Linux. */
#define EXITED(code) ((code) << 8)
#define KILLED(sig)  (sig)

static const struct {
	const char *name;
	struct step_end end;
	uint64_t n_oom_kills;
	enum record_status status;
	enum record_outcome outcome;
	int exit_code, signal, exit_status;
	const char *error; /* or NULL */
	const char *message;
} judge_rows[] = {
	{"ok", {.has_result = true}, 0, RECORD_OK, RECORD_COMMITTED, 0, 0, 0, NULL, NULL},
	{"error", {.has_result = true, .is_error = true, .exit_code = 1}, 0, RECORD_ERROR,
		RECORD_COMMITTED, 1, 0, 1, NULL, NULL},
	{"sys.exit(3)", {.has_result = true, .is_error = true, .exit_code = 3}, 0, RECORD_ERROR,
		RECORD_COMMITTED, 3, 0, 3, NULL, NULL},
	{"os._exit(0)", {.has_exited = true, .wait_status = EXITED(0)}, 0, RECORD_OK, RECORD_LOST,
		0, 0, 0, NULL, NULL},
	{"os._exit(7)", {.has_exited = true, .wait_status = EXITED(7)}, 0, RECORD_ERROR,
		RECORD_LOST, 7, 0, 7, "Exit", "ended itself with status 7"},
	{"segfault", {.has_exited = true, .wait_status = KILLED(SIGSEGV)}, 0, RECORD_KILLED,
		RECORD_LOST, -1, SIGSEGV, 139, "Killed", "ended by signal 11"},
	{"killed by itself", {.has_exited = true, .wait_status = KILLED(SIGKILL)}, 0, RECORD_KILLED,
		RECORD_LOST, -1, SIGKILL, 137, "Killed", "ended by signal 9"},
	{"killed by the kernel", {.has_exited = true, .wait_status = KILLED(SIGKILL)}, 1,
		RECORD_OOM, RECORD_LOST, -1, SIGKILL, 137, "MemoryLimit", "its limit of 64 MiB"},
	{"aborted after an OOM kill of another",
		{.has_exited = true, .wait_status = KILLED(SIGABRT)}, 1, RECORD_KILLED, RECORD_LOST,
		-1, SIGABRT, 134, "Killed", "ended by signal 6"},
	{"memory measured", {.cause = STEP_CAUSE_MEMORY}, 0, RECORD_OOM, RECORD_LOST, -1, SIGKILL,
		137, "MemoryLimit", "its limit of 64 MiB"},
	{"wall", {.cause = STEP_CAUSE_WALL}, 0, RECORD_TIMEOUT, RECORD_LOST, -1, 0, 124,
		"TimeLimit", "its limit of 2 s of wall time"},
	{"wall, then a result",
		{.cause = STEP_CAUSE_WALL, .has_result = true, .is_error = true, .exit_code = 1}, 0,
		RECORD_TIMEOUT, RECORD_COMMITTED, -1, 0, 124, "TimeLimit", "of wall time"},
	{"wall, then killed",
		{.cause = STEP_CAUSE_WALL, .has_exited = true, .wait_status = KILLED(SIGKILL)}, 0,
		RECORD_TIMEOUT, RECORD_LOST, -1, 0, 124, "TimeLimit", "of wall time"},
	{"cpu", {.cause = STEP_CAUSE_CPU}, 0, RECORD_TIMEOUT, RECORD_LOST, -1, 0, 124, "TimeLimit",
		"its limit of 3 s of CPU time"},
	{"caller", {.cause = STEP_CAUSE_CALLER}, 0, RECORD_KILLED, RECORD_LOST, -1, 0, 130,
		"Interrupted", "the caller stopped"},
	{"protocol", {.cause = STEP_CAUSE_PROTOCOL, .why = "a frame of unknown type 7"}, 0,
		RECORD_KILLED, RECORD_LOST, -1, 0, 125, "ProtocolError",
		"a frame of unknown type 7"},
	{"box", {.cause = STEP_CAUSE_BOX, .why = "the box ended"}, 0, RECORD_KILLED, RECORD_LOST,
		-1, 0, 125, "BoxGone", "the box ended"},
	{"no interpreter", {.cause = STEP_CAUSE_BOX, .why = "execute /x", .why_code = ERR_RUNTIME},
		0, RECORD_KILLED, RECORD_LOST, -1, 0, 127, "BoxGone", "execute /x"},
};

TEST(every_end)
{
	const struct limits limits = {.value = {[LIMIT_memory_bytes] = 64 << 20,
					      [LIMIT_timeout_ms] = 2000,
					      [LIMIT_cpu_ms] = 3000}};
	for (size_t i = 0; i < ARRAY_LEN(judge_rows); i++) {
		struct record r;
		record_init(&r, &limits);
		r.usage.n_oom_kills = judge_rows[i].n_oom_kills;
		step_judge(&r, &judge_rows[i].end);
		int good = CHECK_INT(r.status, judge_rows[i].status) &
			CHECK_INT(r.outcome, judge_rows[i].outcome) &
			CHECK_INT(r.exit_code, judge_rows[i].exit_code) &
			CHECK_INT(r.signal, judge_rows[i].signal) &
			CHECK_INT(r.exit_status, judge_rows[i].exit_status) &
			CHECK_INT(r.reason != NULL, judge_rows[i].outcome == RECORD_LOST);
		if (judge_rows[i].error) {
			const json_t *name = json_object_get(r.error, "name");
			const json_t *message = json_object_get(r.error, "message");
			good &= CHECK_STR(json_string_value(name), judge_rows[i].error);
			good &= CHECK_HAS(json_string_value(message), judge_rows[i].message);
		} else {
			good &= CHECK(r.error == NULL);
		}
		if (!good)
			printf("# in row \"%s\"\n", judge_rows[i].name);
		record_done(&r);
	}
}

/* The line where the program was keeps its place when the limit's error replaces its own. */
TEST(limit_keeps_line_and_traceback)
{
	const struct limits limits = {.value = {[LIMIT_timeout_ms] = 1000}};
	const struct step_end end = {
		.cause = STEP_CAUSE_WALL, .has_result = true, .is_error = true, .exit_code = 1};
	struct record r;
	record_init(&r, &limits);
	r.error = json_pack("{s:s, s:s, s:i, s:[s]}", "name", "KeyboardInterrupt", "message", "",
		"line", 4, "traceback", "File x");
	step_judge(&r, &end);
	CHECK_STR(json_string_value(json_object_get(r.error, "name")), "TimeLimit");
	CHECK_INT(json_integer_value(json_object_get(r.error, "line")), 4);
	CHECK_INT(json_array_size(json_object_get(r.error, "traceback")), 1);
	record_done(&r);
}
