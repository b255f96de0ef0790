/* SPDX-License-Identifier: Apache-2.0 */
#include "api/operation/owing.h"

#include "api/operation/operation.h"
#include "api/operation/principal.h"
#include "base/timer.h"

#include <stdlib.h>

enum { SOON_MS = 1, LOOK_MS = 1000 };

struct owing_line {
	uv_timer_t timer;
	struct owing_turn *first; /* of all callers, the oldest */
	struct owing operator;	  /* of who runs the engine */
	bool is_closed;
};

struct owing *owing_of(const struct operation_context *context)
{
	struct owing_line *line = context->owing;
	struct owing *of = NULL;
	if (line)
		of = context->principal ? principal_owing(context->principal) : &line->operator;
	if (of)
		of->line = line;
	return of;
}

bool owing_is_full(const struct owing *of)
{
	return of && of->bytes > OWING_BYTES;
}

static void on_turn(uv_timer_t *timer);

static void look(struct owing_line *line, uint64_t ms)
{
	if (line->first && !line->is_closed)
		timer_start(&line->timer, on_turn, ms, 0);
}

void owed_set(struct owed *owed, struct owing *of, size_t bytes)
{
	struct owing *before = owed->of;
	if (of)
		of->bytes += bytes;
	if (before && owed->bytes > 0) {
		before->bytes -= owed->bytes;
		before->moved_ms = timer_now();
		look(before->line, SOON_MS);
	}
	*owed = (struct owed){.of = of, .bytes = bytes};
}

static bool has_room(const struct owing_turn *turn)
{
	return turn->of->bytes == 0 || turn->of->bytes + turn->bytes <= OWING_BYTES;
}

static size_t count(const struct owing_line *line, const struct owing *of)
{
	size_t n = 0;
	for (const struct owing_turn *t = line->first; t; t = t->next)
		n += t->of == of;
	return n;
}

static void take_out(struct owing_line *line, struct owing_turn *turn)
{
	struct owing_turn **at = &line->first;
	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
}

static void begin(struct owing_turn *turn)
{
	turn->of->moved_ms = timer_now();
	turn->begin(turn, NULL);
}

/* The oldest of a caller, if it may begin. */
static bool is_next(const struct owing_line *line, const struct owing_turn *turn)
{
	const struct owing_turn *t = line->first;
	while (t->of != turn->of)
		t = t->next;
	return t == turn && has_room(turn);
}

static bool is_late(const struct owing_turn *turn)
{
	uint64_t since_ms = MAX(turn->since_ms, turn->of->moved_ms);
	return timer_now() - since_ms >= OWING_WAIT_MS;
}

static void refuse(struct owing_turn *turn)
{
	struct err err;
	(void)err_set(&err, ERR_QUOTA, "answers: %zu MiB of yours wait to be taken",
		turn->of->bytes >> 20);
	(void)err_hint(&err, "take the answers that wait first");
	turn->begin(turn, &err);
}

/* From the start each time: what begins may be over at once, and others with it. */
static void on_turn(uv_timer_t *timer)
{
	struct owing_line *line = timer->data;
	struct owing_turn *turn;
	do {
		turn = line->first;
		while (turn && !is_next(line, turn) && !is_late(turn))
			turn = turn->next;
		if (!turn)
			break;
		bool may_begin = is_next(line, turn);
		take_out(line, turn);
		if (may_begin)
			begin(turn);
		else
			refuse(turn);
	} while (!line->is_closed);
	look(line, LOOK_MS);
}

void owing_wait(struct owing *of, struct owing_turn *turn, size_t bytes)
{
	struct owing_line *line = of->line;
	struct owing_turn **last = &line->first;
	size_t n = count(line, of);
	struct err err = {0};
	turn->next = NULL;
	turn->of = of;
	turn->bytes = bytes;
	turn->since_ms = timer_now();
	if (line->is_closed) {
		(void)err_set(&err, ERR_GONE, "the engine is stopping");
	} else if (n >= OWING_IN_LINE) {
		(void)err_set(
			&err, ERR_QUOTA, "long answers: %d are in line already", OWING_IN_LINE);
		(void)err_hint(&err, "take the answers that wait first");
	} else if (n == 0 && has_room(turn)) {
		begin(turn);
		return;
	}
	if (err.code) {
		turn->begin(turn, &err);
		return;
	}
	while (*last)
		last = &(*last)->next;
	*last = turn;
	if (!uv_is_active((uv_handle_t *)&line->timer))
		look(line, LOOK_MS);
}

void owing_leave(struct owing_turn *turn)
{
	struct owing_line *line = turn->of->line;
	take_out(line, turn);
	look(line, SOON_MS); /* it may have kept others from their turn */
}

int owing_open(struct owing_line **out, uv_loop_t *loop, struct err *err)
{
	struct owing_line *line = calloc(1, sizeof *line);
	*out = line;
	if (!line)
		return err_set(err, ERR_NO_MEMORY, "no memory for the answers of callers");
	line->timer.data = line;
	(void)uv_timer_init(loop, &line->timer);
	return 0;
}

void owing_close(struct owing_line *line)
{
	struct err err;
	if (!line)
		return;
	line->is_closed = true;
	(void)err_set(&err, ERR_GONE, "the engine is stopping");
	while (line->first) {
		struct owing_turn *turn = line->first;
		line->first = turn->next;
		turn->begin(turn, &err);
	}
	uv_close((uv_handle_t *)&line->timer, NULL);
}

void owing_free(struct owing_line *line)
{
	free(line);
}
