/*
 * Waiting for a run.
 *
 * Several callers can wait for the same run, with or without a time limit. All are answered when
 * the run is done. A waiter with a time limit is answered earlier, with a record whose status is
 * "running", in two cases: when its time is up, and when the run cannot continue by itself
 * (is_stuck()).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/run/waiter.h"
#include "api/text/observation.h"

#include "api/run/inside.h"
#include "api/run/run_behind.h"
#include "base/json.h"
#include "base/timer.h"

#include <stdlib.h>

/* Return whether the run can only continue after a client has acted: the run waits for an
 * approval or for input, or behind a run that waits for input. */
static bool is_stuck(const struct run *run)
{
	return json_array_size(run->asking.open) > 0 || run_is_reading(run) || run_reader(run);
}

static json_t *running_record(const struct run *run)
{
	json_t *record = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:n, s:n, s:{s:i, s:i}}",
		"schema", 1, "run", run->id, "session", run->session, "runtime", run->runtime,
		"status", "running", "displays", json_copy(run->displays), "exit_code", "signal",
		"truncated", "stdout_bytes", 0, "stderr_bytes", 0);
	for (int i = 0; i < 2; i++)
		(void)json_object_set_new(record, i ? "stderr" : "stdout",
			json_stringn(buf_str(&run->out[i]), run->out[i].bytes));
	if (json_array_size(run->asking.open) > 0)
		(void)json_object_set_new(record, "approvals", json_copy(run->asking.open));
	const struct run *ahead = run_ahead(run);
	if (ahead)
		json_put_text(record, "behind", ahead->id);
	if (run_reader(run))
		json_put_text(record, "behind_waiting", "stdin");
	if (run_is_reading(run))
		json_put_text(record, "waiting", "stdin");
	uint64_t us = run->has_started ? (uv_hrtime() - run->started_ns) / 1000 : 0;
	(void)json_object_set_new(
		record, "usage", json_pack("{s:f}", "wall_ms", (double)us / 1000));
	return record;
}

json_t *run_record(const struct run *run)
{
	json_t *record = json_copy(run->record);
	json_put_text(record, "run", run->id);
	observation_add_hint(record);
	return record;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle);
}

/* Remove @waiter from the list of its run. */
static void unhang(struct waiter *waiter)
{
	struct waiter **at = &waiter->run->waiters;
	while (*at != waiter)
		at = &(*at)->next;
	*at = waiter->next;
	if (waiter->timer)
		uv_close((uv_handle_t *)waiter->timer, on_timer_closed);
	if (waiter->run->starter == waiter)
		waiter->run->starter = NULL;
	waiter->timer = NULL;
	waiter->run = NULL;
}

/* Answer @waiter, which is not in the run's list any more. */
static void answer(struct run *run, const struct waiter *waiter)
{
	json_t *record = NULL;
	struct err err = run->err;
	run->is_told = true;
	if (!run->is_done)
		record = running_record(run);
	else if (run->record)
		record = run_record(run);
	if (!record && !err.code)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for the record");
	waiter->done(waiter->arg, record, record ? NULL : &err);
	json_decref(record);
}

void waiter_leave(struct waiter *waiter)
{
	struct run *run = waiter->run;
	if (!run)
		return;
	run_hold(run);
	unhang(waiter);
	answer(run, waiter);
	run_release(run);
}

static void on_time(uv_timer_t *timer)
{
	waiter_leave(timer->data);
}

int waiter_hang(struct waiter *waiter, struct run *run, uint64_t wait_ms, struct err *err)
{
	uv_timer_t *timer = NULL;
	if (wait_ms != UINT64_MAX) {
		timer = run->runs->loop ? malloc(sizeof *timer) : NULL;
		if (!timer)
			return err_set(err, ERR_NO_MEMORY, "no memory to wait");
		(void)uv_timer_init(run->runs->loop, timer);
		timer->data = waiter;
		timer_start(timer, on_time, wait_ms, 0);
	}
	waiter->timer = timer;
	waiter->run = run;
	waiter->next = run->waiters;
	run->waiters = waiter;
	return 0;
}

int waiter_await(struct waiter *waiter, struct run *run, uint64_t wait_ms, struct err *err)
{
	if (!run->is_done && wait_ms > 0 && !is_stuck(run))
		return waiter_hang(waiter, run, wait_ms, err);
	run_hold(run);
	answer(run, waiter);
	run_release(run);
	return 0;
}

void waiters_tell(struct run *run)
{
	while (run->waiters) {
		struct waiter *waiter = run->waiters;
		unhang(waiter);
		answer(run, waiter);
	}
}

void waiters_wake(struct run *run)
{
	struct waiter *waiter = run->waiters;
	while (waiter && is_stuck(run)) {
		struct waiter *next = waiter->next;
		if (waiter->timer) {
			waiter_leave(waiter);
			/* The callback may have changed the list, so start again. */
			next = run->waiters;
		}
		waiter = next;
	}
}
