/*
 * Process.StreamInput of the front "e2b": one request with input for a program, for as long as its
 * client likes.
 *
 * The body is a stream of envelopes, as rpc.c describes them. The first message names the process;
 * each of the others is input, or says that the client is still there. A message is written before
 * the next one is taken from the connection, so a program that does not read holds its client up.
 * At the end of the stream, the program's input stays open.
 *
 * Source: e2b-dev/infra, packages/envd/internal/services/process/input.go.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE_BYTES = 64 << 10, MESSAGE_BYTES = 4 << 20 };

struct input_stream {
	struct front_call *c;
	char process[64];  /* its id; "" until the first message has come */
	struct buf unread; /* what has come and is not used up */
	const char *word;  /* of Connect, if a write has failed; then `message`, too */
	char message[ERR_MSG_BYTES];
	/* is_busy: advance() is at work, and takes note itself of what else happens. */
	bool is_writing, is_busy;
};

/* ---- the end ---- */

/* Release all but the call, which the caller must answer. */
static struct front_call *release(struct input_stream *in)
{
	struct front_call *c = in->c;
	buf_done(&in->unread);
	free(in);
	return c;
}

/* Returns: false, as the stream is over. */
static bool refuse(struct input_stream *in, const char *word, const char *message)
{
	char copy[ERR_MSG_BYTES];
	snprintf(copy, sizeof copy, "%s", message);
	e2b_stream_refuse(release(in), word, copy);
	return false;
}

static void on_gone(void *arg)
{
	struct input_stream *in = arg;
	in->c->x = NULL;
	if (in->is_writing)
		front_cancel(in->c); /* on_written() follows */
	else if (!in->is_busy)
		(void)front_take(release(in));
}

static void on_stop(void *arg)
{
	struct input_stream *in = arg;
	if (in->is_writing)
		front_cancel(in->c);
	else if (!in->is_busy)
		(void)refuse(in, "unavailable", "the engine is being stopped");
}

/* All has come, and was written. */
static bool finish(struct input_stream *in)
{
	if (in->unread.bytes > 0)
		return refuse(in, "invalid_argument", "the stream ends within a message");
	if (!in->process[0])
		return refuse(in, "invalid_argument", "the stream has no message `start`");
	struct e2b_stream *s = e2b_stream_open(release(in), "", NULL);
	(void)e2b_stream_send(s, json_object());
	e2b_stream_end(s, NULL, NULL);
	return false;
}

/* ---- messages ---- */

static void advance(struct input_stream *in);

static void on_written(struct front_call *c, const json_t *result, const struct err *err)
{
	struct input_stream *in = c->own;
	in->is_writing = false;
	if (!result) {
		in->word = e2b_input_word(err);
		snprintf(in->message, sizeof in->message, "%s", err->msg);
	}
	if (!in->is_busy)
		advance(in);
}

static bool take_start(struct input_stream *in, const json_t *start)
{
	struct err err;
	struct e2b_sandbox *s = e2b_find(in->c->state->own, json_get_text(in->c->kept, "sandbox"));
	const struct e2b_process *p =
		s ? e2b_find_process(s, json_object_get(start, "process"), &err) : NULL;
	if (!s)
		return refuse(in, "unavailable", "the sandbox is gone");
	if (!p)
		return refuse(in, e2b_rpc_word(err.code), err.msg);
	snprintf(in->process, sizeof in->process, "%s", p->id);
	return true;
}

/* Returns: false if the stream is over. */
static bool take_message(struct input_stream *in, const json_t *message)
{
	const json_t *start = json_object_get(message, "start");
	const json_t *data = json_object_get(message, "data");
	if (!in->process[0])
		return json_is_object(start)
			? take_start(in, start)
			: refuse(in, "invalid_argument", "the first message is not `start`");
	if (start)
		return refuse(in, "invalid_argument", "the stream has two messages `start`");
	if (!data)
		return json_object_get(message, "keepalive") ||
			refuse(in, "invalid_argument",
				"a message is `start`, `data` or `keepalive`");
	json_t *params = json_need(json_pack("{s:O, s:s}", "session",
		json_object_get(in->c->kept, "sandbox"), "process", in->process));
	if (!e2b_put_input(params, json_object_get(data, "input"))) {
		json_decref(params);
		return refuse(in, "invalid_argument", E2B_WRONG_INPUT);
	}
	in->is_writing = true;
	front_operate(in->c, "process.write", params, on_written);
	return true;
}

/* Take a message from what has come; *@is_short: it has not come as a whole. Returns: false if the
 * stream is over. */
static bool read_message(struct input_stream *in, bool *is_short)
{
	struct e2b_envelope e;
	*is_short = !e2b_read_envelope(&e, buf_str(&in->unread), in->unread.bytes);
	if (e.is_compressed)
		return refuse(in, "unimplemented", "messages must not be compressed");
	if (e.bytes > MESSAGE_BYTES)
		return refuse(in, "resource_exhausted", "a message has over 4 MiB");
	if (*is_short)
		return true;
	json_t *message = json_loadb(e.data, e.bytes, JSON_REJECT_DUPLICATES, NULL);
	buf_consume(&in->unread, e.all_bytes);
	bool may_go_on = json_is_object(message)
		? take_message(in, message)
		: refuse(in, "invalid_argument", "a message of the stream is not a JSON object");
	json_decref(message);
	return may_go_on;
}

/* Take more of the body; *@is_short: there is none now. Returns: false if the stream is over. */
static bool take_more(struct input_stream *in, bool *is_short)
{
	char piece[PIECE_BYTES];
	ssize_t n = in->c->x ? http_take_body(in->c->x, piece, sizeof piece) : -EAGAIN;
	*is_short = n == -EAGAIN;
	if (n == 0)
		return finish(in);
	if (n > 0 && buf_append(&in->unread, piece, (size_t)n) < 0)
		return refuse(in, "resource_exhausted", "no memory for a message");
	return true;
}

/* Do what can be done now. The stream may be over afterwards. */
static void advance(struct input_stream *in)
{
	bool is_short = false;
	in->is_busy = true;
	while (!in->is_writing && !in->word && in->c->x && !is_short)
		if (!read_message(in, &is_short) || (is_short && !take_more(in, &is_short)))
			return;
	in->is_busy = false;
	if (in->is_writing)
		return;
	if (!in->c->x)
		(void)front_take(release(in));
	else if (in->word)
		(void)refuse(in, in->word, in->message);
}

static void on_progress(void *arg)
{
	struct input_stream *in = arg;
	if (!in->is_busy && !in->is_writing)
		advance(in);
}

void e2b_start_stream_input(struct front_call *c)
{
	struct e2b_sandbox *s = e2b_enter(c, E2B_ENVD_PORT);
	if (!s || !e2b_check_type(c, true))
		return;
	struct input_stream *in = xnew(struct input_stream);
	in->c = c;
	in->unread = BUF_INIT(MESSAGE_BYTES + PIECE_BYTES);
	c->kept = json_need(json_pack("{s:s}", "sandbox", s->id));
	c->own = in;
	http_on_gone(c->x, on_gone, in);
	http_on_stop(c->x, on_stop, in);
	http_on_progress(c->x, on_progress, in);
	advance(in);
}
