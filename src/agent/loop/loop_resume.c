/* Resumption of an interrupted or finished loop from its saved state. SPDX-License-Identifier:
 * Apache-2.0 */
#include "agent/loop/inside.h"
#include "agent/loop/loop_state.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

void loop_save(struct loop *l)
{
	loop_note_time(l);
	cleanup_json json_t *state = l->config.hooks.save ? loop_state(l) : NULL;
	if (state)
		l->config.hooks.save(l->config.hooks.arg, state);
}

/* Set the budget of a resumed loop. The used amount of a limit starts again at 0 if the caller
 * sets the limit anew, or if this limit ended the loop. All other used amounts stay as they
 * were. */
static void renew_budget(struct loop *l, const struct budget *given, const struct loop_past *past)
{
	struct budget *b = &l->budget;
	for (int i = 0; i < BUDGET_KINDS; i++) {
		bool is_stuck = i == BUDGET_FAILURES && l->end == LOOP_STUCK;
		if (past->is_given[i])
			b->limit[i] = given->limit[i];
		if (past->is_given[i] || (int)l->spent == i || is_stuck) {
			b->used[i] = 0;
			b->is_warned[i] = false;
		}
	}
	if (l->end == LOOP_STUCK)
		l->stuck = (struct stuck){0};
	l->spent = BUDGET_NONE;
	l->budget_before_ms = b->used[BUDGET_WALL];
}

static int add_remarks(struct loop *l, const struct loop_past *past)
{
	bool is_done = l->state == LOOP_OVER && l->end == LOOP_OK;
	bool is_lost = l->is_untold && !is_done && !past->record;
	int r = 0;
	if (!is_done || past->remark)
		r = buf_addf(&l->next, "[%s%s%s]\n",
			is_done ? "" : "The work was interrupted here, and goes on now.",
			!is_done && past->remark ? " " : "", past->remark ? past->remark : "");
	if (r == 0 && is_lost)
		r = buf_addf(&l->next,
			"[step %u] It was interrupted: what it gave is not known, and what it did "
			"may be undone. Look at what is there before you go on.\n",
			l->last_number);
	return r;
}

/* Make the user's next message the task, and forget the last answer. */
static int add_task(struct loop *l, const char *task)
{
	int r = loop_flush(l);
	free(take_ptr(l->answer));
	json_decref(take_ptr(l->bundle));
	json_decref(take_ptr(l->misses));
	l->was_sent_back = l->is_check_failed = false;
	if (r == 0)
		r = dialog_add(&l->dialog, DIALOG_TASK, task, strlen(task), NULL);
	return r < 0 ? r : grounding_add(l->grounding, task, strlen(task));
}

int loop_resume(struct loop *l, const struct loop_past *past, const char *task, struct err *err)
{
	const struct budget given = l->budget;
	int r = loop_restore(l, past->state, err);
	if (r < 0)
		return r;
	if (l->state == LOOP_OVER && l->end == LOOP_OK && !task)
		return err_fail(err, ERR_USAGE, "give the next task",
			"the agent has already answered its task");
	l->no_images = l->no_images || l->config.no_images;
	if (l->no_images && loop_drop_images(l) < 0)
		return err_set(err, ERR_NO_MEMORY, "no memory for a task");
	if (l->config.context_tokens > 0)
		l->context_tokens = l->config.context_tokens;
	if (add_remarks(l, past) < 0)
		return err_set(err, ERR_NO_MEMORY, "no memory for a task");
	renew_budget(l, &given, past);
	if (task)
		l->state = LOOP_ASKING;
	l->is_untold = false;
	l->number = l->last_number;
	if (l->state == LOOP_RUNNING && past->record)
		l->record = json_incref(json_unconst(past->record));
	if (task && add_task(l, task) < 0)
		return err_set(err, ERR_NO_MEMORY, "no memory for a task");
	return 0;
}

void loop_continue(struct loop *l)
{
	cleanup_json json_t *record = take_ptr(l->record);
	if (record)
		loop_ran(l, 0, record, NULL);
	else if (l->state == LOOP_CHECKING)
		loop_check(l);
	else
		loop_ask(l);
}
