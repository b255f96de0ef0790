/* The wire for a recording: the replies are read from a file, and no model is asked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/inside.h"
#include "agent/wire/question.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

int replay_open(struct wire *w, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(RECORDING_BYTES_MAX);
	int r = file_load(&text, w->model.base, "the recording", err);
	return r < 0 ? r : recorded_parse(&w->recording, buf_str(&text), text.bytes, err);
}

/* Prepare a request. The member `body` of @c gets the texts of all messages, the member `own`
 * the text of the last message. */
static int prepare(struct wire_call *c, const struct wire_request *q, struct err *err)
{
	c->body = question_text(q, 0);
	c->own = question_text(q, q->n_messages > 0 ? q->n_messages - 1 : 0);
	c->body_bytes = c->body ? strlen(c->body) : 0;
	return c->body && c->own ? 0 : err_set(err, ERR_NO_MEMORY, "no memory to ask a model");
}

static void start(struct wire_call *c)
{
	struct failure why;
	int r = recorded_answer(&c->wire->recording, c->body, c->own, &c->reduction, &why);
	call_over(c, r < 0 ? &why : NULL);
}

static void stop(struct wire_call *c)
{
	(void)c;
}

static void release(struct wire_call *c)
{
	free(c->own);
}

const struct wire_kind wire_replay = {
	.prepare = prepare, .start = start, .stop = stop, .release = release};
