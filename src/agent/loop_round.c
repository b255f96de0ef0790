/*
 * A step of several candidates: asked at once, each run in a branch of its own, the best kept.
 *
 * Theory of operation. Each candidate goes its own way, ASKING, BRANCHING, RUNNING, CHECKING, as
 * far as it comes. When all are done they are compared (agent/vote.h), the session goes on as the
 * branch of the best, and what that one said and did is taken as the step. Who heard none of this
 * heard of one candidate only: what is of the others was told as theirs.
 *
 * Where no branch can be made, the first candidate's code is run in the session itself, and from
 * then on there is one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/extract.h"
#include "agent/loop_inside.h"
#include "agent/vote.h"

#include "base/attr.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 200 };

enum candidate_state {
	CANDIDATE_ASKING,
	CANDIDATE_BRANCHING,
	CANDIDATE_RUNNING,
	CANDIDATE_CHECKING,
	CANDIDATE_DONE
};

struct candidate {
	struct hearing heard;
	enum candidate_state state;
	char *text; /* the reply; NULL: there was none */
	enum reply_stop stop;
	bool is_cut;
	struct extract found;
	const char *answer; /* of a reply without code: within `text` */
	struct buf code;
	bool is_stopped, is_refused, has_branch;
	unsigned number; /* of its step; 0: none ran */
	json_t *record, *checked;
	enum verdict verdict;
	struct failure why; /* there was no reply */
	struct err err;	    /* it could not be tried */
	enum vote_rank rank;
	char *value; /* what it says, as it is compared */
};

struct round {
	struct candidate *v;
	unsigned n, n_ran, n_branches;
	bool is_stopped, is_concluded;
	struct wire_usage usage;
	int winner; /* or -1 */
	struct vote vote;
};

static struct candidate *candidate_at(const struct loop *l, unsigned place)
{
	return l->round && place > 0 && place <= l->round->n ? &l->round->v[place - 1] : NULL;
}

static void conclude(struct loop *l);

/* Are all done? */
static void settle(struct loop *l)
{
	const struct round *r = l->round;
	if (l->state != LOOP_TRYING || r->is_concluded)
		return;
	for (unsigned i = 0; i < r->n; i++)
		if (r->v[i].state != CANDIDATE_DONE)
			return;
	conclude(l);
}

/* ---- one of them: a reply, a branch, a step, a check ---- */

static bool is_code(const struct candidate *c)
{
	return c->text && c->found.kind == EXTRACT_CODE;
}

static const char *status_of(const json_t *record)
{
	const char *status = json_string_value(json_object_get(record, "status"));
	return status ? status : "";
}

static const json_t *bundle_of(const struct candidate *c)
{
	return strcmp(status_of(c->record), "ok") == 0 ? answer_find(c->record) : NULL;
}

static void refuse(struct loop *l, struct candidate *c, const struct err *err)
{
	l->round->n_branches -= c->has_branch;
	c->has_branch = false;
	c->err = *err;
	c->is_refused = true;
	c->state = CANDIDATE_DONE;
}

static void run(struct loop *l, struct candidate *c)
{
	struct err err;
	const struct loop_code order = {.runtime = c->found.runtime,
		.code = buf_str(&c->code),
		.bytes = c->code.bytes,
		.place = c->heard.place};
	c->state = CANDIDATE_RUNNING;
	c->number = ++l->n_steps;
	l->round->n_ran++;
	l->budget.used[BUDGET_STEPS]++;
	loop_tell_code(l, c->heard.place, c->number, &order);
	if (l->state != LOOP_TRYING)
		return;
	if (l->config.hooks.run(l->config.hooks.arg, &order, &err) < 0)
		refuse(l, c, &err);
}

/* What it says is an answer; @bundle of final_answer(), or NULL. */
static void check(struct loop *l, struct candidate *c, const char *answer, const json_t *bundle)
{
	struct err err;
	cleanup_buf struct buf code = BUF_INIT(REPLY_TEXT_BYTES);
	struct loop_code order = {.place = c->heard.place, .is_check = true};
	order.runtime = criterion_code(
		&l->check, answer, json_object_get(bundle, "application/json"), &code);
	order.code = buf_str(&code);
	order.bytes = code.bytes;
	c->state = CANDIDATE_CHECKING;
	if (!order.runtime)
		loop_starve(l);
	else if (l->config.hooks.run(l->config.hooks.arg, &order, &err) < 0)
		refuse(l, c, &err);
}

/* A command looks at what was done, answer or not. */
static bool is_checked_by_running(const struct loop *l, bool is_answer)
{
	return l->check.kind == CRITERION_COMMAND ||
		(l->check.kind == CRITERION_PYTHON && is_answer);
}

