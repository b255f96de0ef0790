/* Deadlines: what a stall of the process does not cost. SPDX-License-Identifier: Apache-2.0 */
#include "base/timer.h"
#include "session/box/deadline.h"

#include "t.h"

#include <stdbool.h>
#include <unistd.h>

static struct deadline deadline;
static uv_timer_t answer;
static uv_poll_t poll_handle;
static uv_timer_t stall;
static int ends[2];
static uint64_t stall_us, answer_ms;
static bool is_missed, is_heard;

static void on_missed(uv_timer_t *timer)
{
	(void)timer;
	is_missed = true;
}

static void hear(void)
{
	is_heard = true;
	deadline_stop(&deadline);
}

static void on_answer(uv_timer_t *timer)
{
	(void)timer;
	hear();
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
	(void)status;
	(void)events;
	(void)uv_poll_stop(handle);
	hear();
}

/* Something takes long, and is written meanwhile; the answer comes later. */
static void on_stall(uv_timer_t *timer)
{
	(void)usleep((useconds_t)stall_us);
	CHECK(write(ends[1], "x", 1) == 1);
	uv_update_time(timer->loop);
	if (answer_ms)
		(void)uv_timer_start(&answer, on_answer, answer_ms, 0);
}

/* Both begin; the process stands still for @us. */
static void run(uv_loop_t *loop, uint64_t us)
{
	is_missed = is_heard = false;
	stall_us = us;
	(void)uv_timer_start(&stall, on_stall, 0, 0);
	(void)uv_run(loop, UV_RUN_DEFAULT);
}

static void begin(uv_loop_t *loop)
{
	(void)uv_loop_init(loop);
	CHECK(pipe(ends) == 0);
	(void)uv_timer_init(loop, &deadline.timer);
	(void)uv_timer_init(loop, &answer);
	(void)uv_timer_init(loop, &stall);
	(void)uv_poll_init(loop, &poll_handle, ends[0]);
}

static void end(uv_loop_t *loop)
{
	uv_handle_t *handles[] = {(uv_handle_t *)&deadline.timer, (uv_handle_t *)&answer,
		(uv_handle_t *)&stall, (uv_handle_t *)&poll_handle};
	for (size_t i = 0; i < ARRAY_LEN(handles); i++)
		uv_close(handles[i], NULL);
	(void)uv_run(loop, UV_RUN_DEFAULT);
	CHECK(uv_loop_close(loop) == 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

TEST(nobody_answers)
{
	uv_loop_t loop;
	begin(&loop);
	deadline_start(&deadline, on_missed, 16);
	run(&loop, 0);
	CHECK(is_missed);
	deadline_start_limit(&deadline, on_missed, 2);
	run(&loop, 0);
	CHECK(is_missed);
	deadline_start(&deadline, on_missed, 0);
	run(&loop, 0);
	CHECK(is_missed);
	end(&loop);
}

TEST(what_was_said_during_a_stall_is_heard)
{
	uv_loop_t loop;
	begin(&loop);
	deadline_start_limit(&deadline, on_missed, 5);
	(void)uv_poll_start(&poll_handle, UV_READABLE, on_readable);
	run(&loop, 50000);
	CHECK(is_heard && !is_missed);
	end(&loop);
}

/* Those that stood still, too, get the time that is left. */
TEST(a_stall_takes_one_part)
{
	uv_loop_t loop;
	begin(&loop);
	deadline_start(&deadline, on_missed, 1600); /* a part: 200 ms; left then: 1,400 */
	answer_ms = 50;
	run(&loop, 1700000);
	CHECK(is_heard && !is_missed);
	answer_ms = 0;
	end(&loop);
}

TEST(who_would_prolong_a_long_turn_is_put_off)
{
	enum { LONG_MS = 20, MANY = 100 };
	uv_loop_t loop;
	unsigned n = 0, n_times = 0;
	CHECK_INT(uv_loop_init(&loop), 0);
	(void)uv_run(&loop, UV_RUN_NOWAIT);
	uv_sleep(LONG_MS);
	while (n < MANY && timer_is_late(&loop, &n_times))
		n++;
	CHECK(n > 0 && n < MANY); /* and not for ever */
	CHECK_INT(n_times, 0);
	CHECK_INT(uv_loop_close(&loop), 0);
}
