/*
 * program.judge: a program with test cases.
 *
 * The program is compiled once (program.build), and so is the checker, if there is one. Then each
 * case runs in a branch of the program's session (program.run with `built`), a few at a time; the
 * queue of programs says how many really go on. What the program has printed is compared here,
 * outside of every box, so no program sees an expected output. A checker sees it, in a box of its
 * own that is not the program's.
 *
 * Unless all cases are to run, the first one that is not passed, in the order of the cases, is the
 * last one of the result. Cases run side by side, so later ones may have run, too; they are not
 * told, so that the result does not depend on speed.
 *
 * If a quota or the engine has no room for a case while others run, the case begins again when one
 * of them has ended, and fewer run at a time from then on. If it was alone, the judge fails: a
 * quota says nothing of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/call/judge.h"

#include "api/call/compare.h"
#include "api/call/inside.h"
#include "api/text/printed.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fair_line.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "runtime/toolchain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* HOLD_MS: how often the sessions are used, which otherwise end after IDLE_MS. */
enum { AT_ONCE_MAX = 64, CHECK_MS = 10000, IDLE_MS = 60000, HOLD_MS = 15000 };

struct judge;

/* A test case that is run or checked. */
struct judge_case {
	struct judge *judge;
	size_t number;
	bool is_running, is_put_back; /* is_put_back: its case has to begin again */
	struct operation_call *under_way;
};

enum built { PROGRAM, CHECKER, N_BUILT };

struct judge {
	struct operation_call *call;
	const json_t *params, *cases, *checker;
	/* Sessions of what is compiled; NULL until then, and for a checker that there is not. */
	char *sessions[N_BUILT];
	enum built building;
	struct operation_call *under_way; /* of a build, or of the end of a session */
	struct judge_case at_once[AT_ONCE_MAX];
	size_t n_at_once, n_running;
	uv_timer_t hold;
	bool has_timer;
	struct operation_call *held[N_BUILT];
	size_t next;	 /* number of the case that begins next */
	size_t last;	 /* number of the first case that is not passed; the number of cases */
	json_t **ended;	 /* results of cases, by number; NULL: not ended yet */
	json_t *compile; /* record of the compiler */
	json_t *language, *session;
	size_t room; /* bytes that outputs may still have in the result */
	int64_t stop_at_ms;
	struct err err;
	bool is_all, is_cancelled;
	bool is_going_on, is_again; /* in go_on() */
};

static void go_on(struct judge *j);

static void start_one(struct judge *j, const char *operation, json_t *params, void *arg,
	void (*done)(void *arg, const json_t *result, const struct err *err),
	struct operation_call **slot)
{
	const struct operation_listener listener = {.arg = arg, .done = done};
	operation_start(j->call->context, operation_find(operation), params, &listener, slot);
	json_decref(params);
}

/* Set members of @out to those of @from. */
static void pass(json_t *out, const json_t *from, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_put_shared(out, names[i], param_get(from, names[i]));
}

/* ---- sessions that wait must not end by themselves ---- */

static void on_used(void *arg, const json_t *result, const struct err *err)
{
	(void)result;
	(void)err; /* a session that is gone is told by the next case */
	go_on(arg);
}

static void on_hold(uv_timer_t *timer)
{
	struct judge *j = timer->data;
	for (size_t i = 0; i < N_BUILT; i++)
		if (j->sessions[i] && !j->held[i])
			start_one(j, "file.list",
				json_need(json_pack("{s:s}", "session", j->sessions[i])), j,
				on_used, &j->held[i]);
}

static void hold(struct judge *j)
{
	if (!j->call->context->loop)
		return;
	(void)uv_timer_init(j->call->context->loop, &j->hold);
	j->hold.data = j;
	j->has_timer = true;
	timer_start(&j->hold, on_hold, HOLD_MS, HOLD_MS);
}