/* It has its branch, if it needs one. */
static void go_on(struct loop *l, struct candidate *c)
{
	if (c->is_stopped)
		c->state = CANDIDATE_DONE;
	else if (is_code(c))
		run(l, c);
	else
		check(l, c, c->answer, NULL);
}

static void branch(struct loop *l, struct candidate *c)
{
	struct err err;
	c->state = CANDIDATE_BRANCHING;
	if (l->config.hooks.branch(l->config.hooks.arg, c->heard.place, &err) < 0)
		refuse(l, c, &err);
}

void loop_branched(struct loop *l, unsigned place, const struct err *err)
{
	struct candidate *c = candidate_at(l, place);
	if (l->state != LOOP_TRYING || !c || c->state != CANDIDATE_BRANCHING)
		return;
	if (err) {
		refuse(l, c, err);
	} else {
		c->has_branch = true;
		l->round->n_branches++;
		go_on(l, c);
	}
	settle(l);
}

static void take_record(struct loop *l, struct candidate *c, const json_t *record)
{
	const json_t *bundle;
	c->record = json_incref((json_t *)(uintptr_t)record);
	c->state = CANDIDATE_DONE;
	bundle = bundle_of(c);
	if (strcmp(status_of(record), "ok") == 0 && !c->is_stopped &&
		is_checked_by_running(l, bundle != NULL))
		check(l, c, bundle ? answer_words(bundle) : "", bundle);
}

static void take_verdict(struct loop *l, struct candidate *c, const json_t *record)
{
	bool is_good = strcmp(status_of(record), "ok") == 0;
	c->verdict = is_good ? VERDICT_PASSED : VERDICT_FAILED;
	c->checked = json_incref((json_t *)(uintptr_t)record);
	c->state = CANDIDATE_DONE;
	loop_tell_of(
		l, c->heard.place, json_pack("{s:s, s:b}", "event", "check", "passed", is_good));
}

void loop_round_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err)
{
	struct candidate *c = candidate_at(l, place);
	if (l->state != LOOP_TRYING || !c)
		return;
	if (!record)
		refuse(l, c, err);
	else if (c->state == CANDIDATE_RUNNING)
		take_record(l, c, record);
	else if (c->state == CANDIDATE_CHECKING)
		take_verdict(l, c, record);
	settle(l);
}

static bool is_half(const struct candidate *c)
{
	return is_code(c) && !c->found.is_closed && (c->stop == REPLY_LENGTH || c->is_cut);
}

static bool is_said(const struct candidate *c)
{
	return c->text && c->found.kind == EXTRACT_TEXT && c->stop != REPLY_REFUSAL;
}

/* Returns: 0, -ENOMEM. */
static int read_reply(struct candidate *c)
{
	extract_code(c->text, strlen(c->text), &c->found);
	c->answer = reply_behind_thoughts(c->text);
	return is_code(c) ? extract_write(&c->code, c->text, &c->found) : 0;
}

static void on_done(void *arg, struct reply *reply, const struct failure *why)
{
	struct hearing *h = arg;
	struct candidate *c = container_of(h, struct candidate, heard);
	struct loop *l = h->loop;
	h->call = NULL;
	l->n_replies++;
	loop_count_usage(l, reply);
	l->round->usage.input += reply->usage.input;
	l->round->usage.output += reply->usage.output;
	l->round->usage.is_estimated |= reply->usage.is_estimated;
	c->state = CANDIDATE_DONE;
	c->stop = reply->stop;
	c->is_cut = h->said.bytes > LOOP_REPLY_BYTES;
	c->text = why ? NULL : reply_text(reply);
	if (why && why->class == FAILURE_REPLAY) {
		loop_fail(l, &why->err); /* what was recorded is another run */
		return;
	}
	if (why) {
		c->why = *why;
	} else if (!c->text || read_reply(c) < 0) {
		loop_starve(l);
		return;
	} else {
		const struct said said = {.text = c->text, .stop = c->stop};
		loop_hear_rest(h);
		loop_tell_message(l, h->place, &said, &reply->usage);
		if (l->state != LOOP_TRYING)
			return;
		if ((is_code(c) && !is_half(c)) || (is_said(c) && is_checked_by_running(l, true)))
			branch(l, c);
	}
	settle(l);
}

/* ---- all of them ---- */

static void tell_asked(struct loop *l, unsigned n)
{
	loop_tell(l,
		json_pack("{s:s, s:s, s:I}", "event", "candidates", "state", "asked", "asked",
			(json_int_t)n));
}

