/* What the model says: heard until its first block is whole, then acted upon.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/block.h"
#include "agent/answer/extract.h"
#include "agent/loop/inside.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* How often a reply is looked at for a block of tags; and how often what a model can read is found
 * to be less than we thought. */
enum { LOOKS_MAX = 500, OVERFLOWS_MAX = 3 };

void loop_hear_anew(struct hearing *h)
{
	buf_clear(&h->said);
	h->n_told = h->line_at = h->seen = h->n_looks = 0;
	h->has_tag = false;
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

static void tell_delta(struct hearing *h, const char *event, const char *text, size_t bytes)
{
	if (bytes > 0)
		loop_tell_of(h->loop, h->place,
			json_pack("{s:s, s:o}", "event", event, "text", json_stringn(text, bytes)));
}

void loop_hear_rest(struct hearing *h)
{
	const char *text = buf_str(&h->said) + h->n_told;
	size_t n = whole(text, h->said.bytes - h->n_told);
	tell_delta(h, "model.delta", text, n);
	h->n_told += n;
}

/* May this line end a block? */
static bool is_fence(const char *line, size_t bytes)
{
	size_t n = 0;
	while (n < bytes && n < 3 && line[n] == ' ')
		n++;
	return bytes >= n + 3 && (line[n] == '`' || line[n] == '~') && line[n + 1] == line[n] &&
		line[n + 2] == line[n];
}

/* Is the first block of code whole? Looked at from the line under way on; what belongs to it stays.
 */
static bool is_enough(struct hearing *h)
{
	const char *text = buf_str(&h->said);
	while (h->line_at < h->said.bytes) {
		/* A line may come byte by byte, and be all there is. */
		size_t from = MAX(h->line_at, h->seen), back = from > h->line_at ? from - 1 : from;
		const char *newline = memchr(text + from, '\n', h->said.bytes - from);
		size_t end = newline ? (size_t)(newline + 1 - text) : h->said.bytes;
		h->has_tag = h->has_tag || memmem(text + back, end - back, "</", 2);
		h->seen = end;
		if ((h->has_tag || is_fence(text + h->line_at, end - h->line_at)) &&
			h->n_looks++ < LOOKS_MAX && extract_is_whole(text, end)) {
			h->said.bytes = end;
			h->said.data[end] = '\0';
			return true;
		}
		if (!newline)
			return false;
		h->line_at = end;
		h->has_tag = false;
	}
	return false;
}

static int on_delta(void *arg, struct delta *d)
{
	struct hearing *h = arg;
	size_t before = h->said.bytes;
	if (d->kind == DELTA_REASONING) {
		size_t n = whole(d->text, d->bytes);
		if (utf8_is_valid(d->text, n))
			tell_delta(h, "model.reasoning", d->text, n);
		return 0;
	}
	if (d->kind != DELTA_TEXT)
		return 0;
	if (buf_append(&h->said, d->text, d->bytes) < 0)
		return 1;
	bool is_over = is_enough(h);
	if (is_over)
		d->keep_bytes = h->said.bytes > before ? h->said.bytes - before : 0;
	loop_hear_rest(h);
	return is_over || h->said.bytes > LOOP_REPLY_BYTES;
}

/* Nothing was done with what was heard: it may begin anew. */
static int on_restart(void *arg, const struct failure *why)
{
	struct hearing *h = arg;
	loop_hear_anew(h);
	loop_tell_of(h->loop, h->place,
		json_pack("{s:s, s:s}", "event", "model.restart", "why", failure_word(why->class)));
	return 0;
}

static void on_wait(void *arg, const struct failure *why, int64_t ms)
{
	struct hearing *h = arg;
	loop_tell_of(h->loop, h->place,
		json_pack("{s:s, s:s, s:s, s:I}", "event", "model.wait", "why",
			failure_word(why->class), "message", why->err.msg, "wait_ms",
			(json_int_t)ms));
}

/* ---- when it is there ---- */

void loop_count_usage(struct loop *l, const struct reply *reply)
{
	loop_spend(l, &reply->usage, l->config.price);
	if (!reply->usage.is_estimated)
		dialog_counted(&l->dialog, reply->usage.input);
}

void loop_tell_message(
	struct loop *l, unsigned place, const struct said *said, const struct wire_usage *usage)
{
	json_t *words = json_string(said->text);
	loop_tell_of(l, place,
		json_pack("{s:s, s:o, s:s, s:{s:I, s:I, s:b}}", "event", "model.message", "text",
			words ? words : json_string(""), "stop", reply_stop_word(said->stop),
			"usage", "input", (json_int_t)usage->input, "output",
			(json_int_t)usage->output, "is_estimated", usage->is_estimated));
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

static void run(struct loop *l, const char *text, const struct extract *e)
{
	struct buf code = BUF_INIT(REPLY_TEXT_BYTES);
	if (extract_write(&code, text, e) < 0)
		loop_starve(l);
	else
		loop_run(l, e->runtime, buf_str(&code), code.bytes);
	buf_done(&code);
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

void loop_act(struct loop *l, const struct said *said)
{
	const char *text = said->text;
	struct extract e;
	if (said->is_other && !l->is_last) {
		refuse_call(l, text);
		return;
	}
	extract_code(text, strlen(text), &e);
	if (e.kind == EXTRACT_NOTHING) {
		nudge(l);
		return;
	}
	size_t bytes = e.kind == EXTRACT_CODE ? e.end : strlen(text);
	bool is_half = said->stop == REPLY_LENGTH || said->is_cut;
	l->n_empty = 0;
	if (dialog_add(&l->dialog, DIALOG_SAID, text, bytes, NULL) < 0)
		loop_starve(l);
	else if (e.kind == EXTRACT_TEXT && said->stop == REPLY_REFUSAL)
		loop_finish(l, LOOP_FAILED);
	else if (e.kind == EXTRACT_TEXT && is_half && !l->is_last)
		send_back(l,
			"Your answer was cut, for it was too long, and is not taken. Give a shorter "
			"one; what is long belongs into a file.\n");
	else if (e.kind == EXTRACT_TEXT)
		loop_judge(l, reply_behind_thoughts(text), NULL, NULL);
	else if (l->is_last)
		loop_give_up(l);
	else if (!e.is_closed && is_half)
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

void loop_miss(struct loop *l, const struct failure *why)
{
	if (!ask_shorter(l, why) && !loop_ask_blind(l, why))
		loop_fail(l, &why->err);
}

static void on_done(void *arg, struct reply *reply, const struct failure *why)
{
	struct hearing *h = arg;
	struct loop *l = h->loop;
	bool is_other;
	char *text = block_text(reply, &is_other);
	const struct said said = {.text = text,
		.stop = reply->stop,
		.is_cut = h->said.bytes > LOOP_REPLY_BYTES,
		.is_other = is_other};
	h->call = NULL;
	l->n_replies++;
	loop_count_usage(l, reply);
	if (!text) {
		loop_starve(l);
	} else if (!why) {
		loop_has_seen(l);
		loop_hear_rest(h);
		loop_tell_message(l, 0, &said, &reply->usage);
		loop_act(l, &said);
	} else {
		loop_miss(l, why);
	}
	free(text);
}

const struct wire_watch loop_watch = {
	.on_delta = on_delta, .on_restart = on_restart, .on_wait = on_wait, .done = on_done};
