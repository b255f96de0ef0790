/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_line.h"

#include <stdlib.h>

struct plan_line {
	uv_loop_t *loop;
	struct plan_turn *running;
	struct plan_turn *waiting; /* waiting plans, oldest first */
	size_t n_running;
};

int plan_line_open(struct plan_line **out, uv_loop_t *loop, struct err *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return err_set(err, ERR_NO_MEMORY, "no memory for plans");
	(*out)->loop = loop;
	return 0;
}

void plan_line_close(struct plan_line *line)
{
	free(line);
}

static size_t count(const struct plan_turn *list, const void *caller)
{
	size_t n = 0;
	for (const struct plan_turn *t = list; t; t = t->next)
		n += t->caller == caller;
	return n;
}

static void add(struct plan_turn **list, struct plan_turn *turn)
{
	while (*list)
		list = &(*list)->next;
	turn->next = NULL;
	*list = turn;
}

static void take_out(struct plan_turn **list, const struct plan_turn *turn)
{
	while (*list != turn)
		list = &(*list)->next;
	*list = turn->next;
}

static void begin_next(struct plan_line *line);

static void on_closed(uv_handle_t *handle)
{
	struct plan_turn *turn = handle->data;
	turn->done(turn, NULL);
}

static void on_ended(uv_async_t *ended)
{
	struct plan_turn *turn = ended->data;
	struct plan_line *line = turn->line;
	(void)uv_thread_join(&turn->thread);
	take_out(&line->running, turn);
	line->n_running--;
	uv_close((uv_handle_t *)ended, on_closed);
	begin_next(line);
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
	turn->done(turn, &err);
}

static void begin(struct plan_turn *turn)
{
	struct plan_line *line = turn->line;
	turn->is_running = true;
	turn->ended.data = turn;
	(void)uv_async_init(line->loop, &turn->ended, on_ended);
	if (uv_thread_create(&turn->thread, on_thread, turn) < 0) {
		uv_close((uv_handle_t *)&turn->ended, on_unbegun);
		return;
	}
	add(&line->running, turn);
	line->n_running++;
}

/* Find the next plan to start: the oldest one of the caller with the fewest running plans. Returns:
 * NULL if all waiting plans have to wait longer. */
static struct plan_turn *find_next(const struct plan_line *line)
{
	struct plan_turn *found = NULL;
	size_t fewest = PLANS_EACH;
	for (struct plan_turn *t = line->waiting; t; t = t->next) {
		size_t n = count(line->running, t->caller);
		if (n >= fewest)
			continue;
		fewest = n;
		found = t;
	}
	return found;
}

static void begin_next(struct plan_line *line)
{
	struct plan_turn *turn;
	while (line->n_running < PLANS_MAX && (turn = find_next(line))) {
		take_out(&line->waiting, turn);
		begin(turn);
	}
}

int plan_line_take(
	struct plan_line *line, struct plan_turn *turn, const void *caller, struct err *err)
{
	if (count(line->waiting, caller) >= PLANS_IN_LINE) {
		(void)err_set(err, ERR_QUOTA, "%d plans are waiting already", PLANS_IN_LINE);
		return err_hint(err, "try again when some of them have ended");
	}
	turn->line = line;
	turn->caller = caller;
	add(&line->waiting, turn);
	begin_next(line);
	return 0;
}

void plan_line_leave(struct plan_turn *turn)
{
	struct err err;
	if (turn->is_running)
		return;
	take_out(&turn->line->waiting, turn);
	(void)err_set(&err, ERR_INTERRUPTED, "the plan was cancelled before it began");
	turn->done(turn, &err);
}