/* Return whether a session is still being used for no other reason. */
static bool is_held(struct judge *j)
{
	if (j->has_timer)
		(void)uv_timer_stop(&j->hold);
	return j->held[PROGRAM] || j->held[CHECKER];
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* ---- the end ---- */

static void answer(struct judge *j)
{
	struct operation_call *call = j->call;
	struct err err = j->err;
	size_t n = json_array_size(j->cases), n_told = j->is_all ? n : MIN(j->last + 1, n);
	json_t *cases = json_need(json_array()), *result = NULL;
	for (size_t i = 0; i < n; i++) {
		if (i < n_told && j->ended[i])
			json_add_shared(cases, j->ended[i]);
		json_decref(j->ended[i]);
	}
	bool is_accepted = j->last == n && json_array_size(cases) == n;
	if (!err.code) {
		result = json_need(json_pack("{s:O, s:b, s:O}", "language", j->language, "accepted",
			is_accepted, "cases", cases));
		json_put_shared(result, "compile", j->compile);
		json_put_shared(result, "session", j->session);
	}
	json_decref(j->session);
	json_decref(cases);
	json_decref(j->compile);
	json_decref(j->language);
	free(j->ended);
	free(j->sessions[PROGRAM]);
	free(j->sessions[CHECKER]);
	if (j->has_timer)
		uv_close((uv_handle_t *)&j->hold, on_timer_closed);
	else
		free(j);
	call_give(call, result, &err);
}

static void on_closed(void *arg, const json_t *result, const struct err *err)
{
	struct judge *j = arg;
	(void)result;
	(void)err;
	go_on(j);
}

/* Close the next session. Returns: false if there is no more. */
static bool close_next(struct judge *j)
{
	for (size_t i = 0; i < N_BUILT; i++) {
		if (!j->sessions[i])
			continue;
		json_t *params = json_need(json_pack("{s:s}", "session", j->sessions[i]));
		free(take_ptr(j->sessions[i]));
		start_one(j, "session.close", params, j, on_closed, &j->under_way);
		return true;
	}
	return false;
}

/* ---- the cases ---- */

/* Languages with a driver get the code again, with each run. */
static void put_code(json_t *params, const json_t *program)
{
	const struct toolchain *t = toolchain_find(json_get_text(program, "language"));
	if (t && t->runtime)
		json_put_shared(params, "code", param_get(program, "code"));
}

/* Return a copy of @record with at most as much output as there is room for. */
static json_t *fit(struct judge *j, const json_t *record)
{
	static const char *const streams[] = {"stdout", "stderr"};
	json_t *out = json_need(json_copy(json_unconst(record)));
	json_t *cut = json_need(json_object());
	(void)json_object_update(cut, json_object_get(record, "truncated"));
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		const json_t *text = json_object_get(record, streams[i]);
		const char *name = i == 0 ? "stdout_bytes" : "stderr_bytes";
		size_t bytes = json_string_length(text);
		size_t n = bytes <= j->room ? bytes
					    : utf8_cut(json_string_value(text), bytes, j->room);
		j->room -= n;
		if (n == bytes)
			continue;
		json_put_textn(out, streams[i], json_string_value(text), n);
		json_put_int(cut, name, json_get_int(cut, name) + (int64_t)(bytes - n));
	}
	if (json_object_size(cut) > 0)
		json_put_shared(out, "truncated", cut);
	json_decref(cut);
	return out;
}

/* Return the verdict on a program by how it has ended; NULL if its output decides. */
static const char *verdict_of(const json_t *record)
{
	static const struct {
		const char *status, *verdict;
	} table[] = {{"ok", NULL}, {"timeout", "late"}, {"oom", "memory"}};
	const char *status = json_get_text(record, "status");
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i].status, status) == 0)
			return table[i].verdict;
	return "failed";
}

/* A case has its verdict. */
static void end_case(struct judge *j, size_t number, const char *verdict, const char *message)
{
	json_t *row = j->ended[number];
	if (!row)
		row = j->ended[number] = json_need(json_object());
	json_put_text(row, "verdict", verdict);
	json_put_text(row, "message", message);
	if (strcmp(verdict, "passed") == 0 || number >= j->last)
		return;
	j->last = number;
	/* Later cases are not told. */
	for (size_t i = 0; i < AT_ONCE_MAX && !j->is_all; i++)
		if (j->at_once[i].under_way && j->at_once[i].number > number)
			operation_cancel(j->at_once[i].under_way);
}

/* Return whether a case was not run for want of room. It begins again, or the judge is over. */
static bool is_put_back(struct judge_case *c, const struct err *err)
{
	struct judge *j = c->judge;
	if (err->code != ERR_QUOTA && err->code != ERR_BUSY && err->code != ERR_LIMIT)
		return false;
	if (j->n_running > 1) {
		j->n_at_once = j->n_running - 1;
		c->is_put_back = true;
	} else if (!j->err.code) {
		j->err = *err;
	}
	return true;
}

static void leave(struct judge_case *c)
{
	c->is_running = false;
	c->judge->n_running--;
	go_on(c->judge);
}

/* ---- the checker ---- */

static const json_t *case_row(const struct judge_case *c)
{
	return json_array_get(c->judge->cases, c->number);
}

static void add_file(json_t *files, const char *name, const json_t *content)
{
	json_t *row = json_need(json_object());
	json_put_text(row, "path", name);
	json_put_new(
		row, "content", content ? json_incref(json_unconst(content)) : json_string(""));
	json_add_new(files, row);
}

