/* One of several candidates for a step: its reply, its branch, its record and its rank.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/loop_round.h"

#include "agent/answer/block.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 200 };

static struct candidate *candidate_at(const struct loop *l, unsigned place)
{
	return l->round && place > 0 && place <= l->round->n ? &l->round->v[place - 1] : NULL;
}

/* ---- running a candidate: reply, branch, step, check ---- */

bool candidate_is_code(const struct candidate *c)
{
	return c->text && c->found.kind == EXTRACT_CODE;
}

static bool is_half(const struct candidate *c)
{
	return candidate_is_code(c) && !c->found.is_closed &&
		(c->stop == REPLY_LENGTH || c->is_cut);
}

bool candidate_is_text(const struct candidate *c)
{
	return c->text && c->found.kind == EXTRACT_TEXT && c->stop != REPLY_REFUSAL;
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
		.place = c->stream.place};
	c->state = CANDIDATE_RUNNING;
	c->number = l->last_number + c->stream.place;
	l->n_steps++;
	l->round->n_ran++;
	l->budget.used[BUDGET_STEPS]++;
	loop_tell_code(l, c->stream.place, c->number, &order);
	if (l->state != LOOP_TRYING)
		return;
	if (l->config.hooks.run(l->config.hooks.arg, &order, &err) < 0)
		refuse(l, c, &err);
}

/* Run the user's check of @answer in the candidate's branch. @bundle is the argument of
 * final_answer(), or NULL. */
static void check(struct loop *l, struct candidate *c, const char *answer, const json_t *bundle)
{
	struct err err;
	cleanup_buf struct buf code = BUF_INIT(REPLY_TEXT_BYTES);
	struct loop_code order = {.place = c->stream.place, .is_check = true};
	order.runtime = criterion_code(
		&l->check, answer, json_object_get(bundle, "application/json"), &code);
	order.code = buf_str(&code);
	order.bytes = code.bytes;
	c->state = CANDIDATE_CHECKING;
	if (!order.runtime)
		loop_fail_memory(l);
	else if (l->config.hooks.run(l->config.hooks.arg, &order, &err) < 0)
		refuse(l, c, &err);
}

/* Return whether the user's check runs code. A command checks the workspace, so it is run after
 * every step. A Python expression checks an answer, so it is run only if there is one. */
static bool is_checked_by_running(const struct loop *l, bool is_answer)
{
	return l->check.kind == CRITERION_COMMAND ||
		(l->check.kind == CRITERION_PYTHON && is_answer);
}

/* Continue with a candidate that now has its branch: run its code there, or check its answer. */
static void go_on(struct loop *l, struct candidate *c)
{
	if (c->is_stopped)
		c->state = CANDIDATE_DONE;
	else if (candidate_is_code(c))
		run(l, c);
	else
		check(l, c, c->answer, NULL);
}

static void branch(struct loop *l, struct candidate *c)
{
	struct err err;
	c->state = CANDIDATE_BRANCHING;
	if (l->config.hooks.branch(l->config.hooks.arg, c->stream.place, &err) < 0)
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
	loop_round_settle(l);
}

static void take_record(struct loop *l, struct candidate *c, const json_t *record)
{
	const json_t *bundle;
	c->record = json_incref(json_unconst(record));
	c->state = CANDIDATE_DONE;
	bundle = bundle_of(c);
	if (strcmp(status_of(record), "ok") == 0 && !c->is_stopped &&
		is_checked_by_running(l, bundle != NULL)) {
		char *words = answer_words(bundle);
		if (words)
			check(l, c, words, bundle);
		else
			loop_fail_memory(l);
		free(words);
	}
}

static void take_verdict(struct loop *l, struct candidate *c, const json_t *record)
{
	bool is_good = strcmp(status_of(record), "ok") == 0;
	c->verdict = is_good ? VERDICT_PASSED : VERDICT_FAILED;
	c->checked = json_incref(json_unconst(record));
	c->state = CANDIDATE_DONE;
	loop_tell_of(
		l, c->stream.place, json_pack("{s:s, s:b}", "event", "check", "passed", is_good));
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
	loop_round_settle(l);
}

/* Find the code or the answer in the candidate's reply. Returns: 0, -ENOMEM. */
static int read_reply(struct candidate *c)
{
	extract_code(c->text, strlen(c->text), &c->found);
	c->answer = reply_behind_thoughts(c->text);
	return candidate_is_code(c) ? extract_write(&c->code, c->text, &c->found) : 0;
}

