/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_line.h"

#include "base/attr.h"

#include <stdlib.h>

struct plan_line {
	uv_loop_t *loop;
	struct fair_line line;
};

int plan_line_open(struct plan_line **out, uv_loop_t *loop, struct err *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return err_set(err, ERR_NO_MEMORY, "no memory for plans");
	**out = (struct plan_line){.loop = loop,
		.line = {.what = "plans",
			.n_max = PLANS_MAX,
			.n_each = PLANS_EACH,
			.n_waiting_each = PLANS_IN_LINE}};
	return 0;
}

void plan_line_close(struct plan_line *line)
{
	free(line);
}

static void on_closed(uv_handle_t *handle)
{
	struct plan_turn *turn = handle->data;
	turn->done(turn, NULL);
}

static void on_ended(uv_async_t *ended)
{
	struct plan_turn *turn = ended->data;
	(void)uv_thread_join(&turn->thread);
	uv_close((uv_handle_t *)ended, on_closed);
	fair_line_end(&turn->turn);
}

static void on_thread(void *arg)
{
	struct plan_turn *turn = arg;
	turn->work(turn);
	(void)uv_async_send(&turn->ended);
}

static void on_unbegun(uv_handle_t *handle)
{
	struct plan_turn *turn = handle->data;
	struct err err;
	(void)err_set(&err, ERR_NO_MEMORY, "no thread for a plan");
	fair_line_end(&turn->turn);
	turn->done(turn, &err);
}

static void begin(struct fair_turn *of)
{
	struct plan_turn *turn = container_of(of, struct plan_turn, turn);
	turn->ended.data = turn;
	(void)uv_async_init(turn->line->loop, &turn->ended, on_ended);
	if (uv_thread_create(&turn->thread, on_thread, turn) < 0)
		uv_close((uv_handle_t *)&turn->ended, on_unbegun);
}

int plan_line_take(
	struct plan_line *line, struct plan_turn *turn, const void *caller, struct err *err)
{
	turn->line = line;
	turn->turn.begin = begin;
	return fair_line_take(&line->line, &turn->turn, caller, err);
}

void plan_line_leave(struct plan_turn *turn)
{
	struct err err;
	if (!fair_line_leave(&turn->turn))
		return;
	(void)err_set(&err, ERR_INTERRUPTED, "the plan was cancelled before it began");
	turn->done(turn, &err);
}
