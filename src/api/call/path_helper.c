/*
 * One run of retort-files (drivers/files/main.c).
 *
 * The program is a transient process of the session. Its output is held: it waits while the caller
 * has much unread. When it has ended and all of its output was taken, the call is answered. Its
 * status 0 means that the output is the answer; 1, that a line on stderr is the error. For
 * path.read, stdout has the bytes of the file, and stderr first a line that describes it.
 *
 * A session has a limited number of processes, so only some of its programs run at the same time;
 * the other calls wait in line. Programs that send contents have a number of their own, because
 * they wait for their callers, which may be slow. One whose caller has taken nothing for a while is
 * stalled. It is not counted, so that callers who do not read do not keep others from reading; but
 * if a session has many such programs, the one that has stalled for longest is ended. Watches are
 * not counted: they have no end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/call/path_helper.h"

#include "api/call/path_message.h"
#include "api/call/process_reader.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "registry/processes.h"
#include "session/box/workspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
	ANSWER_BYTES = 16 << 20,
	OUTPUT_BYTES = 256 << 10, /* of each stream that are kept until they are taken */
	ANSWERS_AT_ONCE = 8,
	CONTENTS_AT_ONCE = 24,
	STALLED_MS = 1000,
	STALLED_MAX = 24, /* programs of a session */
	CHUNK_BYTES = 64 << 10,
	MEMBERS_BYTES = 160,
	AGAIN_MIN_MS = 1,
	AGAIN_MAX_MS = 100,
	FAILED = 1, /* exit status: the error is on stderr */
};

struct path_helper {
	struct path_helper *next;      /* in one of the lists below */
	const struct session *session; /* only to compare; NULL: it does not run */
	struct process_reader reader;
	struct process *process;
	struct operation_call *call; /* NULL after it was answered */
	const struct path_use *use;
	struct path_args args;
	struct input_piece piece;
	bool is_piece_waiting, is_raw, is_busy;
	uv_timer_t timer;
	uint64_t again_ms;
	uint64_t moved_ms; /* when the caller has taken something last */
	bool is_stalled;
	uint64_t taken;	  /* bytes of stdout that were taken */
	struct buf lines; /* what was taken of them, except of a file's content */
	struct buf errors;
	uint64_t errors_taken;
	json_t *entry;	/* of the file whose content comes, when it is known */
	uint64_t first; /* offset in that file of the first byte of stdout */
};

/* ---- the line ---- */

/* Those whose programs run, and those that wait, of all sessions. */
static struct path_helper *running, *waiting;

static void append(struct path_helper **list, struct path_helper *h)
{
	while (*list)
		list = &(*list)->next;
	*list = h;
	h->next = NULL;
}

static void remove_from(struct path_helper **list, const struct path_helper *h)
{
	while (*list && *list != h)
		list = &(*list)->next;
	if (*list)
		*list = h->next;
}

/* Return whether the program may begin; true also if the session has gone, as start() then says. */
static bool has_room(const struct path_helper *h)
{
	unsigned n = 0, max = h->use->output == PATH_CONTENT ? CONTENTS_AT_ONCE : ANSWERS_AT_ONCE;
	const char *id;
	struct err err;
	const struct session *s = registry_process_session(
		h->call->context->registry, param_text(h->call->params, "session", ""), &id, &err);
	for (const struct path_helper *at = running; s && at; at = at->next)
		n += at->session == s && at->use->output == h->use->output && !at->is_stalled;
	return h->use->output == PATH_EVENTS || n < max;
}

static void begin(struct path_helper *h);

/* A program has ended: let others begin. */
static void wake(void)
{
	static bool is_awake;
	if (is_awake) /* a program could not begin: the loop below goes on */
		return;
	is_awake = true;
	for (struct path_helper *h = waiting, *next; h; h = next) {
		next = h->next;
		if (!has_room(h))
			continue;
		remove_from(&waiting, h);
		begin(h);
		next = waiting; /* which may have changed */
	}
	is_awake = false;
}