void candidate_replied(void *arg, struct reply *reply, const struct failure *why)
{
	struct reply_stream *s = arg;
	struct candidate *c = container_of(s, struct candidate, stream);
	struct loop *l = s->loop;
	s->call = NULL;
	l->n_replies++;
	loop_count_usage(l, reply);
	l->round->usage.input += reply->usage.input;
	l->round->usage.output += reply->usage.output;
	l->round->usage.is_estimated |= reply->usage.is_estimated;
	c->state = CANDIDATE_DONE;
	c->stop = reply->stop;
	c->is_cut = s->text.bytes > LOOP_REPLY_BYTES;
	bool is_other = false;
	c->text = why ? NULL : block_text(reply, &is_other);
	if (c->text && is_other)
		c->text[0] = '\0'; /* treat a call of an unknown tool like an empty reply */
	if (why && why->class == FAILURE_REPLAY) {
		/* The model is a recording, and the recording does not fit this run. So end the
		 * loop. */
		loop_fail(l, &why->err);
		return;
	}
	if (why) {
		c->why = *why;
	} else if (!c->text || read_reply(c) < 0) {
		loop_fail_memory(l);
		return;
	} else {
		const struct whole_reply said = {.text = c->text, .stop = c->stop};
		loop_note_images(l);
		reply_stream_flush(s);
		loop_tell_message(l, s->place, &said, &reply->usage);
		if (l->state != LOOP_TRYING)
			return;
		if ((candidate_is_code(c) && !is_half(c)) ||
			(candidate_is_text(c) && is_checked_by_running(l, true)))
			branch(l, c);
	}
	loop_round_settle(l);
}

/* ---- rank and description of a candidate ---- */

bool candidate_is_answer(const struct candidate *c)
{
	return candidate_is_text(c) || bundle_of(c);
}

/* Return whether the candidate's answer has ungrounded numbers or violates the schema. */
static bool is_bad_answer(struct loop *l, const struct candidate *c)
{
	struct err err;
	const json_t *bundle = bundle_of(c);
	char *words = answer_words(bundle);
	const char *text = bundle && words ? words : bundle ? "" : c->answer;
	cleanup_json json_t *misses = l->config.is_grounded && !grounding_is_full(l->grounding)
		? answer_misses(l->grounding, text, bundle ? buf_str(&c->code) : NULL)
		: NULL;
	bool is_bad = json_array_size(misses) > 0 ||
		(l->check.kind == CRITERION_SCHEMA &&
			criterion_fit(&l->check, text, json_object_get(bundle, "application/json"),
				&err) < 0);
	free(words);
	return is_bad;
}

enum vote_rank candidate_rank(struct loop *l, const struct candidate *c)
{
	if (!candidate_is_text(c) && !c->record)
		return VOTE_NONE;
	if (candidate_is_text(c) && c->is_refused)
		return VOTE_FAILED;
	if (c->record && strcmp(status_of(c->record), "ok") != 0)
		return VOTE_FAILED;
	if (candidate_is_answer(c) && (c->verdict == VERDICT_FAILED || is_bad_answer(l, c)))
		return VOTE_FAILED;
	bool fits = candidate_is_answer(c) && l->check.kind == CRITERION_SCHEMA;
	return c->verdict == VERDICT_PASSED || fits ? VOTE_PASSED : VOTE_GOOD;
}

/* Return how the candidate ended: the status of its record, or else a word such as "refused". */
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
	return candidate_is_text(c)	   ? "answer"
		: is_half(c)		   ? "cut"
		: c->stop == REPLY_REFUSAL ? "declined"
					   : "empty";
}

json_t *candidate_shown(const struct candidate *c)
{
	const char *text = c->value;
	return text && *text ? json_stringn(text, utf8_cut(text, strlen(text), SHOWN_BYTES)) : NULL;
}

json_t *candidate_json(const struct candidate *c)
{
	const char *why = c->is_refused ? c->err.msg : c->why.err.code ? c->why.err.msg : NULL;
	json_t *out = json_pack("{s:I, s:s, s:s, s:o*, s:s*}", "candidate",
		(json_int_t)c->stream.place, "status", word_of(c), "rank", vote_rank_word(c->rank),
		"value", candidate_shown(c), "message", why);
	if (c->number > 0)
		json_put_int(out, "number", c->number);
	if (c->verdict != VERDICT_NONE)
		json_put_bool(out, "passed", c->verdict == VERDICT_PASSED);
	return out;
}

bool candidate_has_moved(const struct candidate *c)
{
	const char *outcome =
		json_string_value(json_object_get(json_object_get(c->record, "state"), "outcome"));
	return c->record && outcome && strcmp(outcome, "rolled_back") != 0 &&
		strcmp(outcome, "lost") != 0;
}
