/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/inside.h"

#include "agent/loop/prompt.h"
#include "base/json.h"
#include "base/timer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEXT_BYTES = 1 << 20 };

static void on_timer(uv_timer_t *timer);

static const char *const ends[] = {
#define X(symbol, word) word,
#include "agent/loop/loop.def"
#undef X
};

const char *loop_end_word(enum loop_end end)
{
	return ends[end];
}

void loop_tell(struct loop *l, json_t *event)
{
	if (event && l->config.hooks.event)
		l->config.hooks.event(l->config.hooks.arg, event);
	json_decref(event);
}

void loop_tell_of(struct loop *l, unsigned place, json_t *event)
{
	loop_tell(l,
		place == 0 || !event ? event
				     : json_pack("{s:s, s:I, s:o}", "event", "candidate",
					       "candidate", (json_int_t)place, "of", event));
}

uint64_t loop_wall_ms(const struct loop *l)
{
	return l->earlier_ms + timer_since(l->started_ms);
}

/* ---- the result and the end of the loop ---- */

static json_t *usage_json(const struct loop *l)
{
	const struct wire_usage *u = &l->usage;
	json_t *out = json_pack("{s:I, s:I, s:I, s:I, s:b}", "input", (json_int_t)u->input,
		"output", (json_int_t)u->output, "cached", (json_int_t)u->cached, "reasoning",
		(json_int_t)u->reasoning, "is_estimated", u->is_estimated);
	if (l->config.price && !l->is_cost_partial)
		json_put_new(out, "cost_usd", json_real(l->cost_usd));
	return out;
}

static json_t *result_of(const struct loop *l, enum loop_end end)
{
	json_t *out = json_pack("{s:s, s:s, s:I, s:I, s:o, s:I}", "status", ends[end], "model",
		wire_name(l->config.wire), "steps", (json_int_t)l->n_steps, "replies",
		(json_int_t)l->n_replies, "usage", usage_json(l), "wall_ms",
		(json_int_t)loop_wall_ms(l));
	if (l->answer)
		json_put_text(out, "answer", l->answer);
	json_t *value = json_object_get(l->bundle, "application/json");
	if (l->answer && value)
		json_put_shared(out, "value", value);
	if (l->answer && l->misses) {
		json_put_bool(out, "grounded", json_array_size(l->misses) == 0);
		json_put_shared(out, "ungrounded", l->misses);
	}
	if (l->spent != BUDGET_NONE)
		json_put_text(out, "spent", budget_word(l->spent));
	json_t *candidates = loop_round_result(l);
	if (candidates)
		json_put_new(out, "candidates", candidates);
	if (end == LOOP_ERROR)
		json_put_new(out, "error",
			json_pack("{s:s, s:s, s:s}", "code", err_word(l->err.code), "message",
				l->err.msg, "hint", l->err.hint));
	return out;
}

static void stop_asking(struct loop *l)
{
	if (l->stream.call)
		wire_cancel(take_ptr(l->stream.call));
	loop_round_cancel(l);
}

void loop_finish(struct loop *l, enum loop_end end)
{
	if (l->state == LOOP_OVER)
		return;
	stop_asking(l);
	l->state = LOOP_OVER;
	l->end = end;
	l->ended = result_of(l, end);
	loop_save(l);
	/* `done` may free @l, which the caller still uses. So call it later, from the event
	 * loop. */
	(void)uv_timer_stop(&l->timer);
	timer_start(&l->timer, on_timer, 0, 0);
}

void loop_fail(struct loop *l, const struct err *err)
{
	l->err = *err;
	loop_finish(l, err->code == ERR_INTERRUPTED ? LOOP_INTERRUPTED : LOOP_ERROR);
}

void loop_fail_memory(struct loop *l)
{
	struct err err;
	(void)err_set(&err, ERR_NO_MEMORY, "no memory to go on with the task");
	loop_fail(l, &err);
}

/* ---- asking the model ---- */

void loop_count_failure(struct loop *l)
{
	l->budget.used[BUDGET_STEPS]++;
	l->budget.used[BUDGET_FAILURES]++;
}

void loop_note_time(struct loop *l)
{
	l->budget.used[BUDGET_WALL] = l->budget_before_ms + timer_since(l->started_ms);
}

