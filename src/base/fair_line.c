/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fair_line.h"

static size_t count(const struct fair_turn *list, const void *caller)
{
	size_t n = 0;
	for (const struct fair_turn *t = list; t; t = t->next)
		n += t->caller == caller;
	return n;
}

static void add(struct fair_turn **list, struct fair_turn *turn)
{
	while (*list)
		list = &(*list)->next;
	turn->next = NULL;
	*list = turn;
}

static void take_out(struct fair_turn **list, const struct fair_turn *turn)
{
	while (*list != turn)
		list = &(*list)->next;
	*list = turn->next;
}

/* Find the next piece to begin. Returns: NULL if all that wait have to wait longer. */
static struct fair_turn *find_next(const struct fair_line *line)
{
	struct fair_turn *found = NULL;
	size_t fewest = line->n_each;
	for (struct fair_turn *t = line->waiting; t; t = t->next) {
		size_t n = count(line->running, t->caller);
		if (n >= fewest)
			continue;
		fewest = n;
		found = t;
	}
	return found;
}

/* Work that ends at once ends within begin(). Its call of this function does nothing, as the loop
 * of the first call goes on; so the stack does not grow with the queue. */
static void begin_next(struct fair_line *line)
{
	struct fair_turn *turn;
	if (line->is_beginning)
		return;
	line->is_beginning = true;
	while (line->n_running < line->n_max && (turn = find_next(line))) {
		take_out(&line->waiting, turn);
		add(&line->running, turn);
		line->n_running++;
		turn->is_running = true;
		turn->begin(turn);
	}
	line->is_beginning = false;
}

int fair_line_take(
	struct fair_line *line, struct fair_turn *turn, const void *caller, struct err *err)
{
	if (count(line->waiting, caller) >= line->n_waiting_each) {
		(void)err_set(err, ERR_QUOTA, "%zu %s are waiting already", line->n_waiting_each,
			line->what);
		return err_hint(err, "try again when some of them have ended");
	}
	turn->line = line;
	turn->caller = caller;
	turn->is_running = false;
	add(&line->waiting, turn);
	begin_next(line);
	return 0;
}

bool fair_line_leave(struct fair_turn *turn)
{
	if (turn->is_running)
		return false;
	take_out(&turn->line->waiting, turn);
	return true;
}

void fair_line_end(struct fair_turn *turn)
{
	struct fair_line *line = turn->line;
	take_out(&line->running, turn);
	line->n_running--;
	begin_next(line);
}
