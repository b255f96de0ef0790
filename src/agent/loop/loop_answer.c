/* Judgement of an answer: are its numbers grounded, and does it pass the user's check?
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/inside.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static void tell_answer(struct loop *l)
{
	json_t *event =
		json_pack("{s:s, s:o}", "event", "answer", "answer", json_string(l->answer));
	if (l->misses && event) {
		json_put_bool(event, "grounded", json_array_size(l->misses) == 0);
		json_put_shared(event, "ungrounded", l->misses);
	}
	loop_tell(l, event);
}

/* Send an answer with ungrounded numbers back to the model. This is done only once: a second
 * answer is accepted and marked as not grounded. */
static void send_back(struct loop *l)
{
	size_t i;
	json_t *miss;
	l->was_sent_back = true;
	loop_count_failure(l);
	buf_add(&l->next,
		"Your answer is not taken yet: these numbers in it were given by no output of this "
		"run and do not stand in the task:");
	json_array_foreach(l->misses, i, miss)(void)
		buf_addf(&l->next, "%s %s", i > 0 ? "," : "", json_string_value(miss));
	buf_add(&l->next,
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

/* Act on the result of a check: end the loop with a good answer, or send a bad one back to the
 * model. @said is what the check of a bad answer printed; the model is shown it. */
static void conclude(struct loop *l, bool is_good, const char *said)
{
	l->is_check_failed = !is_good;
	loop_tell(l, json_pack("{s:s, s:b}", "event", "check", "passed", is_good));
	if (l->state == LOOP_OVER)
		return;
	if (is_good) {
		loop_finish(l, LOOP_OK);
		return;
	}
	loop_count_failure(l);
	buf_addf(&l->next,
		"Your answer was checked with %s: %s\n%s\nFind out why, correct it, "
		"then answer again.\n",
		criterion_words(&l->check), l->check.text, said);
	loop_ask(l);
}

static void check_form(struct loop *l)
{
	struct err err;
	const json_t *value = json_object_get(l->bundle, "application/json");
	bool is_good = criterion_fit(&l->check, l->answer, value, &err) == 0;
	conclude(l, is_good, is_good ? "" : err.msg);
}

void loop_check(struct loop *l)
{
	struct err err;
	cleanup_buf struct buf code = BUF_INIT(REPLY_TEXT_BYTES);
	struct loop_code order = {.is_check = true};
	if (l->verdict != VERDICT_NONE && l->checked) {
		loop_checked(l, l->checked);
		return;
	}
	if (l->check.kind == CRITERION_SCHEMA) {
		check_form(l);
		return;
	}
	order.runtime = criterion_code(
		&l->check, l->answer, json_object_get(l->bundle, "application/json"), &code);
	order.code = buf_str(&code);
	order.bytes = code.bytes;
	l->state = LOOP_CHECKING;
	l->n_interrupts = 0;
	loop_save(l);
	if (!order.runtime)
		loop_fail_memory(l);
	else if (l->config.hooks.run(l->config.hooks.arg, &order, &err) < 0)
		loop_fail(l, &err);
}

void loop_judge(struct loop *l, const char *text, const json_t *bundle, const char *code)
{
	char *answer = text ? strdup(text) : NULL;
	/* Numbers beyond GROUNDING_NUMBERS_MAX are not remembered. If the run printed more
	 * numbers than that, a number of the answer may come from the run although the loop does
	 * not know it. So do not check the answer then. */
	bool is_checked = l->config.is_grounded && !grounding_is_full(l->grounding);
	json_t *misses = is_checked && answer ? answer_misses(l->grounding, text, code) : NULL;
	free(l->answer);
	json_decref(l->bundle);
	json_decref(l->misses);
	l->answer = answer;
	l->bundle = json_incref(json_unconst(bundle));
	l->misses = misses;
	if (!answer || (is_checked && !misses)) {
		loop_fail_memory(l);
		return;
	}
	tell_answer(l);
	if (json_array_size(misses) > 0 && !l->was_sent_back && !l->is_last)
		send_back(l);
	else if (l->check.kind != CRITERION_NONE)
		loop_check(l);
	else
		loop_finish(l, good_end(l));
}

void loop_checked(struct loop *l, const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	bool is_good = status && strcmp(status, "ok") == 0;
	cleanup_json json_t *seen =
		is_good ? NULL : l->config.hooks.observe(l->config.hooks.arg, record);
	const char *text = json_string_value(json_object_get(seen, "text"));
	conclude(l, is_good, text ? text : "");
}