static enum loop_end end_of(const struct loop *l)
{
	static const enum loop_end of[BUDGET_KINDS] = {[BUDGET_STEPS] = LOOP_STEPS,
		[BUDGET_WALL] = LOOP_BUDGET,
		[BUDGET_TOKENS] = LOOP_BUDGET,
		[BUDGET_COST] = LOOP_BUDGET,
		[BUDGET_FAILURES] = LOOP_STUCK};
	return l->spent == BUDGET_NONE ? LOOP_STUCK
		: l->is_check_failed   ? LOOP_CHECK
				       : of[l->spent];
}

void loop_give_up(struct loop *l)
{
	loop_finish(l, end_of(l));
}

static json_t *amount(enum budget_kind kind, uint64_t n)
{
	return kind == BUDGET_COST ? json_real((double)n / BUDGET_UNITS_PER_USD)
				   : json_integer((json_int_t)n);
}

static void tell_budget(struct loop *l, const char *what, enum budget_kind kind)
{
	loop_tell(l,
		json_pack("{s:s, s:s, s:s, s:o, s:o}", "event", "budget", "state", what, "budget",
			budget_word(kind), "used", amount(kind, l->budget.used[kind]), "limit",
			amount(kind, l->budget.limit[kind])));
}

/* Ask the model for its last answer, because the limit @kind is reached. */
static void begin_last(struct loop *l, enum budget_kind kind)
{
	l->is_last = true;
	l->spent = kind;
	tell_budget(l, "spent", kind);
	buf_add(&l->next,
		"\nNothing more can be run: the budget is used up. Answer now, in plain text and "
		"without code, with what you have found; say what is missing or not certain.\n");
	timer_start(&l->timer, on_timer, LOOP_LAST_MS, 0);
}

static void show_budget(struct loop *l)
{
	enum budget_kind kind = budget_warning(&l->budget);
	buf_add(&l->next, "[");
	budget_show(&l->budget, &l->next);
	buf_add(&l->next, "]\n");
	if (kind == BUDGET_NONE)
		return;
	tell_budget(l, "warning", kind);
	buf_add(&l->next, "Most of it is gone: come to an answer with what you have.\n");
}

int loop_flush(struct loop *l)
{
	int r = l->next.bytes == 0
		? 0
		: dialog_add(&l->dialog, DIALOG_TOLD, l->next.data, l->next.bytes, l->images);
	buf_clear(&l->next);
	json_decref(l->images);
	l->images = NULL;
	return r;
}

/* Return the number of candidates for the next step, which is at most the number of steps left. */
static unsigned count_candidates(const struct loop *l)
{
	uint64_t used = l->budget.used[BUDGET_STEPS], limit = l->budget.limit[BUDGET_STEPS];
	uint64_t left = limit == 0 ? l->best_of : limit > used ? limit - used : 1;
	return l->is_last ? 1 : (unsigned)MIN(left, (uint64_t)l->best_of);
}

static int put_question(struct loop *l, struct err *err)
{
	struct wire_request q = {0};
	struct wire_watch watch = loop_watch;
	unsigned n = count_candidates(l);
	watch.arg = &l->stream;
	if (dialog_question(&l->dialog, &q) < 0)
		return err_set(err, ERR_NO_MEMORY, "no memory to ask a model");
	reply_stream_reset(&l->stream);
	int r = n > 1 ? loop_round_ask(l, &q, n, err)
		      : wire_ask(l->config.wire, &q, &watch, &l->stream.call, err);
	dialog_question_done(&q);
	if (r == 0)
		loop_tell(l,
			json_pack("{s:s, s:s}", "event", "model.asked", "model",
				wire_name(l->config.wire)));
	return r;
}