/* ---- the end ---- */

static void release(struct path_helper *h)
{
	buf_done(&h->args.decoded);
	buf_done(&h->lines);
	buf_done(&h->errors);
	json_decref(h->entry);
	free(h);
}

static void on_timer_closed(uv_handle_t *handle)
{
	release(handle->data);
}

/* Answer the call with @result, whose reference is taken, or with @err, and follow the process no
 * longer. */
static void finish(struct path_helper *h, json_t *result, const struct err *err)
{
	struct operation_call *call = take_ptr(h->call);
	struct process *p = h->process;
	process_remove_reader(p, &h->reader);
	if (h->is_piece_waiting)
		input_withdraw(&p->input, &h->piece);
	h->is_piece_waiting = false;
	if (!process_is_over(p))
		process_kill(p);
	if (--p->n_attached == 0)
		for (unsigned i = 0; i < p->n_out; i++)
			stream_release(&p->out[i]);
	remove_from(&running, h);
	uv_close((uv_handle_t *)&h->timer, on_timer_closed);
	call_give(call, result, err);
	wake();
}

static void fail_nonsense(struct path_helper *h)
{
	struct err err;
	err_fail(&err, ERR_PROTOCOL, "a program of the box may have disturbed it",
		"the program that works on files in the box gave a wrong answer");
	finish(h, NULL, &err);
}

static void fail_ended(struct path_helper *h)
{
	struct err err;
	const struct process *p = h->process;
	if (p->cause != PROCESS_EXITED)
		err_fail(&err, ERR_GONE, "call it again, if the session is still open",
			"the session's box ended, or it returned to an earlier state");
	else if (p->is_oom)
		err_fail(&err, ERR_LIMIT, "end some of its programs",
			"the box has no memory left for the program that works on files");
	else if (WIFSIGNALED(p->status))
		err_set(&err, ERR_IO, "the program that works on files was ended by signal %d",
			WTERMSIG(p->status));
	else
		err_set(&err, ERR_IO, "the program that works on files ended with status %d",
			WEXITSTATUS(p->status));
	finish(h, NULL, &err);
}

/* The last line of stderr is the error; path.read may have described the file before. */
static bool read_error(const struct path_helper *h, struct err *err)
{
	const char *text = buf_str(&h->errors);
	size_t bytes = h->errors.bytes;
	if (bytes == 0 || text[bytes - 1] != '\n')
		return false;
	const char *before = memrchr(text, '\n', bytes - 1);
	const char *line = before ? before + 1 : text;
	return path_error(line, (size_t)(text + bytes - 1 - line), err);
}

/* The program has ended, and all of its output was taken. */
static void conclude(struct path_helper *h)
{
	struct err err;
	const struct process *p = h->process;
	bool has_exited = p->cause == PROCESS_EXITED && WIFEXITED(p->status);
	if (has_exited && WEXITSTATUS(p->status) == FAILED && read_error(h, &err)) {
		finish(h, NULL, &err);
		return;
	}
	if (h->use->output == PATH_EVENTS && p->cause == PROCESS_EXITED && p->is_timed_out) {
		finish(h, json_need(json_object()), NULL);
		return;
	}
	if (!has_exited || WEXITSTATUS(p->status) != 0) {
		fail_ended(h);
		return;
	}
	json_t *result = h->use->output == PATH_CONTENT ? json_incref(h->entry)
		: h->use->output == PATH_ANSWER ? h->use->answer(buf_str(&h->lines), h->lines.bytes)
						: NULL;
	if (result)
		finish(h, result, NULL);
	else
		fail_nonsense(h);
}

/* ---- callers who do not read ---- */

/* Note that the caller has taken nothing for STALLED_MS: others may begin. */
static void stall(struct path_helper *h)
{
	struct path_helper *first = h;
	unsigned n = 0;
	struct err err;
	h->is_stalled = true;
	for (struct path_helper *at = running; at; at = at->next) {
		bool is_same = at->session == h->session && at->is_stalled;
		n += is_same;
		if (is_same && at->moved_ms < first->moved_ms)
			first = at;
	}
	if (n <= STALLED_MAX) {
		wake();
		return;
	}
	err_fail(&err, ERR_BUSY, "read what was asked for, or end the call",
		"%u other files of this session are not read by their callers", n - 1);
	finish(first, NULL, &err);
}

