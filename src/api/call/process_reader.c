/*
 * Calls that follow a process: `process.attach`, `process.wait` and `process.write`, and
 * `process.start` with `attach`.
 *
 * An attached client gets output as events. Before each event it is asked whether the client is
 * behind (operation_listener). While it is, nothing is sent, until the connection says that the
 * client has read (operation_resume()), or a timer tries again; the time between two tries grows.
 * Output that the client has not got meanwhile is kept by the process as
 * far as its limit allows, or holds up the program if it was started so (session/process/stream.h).
 * So a client that has stopped reading costs nobody else anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/call/process_reader.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "registry/processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK_BYTES = 64 << 10,
	RAW_BYTES = 64 << 10,
	MEMBERS_BYTES = 160,
	AGAIN_MIN_MS = 1,
	AGAIN_MAX_MS = 100,
};

static const char *const streams[] = {"stdout", "stderr"};

/* A call that follows a process to its end. */
struct following {
	struct process_reader reader;
	struct process *process;
	struct operation_call *call; /* NULL after it was answered */
	uv_timer_t timer;
	uint64_t again_ms;
	uint64_t offset[2];
	bool is_attached, is_raw, is_busy;
	bool is_owner; /* the program is ended with the call */
	char session[ORDER_ID_BYTES];
};

static const char *session_of(struct operation_call *call)
{
	struct err err;
	const char *id = "";
	(void)registry_process_session(
		call->context->registry, param_text(call->params, "session", ""), &id, &err);
	return id;
}

json_t *process_reader_about(struct operation_call *call, const struct process *p)
{
	json_t *out = process_json(p);
	json_put_text(out, "session", session_of(call));
	return out;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Answer the call with what the process is now, and follow it no longer. */
static void finish(struct following *f)
{
	struct operation_call *call = take_ptr(f->call);
	struct process *p = f->process;
	if (!call)
		return;
	process_remove_reader(p, &f->reader);
	if (f->is_attached && --p->n_attached == 0)
		for (unsigned i = 0; i < p->n_out; i++)
			stream_release(&p->out[i]);
	json_t *about = process_json(p);
	json_put_text(about, "session", f->session);
	uv_close((uv_handle_t *)&f->timer, on_timer_closed);
	call_give(call, about, NULL);
}

static void on_cancel(struct operation_call *call)
{
	struct following *f = call->following;
	if (f->is_owner && !process_is_over(f->process))
		process_kill(f->process);
	finish(f);
}

static struct following *follow(struct operation_call *call, struct process *p,
	void (*changed)(struct process_reader *reader))
{
	struct following *f = xnew(struct following);
	*f = (struct following){.process = p, .call = call, .reader = {.changed = changed}};
	/* The session may be closed before the answer. */
	snprintf(f->session, sizeof f->session, "%s", session_of(call));
	(void)uv_timer_init(p->box->engine->loop, &f->timer);
	f->timer.data = f;
	call->following = f;
	call->cancel = on_cancel;
	process_add_reader(p, &f->reader);
	return f;
}

/* ---- attach ---- */

/* Return whether @data is longer as a JSON string than as base64: a control character takes up to
 * six bytes. */
static bool is_dear(const char *data, size_t bytes)
{
	size_t cost = 0;
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)data[i];
		bool is_short = c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f';
		cost += is_short || c == '"' || c == '\\' ? 2 : c < 0x20 ? 6 : 1;
	}
	return cost > base64_bytes(bytes) + 64;
}

size_t process_chunk_json(json_t *out, const char *data, size_t bytes, bool is_end)
{
	/* The last character may be incomplete. */
	size_t whole = is_end ? bytes : bytes - utf8_unfinished(data, bytes);
	cleanup_buf struct buf text = BUF_INIT(base64_bytes(bytes));
	bool is_begun = bytes < UTF8_MAX_BYTES && whole == 0;
	if (is_begun || (!is_dear(data, whole) && utf8_is_valid(data, whole))) {
		json_put_new(out, "data", json_stringn_nocheck(data, whole));
		json_put_text(out, "encoding", "utf-8");
		return whole;
	}
	if (base64_write(&text, data, bytes) == 0)
		json_put_new(out, "data", json_stringn_nocheck(buf_str(&text), text.bytes));
	json_put_text(out, "encoding", "base64");
	return bytes;
}

