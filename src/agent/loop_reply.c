/* What the model says: heard until its first block is whole, then acted upon.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/block.h"
#include "agent/extract.h"
#include "agent/loop_inside.h"

#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often a reply is looked at for a block of tags; and how often what a model can read is found
 * to be less than we thought. */
enum { LOOKS_MAX = 500, OVERFLOWS_MAX = 3 };

void loop_hear_anew(struct loop *l)
{
	buf_clear(&l->said);
	l->n_told = l->line_at = l->n_looks = 0;
}

/* ---- while it comes ---- */

/* What of a text can be shown now: a character that is not whole yet waits. */
static size_t whole(const char *text, size_t bytes)
{
	size_t n = bytes;
	int32_t c;
	for (size_t back = 1; back <= UTF8_MAX_BYTES && back <= bytes; back++) {
		unsigned char lead = (unsigned char)text[bytes - back];
		if (lead < 0xc0)
			continue;
		(void)utf8_decode(text + bytes - back, back, &c);
		n = c < 0 ? bytes - back : bytes;
		break;
	}
	return n;
}

static void tell_delta(struct loop *l, const char *event, const char *text, size_t bytes)
{
	if (bytes > 0)
		loop_tell(l,
			json_pack("{s:s, s:o}", "event", event, "text", json_stringn(text, bytes)));
}

static void tell_said(struct loop *l)
{
	const char *text = buf_str(&l->said) + l->n_told;
	size_t n = whole(text, l->said.bytes - l->n_told);
	tell_delta(l, "model.delta", text, n);
	l->n_told += n;
}

/* May this line end a block? */
static bool is_mark(const char *line, size_t bytes)
{
	size_t n = 0;
	while (n < bytes && n < 3 && line[n] == ' ')
		n++;
	bool is_fence = bytes >= n + 3 && (line[n] == '`' || line[n] == '~') &&
		line[n + 1] == line[n] && line[n + 2] == line[n];
	return is_fence || memmem(line, bytes, "</", 2);
}

/* Is the first block of code whole? Looked at from the line under way on; what belongs to it stays.
 */
static bool is_enough(struct loop *l)
{
	const char *text = buf_str(&l->said);
	while (l->line_at < l->said.bytes) {
		const char *line = text + l->line_at;
		const char *newline = memchr(line, '\n', l->said.bytes - l->line_at);
		size_t bytes = newline ? (size_t)(newline + 1 - line) : l->said.bytes - l->line_at;
		if (is_mark(line, bytes) && l->n_looks++ < LOOKS_MAX &&
			extract_is_whole(text, l->line_at + bytes)) {
			l->said.bytes = l->line_at + bytes;
			l->said.data[l->said.bytes] = '\0';
			return true;
		}
		if (!newline)
			return false;
		l->line_at += bytes;
	}
	return false;
}

static int on_delta(void *arg, struct delta *d)
{
	struct loop *l = arg;
	size_t before = l->said.bytes;
	if (d->kind == DELTA_REASONING) {
		size_t n = whole(d->text, d->bytes);
		if (utf8_is_valid(d->text, n))
			tell_delta(l, "model.reasoning", d->text, n);
		return 0;
	}
	if (d->kind != DELTA_TEXT)
		return 0;
	if (buf_append(&l->said, d->text, d->bytes) < 0)
		return 1;
	bool is_over = is_enough(l);
	if (is_over)
		d->keep_bytes = l->said.bytes > before ? l->said.bytes - before : 0;
	tell_said(l);
	return is_over || l->said.bytes > LOOP_REPLY_BYTES;
}

/* Nothing was done with what was heard: it may begin anew. */
static int on_restart(void *arg, const struct failure *why)
{
	struct loop *l = arg;
	loop_hear_anew(l);
	loop_tell(l,
		json_pack("{s:s, s:s}", "event", "model.restart", "why", failure_word(why->class)));
	return 0;
}

static void on_wait(void *arg, const struct failure *why, int64_t ms)
{
	loop_tell(arg,
		json_pack("{s:s, s:s, s:s, s:I}", "event", "model.wait", "why",
			failure_word(why->class), "message", why->err.msg, "wait_ms",
			(json_int_t)ms));
}

/* ---- when it is there ---- */

/* Tokens that were estimated cost what the estimate would. */
static void count_cost(struct loop *l, const struct wire_usage *u)
{
	double usd = l->config.price ? price_of(&l->price, u) : 0;
	l->is_cost_partial = l->is_cost_partial || !l->config.price;
	l->cost_usd += usd;
	l->budget.used[BUDGET_COST] += (uint64_t)ceil(usd * BUDGET_UNITS_PER_USD);
}