/* ---- output ---- */

static bool is_behind(const struct path_helper *h)
{
	const struct operation_listener *listener = &h->call->listener;
	return h->use->output != PATH_ANSWER && listener->is_behind &&
		listener->is_behind(listener->arg);
}

static void note_taken(struct path_helper *h, size_t bytes)
{
	h->taken += bytes;
	h->moved_ms = timer_now();
	h->is_stalled = false;
	if (h->call)
		stream_take(&h->process->out[0], h->taken);
}

static void take_errors(struct path_helper *h)
{
	struct stream *s = &h->process->out[1];
	for (;;) {
		uint64_t at = h->errors_taken;
		size_t n = 0;
		const char *data = h->process->n_out > 1 ? capture_at(&s->kept, &at, &n) : "";
		if (n == 0)
			return;
		(void)buf_append(&h->errors, data, n); /* what is too long is wrong anyway */
		h->errors_taken = at + n;
		stream_take(s, h->errors_taken);
	}
}

/* Learn about the file whose content comes. Returns: whether it is known; false also after the call
 * was answered. */
static bool know_file(struct path_helper *h)
{
	const char *line = buf_str(&h->errors), *end = memchr(line, '\n', h->errors.bytes);
	size_t bytes = end ? (size_t)(end - line) : 0;
	struct err err;
	if (h->entry)
		return true;
	if (bytes == 0 || path_error(line, bytes, &err))
		return false;
	cleanup_json json_t *said = path_line(line, bytes);
	h->entry = path_entry(json_object_get(said, "entry"));
	if (!h->entry || json_get_int(said, "size") < 0) {
		fail_nonsense(h);
		return false;
	}
	json_t *event = json_need(json_object());
	json_put_text(event, "event", "file");
	json_put_int(event, "size", json_get_int(said, "size"));
	json_put_text(event, "mime", workspace_mime(json_get_text(h->entry, "name")));
	json_put_shared(event, "entry", h->entry);
	call_event(h->call, event);
	return h->call != NULL;
}

static bool send_raw(struct path_helper *h, const char *data, size_t bytes)
{
	const struct operation_listener *listener = &h->call->listener;
	char members[MEMBERS_BYTES];
	bytes = MIN(bytes, (size_t)CHUNK_BYTES);
	snprintf(members, sizeof members,
		"\"event\":\"content\",\"offset\":%" PRIu64 ",\"encoding\":\"raw\",\"bytes\":%zu",
		h->first + h->taken, bytes);
	listener->raw(listener->arg, members, data, bytes);
	note_taken(h, bytes);
	return true;
}

static bool send_chunk(struct path_helper *h)
{
	static char chunk[CHUNK_BYTES];
	uint64_t at = h->taken;
	size_t n = capture_read(&h->process->out[0].kept, &at, chunk, sizeof chunk);
	bool is_last = process_is_read(h->process, 0, at + n);
	/* A character may be cut off at the end of what there is now. */
	if (n == 0 || (!is_last && n == utf8_unfinished(chunk, n)))
		return false;
	json_t *event = json_need(json_object());
	json_put_text(event, "event", "content");
	json_put_int(event, "offset", (int64_t)(h->first + at));
	size_t sent = process_chunk_json(event, chunk, n, is_last);
	call_event(h->call, event);
	note_taken(h, sent);
	return true;
}