static bool is_behind(const struct following *f)
{
	const struct operation_listener *listener = &f->call->listener;
	return listener->is_behind && listener->is_behind(listener->arg);
}

/* Note that the output of stream @i was sent up to @offset. */
static void note_sent(struct following *f, unsigned i, uint64_t offset)
{
	f->offset[i] = offset;
	if (f->call)
		stream_take(&f->process->out[i], offset);
}

/* Send the next bytes of stream @i as they are, from where they are kept. Returns: whether there
 * were any. */
static bool send_raw(struct following *f, unsigned i)
{
	const struct operation_listener *listener = &f->call->listener;
	struct process *p = f->process;
	uint64_t at = f->offset[i];
	size_t n = 0;
	const char *data = i < p->n_out ? capture_at(&p->out[i].kept, &at, &n) : "";
	if (n == 0)
		return false;
	n = MIN(n, (size_t)RAW_BYTES);
	char members[MEMBERS_BYTES], cut[MEMBERS_BYTES / 2] = "";
	if (at > f->offset[i])
		snprintf(cut, sizeof cut, "\"cut_bytes\":%" PRIu64 ",", at - f->offset[i]);
	snprintf(members, sizeof members,
		"\"event\":\"output\",\"stream\":\"%s\",\"offset\":%" PRIu64
		",%s\"encoding\":\"raw\",\"bytes\":%zu",
		streams[i], at, cut, n);
	listener->raw(listener->arg, members, data, n);
	note_sent(f, i, at + n);
	return true;
}

/* Send the next chunk of stream @i. Returns: whether there was one. */
static bool send_chunk(struct following *f, unsigned i)
{
	static char chunk[CHUNK_BYTES];
	struct process *p = f->process;
	uint64_t at = f->offset[i];
	size_t n = i < p->n_out ? capture_read(&p->out[i].kept, &at, chunk, sizeof chunk) : 0;
	/* A character may be cut off at the end of what there is now, but not at the end of the
	 * output. */
	bool is_last = process_is_read(p, i, at + n);
	if (n == 0 || (!is_last && n == utf8_unfinished(chunk, n)))
		return false;
	json_t *event = json_need(json_object());
	json_put_text(event, "event", "output");
	json_put_text(event, "stream", streams[i]);
	json_put_int(event, "offset", (int64_t)at);
	if (at > f->offset[i])
		json_put_int(event, "cut_bytes", (int64_t)(at - f->offset[i]));
	uint64_t next = at + process_chunk_json(event, chunk, n, is_last);
	call_event(f->call, event);
	note_sent(f, i, next);
	return true;
}

static void pump(struct following *f);

static void on_again(uv_timer_t *timer)
{
	pump(timer->data);
}

static void send_all(struct following *f)
{
	bool has_sent = true;
	while (f->call && has_sent && !is_behind(f)) {
		has_sent = false;
		for (unsigned i = 0; f->call && i < 2; i++)
			has_sent |= f->is_raw ? send_raw(f, i) : send_chunk(f, i);
		f->again_ms = has_sent ? AGAIN_MIN_MS : f->again_ms;
	}
	if (!f->call)
		return;
	bool is_read = true;
	for (unsigned i = 0; i < 2; i++)
		is_read &= process_is_read(f->process, i, f->offset[i]);
	if (process_is_over(f->process) && is_read) {
		finish(f);
	} else if (is_behind(f)) {
		timer_start(&f->timer, on_again, f->again_ms, 0);
		f->again_ms = MIN(f->again_ms * 2, (uint64_t)AGAIN_MAX_MS);
	}
}

