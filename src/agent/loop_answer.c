/* An answer: where its numbers come from, and whether it passes the check.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop_inside.h"

#include <stdlib.h>
#include <string.h>

static void tell_answer(struct loop *l)
{
	json_t *event =
		json_pack("{s:s, s:o}", "event", "answer", "answer", json_string(l->answer));
	if (l->misses && event) {
		(void)json_object_set_new(
			event, "grounded", json_boolean(json_array_size(l->misses) == 0));
		(void)json_object_set(event, "ungrounded", l->misses);
	}
	loop_tell(l, event);
}

/* Once: a model that insists is taken at its word, and the word is marked. */
static void send_back(struct loop *l)
{
	size_t i;
	json_t *miss;
	l->was_sent_back = true;
	loop_count_failure(l);
	(void)buf_add(&l->next,
		"Your answer is not taken yet: these numbers in it were given by no output of this "
		"run and do not stand in the task:");
	json_array_foreach(l->misses, i, miss)(void)
		buf_addf(&l->next, "%s %s", i > 0 ? "," : "", json_string_value(miss));
	(void)buf_add(&l->next,
		".\nCompute and print them by code, or leave out what was not computed. Then answer "
		"again.\n");
	loop_ask(l);
}

static enum loop_end good_end(const struct loop *l)
{
	static const enum loop_end of[BUDGET_KINDS + 1] = {[BUDGET_STEPS] = LOOP_STEPS,
		[BUDGET_WALL] = LOOP_BUDGET,
		[BUDGET_TOKENS] = LOOP_BUDGET,
		[BUDGET_COST] = LOOP_BUDGET,
		[BUDGET_FAILURES] = LOOP_STUCK,
		[BUDGET_NONE] = LOOP_OK};
	return of[l->spent];
}

void loop_check(struct loop *l)
{
	struct err err;
	const struct loop_code order = {
		.runtime = "shell", .code = l->check, .bytes = strlen(l->check), .is_check = true};
	l->state = LOOP_CHECKING;
	l->n_interrupts = 0;
	loop_keep(l);
	if (l->config.hooks.run(l->config.hooks.arg, &order, &err) < 0)
		loop_fail(l, &err);
}

void loop_judge(struct loop *l, const char *text, const json_t *bundle, const char *code)
{
	char *answer = strdup(text);
	/* Of more numbers than can be remembered nothing is known, and nothing said. */
	bool is_checked = l->config.is_grounded && !grounding_is_full(l->grounding);
	json_t *misses = is_checked ? answer_misses(l->grounding, text, code) : NULL;
	free(l->answer);
	json_decref(l->bundle);
	json_decref(l->misses);
	l->answer = answer;
	l->bundle = json_incref((json_t *)(uintptr_t)bundle);
	l->misses = misses;
	if (!answer || (is_checked && !misses)) {
		loop_starve(l);
		return;
	}
	tell_answer(l);
	if (json_array_size(misses) > 0 && !l->was_sent_back && !l->is_last)
		send_back(l);
	else if (l->check)
		loop_check(l);
	else
		loop_finish(l, good_end(l));
}

void loop_checked(struct loop *l, const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	bool is_good = status && strcmp(status, "ok") == 0;
	l->is_check_failed = !is_good;
	loop_tell(l, json_pack("{s:s, s:b}", "event", "check", "passed", is_good));
	if (is_good) {
		loop_finish(l, LOOP_OK);
		return;
	}
	json_t *seen = l->config.hooks.observe(l->config.hooks.arg, record);
	const char *text = json_string_value(json_object_get(seen, "text"));
	loop_count_failure(l);
	(void)buf_addf(&l->next,
		"Your answer was checked with this command, which failed: %s\n%s\nFind out why, "
		"correct it, then answer again.\n",
		l->check, text ? text : "");
	json_decref(seen);
	loop_ask(l);
}