void loop_ask(struct loop *l)
{
	struct err err;
	loop_note_time(l);
	enum budget_kind kind = budget_spent(&l->budget);
	/* A text that did not fit into `next` was left out, but its error makes the buffer
	 * refuse all further texts. Clear the error, because shorter texts may still fit. */
	buf_cut(&l->next, l->next.bytes);
	l->state = LOOP_ASKING;
	l->verdict = VERDICT_NONE;
	if (l->is_last) {
		loop_give_up(l);
		return;
	}
	if (kind != BUDGET_NONE)
		begin_last(l, kind);
	else if (l->n_replies > 0)
		show_budget(l);
	int r = loop_flush(l);
	size_t n = r == 0 ? dialog_compact(&l->dialog, l->context_tokens) : 0;
	if (n > 0)
		loop_tell(l,
			json_pack("{s:s, s:I, s:I}", "event", "compacted", "messages",
				(json_int_t)n, "tokens", (json_int_t)dialog_tokens(&l->dialog)));
	if (r == 0)
		loop_save(l);
	if (r < 0)
		loop_fail_memory(l);
	else if (put_question(l, &err) < 0)
		loop_fail(l, &err);
}

/* ---- the timer, for the time limit and for the end of the loop ---- */

static void stop_running(struct loop *l)
{
	if (l->state == LOOP_TRYING)
		loop_round_stop(l);
	else
		l->config.hooks.interrupt(l->config.hooks.arg);
}

static void on_timer(uv_timer_t *timer)
{
	struct loop *l = timer->data;
	if (l->ended) {
		json_t *result = take_ptr(l->ended);
		l->config.hooks.done(l->config.hooks.arg, result);
		json_decref(result);
		return;
	}
	loop_note_time(l);
	if (l->is_last) {
		loop_give_up(l);
	} else if (l->state == LOOP_ASKING) {
		stop_asking(l);
		loop_ask(l);
	} else {
		stop_running(l);
		timer_start(&l->timer, on_timer, LOOP_LAST_MS, 0);
	}
}

/* ---- counting costs and tokens ---- */

/* Add the cost of @u at @price, which is NULL if unknown. Estimated tokens cost the same as
 * counted ones. */
static void spend_money(struct loop *l, const struct wire_usage *u, const struct price *price)
{
	double usd = price ? price_of(price, u) : 0;
	l->is_cost_partial = l->is_cost_partial || !price;
	l->cost_usd += usd;
	l->budget.used[BUDGET_COST] += (uint64_t)ceil(usd * BUDGET_UNITS_PER_USD);
}

void loop_spend(struct loop *l, const struct wire_usage *u, const struct price *price)
{
	spend_money(l, u, price);
	l->usage.input += u->input;
	l->usage.output += u->output;
	l->usage.cached += u->cached;
	l->usage.reasoning += u->reasoning;
	l->usage.is_estimated |= u->is_estimated;
	l->budget.used[BUDGET_TOKENS] += u->input + u->output;
}

uint64_t loop_tokens_left(const struct loop *l)
{
	uint64_t limit = l->budget.limit[BUDGET_TOKENS], used = l->budget.used[BUDGET_TOKENS];
	return limit == 0 ? UINT64_MAX : used < limit ? limit - used : 0;
}

/* ---- interrupting the running step ---- */

void loop_interrupt(struct loop *l, bool is_end)
{
	if (l->state == LOOP_OVER)
		return;
	l->n_interrupts++;
	l->is_unwanted = l->is_unwanted || is_end || l->n_interrupts > 1;
	bool is_trying = l->state == LOOP_TRYING;
	bool is_over = l->state == LOOP_ASKING ||
		(is_trying && (l->is_unwanted || loop_round_is_asking(l)));
	loop_tell(l,
		json_pack("{s:s, s:I, s:b}", "event", "interrupt", "times",
			(json_int_t)l->n_interrupts, "ends", is_over || l->is_unwanted));
	if (is_over)
		loop_finish(l, LOOP_INTERRUPTED);
	else
		stop_running(l);
}

/* ---- closing and opening a loop ---- */

static void on_closed(uv_handle_t *handle)
{
	struct loop *l = handle->data;
	dialog_done(&l->dialog);
	grounding_free(l->grounding);
	buf_done(&l->next);
	buf_done(&l->stream.text);
	loop_round_free(l->round);
	criterion_done(&l->check);
	json_decref(l->checked);
	json_decref(l->rounds);
	json_decref(l->refusal);
	json_decref(l->images);
	json_decref(l->bundle);
	json_decref(l->misses);
	json_decref(l->ended);
	json_decref(l->record);
	free(l->task);
	free(l->runtime);
	free(l->code);
	free(l->answer);
	free(l);
}