static void pump(struct following *f)
{
	/* An event may be answered during the call, and stream_take() may report more output. */
	if (f->is_busy || !f->call)
		return;
	f->is_busy = true;
	send_all(f);
	f->is_busy = false;
}

static void on_resume(struct operation_call *call)
{
	struct following *f = call->following;
	(void)uv_timer_stop(&f->timer);
	pump(f);
}

static void on_output(struct process_reader *reader)
{
	struct following *f = container_of(reader, struct following, reader);
	if (!uv_is_active((uv_handle_t *)&f->timer) || f->process->is_leaving)
		pump(f);
	/* The process will be freed now. */
	if (f->process->is_leaving)
		finish(f);
}

static void attach(
	struct operation_call *call, struct process *p, const uint64_t offset[2], bool is_owner)
{
	struct following *f = follow(call, p, on_output);
	f->is_attached = true;
	f->is_owner = is_owner;
	f->is_raw = call->listener.raw && param_flag(call->params, "raw");
	call->resume = on_resume;
	f->again_ms = AGAIN_MIN_MS;
	memcpy(f->offset, offset, sizeof f->offset);
	p->n_attached++;
	/* An HTTP client waits for the beginning of the answer, also if the program is silent. */
	call_event(call,
		json_need(json_pack("{s:s, s:s, s:i}", "event", "attached", "process", p->id, "pid",
			(int)p->pid)));
	pump(f);
}

void process_reader_attach(struct operation_call *call, struct process *p, uint64_t stdout_offset,
	uint64_t stderr_offset)
{
	attach(call, p, (const uint64_t[]){stdout_offset, stderr_offset}, false);
}

void process_reader_own(struct operation_call *call, struct process *p)
{
	attach(call, p, (const uint64_t[]){0, 0}, true);
}

/* ---- wait ---- */

static void on_change(struct process_reader *reader)
{
	struct following *f = container_of(reader, struct following, reader);
	if (process_is_over(f->process))
		finish(f);
}

static void on_late(uv_timer_t *timer)
{
	finish(timer->data);
}

void process_reader_wait(struct operation_call *call, struct process *p, uint64_t timeout_ms)
{
	struct following *f = follow(call, p, on_change);
	if (process_is_over(p) || timeout_ms == 0)
		finish(f);
	else if (timeout_ms != UINT64_MAX)
		timer_start(&f->timer, on_late, timeout_ms, 0);
}

/* ---- write ---- */

struct writing {
	struct input_piece piece;
	struct process *process;
	struct operation_call *call;
	char *data;
};

static void end_writing(struct writing *w, const struct err *err)
{
	struct operation_call *call = w->call;
	json_t *out = json_need(json_object());
	json_put_int(out, "bytes", (int64_t)w->piece.at);
	free(w->data);
	free(w);
	if (err) {
		json_decref(out);
		call_fail(call, err);
	} else {
		call_give(call, out, NULL);
	}
}

static void on_written(struct input_piece *piece, const struct err *err)
{
	end_writing(container_of(piece, struct writing, piece), err);
}

static void on_withdrawn(struct operation_call *call)
{
	struct writing *w = call->following;
	struct err err;
	input_withdraw(&w->process->input, &w->piece);
	err_set(&err, ERR_INTERRUPTED, "the call was cancelled after %zu of %zu bytes", w->piece.at,
		w->piece.bytes);
	end_writing(w, &err);
}

void process_reader_write(
	struct operation_call *call, struct process *p, char *data, size_t bytes, bool is_end)
{
	struct writing *w = xnew(struct writing);
	struct err err;
	*w = (struct writing){.process = p,
		.call = call,
		.data = data,
		.piece = {.data = data ? data : "",
			.bytes = bytes,
			.is_end = is_end,
			.done = on_written}};
	call->following = w;
	call->cancel = on_withdrawn;
	if (process_write(p, &w->piece, &err) < 0)
		end_writing(w, &err);
}
