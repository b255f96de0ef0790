/* Running of a step, and description of its result to the model. SPDX-License-Identifier:
 * Apache-2.0 */
#include "agent/loop/inside.h"

#include "agent/answer/hint.h"
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SUBSTITUTE: the character that is written in place of NUL. */
enum { END_BYTES = 64 << 10, MESSAGE_BYTES = 16 << 10, SUBSTITUTE = 0x1a };

void loop_tell_code(struct loop *l, unsigned place, unsigned number, const struct loop_code *code)
{
	json_t *text = json_stringn(code->code, code->bytes);
	loop_tell_of(l, place,
		json_pack("{s:s, s:I, s:s, s:o}", "event", "step.code", "number",
			(json_int_t)number, "runtime", code->runtime ? code->runtime : l->runtime,
			"code", text ? text : json_string("")));
}

void loop_run(struct loop *l, const char *runtime, const char *code, size_t bytes)
{
	struct err err;
	free(l->code);
	l->code = strndup(code, bytes);
	if (!l->code) {
		loop_fail_memory(l);
		return;
	}
	const struct loop_code order = {.runtime = runtime, .code = l->code, .bytes = bytes};
	l->n_steps++;
	l->number = ++l->last_number;
	loop_tell_code(l, 0, l->number, &order);
	if (l->state == LOOP_OVER)
		return;
	l->state = LOOP_RUNNING;
	l->n_interrupts = 0;
	l->is_untold = true;
	loop_save(l);
	if (l->config.hooks.run(l->config.hooks.arg, &order, &err) < 0)
		loop_fail(l, &err);
}

/* Write how the step ended, for comparison with other steps by stuck_note(). */
static void sum_up(const json_t *record, struct buf *out)
{
	const json_t *error = json_object_get(record, "error");
	const char *message = json_get_text(error, "message");
	const json_t *printed = json_object_get(record, "stdout");
	size_t bytes = MIN(strcspn(message, "\n"), (size_t)MESSAGE_BYTES);
	buf_addf(out, "%s\n%.1024s\n%.*s\n%" JSON_INTEGER_FORMAT "\n",
		json_get_text(record, "status"), json_get_text(error, "name"), (int)bytes, message,
		json_integer_value(json_object_get(error, "line")));
	buf_append(out, json_string_value(printed),
		MIN(json_string_length(printed), (size_t)END_BYTES / 2));
	buf_addf(out, "\n%.4096s", json_get_text(json_object_get(record, "value"), "text/plain"));
	for (size_t i = 0; i < out->bytes; i++)
		out->data[i] = out->data[i] ? out->data[i] : SUBSTITUTE;
}

/* Warn the model if the same step has occurred STUCK_HINT times or more. End the loop if it has
 * occurred STUCK_STOP times. Returns: whether the loop continues. */
static bool look_for_circle(struct loop *l, const json_t *record)
{
	cleanup_buf struct buf end = BUF_INIT(END_BYTES);
	sum_up(record, &end);
	unsigned n = stuck_note(&l->stuck, l->code, strlen(l->code), buf_str(&end));
	if (n < STUCK_HINT)
		return true;
	loop_tell(l, json_pack("{s:s, s:I}", "event", "stuck", "times", (json_int_t)n));
	if (n >= STUCK_STOP) {
		loop_finish(l, LOOP_STUCK);
		return false;
	}
	buf_addf(&l->next,
		n >= STUCK_REPLAN
			? "You have run this very code %u times, with the same end. Stop. Before any "
			  "code: say in plain words why it cannot work, list two other ways, and take "
			  "one of them. Once more, and the task is ended.\n"
			: "You have run this very code %u times, with the same end. Running it again "
			  "changes nothing: change the approach.\n",
		n);
	return true;
}

static void note_state(struct loop *l, const json_t *record)
{
	const char *outcome = json_get_text(json_object_get(record, "state"), "outcome");
	/* The outcome "diverged" means that the state was rebuilt and may differ. After the
	 * outcome "lost", the state is yet to be rebuilt. */
	if (strcmp(outcome, "diverged") == 0)
		l->was_lost = true;
}

/* Append the result of the step and a hint to the next message to the model. */
static void observe(struct loop *l, const json_t *record)
{
	cleanup_json json_t *seen = l->config.hooks.observe(l->config.hooks.arg, record);
	const struct hint_about about = {.reader = HINT_AGENT, .was_lost = l->was_lost};
	const char *text = json_get_text(seen, "text");
	cleanup_buf struct buf hint = BUF_INIT(HINT_BYTES);
	size_t at = l->next.bytes;
	l->is_untold = false;
	buf_addf(&l->next, "[step %u] %s\n", l->number, text);
	/* A text that did not fit into `next` was left out, but its error makes the buffer
	 * refuse all further texts. Clear the error, because shorter texts may still fit. */
	buf_cut(&l->next, l->next.bytes);
	l->images = json_incref(json_object_get(seen, "images"));
	if (l->no_images)
		(void)loop_drop_images(l);
	if (hint_find(&hint, record, &about))
		buf_addf(&l->next, "Hint: %s\n", buf_str(&hint));
	json_t *shown = json_string(buf_str(&l->next) + at);
	loop_tell(l,
		json_pack("{s:s, s:I, s:o, s:I}", "event", "observation", "number",
			(json_int_t)l->number, "text", shown ? shown : json_string(""), "images",
			(json_int_t)json_array_size(l->images)));
}

void loop_stepped(struct loop *l, const json_t *record)
{
	const char *status = json_get_text(record, "status");
	bool is_good = strcmp(status, "ok") == 0;
	const json_t *bundle = is_good ? answer_find(record) : NULL;
	l->budget.used[BUDGET_STEPS]++;
	l->budget.used[BUDGET_FAILURES] = is_good ? 0 : l->budget.used[BUDGET_FAILURES] + 1;
	if (answer_remember(l->grounding, record) < 0) {
		loop_fail_memory(l);
		return;
	}
	note_state(l, record);
	if (bundle) {
		char *words = answer_words(bundle);
		loop_judge(l, words, bundle, l->code);
		free(words);
		return;
	}
	observe(l, record);
	if (l->verdict == VERDICT_PASSED)
		buf_add(&l->next,
			"The check of the task passes now: answer, if nothing is left to do.\n");
	if (look_for_circle(l, record))
		loop_ask(l);
}

/* End the loop after an interrupted step. The next message keeps the result of the step, so that
 * the model sees it when the loop is resumed. */
static void give_up(struct loop *l, const json_t *record)
{
	if (l->state == LOOP_RUNNING && answer_remember(l->grounding, record) == 0)
		observe(l, record);
	loop_finish(l, LOOP_INTERRUPTED);
}

void loop_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err)
{
	if (l->state == LOOP_OVER)
		return;
	if (place > 0)
		loop_round_ran(l, place, record, err);
	else if (!record)
		loop_fail(l, err);
	else if (l->is_unwanted)
		give_up(l, record);
	else if (l->state == LOOP_CHECKING)
		loop_checked(l, record);
	else
		loop_stepped(l, record);
}
