/* Responses that are JSON. Another thread serializes long ones. SPDX-License-Identifier:
 * Apache-2.0 */
#include "serve/http/inside.h"

#include "api/text/json.h"
#include "serve/http/sse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_BYTES = HTTP_HARD_BYTES / 2 };

static const char media_type[] = "application/json";

struct json_answer {
	struct work work;
	/* The exchange, which this object owns until the text is sent. It has no `gone`
	 * callback. */
	struct http_exchange *x;
	unsigned status;
	const char *event;
	json_t *message, *instead;
	struct buf text;
	int r;
};

static int write_message(struct json_answer *g, const json_t *message)
{
	int r = message ? 0 : -ENOMEM;
	buf_clear(&g->text);
	if (r == 0 && !g->event) {
		r = json_put(&g->text, message);
		return r < 0 ? r : buf_add(&g->text, "\n");
	}
	char *text = message ? json_text(message, JSON_COMPACT) : NULL;
	r = text ? sse_put(&g->text, g->event, text, strlen(text)) : -ENOMEM;
	free(text);
	return r;
}

static void write_text(struct work *work)
{
	struct json_answer *g = container_of(work, struct json_answer, work);
	g->r = write_message(g, g->message);
	/* Freeing a large value takes long, so this worker thread does it. */
	json_decref(g->message);
	if (g->r < 0 && g->instead)
		g->r = write_message(g, g->instead);
}

static void refuse(const struct json_answer *g)
{
	struct err err;
	if (g->r == -E2BIG)
		(void)err_fail(&err, ERR_LIMIT, "ask for a part of it", "the answer is over %d MiB",
			ANSWER_BYTES >> 20);
	else
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for the answer");
	http_refuse(g->x, (unsigned)err_http(err.code), &err);
}

static void send_text(struct json_answer *g)
{
	size_t bytes = g->text.bytes;
	if (g->x->owed.bytes > 0)
		outstanding_set(&g->x->owed, g->x->owed.of, bytes);
	if (g->event) {
		if (g->r == 0)
			(void)http_stream_add(g->x, &g->text);
		http_stream_end(g->x);
	} else if (g->r == 0) {
		http_answer_text(g->x, g->status, media_type, buf_take(&g->text), bytes);
	} else {
		refuse(g);
	}
	buf_done(&g->text);
	json_decref(g->instead);
}

static void on_written(struct work *work)
{
	struct json_answer *g = container_of(work, struct json_answer, work);
	send_text(g);
	free(g);
}

/* Count @message as a long response of the caller, and return it. If the caller leaves too many
 * long responses unread, release @message and return @instead. */
static json_t *count(struct http_exchange *x, json_t *message, json_t **instead)
{
	struct outstanding *of = outstanding_of(x->context);
	if (!outstanding_is_full(of)) {
		outstanding_set(&x->owed, of, json_bytes(message));
		return message;
	}
	json_decref(message);
	return take_ptr(*instead);
}

bool http_is_full(const struct http_exchange *x, const json_t *body)
{
	struct outstanding *of = outstanding_of(x->context);
	return body && of && outstanding_is_full(of) && json_is_long(body, WORK_BYTES);
}

/* Release both messages and end the exchange, because the client has disconnected. */
static void drop(struct http_exchange *x, const char *event, json_t *message, json_t *instead)
{
	json_decref(message);
	json_decref(instead);
	if (event)
		http_stream_end(x);
	else
		http_answer_text(x, 0, media_type, NULL, 0);
}

void http_answer_json(struct http_exchange *x, unsigned status, const char *event, json_t *message,
	json_t *instead)
{
	bool is_long = json_is_long(message, WORK_BYTES);
	http_on_gone(x, NULL, NULL);
	http_on_stop(x, NULL, NULL);
	if (!x->server || !x->connection || x->is_gone) {
		drop(x, event, message, instead);
		return;
	}
	if (is_long)
		message = count(x, message, &instead);
	struct json_answer giving = {.x = x,
		.status = status,
		.event = event,
		.message = message,
		.instead = instead,
		.text = BUF_INIT(ANSWER_BYTES)};
	struct json_answer *later = is_long ? malloc(sizeof *later) : NULL;
	if (later) {
		*later = giving;
		work_begin(
			x->server->config.loop, WORK_WRITE, &later->work, write_text, on_written);
		return;
	}
	write_text(&giving.work);
	send_text(&giving);
}