/* Send the events that are complete. */
static bool send_lines(struct path_helper *h, const char *data, size_t bytes)
{
	const char *end = memchr(data, '\n', bytes);
	size_t n = end ? (size_t)(end - data) : bytes;
	bool is_kept = buf_append(&h->lines, data, n) == 0 && h->lines.bytes <= PATH_LINE_BYTES;
	cleanup_json json_t *said =
		end && is_kept ? path_line(buf_str(&h->lines), h->lines.bytes) : NULL;
	json_t *event = said ? path_event(said) : NULL;
	if (!is_kept || (end && !event)) {
		fail_nonsense(h);
		return false;
	}
	if (event) {
		buf_clear(&h->lines);
		call_event(h->call, event);
	}
	note_taken(h, n + (end != NULL));
	return true;
}

static bool keep(struct path_helper *h, const char *data, size_t bytes)
{
	if (buf_append(&h->lines, data, bytes) < 0) {
		fail_nonsense(h);
		return false;
	}
	note_taken(h, bytes);
	return true;
}

/* Take some of the output. Returns: whether there was some; false after the call was answered. */
static bool take_some(struct path_helper *h)
{
	uint64_t at = h->taken;
	size_t n = 0;
	take_errors(h);
	if (h->use->output == PATH_CONTENT && !know_file(h))
		return false;
	const char *data =
		h->process->n_out > 0 ? capture_at(&h->process->out[0].kept, &at, &n) : "";
	if (n == 0)
		return false;
	if (h->use->output == PATH_ANSWER)
		return keep(h, data, n);
	if (h->use->output == PATH_EVENTS)
		return send_lines(h, data, n);
	return h->is_raw ? send_raw(h, data, n) : send_chunk(h);
}

static void on_again(uv_timer_t *timer);

static void take_all(struct path_helper *h)
{
	bool is_more = true;
	while (h->call && is_more && !is_behind(h)) {
		is_more = take_some(h);
		h->again_ms = is_more ? AGAIN_MIN_MS : h->again_ms;
	}
	if (!h->call)
		return;
	const struct process *p = h->process;
	/* Without a description, no content is taken. */
	bool is_read =
		process_is_read(p, 0, h->taken) || (h->use->output == PATH_CONTENT && !h->entry);
	if (process_is_over(p) && is_read && process_is_read(p, 1, h->errors_taken)) {
		conclude(h);
	} else if (is_behind(h)) {
		timer_start(&h->timer, on_again, h->again_ms, 0);
		h->again_ms = MIN(h->again_ms * 2, (uint64_t)AGAIN_MAX_MS);
		if (!h->is_stalled && h->use->output == PATH_CONTENT &&
			timer_since(h->moved_ms) >= STALLED_MS)
			stall(h);
	}
}

static void pump(struct path_helper *h)
{
	/* An event may cancel the call, and stream_take() may report more output. */
	if (h->is_busy || !h->call)
		return;
	h->is_busy = true;
	take_all(h);
	h->is_busy = false;
}

static void on_again(uv_timer_t *timer)
{
	pump(timer->data);
}

static void on_resume(struct operation_call *call)
{
	struct path_helper *h = call->following;
	(void)uv_timer_stop(&h->timer);
	pump(h);
}

static void on_output(struct process_reader *reader)
{
	struct path_helper *h = container_of(reader, struct path_helper, reader);
	if (!uv_is_active((uv_handle_t *)&h->timer) || h->process->is_leaving)
		pump(h);
	/* The process will be freed now. */
	if (h->call && h->process->is_leaving)
		fail_ended(h);
}

/* ---- the start ---- */

static void on_cancel(struct operation_call *call)
{
	struct path_helper *h = call->following;
	struct err err;
	err_set(&err, ERR_INTERRUPTED, "the call was cancelled");
	/* Nothing else ends a watch. */
	finish(h, h->use->output == PATH_EVENTS ? json_need(json_object()) : NULL, &err);
}

static void on_written(struct input_piece *piece, const struct err *err)
{
	struct path_helper *h = container_of(piece, struct path_helper, piece);
	(void)err; /* the program says what was wrong */
	h->is_piece_waiting = false;
}

static void give_up(struct path_helper *h, const struct err *err)
{
	struct operation_call *call = h->call;
	remove_from(&running, h);
	remove_from(&waiting, h);
	release(h);
	call_fail(call, err);
	wake();
}

