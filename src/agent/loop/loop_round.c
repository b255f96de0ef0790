/*
 * Best of N: the model is asked for several candidates for one step, and each is run in a branch of
 * its own.
 *
 * Theory of operation. The model is asked the same question N times. Each candidate goes through
 * ASKING, BRANCHING, RUNNING and CHECKING independently of the others. It is DONE early if its
 * reply is empty, its branch is refused or its code is stopped. When all are DONE, they vote
 * (agent/answer/vote.h): among the candidates of the best rank, the most frequent value wins, and
 * the first candidate with this value is chosen. Then the session adopts the branch of that
 * candidate. Its reply and record enter the dialog as if it had been the only one. The dialog has
 * no trace of the other candidates; the user sees them in events that name the candidate.
 *
 * If no branch can be made, the first candidate's code runs in the session itself, and all later
 * steps have one candidate.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/loop/loop_round.h"

#include "base/attr.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static void conclude(struct loop *l);

void loop_round_settle(struct loop *l)
{
	const struct round *r = l->round;
	if (l->state != LOOP_TRYING || r->is_concluded)
		return;
	for (unsigned i = 0; i < r->n; i++)
		if (r->v[i].state != CANDIDATE_DONE)
			return;
	conclude(l);
}

static void tell_asked(struct loop *l, unsigned n)
{
	loop_tell(l,
		json_pack("{s:s, s:s, s:I}", "event", "candidates", "state", "asked", "asked",
			(json_int_t)n));
}

int loop_round_ask(struct loop *l, const struct wire_request *q, unsigned n, struct err *err)
{
	struct round *r = xnew(struct round);
	struct wire_watch watch = loop_watch;
	watch.done = candidate_replied;
	r->v = xcalloc(n, sizeof *r->v);
	loop_round_free(l->round);
	l->round = r;
	l->state = LOOP_TRYING;
	l->n_interrupts = 0;
	r->n = n;
	for (unsigned i = 0; i < n; i++) {
		r->v[i].stream = (struct reply_stream){
			.loop = l, .place = i + 1, .text = BUF_INIT(REPLY_TEXT_BYTES)};
		r->v[i].code = BUF_INIT(REPLY_TEXT_BYTES);
	}
	tell_asked(l, n);
	for (unsigned i = 0; i < n && l->state == LOOP_TRYING; i++) {
		watch.arg = &r->v[i].stream;
		int bad = wire_ask(l->config.wire, q, &watch, &r->v[i].stream.call, err);
		if (bad < 0)
			return bad;
	}
	return 0;
}

bool loop_round_is_asking(const struct loop *l)
{
	for (unsigned i = 0; l->round && i < l->round->n; i++)
		if (l->round->v[i].state != CANDIDATE_ASKING)
			return false;
	return true;
}

void loop_round_cancel(struct loop *l)
{
	for (unsigned i = 0; l->round && i < l->round->n; i++)
		if (l->round->v[i].stream.call)
			wire_cancel(take_ptr(l->round->v[i].stream.call));
}

void loop_round_stop(struct loop *l)
{
	struct round *r = l->round;
	loop_round_cancel(l);
	r->is_stopped = true;
	for (unsigned i = 0; i < r->n; i++) {
		struct candidate *c = &r->v[i];
		c->is_stopped |= c->state != CANDIDATE_DONE;
		if (c->state == CANDIDATE_ASKING)
			c->state = CANDIDATE_DONE;
	}
	l->config.hooks.interrupt(l->config.hooks.arg);
	loop_round_settle(l);
}

void loop_round_free(struct round *r)
{
	for (unsigned i = 0; r && i < r->n; i++) {
		struct candidate *c = &r->v[i];
		buf_done(&c->stream.text);
		buf_done(&c->code);
		free(c->text);
		free(c->value);
		json_decref(c->record);
		json_decref(c->checked);
	}
	if (r)
		free(r->v);
	free(r);
}

/* ---- the vote, and going on with the chosen candidate ---- */

