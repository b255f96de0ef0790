/*
 * Back pressure for long answers.
 *
 * A client could request many long answers and read none of them, and all would stay in memory. So
 * the engine counts, for each caller, the bytes of answers that the caller has not read. While an
 * operation makes its answer, an estimate of the size is counted. When the answer exists, the front
 * replaces the estimate by the real size, and lowers the count while it writes the answer. An
 * operation whose answer would raise the count of its caller above OUTSTANDING_BYTES waits until
 * the caller has read earlier answers. If, for OUTSTANDING_WAIT_MS, no operation of the caller
 * begins and the caller reads no answer, the waiting operation is refused.
 *
 * The waiting operations of all callers are in one queue, oldest first. One timer checks the queue:
 * soon after an answer was read, and every LOOK_MS to find operations that have waited too long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/operation/outstanding.h"

#include "api/operation/operation.h"
#include "api/operation/principal.h"
#include "base/alloc.h"
#include "base/timer.h"

#include <stdlib.h>

enum { SOON_MS = 1, LOOK_MS = 1000 };

struct outstanding_queue {
	uv_timer_t timer;
	struct outstanding_turn *first; /* waiting operations of all callers, oldest first */
	struct outstanding operator;	/* unread answers of the operator */
	bool is_closed;
};

struct outstanding *outstanding_of(const struct operation_context *context)
{
	struct outstanding_queue *line = context->outstanding;
	struct outstanding *of = NULL;
	if (line)
		of = context->principal ? principal_outstanding(context->principal)
					: &line->operator;
	if (of)
		of->line = line;
	return of;
}

bool outstanding_is_full(const struct outstanding *of)
{
	return of && of->bytes > OUTSTANDING_BYTES;
}

static void on_turn(uv_timer_t *timer);

static void look(struct outstanding_queue *line, uint64_t ms)
{
	if (line->first && !line->is_closed)
		timer_start(&line->timer, on_turn, ms, 0);
}

void outstanding_set(struct outstanding_part *owed, struct outstanding *of, size_t bytes)
{
	struct outstanding *before = owed->of;
	if (of)
		of->bytes += bytes;
	if (before && owed->bytes > 0) {
		before->bytes -= owed->bytes;
		before->moved_ms = timer_now();
		look(before->line, SOON_MS);
	}
	*owed = (struct outstanding_part){.of = of, .bytes = bytes};
}

static bool has_room(const struct outstanding_turn *turn)
{
	return turn->of->bytes == 0 || turn->of->bytes + turn->bytes <= OUTSTANDING_BYTES;
}

static size_t count(const struct outstanding_queue *line, const struct outstanding *of)
{
	size_t n = 0;
	for (const struct outstanding_turn *t = line->first; t; t = t->next)
		n += t->of == of;
	return n;
}

static void take_out(struct outstanding_queue *line, struct outstanding_turn *turn)
{
	struct outstanding_turn **at = &line->first;
	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
}

static void begin(struct outstanding_turn *turn)
{
	turn->of->moved_ms = timer_now();
	turn->begin(turn, NULL);
}

/*
 * Return whether the operation that waits with @turn may begin. This is so if two conditions are
 * met:
 * - No other operation of the same caller has waited longer in the queue.
 * - has_room(): the caller has no unread answers, or together with the answer of this operation
 *   they do not exceed OUTSTANDING_BYTES.
 */
static bool is_next(const struct outstanding_queue *line, const struct outstanding_turn *turn)
{
	const struct outstanding_turn *t = line->first;
	while (t->of != turn->of)
		t = t->next;
	return t == turn && has_room(turn);
}

static bool is_late(const struct outstanding_turn *turn)
{
	uint64_t since_ms = MAX(turn->since_ms, turn->of->moved_ms);
	return timer_since(since_ms) >= OUTSTANDING_WAIT_MS;
}

static void refuse(struct outstanding_turn *turn)
{
	struct err err;
	err_fail(&err, ERR_QUOTA, "first read the answers that wait",
		"answers: %zu MiB of your answers wait to be read", turn->of->bytes >> 20);
	turn->begin(turn, &err);
}

/* Begin or refuse operations in the queue. Search from the head each time, because an operation
 * that begins may end at once, and may end others. */
static void on_turn(uv_timer_t *timer)
{
	struct outstanding_queue *line = timer->data;
	struct outstanding_turn *turn;
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

void outstanding_wait(struct outstanding *of, struct outstanding_turn *turn, size_t bytes)
{
	struct outstanding_queue *line = of->line;
	struct outstanding_turn **last = &line->first;
	size_t n = count(line, of);
	struct err err = {0};
	turn->next = NULL;
	turn->of = of;
	turn->bytes = bytes;
	turn->since_ms = timer_now();
	if (line->is_closed) {
		(void)err_set(&err, ERR_GONE, "the engine is stopping");
	} else if (n >= OUTSTANDING_IN_LINE) {
		err_fail(&err, ERR_QUOTA, "first read the answers that wait",
			"long answers: %d wait to be read already", OUTSTANDING_IN_LINE);
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

void outstanding_leave(struct outstanding_turn *turn)
{
	struct outstanding_queue *line = turn->of->line;
	take_out(line, turn);
	look(line, SOON_MS); /* later operations of the caller may now begin */
}

struct outstanding_queue *outstanding_open(uv_loop_t *loop)
{
	struct outstanding_queue *line = xnew(struct outstanding_queue);
	line->timer.data = line;
	(void)uv_timer_init(loop, &line->timer);
	return line;
}

void outstanding_close(struct outstanding_queue *line)
{
	struct err err;
	if (!line)
		return;
	line->is_closed = true;
	(void)err_set(&err, ERR_GONE, "the engine is stopping");
	while (line->first) {
		struct outstanding_turn *turn = line->first;
		line->first = turn->next;
		turn->begin(turn, &err);
	}
	uv_close((uv_handle_t *)&line->timer, NULL);
}

void outstanding_free(struct outstanding_queue *line)
{
	free(line);
}