static void follow(struct path_helper *h, struct process *p)
{
	struct operation_call *call = h->call;
	struct err err;
	h->process = p;
	h->moved_ms = timer_now();
	(void)uv_timer_init(p->box->engine->loop, &h->timer);
	h->timer.data = h;
	h->reader.changed = on_output;
	h->is_raw = call->listener.raw && param_flag(call->params, "raw");
	call->cancel = on_cancel;
	call->resume = on_resume;
	process_add_reader(p, &h->reader);
	p->n_attached++;
	h->is_piece_waiting = h->args.input != NULL;
	h->piece = (struct input_piece){.data = h->args.input,
		.bytes = h->args.input_bytes,
		.is_end = true,
		.done = on_written};
	if (h->args.input && process_write(p, &h->piece, &err) < 0)
		h->is_piece_waiting = false;
	pump(h);
}

static void on_started(void *arg, struct process *p, const struct err *err)
{
	struct path_helper *h = arg;
	struct err gone;
	h->call->cancel = NULL;
	if (!p) {
		give_up(h, err);
	} else if (h->call->is_cancelled) {
		process_kill(p);
		err_set(&gone, ERR_INTERRUPTED, "the call was cancelled");
		give_up(h, &gone);
	} else {
		follow(h, p);
	}
}

/* The program begins at this moment: on_started() ends it. */
static void note_cancelled(struct operation_call *call)
{
	call->is_cancelled = true;
}

static int start(struct path_helper *h, struct err *err)
{
	static const char *const no_environment[] = {NULL};
	struct operation_call *call = h->call;
	const char *id;
	path_add(&h->args, "/retort/files/retort-files");
	int r = h->use->prepare(&h->args, call->params, err);
	if (r < 0)
		return r;
	struct session *s = registry_process_session(
		call->context->registry, param_text(call->params, "session", ""), &id, err);
	if (!s)
		return -1;
	h->session = s;
	if (!session_may_start(s))
		return err_fail(err, ERR_BUSY, "ask again in a moment", "it has no box now");
	const struct process_order order = {.argv = h->args.argv,
		.envp = no_environment,
		.directory = "/home/user", /* not that of an image */
		.has_input = h->args.input != NULL,
		.is_held = true,
		.is_transient = true,
		.timeout_ms = param_count(call->params, "timeout_ms", 0),
		.output_bytes = OUTPUT_BYTES};
	session_start_process(s, &order, on_started, h);
	return 0;
}

static void begin(struct path_helper *h)
{
	struct err err;
	append(&running, h);
	h->call->cancel = note_cancelled;
	if (start(h, &err) < 0)
		give_up(h, &err);
}

static void leave_line(struct operation_call *call)
{
	struct err err;
	(void)err_set(&err, ERR_INTERRUPTED, "the call was cancelled");
	give_up(call->following, &err);
}

static void on_ready(void *arg, const json_t *result, const struct err *wrong)
{
	struct path_helper *h = arg;
	if (!result) {
		give_up(h, wrong);
	} else if (has_room(h)) {
		begin(h);
	} else {
		append(&waiting, h);
		h->call->cancel = leave_line;
	}
}

static void withdraw(struct operation_call *call)
{
	const char *session = param_text(call->params, "session", "");
	(void)registry_withdraw(call->context->registry, session, call->following);
}

void path_run(struct operation_call *call, const struct path_use *use)
{
	struct path_helper *h = xnew(struct path_helper);
	h->call = call;
	h->use = use;
	h->lines = BUF_INIT(ANSWER_BYTES);
	h->errors = BUF_INIT(PATH_LINE_BYTES + CHUNK_BYTES);
	h->again_ms = AGAIN_MIN_MS;
	h->first = param_count(call->params, "offset", 0);
	call->following = h;
	call->cancel = withdraw;
	registry_await_process(
		call->context->registry, param_text(call->params, "session", ""), on_ready, h);
}
