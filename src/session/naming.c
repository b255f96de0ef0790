/*
 * The record of a step that has ended gets its name.
 *
 * What came out of a step is made valid UTF-8, written down as JSON and hashed, which takes as long
 * as it is large: half a second for 20 MiB. The loop answers other callers meanwhile, so that is
 * done in the thread pool. The thread has the record for itself: nothing that a box says from then
 * on belongs to the step (STEP_NAMING takes no output and no frame), and what the caller owns
 * (code, inputs) is copied or held.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/naming.h"

#include "session/live.h"

#include <stdlib.h>
#include <string.h>

enum { NAMING_INLINE_BYTES = 256 << 10, FILE_ROW_BYTES = 128 };

struct naming {
	uv_work_t work;
	struct session *session;
	char *code;
	size_t code_bytes;
	json_t *inputs;
};

static size_t record_bytes(const struct session *s)
{
	const struct record *r = &s->record;
	size_t bytes = s->req.code_bytes + r->displays_bytes + r->n_paths * FILE_ROW_BYTES;
	for (size_t i = 0; i < ARRAY_LEN(r->out); i++)
		bytes += r->out[i].head.bytes + r->out[i].tail.bytes;
	return bytes;
}

static void name(struct session *s, const char *code, size_t bytes, const json_t *inputs)
{
	for (size_t i = 0; i < ARRAY_LEN(s->record.out) && !s->is_once; i++)
		capture_settle(&s->record.out[i]);
	record_name(&s->record, s->head, code, bytes, s->req.argv, inputs);
	for (size_t i = 0; i < ARRAY_LEN(s->record.out) && !s->is_once; i++)
		capture_done(&s->record.out[i]); /* `outputs` has it */
}

static void work(uv_work_t *work)
{
	struct naming *n = work->data;
	name(n->session, n->code, n->code_bytes, n->inputs);
}

static void free_naming(struct naming *n)
{
	free(n->code);
	json_decref(n->inputs);
	free(n);
}

static void done(uv_work_t *work, int status)
{
	struct naming *n = work->data;
	struct session *s = n->session;
	(void)status; /* it is never cancelled */
	free_naming(n);
	if (s->state == SESSION_CLOSING) {
		session_handle_gone(s);
		return;
	}
	s->n_handles--;
	step_event(s, STEP_NAMED);
}

static bool start_work(struct session *s)
{
	struct naming *n = calloc(1, sizeof *n);
	if (!n)
		return false;
	*n = (struct naming){.work = {.data = n},
		.session = s,
		.code = malloc(s->req.code_bytes + 1),
		.code_bytes = s->req.code_bytes,
		.inputs = json_incref((json_t *)(uintptr_t)s->req.inputs)};
	if (n->code)
		memcpy(n->code, s->req.code, n->code_bytes);
	if (n->code && uv_queue_work(s->engine->loop, &n->work, work, done) == 0) {
		s->n_handles++;
		return true;
	}
	free_naming(n);
	return false;
}

void naming_start(struct session *s)
{
	/* A session for one step has no other callers, and its arguments are the caller's. */
	if (!s->is_once && record_bytes(s) > NAMING_INLINE_BYTES && start_work(s))
		return;
	name(s, s->req.code, s->req.code_bytes, s->req.inputs);
	step_event(s, STEP_NAMED);
}