static void on_checked(void *arg, const json_t *result, const struct err *err)
{
	struct judge_case *c = arg;
	struct judge *j = c->judge;
	const json_t *record = json_object_get(result, "run");
	const char *verdict = verdict_of(record);
	bool by_print = strcmp(param_text(j->checker, "accepts", "exit"), "print") == 0;
	if (!result) {
		if (!is_put_back(c, err))
			end_case(j, c->number, "unjudged", err->msg);
		leave(c);
		return;
	}
	json_put_new(j->ended[c->number], "check", fit(j, record));
	/* A program whose output crashes the checker may not be better off than with a wrong one.
	 */
	if (verdict && strcmp(json_get_text(record, "status"), "error") != 0)
		end_case(j, c->number, "wrong", "the checker was stopped or has crashed");
	else if (by_print ? strtod(json_get_text(record, "stdout"), NULL) >= 1 : !verdict)
		end_case(j, c->number, "passed", NULL);
	else
		end_case(j, c->number, "wrong", "the checker does not accept the output");
	leave(c);
}

static void check(struct judge_case *c, const json_t *printed)
{
	static const char *const passed[] = {"language", "filename", "args", "stdin"};
	struct judge *j = c->judge;
	json_t *params = json_need(json_object()), *files = json_need(json_array());
	pass(params, j->checker, passed, ARRAY_LEN(passed));
	put_code(params, j->checker);
	json_put_text(params, "built", j->sessions[CHECKER]);
	json_put_int(
		params, "timeout_ms", (int64_t)param_count(j->checker, "timeout_ms", CHECK_MS));
	add_file(files, param_text(j->checker, "input", "input.txt"),
		param_get(case_row(c), "stdin"));
	add_file(files, param_text(j->checker, "expected", "expected.txt"),
		param_get(case_row(c), "expected"));
	add_file(files, param_text(j->checker, "output", "output.txt"), printed);
	json_put_new(params, "files", files);
	start_one(j, "program.run", params, c, on_checked, &c->under_way);
}

/* ---- a case ---- */

/* What is compared: what the program has printed, or the file that it has written. Owns: the caller
 * decrefs. Returns: NULL if there is none that is whole. */
static json_t *output_of(const struct judge *j, const json_t *result)
{
	const json_t *record = json_object_get(result, "run");
	const json_t *file = json_array_get(json_object_get(result, "files"), 0);
	if (!param_get(j->params, "output_file"))
		return json_get_int(json_object_get(record, "truncated"), "stdout_bytes") > 0
			? NULL
			: printed_stdout(record);
	return strcmp(json_get_text(file, "encoding"), "utf-8") == 0
		? json_incref(json_object_get(file, "content"))
		: NULL;
}

static void on_ran(void *arg, const json_t *result, const struct err *err)
{
	struct judge_case *c = arg;
	struct judge *j = c->judge;
	const json_t *record = json_object_get(result, "run");
	const json_t *expected = param_get(case_row(c), "expected");
	const char *how = param_text(j->params, "compare", NULL), *verdict = verdict_of(record);
	if (!result) {
		if (!is_put_back(c, err))
			end_case(j, c->number, "unjudged", err->msg);
		leave(c);
		return;
	}
	json_decref(j->ended[c->number]); /* of a try before */
	json_t *row = j->ended[c->number] = json_need(json_object());
	json_put_new(row, "run", fit(j, record));
	json_t *printed = output_of(j, result);
	if (verdict)
		end_case(j, c->number, verdict, NULL);
	else if (!printed)
		end_case(j, c->number, "failed",
			"the program has printed more than is kept, or has no output file of text");
	else if (expected && (how || !j->checker) && compare_outputs(how, printed, expected))
		end_case(j, c->number, "passed", NULL);
	else if (!expected && !j->checker)
		end_case(j, c->number, "passed", NULL);
	else if (!j->checker)
		end_case(j, c->number, "wrong", "the output is not what was expected");
	if (json_object_get(row, "verdict"))
		leave(c);
	else
		check(c, printed);
	json_decref(printed);
}

static void run_case(struct judge_case *c)
{
	static const char *const of_program[] = {
		"language", "filename", "timeout_ms", "large_stack"};
	static const char *const of_case[] = {"stdin", "args", "files"};
	struct judge *j = c->judge;
	json_t *params = json_need(json_object());
	pass(params, j->params, of_program, ARRAY_LEN(of_program));
	pass(params, case_row(c), of_case, ARRAY_LEN(of_case));
	put_code(params, j->params);
	json_put_text(params, "built", j->sessions[PROGRAM]);
	if (param_get(j->params, "output_file"))
		json_put_new(params, "collect",
			json_need(json_pack("[O]", param_get(j->params, "output_file"))));
	start_one(j, "program.run", params, c, on_ran, &c->under_way);
}