static bool count_votes(struct loop *l, struct ballot *ballots)
{
	struct round *r = l->round;
	for (unsigned i = 0; i < r->n; i++) {
		struct candidate *c = &r->v[i];
		c->value = c->record	       ? vote_record(c->record)
			: candidate_is_text(c) ? vote_text(c->answer)
					       : NULL;
		c->rank = candidate_rank(l, c);
		ballots[i] = (struct ballot){
			.rank = c->rank, .is_answer = candidate_is_answer(c), .value = c->value};
	}
	return vote_count(ballots, r->n, &r->vote);
}

static json_t *round_json(const struct round *r, const char *why)
{
	const struct candidate *c = &r->v[r->winner];
	return json_pack("{s:I, s:I, s:I, s:s, s:I, s:I, s:o*, s:{s:I, s:I}}", "asked",
		(json_int_t)r->n, "ran", (json_int_t)r->n_ran, "chosen",
		(json_int_t)c->stream.place, "why", why, "votes", (json_int_t)r->vote.n_votes, "of",
		(json_int_t)r->vote.n_best, "value", candidate_shown(c), "usage", "input",
		(json_int_t)r->usage.input, "output", (json_int_t)r->usage.output);
}

static void tell_chosen(struct loop *l, const char *why)
{
	const struct round *r = l->round;
	json_t *about = round_json(r, why), *list = json_array();
	json_t *event = json_pack("{s:s, s:s}", "event", "candidates", "state", "chosen");
	for (unsigned i = 0; i < r->n; i++)
		json_add_new(list, candidate_json(&r->v[i]));
	if (!l->rounds)
		l->rounds = json_array();
	(void)json_object_update(event, about);
	json_add_new(l->rounds, about);
	json_put_new(event, "candidates", list);
	loop_tell(l, event);
}

/* If a branch was refused, limit the number of candidates of later steps to the number of
 * branches that could be made. */
static void note_refusals(struct loop *l)
{
	const struct round *r = l->round;
	const struct err *err = NULL;
	for (unsigned i = 0; i < r->n && !err; i++)
		err = r->v[i].is_refused ? &r->v[i].err : NULL;
	if (!err)
		return;
	l->best_of = MAX(MIN(l->best_of, r->n_branches), 1U);
	json_t *about = json_pack("{s:s, s:s, s:s, s:I}", "code", err_word(err->code), "message",
		err->msg, "hint", err->hint, "left", (json_int_t)l->best_of);
	json_t *event = json_pack("{s:s, s:s}", "event", "candidates", "state", "refused");
	(void)json_object_update(event, about);
	json_decref(l->refusal);
	l->refusal = about;
	loop_tell(l, event);
}

static void conclude(struct loop *l)
{
	struct round *r = l->round;
	struct ballot ballots[LOOP_CANDIDATES_MAX];
	r->is_concluded = true;
	r->winner = -1;
	if (r->n_ran > 0)
		l->last_number += r->n;
	note_refusals(l);
	if (l->state != LOOP_TRYING)
		return;
	bool has_refusal = l->best_of == 1;
	if (count_votes(l, ballots) && (r->n_branches > 0 || !has_refusal)) {
		r->winner = (int)r->vote.winner;
		tell_chosen(l, vote_reason(ballots, &r->vote));
	}
	if (l->state != LOOP_TRYING)
		return;
	const struct candidate *c = r->winner < 0 ? NULL : &r->v[r->winner];
	l->state = LOOP_ADOPTING;
	l->config.hooks.adopt(
		l->config.hooks.arg, c && candidate_has_moved(c) ? c->stream.place : 0);
}

/* Return the record of the candidate's step as the model is shown it. If the session does not
 * adopt the candidate's branch, the state of the branch is lost. The record then says that the
 * step was rolled back. */
static json_t *told_record(const struct candidate *c)
{
	json_t *out = json_copy(c->record);
	json_t *state = json_copy(json_object_get(c->record, "state"));
	if (out && state && !candidate_has_moved(c))
		json_put_text(state, "outcome", "rolled_back");
	if (out && state)
		json_put_new(out, "state", state);
	else
		json_decref(state);
	return out;
}