static void count_usage(struct loop *l, const struct reply *reply)
{
	const struct wire_usage *u = &reply->usage;
	l->usage.input += u->input;
	l->usage.output += u->output;
	l->usage.cached += u->cached;
	l->usage.reasoning += u->reasoning;
	l->usage.is_estimated |= u->is_estimated;
	l->budget.used[BUDGET_TOKENS] += u->input + u->output;
	count_cost(l, u);
	if (!u->is_estimated)
		dialog_counted(&l->dialog, u->input);
}

static void tell_message(struct loop *l, const char *text, const struct reply *reply)
{
	json_t *words = json_string(text);
	loop_tell(l,
		json_pack("{s:s, s:o, s:s, s:{s:I, s:I, s:b}}", "event", "model.message", "text",
			words ? words : json_string(""), "stop", reply_stop_word(reply->stop),
			"usage", "input", (json_int_t)reply->usage.input, "output",
			(json_int_t)reply->usage.output, "is_estimated",
			reply->usage.is_estimated));
}

static void send_back(struct loop *l, const char *what)
{
	loop_count_failure(l);
	(void)buf_add(&l->next, what);
	loop_ask(l);
}

static void nudge(struct loop *l)
{
	if (l->is_last)
		loop_give_up(l);
	else if (++l->n_empty > LOOP_NUDGES)
		loop_finish(l, LOOP_FAILED);
	else
		send_back(l,
			"Your reply was empty. Write one fenced block of code, or your answer in "
			"plain text.\n");
}

/* Thoughts are not part of an answer. */
static const char *behind_thoughts(const char *text)
{
	const char *at;
	while ((at = strstr(text, "</think>")))
		text = at + strlen("</think>");
	return text + strspn(text, " \t\r\n");
}

static void run(struct loop *l, const char *text, const struct extract *e)
{
	struct buf code = BUF_INIT(REPLY_TEXT_BYTES);
	if (extract_write(&code, text, e) < 0)
		loop_starve(l);
	else
		loop_run(l, e->runtime, buf_str(&code), code.bytes);
	buf_done(&code);
}

static void act(struct loop *l, const char *text, const struct reply *reply)
{
	struct extract e;
	extract_code(text, strlen(text), &e);
	if (e.kind == EXTRACT_NOTHING) {
		nudge(l);
		return;
	}
	size_t bytes = e.kind == EXTRACT_CODE ? e.end : strlen(text);
	l->n_empty = 0;
	if (dialog_add(&l->dialog, DIALOG_SAID, text, bytes, NULL) < 0)
		loop_starve(l);
	else if (e.kind == EXTRACT_TEXT && reply->stop == REPLY_REFUSAL)
		loop_finish(l, LOOP_FAILED);
	else if (e.kind == EXTRACT_TEXT)
		loop_judge(l, behind_thoughts(text), NULL, NULL);
	else if (l->is_last)
		loop_give_up(l);
	else if (!e.is_closed && (reply->stop == REPLY_LENGTH || l->said.bytes > LOOP_REPLY_BYTES))
		send_back(l,
			"Your reply was cut, for it was too long, and the code was not run. Write a "
			"shorter block: one small step.\n");
	else
		run(l, text, &e);
}

/* It can read less than we thought. Returns: whether it was asked again. */
static bool ask_shorter(struct loop *l, const struct failure *why)
{
	uint64_t tokens = dialog_tokens(&l->dialog);
	if (why->class != FAILURE_CONTEXT || l->n_overflows++ >= OVERFLOWS_MAX)
		return false;
	uint64_t said = why->context_tokens > 0 ? (uint64_t)why->context_tokens : 0;
	uint64_t context = said > 0 && said < tokens ? said : tokens / 4 * 3;
	l->context_tokens = MIN(l->context_tokens, context);
	if (dialog_compact(&l->dialog, l->context_tokens) == 0)
		return false;
	loop_ask(l);
	return true;
}

/* It calls what it was not given. */
static void refuse_call(struct loop *l, const char *text)
{
	if (text[0] && dialog_add(&l->dialog, DIALOG_SAID, text, strlen(text), NULL) < 0)
		loop_starve(l);
	else
		send_back(l,
			"There is no such tool: nothing can be called here. Write one fenced block of "
			"code, or your answer in plain text.\n");
}

static void on_done(void *arg, struct reply *reply, const struct failure *why)
{
	struct loop *l = arg;
	bool is_other;
	char *text = block_text(reply, &is_other);
	l->call = NULL;
	l->n_replies++;
	count_usage(l, reply);
	if (!text) {
		loop_starve(l);
	} else if (!why) {
		loop_has_seen(l);
		tell_said(l);
		tell_message(l, text, reply);
		if (is_other && !l->is_last)
			refuse_call(l, text);
		else
			act(l, text, reply);
	} else if (!ask_shorter(l, why) && !loop_ask_blind(l, why)) {
		loop_fail(l, &why->err);
	}
	free(text);
}

const struct wire_watch loop_watch = {
	.on_delta = on_delta, .on_restart = on_restart, .on_wait = on_wait, .done = on_done};