int loop_round_ask(struct loop *l, const struct wire_request *q, unsigned n, struct err *err)
{
	struct round *r = calloc(1, sizeof *r);
	struct wire_watch watch = loop_watch;
	watch.done = on_done;
	if (!r || !(r->v = calloc(n, sizeof *r->v))) {
		free(r);
		return err_set(err, ERR_NO_MEMORY, "no memory for candidates");
	}
	loop_round_free(l->round);
	l->round = r;
	l->state = LOOP_TRYING;
	l->n_interrupts = 0;
	r->n = n;
	for (unsigned i = 0; i < n; i++) {
		r->v[i].heard = (struct hearing){
			.loop = l, .place = i + 1, .said = BUF_INIT(REPLY_TEXT_BYTES)};
		r->v[i].code = BUF_INIT(REPLY_TEXT_BYTES);
	}
	tell_asked(l, n);
	for (unsigned i = 0; i < n && l->state == LOOP_TRYING; i++) {
		watch.arg = &r->v[i].heard;
		int bad = wire_ask(l->config.wire, q, &watch, &r->v[i].heard.call, err);
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
		if (l->round->v[i].heard.call)
			wire_cancel(take_ptr(l->round->v[i].heard.call));
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
	settle(l);
}

void loop_round_free(struct round *r)
{
	for (unsigned i = 0; r && i < r->n; i++) {
		struct candidate *c = &r->v[i];
		buf_done(&c->heard.said);
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

/* ---- the best of them ---- */

static bool is_answer(const struct candidate *c)
{
	return is_said(c) || bundle_of(c);
}

/* Does the answer have numbers that come from nowhere, or miss the schema? */
static bool is_bad_answer(struct loop *l, const struct candidate *c)
{
	struct err err;
	const json_t *bundle = bundle_of(c);
	const char *text = bundle ? answer_words(bundle) : c->answer;
	json_t *misses = l->config.is_grounded
		? answer_misses(l->grounding, text, bundle ? buf_str(&c->code) : NULL)
		: NULL;
	bool is_bad = json_array_size(misses) > 0;
	json_decref(misses);
	return is_bad ||
		(l->check.kind == CRITERION_SCHEMA &&
			criterion_fit(&l->check, text, json_object_get(bundle, "application/json"),
				&err) < 0);
}

static enum vote_rank rank_of(struct loop *l, const struct candidate *c)
{
	if (!is_said(c) && !c->record)
		return VOTE_NONE;
	if (is_said(c) && c->is_refused)
		return VOTE_FAILED;
	if (c->record && strcmp(status_of(c->record), "ok") != 0)
		return VOTE_FAILED;
	if (is_answer(c) && (c->verdict == VERDICT_FAILED || is_bad_answer(l, c)))
		return VOTE_FAILED;
	bool fits = is_answer(c) && l->check.kind == CRITERION_SCHEMA;
	return c->verdict == VERDICT_PASSED || fits ? VOTE_PASSED : VOTE_GOOD;
}

static bool count_votes(struct loop *l, struct ballot *ballots)
{
	struct round *r = l->round;
	for (unsigned i = 0; i < r->n; i++) {
		struct candidate *c = &r->v[i];
		c->value = c->record ? vote_record(c->record)
			: is_said(c) ? vote_text(c->answer)
				     : NULL;
		c->rank = rank_of(l, c);
		ballots[i] = (struct ballot){
			.rank = c->rank, .is_answer = is_answer(c), .value = c->value};
	}
	return vote_count(ballots, r->n, &r->vote);
}

/* How it ended, in a word. */
static const char *word_of(const struct candidate *c)
{
	if (c->record)
		return status_of(c->record);
	if (c->is_refused)
		return "refused";
	if (c->is_stopped)
		return "stopped";
	if (!c->text)
		return "unanswered";
	return is_said(c)		   ? "answer"
		: is_half(c)		   ? "cut"
		: c->stop == REPLY_REFUSAL ? "declined"
					   : "empty";
}

static json_t *shown(const char *text)
{
	return text && *text ? json_stringn(text, utf8_cut(text, strlen(text), SHOWN_BYTES)) : NULL;
}

static json_t *candidate_json(const struct candidate *c)
{
	const char *why = c->is_refused ? c->err.msg : c->why.err.code ? c->why.err.msg : NULL;
	json_t *out = json_pack("{s:I, s:s, s:s, s:o*, s:s*}", "candidate",
		(json_int_t)c->heard.place, "status", word_of(c), "rank", vote_rank_word(c->rank),
		"value", shown(c->value), "message", why);
	if (c->number > 0)
		(void)json_object_set_new(out, "number", json_integer(c->number));
	if (c->verdict != VERDICT_NONE)
		(void)json_object_set_new(
			out, "passed", json_boolean(c->verdict == VERDICT_PASSED));
	return out;
}

static json_t *round_json(const struct round *r, const char *why)
{
	const struct candidate *c = &r->v[r->winner];
	return json_pack("{s:I, s:I, s:I, s:s, s:I, s:I, s:o*, s:{s:I, s:I}}", "asked",
		(json_int_t)r->n, "ran", (json_int_t)r->n_ran, "chosen", (json_int_t)c->heard.place,
		"why", why, "votes", (json_int_t)r->vote.n_votes, "of", (json_int_t)r->vote.n_best,
		"value", shown(c->value), "usage", "input", (json_int_t)r->usage.input, "output",
		(json_int_t)r->usage.output);
}

static void tell_chosen(struct loop *l, const char *why)
{
	const struct round *r = l->round;
	json_t *about = round_json(r, why), *list = json_array();
	json_t *event = json_pack("{s:s, s:s}", "event", "candidates", "state", "chosen");
	for (unsigned i = 0; i < r->n; i++)
		(void)json_array_append_new(list, candidate_json(&r->v[i]));
	if (!l->rounds)
		l->rounds = json_array();
	(void)json_object_update(event, about);
	(void)json_array_append_new(l->rounds, about);
	(void)json_object_set_new(event, "candidates", list);
	loop_tell(l, event);
}

/* Where a branch was refused there is no use in asking for more than had one. */
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

/* Has its branch gone on from where the session stands? */
static bool has_moved(const struct candidate *c)
{
	const char *outcome =
		json_string_value(json_object_get(json_object_get(c->record, "state"), "outcome"));
	return c->record && outcome && strcmp(outcome, "rolled_back") != 0 &&
		strcmp(outcome, "lost") != 0;
}

static void conclude(struct loop *l)
{
	struct round *r = l->round;
	struct ballot ballots[LOOP_CANDIDATES_MAX];
	r->is_concluded = true;
	r->winner = -1;
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
	l->config.hooks.adopt(l->config.hooks.arg, c && has_moved(c) ? c->heard.place : 0);
}

/* What it left in its own branch only is not there any more. */
static json_t *told_record(const struct candidate *c)
{
	json_t *out = json_copy(c->record);
	json_t *state = json_copy(json_object_get(c->record, "state"));
	if (out && state && !has_moved(c))
		(void)json_object_set_new(state, "outcome", json_string("rolled_back"));
	if (out && state)
		(void)json_object_set_new(out, "state", state);
	else
		json_decref(state);
	return out;
}

/* What was told as the candidate's is the step's now. */
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
	json_t *record = told_record(c);
	free(l->code);
	l->code = strndup(code.code, code.bytes);
	l->number = c->number;
	/* It has been counted when it ran. */
	l->budget.used[BUDGET_STEPS]--;
	if (!l->code || !record) {
		loop_starve(l);
	} else {
		loop_tell_code(l, 0, c->number, &code);
		tell_step(l, record);
		if (l->state != LOOP_OVER)
			loop_stepped(l, record);
	}
	json_decref(record);
}

static void take(struct loop *l, const struct round *r, const struct candidate *c)
{
	const struct said said = {.text = c->text, .stop = c->stop, .is_cut = c->is_cut};
	size_t bytes = is_code(c) ? c->found.end : strlen(c->text);
	l->n_empty = 0;
	l->verdict = c->verdict;
	json_decref(l->checked);
	l->checked = json_incref(c->checked);
	loop_tell_message(l, 0, &said, &r->usage);
	if (l->state == LOOP_OVER)
		return;
	if (dialog_add(&l->dialog, DIALOG_SAID, c->text, bytes, NULL) < 0)
		loop_starve(l);
	else if (is_code(c))
		take_step(l, c);
	else
		loop_judge(l, c->answer, NULL, NULL);
}

/* None stands. Where there are no branches, what was said first is done without one; else it is as
 * if that one only had been asked. */
static void take_none(struct loop *l, const struct round *r)
{
	const struct candidate *c = NULL;
	for (unsigned i = 0; i < r->n && !c; i++)
		c = r->v[i].text ? &r->v[i] : NULL;
	if (r->is_stopped) {
		loop_count_failure(l);
		(void)buf_add(&l->next, "The step was stopped before anything came of it.\n");
		loop_ask(l);
	} else if (c) {
		const struct said said = {.text = c->text, .stop = c->stop, .is_cut = c->is_cut};
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