/* Send the events of the chosen candidate's step once more, now as events of the loop's step. */
static void tell_step(struct loop *l, json_t *record)
{
	static const char *const streams[] = {"stdout", "stderr"};
	size_t i;
	json_t *display;
	for (i = 0; i < ARRAY_LEN(streams); i++) {
		json_t *text = json_object_get(record, streams[i]);
		if (json_string_length(text) > 0)
			loop_tell(l, json_pack("{s:s, s:O}", "event", streams[i], "text", text));
	}
	json_array_foreach(json_object_get(record, "displays"), i, display)
		loop_tell(l, json_pack("{s:s, s:O}", "event", "display", "data", display));
	loop_tell(l, json_pack("{s:s, s:O}", "event", "step.finished", "result", record));
}

static void take_step(struct loop *l, const struct candidate *c)
{
	const struct loop_code code = {
		.runtime = c->found.runtime, .code = buf_str(&c->code), .bytes = c->code.bytes};
	cleanup_json json_t *record = told_record(c);
	free(l->code);
	l->code = strndup(code.code, code.bytes);
	l->number = c->number;
	/* run() in loop_candidate.c has already counted this step, and loop_stepped() will count
	 * it once more. So subtract it once. */
	l->budget.used[BUDGET_STEPS]--;
	if (!l->code || !record) {
		loop_fail_memory(l);
	} else {
		loop_tell_code(l, 0, c->number, &code);
		tell_step(l, record);
		if (l->state != LOOP_OVER)
			loop_stepped(l, record);
	}
}

static void take(struct loop *l, const struct round *r, const struct candidate *c)
{
	const struct whole_reply said = {.text = c->text, .stop = c->stop, .is_cut = c->is_cut};
	size_t bytes = candidate_is_code(c) ? c->found.end : strlen(c->text);
	l->n_empty = 0;
	l->verdict = c->verdict;
	json_decref(l->checked);
	l->checked = json_incref(c->checked);
	loop_tell_message(l, 0, &said, &r->usage);
	if (l->state == LOOP_OVER)
		return;
	if (dialog_add(&l->dialog, DIALOG_SAID, c->text, bytes, NULL) < 0)
		loop_fail_memory(l);
	else if (candidate_is_code(c))
		take_step(l, c);
	else
		loop_judge(l, c->answer, NULL, NULL);
}

/* Continue after a round in which no candidate was chosen: act on the first reply as if the
 * model had been asked only once. */
static void take_none(struct loop *l, const struct round *r)
{
	const struct candidate *c = NULL;
	for (unsigned i = 0; i < r->n && !c; i++)
		c = r->v[i].text ? &r->v[i] : NULL;
	if (r->is_stopped) {
		loop_count_failure(l);
		buf_add(&l->next, "The step was stopped before anything came of it.\n");
		loop_ask(l);
	} else if (c) {
		const struct whole_reply said = {
			.text = c->text, .stop = c->stop, .is_cut = c->is_cut};
		loop_tell_message(l, 0, &said, &r->usage);
		if (l->state != LOOP_OVER)
			loop_act(l, &said);
	} else {
		loop_miss(l, &r->v[0].why);
	}
}

void loop_adopted(struct loop *l, const struct err *err)
{
	if (l->state != LOOP_ADOPTING)
		return;
	struct round *r = take_ptr(l->round);
	l->state = LOOP_ASKING;
	if (err)
		loop_fail(l, err);
	else if (l->is_unwanted)
		loop_finish(l, LOOP_INTERRUPTED);
	else if (r->winner >= 0)
		take(l, r, &r->v[r->winner]);
	else
		take_none(l, r);
	loop_round_free(r);
}

json_t *loop_round_result(const struct loop *l)
{
	if (!l->rounds && !l->refusal)
		return NULL;
	return json_pack("{s:I, s:O*, s:O*}", "best_of", (json_int_t)l->config.best_of, "rounds",
		l->rounds, "refused", l->refusal);
}