void loop_close(struct loop *l)
{
	if (!l)
		return;
	l->state = LOOP_OVER;
	stop_asking(l);
	uv_close((uv_handle_t *)&l->timer, on_closed);
}

static int begin(struct loop *l)
{
	const struct loop_config *c = &l->config;
	const struct prompt prompt = {.runtime = l->runtime,
		.limits = c->limits,
		.net = c->net,
		.is_grounded = c->is_grounded,
		.servers = c->servers,
		.n_queries = c->n_queries,
		.query_bytes = c->query_bytes};
	cleanup_buf struct buf text = BUF_INIT(PROMPT_BYTES_MAX);
	if (prompt_write(&prompt, &text) < 0 ||
		dialog_add(&l->dialog, DIALOG_SYSTEM, text.data, text.bytes, NULL) < 0)
		return -ENOMEM;
	cleanup_buf struct buf task = BUF_INIT(2 * NEXT_BYTES);
	int r = buf_add(&task, l->task);
	/* A schema is part of the task, so the model is shown it. The model is not shown other
	 * checks: it would work towards passing the check instead of solving the task. */
	if (r == 0 && l->check.kind == CRITERION_SCHEMA)
		r = buf_addf(
			&task, "\n\nThe answer has to fit this JSON Schema: %s\n", l->check.text);
	return r < 0 ? -ENOMEM
		     : dialog_add(&l->dialog, DIALOG_TASK, buf_str(&task), task.bytes, NULL);
}

static int start(struct loop *l, const struct loop_config *config, struct err *err)
{
	bool is_good = l->task && l->runtime && l->grounding;
	if (is_good && config->past)
		return loop_resume(l, config->past, config->task, err);
	if (is_good && grounding_add(l->grounding, l->task, strlen(l->task)) == 0 && begin(l) == 0)
		return 0;
	return err_set(err, ERR_NO_MEMORY, "no memory for a task");
}

/* Clear the pointers to texts that were borrowed only during loop_open(). */
static void let_go(struct loop_config *c, const struct price *price)
{
	c->task = c->runtime = c->check = c->limits = c->net = c->servers = NULL;
	c->past = NULL;
	c->price = c->price ? price : NULL;
}

static void on_begin(uv_timer_t *timer)
{
	struct loop *l = timer->data;
	uint64_t wall_ms = l->budget.limit[BUDGET_WALL];
	l->started_ms = timer_now();
	if (wall_ms > 0)
		timer_start(timer, on_timer, wall_ms - MIN(wall_ms, l->budget_before_ms), 0);
	loop_continue(l);
}

int loop_open(struct loop **out, uv_loop_t *loop, const struct loop_config *config, struct err *err)
{
	const char *task = config->task ? config->task : "";
	struct criterion check = {0};
	bool is_empty = task[strspn(task, " \t\r\n")] == '\0';
	if (is_empty && (config->task || !config->past))
		return err_set(err, ERR_USAGE, "the task is empty");
	if (config->check && criterion_parse(&check, config->check, err) < 0)
		return -EINVAL;
	struct loop *l = xnew(struct loop);
	*l = (struct loop){.uv = loop,
		.config = *config,
		.task = strdup(task),
		.runtime = strdup(config->runtime ? config->runtime : "python"),
		.check = check,
		.best_of = config->hooks.branch ? MIN(MAX(config->best_of, 1U), LOOP_CANDIDATES_MAX)
						: 1,
		.dialog = DIALOG_INIT,
		.budget = config->budget,
		.spent = BUDGET_NONE,
		.no_images = config->no_images,
		.price = config->price ? *config->price : (struct price){0},
		.grounding = grounding_new(),
		.context_tokens =
			config->context_tokens ? config->context_tokens : LOOP_CONTEXT_TOKENS,
		.next = BUF_INIT(NEXT_BYTES),
		.stream = {.loop = l, .text = BUF_INIT(REPLY_TEXT_BYTES)}};
	(void)uv_timer_init(loop, &l->timer);
	l->timer.data = l;
	int r = start(l, config, err);
	if (r < 0) {
		loop_close(l);
		return r;
	}
	let_go(&l->config, &l->price);
	l->started_ms = timer_now();
	timer_start(&l->timer, on_begin, 0, 0);
	*out = l;
	return 0;
}