/* Begin cases for which there is a place. Returns: whether a case runs. */
static bool run_cases(struct judge *j)
{
	for (size_t i = 0; i < AT_ONCE_MAX && j->n_running < j->n_at_once; i++) {
		struct judge_case *c = &j->at_once[i];
		size_t number = c->is_put_back ? c->number : j->next;
		bool is_over = number == json_array_size(j->cases) || j->err.code ||
			j->is_cancelled || (!j->is_all && number > j->last);
		if (c->is_running || is_over)
			continue;
		c->number = number;
		j->next += !c->is_put_back;
		c->is_put_back = false;
		if (clock_now_ms() >= j->stop_at_ms) {
			end_case(j, c->number, "skipped", "total_timeout_ms is over");
			i--;
			continue;
		}
		c->is_running = true;
		j->n_running++;
		run_case(c);
	}
	return j->n_running > 0;
}

/* ---- what is compiled ---- */

static void on_built(void *arg, const json_t *result, const struct err *err)
{
	struct judge *j = arg;
	const char *session = json_string_value(json_object_get(result, "session"));
	const json_t *record = json_object_get(result, "compile");
	if (!result) {
		j->err = *err;
	} else if (session) {
		j->sessions[j->building] = xstrdup(session);
		if (j->building == PROGRAM)
			j->session = json_incref(json_object_get(result, "session"));
	} else if (j->building == CHECKER) {
		(void)err_set(&j->err, ERR_USAGE,
			"checker: the compiler does not accept it: %.300s",
			json_get_text(record, "stderr"));
	} else {
		j->next = json_array_size(j->cases);
	}
	if (j->building == PROGRAM)
		j->compile = json_incref(json_unconst(record));
	j->building++;
	go_on(j);
}

/* Start the next build. Returns: false if there is no more. */
static bool build_next(struct judge *j)
{
	static const char *const of_program[] = {"language", "code", "filename", "files",
		"compile_args", "compile_timeout_ms", "preload", "python", "template", "rootfs",
		"image", "volumes", "env", "net", "secrets", "limits", "seed", "time"};
	bool is_compiled = j->building == PROGRAM || j->sessions[PROGRAM];
	const json_t *from = j->building == PROGRAM ? j->params : j->checker;
	if (j->building == N_BUILT || !from || !is_compiled || j->err.code || j->is_cancelled)
		return false;
	json_t *params = json_need(json_object());
	pass(params, from, of_program, ARRAY_LEN(of_program));
	json_put_int(params, "idle_ms", IDLE_MS);
	start_one(j, "program.build", params, j, on_built, &j->under_way);
	return true;
}

static void go_on(struct judge *j)
{
	/* Operations may answer at once; the outermost call goes on then. */
	if (j->is_going_on) {
		j->is_again = true;
		return;
	}
	j->is_going_on = true;
	do {
		j->is_again = false;
		if (j->under_way || build_next(j) || run_cases(j) || is_held(j) || close_next(j))
			continue;
		if (!j->is_again) {
			answer(j);
			return;
		}
	} while (j->is_again);
	j->is_going_on = false;
}

static void cancel(struct operation_call *call)
{
	struct judge *j = call->following;
	if (j->is_cancelled)
		return;
	j->is_cancelled = true;
	if (!j->err.code)
		(void)err_set(&j->err, ERR_INTERRUPTED, "the program was stopped");
	if (j->under_way)
		operation_cancel(j->under_way);
	for (size_t i = 0; i < AT_ONCE_MAX; i++)
		if (j->at_once[i].under_way)
			operation_cancel(j->at_once[i].under_way);
}

void judge_start(struct operation_call *call)
{
	const struct fair_line *line = call->context->programs;
	const struct toolchain *t = toolchain_find(param_text(call->params, "language", ""));
	struct judge *j = xnew(struct judge);
	int64_t total_ms = (int64_t)param_count(call->params, "total_timeout_ms", TIME_MS);
	*j = (struct judge){.call = call,
		.params = call->params,
		.cases = param_get(call->params, "cases"),
		.checker = param_get(call->params, "checker"),
		.n_at_once = line ? MIN(line->n_each, AT_ONCE_MAX) : 1,
		.last = json_array_size(param_get(call->params, "cases")),
		.language = json_string(t ? t->language : ""),
		.room = JUDGE_OUTPUT_BYTES,
		.stop_at_ms = clock_now_ms() + total_ms,
		.is_all = param_flag(call->params, "all")};
	j->ended = xcalloc(j->last, sizeof *j->ended);
	for (size_t i = 0; i < AT_ONCE_MAX; i++)
		j->at_once[i].judge = j;
	call->following = j;
	call->cancel = cancel;
	hold(j);
	go_on(j);
}
