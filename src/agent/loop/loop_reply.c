/*
 * A reply of the model, from its first byte to the action that the loop takes.
 *
 * While the reply streams in, its last line is examined. If the line may end a block of code (a
 * fence, or "</" of a tag), the text is parsed. If its first block is complete, the reply is cut
 * there and the request is cancelled. The model would only invent text behind the code, because it
 * has not seen the result. A reply is parsed at most LOOKS_MAX times, so that a reply full of
 * fences does not cost quadratic time.
 *
 * Then the loop takes one of these actions:
 * - It runs the code of the reply.
 * - It judges a text without code as the answer.
 * - It sends back, with a remark, a reply that is empty, cut, or calls an unknown tool.
 * - After an error of the server, it asks with a shorter dialog or without images, or it ends.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/answer/block.h"
#include "agent/answer/extract.h"
#include "agent/loop/inside.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/*
 * LOOKS_MAX: how often one reply is parsed for a complete block.
 * OVERFLOWS_MAX: how often a loop shortens the dialog because a server reports that it is too long
 * for the context.
 */
enum { LOOKS_MAX = 500, OVERFLOWS_MAX = 3 };

void reply_stream_reset(struct reply_stream *s)
{
	buf_clear(&s->text);
	s->n_told = s->line_at = s->seen = s->n_looks = 0;
	s->has_tag = false;
}

/* ---- examining a reply while it arrives ---- */

/* Return the number of bytes that can be shown now: without an incomplete UTF-8 character at the
 * end. */
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

static void tell_delta(struct reply_stream *s, const char *event, const char *text, size_t bytes)
{
	if (bytes > 0)
		loop_tell_of(s->loop, s->place,
			json_pack("{s:s, s:o}", "event", event, "text", json_stringn(text, bytes)));
}

void reply_stream_flush(struct reply_stream *s)
{
	const char *text = buf_str(&s->text) + s->n_told;
	size_t n = whole(text, s->text.bytes - s->n_told);
	tell_delta(s, "model.delta", text, n);
	s->n_told += n;
}

/* Return whether the line begins with a fence, which may close a block. */
static bool is_fence(const char *line, size_t bytes)
{
	size_t n = 0;
	while (n < bytes && n < 3 && line[n] == ' ')
		n++;
	return bytes >= n + 3 && (line[n] == '`' || line[n] == '~') && line[n + 1] == line[n] &&
		line[n + 2] == line[n];
}

/* Return whether the first block of code is complete. If so, drop the text behind it. */
static bool is_enough(struct reply_stream *s)
{
	const char *text = buf_str(&s->text);
	while (s->line_at < s->text.bytes) {
		/* A long line may arrive byte by byte, so each byte is searched only once for a
		 * newline. The search for "</" begins one byte earlier, because "<" may have
		 * arrived before "/". */
		size_t from = MAX(s->line_at, s->seen), back = from > s->line_at ? from - 1 : from;
		const char *newline = memchr(text + from, '\n', s->text.bytes - from);
		size_t end = newline ? (size_t)(newline + 1 - text) : s->text.bytes;
		s->has_tag = s->has_tag || memmem(text + back, end - back, "</", 2);
		s->seen = end;
		if ((s->has_tag || is_fence(text + s->line_at, end - s->line_at)) &&
			s->n_looks++ < LOOKS_MAX && extract_is_whole(text, end)) {
			s->text.bytes = end;
			s->text.data[end] = '\0';
			return true;
		}
		if (!newline)
			return false;
		s->line_at = end;
		s->has_tag = false;
	}
	return false;
}

static int on_delta(void *arg, struct delta *d)
{
	struct reply_stream *s = arg;
	size_t before = s->text.bytes;
	if (d->kind == DELTA_REASONING) {
		size_t n = whole(d->text, d->bytes);
		if (utf8_is_valid(d->text, n))
			tell_delta(s, "model.reasoning", d->text, n);
		return 0;
	}
	if (d->kind != DELTA_TEXT)
		return 0;
	if (buf_append(&s->text, d->text, d->bytes) < 0)
		return 1;
	bool is_over = is_enough(s);
	if (is_over)
		d->keep_bytes = s->text.bytes > before ? s->text.bytes - before : 0;
	reply_stream_flush(s);
	return is_over || s->text.bytes > LOOP_REPLY_BYTES;
}

/* Allow the request to be repeated. The part of the reply that arrived had no effect, so drop
 * it. */
static int on_restart(void *arg, const struct failure *why)
{
	struct reply_stream *s = arg;
	reply_stream_reset(s);
	loop_tell_of(s->loop, s->place,
		json_pack("{s:s, s:s}", "event", "model.restart", "why", failure_word(why->class)));
	return 0;
}

static void on_wait(void *arg, const struct failure *why, int64_t ms)
{
	struct reply_stream *s = arg;
	loop_tell_of(s->loop, s->place,
		json_pack("{s:s, s:s, s:s, s:I}", "event", "model.wait", "why",
			failure_word(why->class), "message", why->err.msg, "wait_ms",
			(json_int_t)ms));
}

/* ---- acting on a complete reply, or on a failed request ---- */

void loop_count_usage(struct loop *l, const struct reply *reply)
{
	loop_spend(l, &reply->usage, l->config.price);
	if (!reply->usage.is_estimated)
		dialog_counted(&l->dialog, reply->usage.input);
}

void loop_tell_message(struct loop *l, unsigned place, const struct whole_reply *said,
	const struct wire_usage *usage)
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
	buf_add(&l->next, what);
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
		loop_fail_memory(l);
	else
		loop_run(l, e->runtime, buf_str(&code), code.bytes);
	buf_done(&code);
}

/* Send back a reply that calls a tool that does not exist. */
static void refuse_call(struct loop *l, const char *text)
{
	if (text[0] && dialog_add(&l->dialog, DIALOG_SAID, text, strlen(text), NULL) < 0)
		loop_fail_memory(l);
	else
		send_back(l,
			"There is no such tool: nothing can be called here. Write one fenced block of "
			"code, or your answer in plain text.\n");
}

void loop_act(struct loop *l, const struct whole_reply *said)
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
		loop_fail_memory(l);
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

/* If the server says that the dialog does not fit into the model's context, shorten it and ask
 * again. Returns: whether the model was asked. */
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
	if (!ask_shorter(l, why) && !loop_ask_without_images(l, why))
		loop_fail(l, &why->err);
}

static void on_done(void *arg, struct reply *reply, const struct failure *why)
{
	struct reply_stream *s = arg;
	struct loop *l = s->loop;
	bool is_other;
	char *text = block_text(reply, &is_other);
	const struct whole_reply said = {.text = text,
		.stop = reply->stop,
		.is_cut = s->text.bytes > LOOP_REPLY_BYTES,
		.is_other = is_other};
	s->call = NULL;
	l->n_replies++;
	loop_count_usage(l, reply);
	if (!text) {
		loop_fail_memory(l);
	} else if (!why) {
		loop_note_images(l);
		reply_stream_flush(s);
		loop_tell_message(l, 0, &said, &reply->usage);
		loop_act(l, &said);
	} else {
		loop_miss(l, why);
	}
	free(text);
}

const struct wire_watch loop_watch = {
	.on_delta = on_delta, .on_restart = on_restart, .on_wait = on_wait, .done = on_done};
