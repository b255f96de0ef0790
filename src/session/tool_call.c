/*
 * Handles tool calls of code in a box, to tools and to retort's own functions.
 *
 * A TOOL frame of the driver becomes a call. The session keeps the call until the response, or
 * until the step is stopped. The event `call` asks the session's owner for the response. The owner
 * passes the call to a gate or, when a step runs again, takes the response from the journal.
 *
 * The step's log lists each call, with a digest of the response that the box got. When the step
 * runs again, the responses must have the same digests, so the bytes of a response are stored
 * before the box gets it.
 *
 * A call gets one response, a value or an error, by tool_call_answer(). If the step ends first, the
 * call is cancelled instead, and the event `cancel` is the last one about it. The owner may close
 * the session or respond to other calls during `call` and `cancel`, so lists are searched again
 * after each event.
 *
 * While calls are pending, the wall clock of the step is paused (step_pause(), step_resume()).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/tool_call.h"

#include "base/alloc.h"
#include "base/json.h"

#include "session/box/stdin_queue.h"
#include "session/inside.h"
#include "session/tool_frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_BYTES = 4096 }; /* space that is kept free, so that an error response always fits */

struct waiting {
	struct tool_call call;
	struct waiting *next;
	struct session *session;
	struct tool_frame frame;
	int64_t place; /* index of the call in the step's log */
	uint64_t asked_ns;
	bool is_held;	   /* the call pauses the wall clock */
	bool is_told;	   /* the listener gets events about the call */
	bool is_cancelled; /* `cancel` was called */
};

json_t *tool_call_error(const char *name, const char *message, const char *hint)
{
	return json_pack(
		"{s:{s:s, s:s, s:s*}}", "error", "name", name, "message", message, "hint", hint);
}

/* ---- responses to the box ---- */

static json_t *lost(const char *message)
{
	return tool_call_error("ToolLost", message, NULL);
}

static bool is_error(const json_t *error)
{
	static const char *const names[] = {
		"ToolError", "ToolDenied", "ToolArgumentError", "ToolLost", "ToolLimit"};
	const char *name = json_get_text(error, "name");
	const json_t *hint = json_object_get(error, "hint");
	if (!json_is_string(json_object_get(error, "message")) || (hint && !json_is_string(hint)) ||
		json_object_size(error) != 2U + (hint != NULL))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Convert the response @answer to text and drop its reference. If it has the wrong shape, the
 * text is an error. */
static char *text_of(json_t *answer)
{
	bool is_good = json_object_size(answer) == 1 &&
		(json_object_get(answer, "value") || is_error(json_object_get(answer, "error")));
	char *text = is_good ? json_dumps(answer, JSON_COMPACT) : NULL;
	json_decref(answer);
	if (text)
		return text;
	cleanup_json json_t *error = lost("the answer had the wrong shape");
	return json_dumps(error, JSON_COMPACT);
}

static char *replace(char *text, json_t *by)
{
	free(text);
	return text_of(by);
}

static bool is_error_text(const char *text)
{
	return strncmp(text, "{\"error\"", strlen("{\"error\"")) == 0;
}

/* Return the size of the value in the response @text; 0 for an error. */
static size_t value_bytes(const char *text)
{
	return is_error_text(text) ? 0 : strlen(text) - strlen("{\"value\":}");
}

static struct driver *driver_of(const struct session *s)
{
	return s->step_driver ? s->step_driver->driver : NULL;
}

static char *fit(const struct session *s, char *text)
{
	static const char hint[] = "ask for less at a time: a filter, a page, a limit";
	const struct driver *d = driver_of(s);
	size_t bytes = strlen(text);
	if (bytes + SMALL_BYTES > FRAME_MAX_BYTES)
		return replace(
			text, tool_call_error("ToolLimit", "the answer is over 32 MiB", hint));
	if (d && bytes > SMALL_BYTES && bytes + SMALL_BYTES > driver_room(d))
		return replace(text,
			tool_call_error("ToolLimit",
				"64 MiB of answers already wait to be read in the box", hint));
	return text;
}

/* Send the response @text to the box, with the member "call": @number. If that fails, the code
 * in the box waits for the response until the step's time limit. */
static void send_answer(struct session *s, uint64_t number, const char *text)
{
	struct err none;
	char head[40];
	size_t bytes = strlen(text);
	int n = snprintf(head, sizeof head, "{\"call\":%llu,", (unsigned long long)number);
	char *both = driver_of(s) ? malloc((size_t)n + bytes) : NULL;
	if (!both)
		return;
	memcpy(both, head, (size_t)n);
	memcpy(both + n, text + 1, bytes - 1);
	(void)driver_send_text(driver_of(s), FRAME_TOOL_RESULT, both, (size_t)n + bytes - 1, &none);
	free(both);
}

/* Respond with @error (reference taken) to a call for which no `struct waiting` was made.
 * Nothing is stored. */
static void send_refusal(struct session *s, uint64_t number, json_t *error)
{
	char *text = text_of(error);
	if (text)
		send_answer(s, number, text);
	free(text);
}

/* ---- pending calls ---- */

static void unlink_waiting(struct waiting *w)
{
	struct tool_calls *c = &w->session->calls;
	struct waiting **at = &c->first;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	c->n--;
	c->bytes -= w->frame.bytes;
	c->parts -= w->frame.parts;
	if (w->is_held && --c->n_held == 0)
		step_resume(w->session);
}

static void free_waiting(struct waiting *w)
{
	tool_frame_done(&w->frame);
	free(w);
}

static void taint(struct session *s)
{
	for (struct waiting *w = s->calls.first; w; w = w->next)
		w->call.is_tainted = true;
}

static bool is_kept(const struct session *s, const char *text, bool is_untrusted)
{
	struct err err;
	return !s->events.keep ||
		s->events.keep(s->events.arg, text, strlen(text), is_untrusted, &err) >= 0;
}

/*
 * Store the response before the box gets it, because the responses of the log must be available
 * when the step runs again. If storing fails, the response becomes an error that does not tell the
 * reason. Returns: the response's text.
 */
static char *keep(struct waiting *w, char *text, bool is_untrusted)
{
	struct session *s = w->session;
	if (is_kept(s, text, is_untrusted)) {
		if (is_untrusted)
			taint(s);
	} else {
		text = replace(text, lost("the engine could not keep the answer"));
		if (!text || !is_kept(s, text, false)) {
			tool_log_answer(&s->record.tools, w->place, NULL, 0, true);
			return text;
		}
	}
	size_t bytes = value_bytes(text);
	s->calls.answer_bytes += bytes;
	tool_log_answer(&s->record.tools, w->place, text, bytes, is_error_text(text));
	return text;
}

static json_t *event_of(const struct waiting *w, const char *state)
{
	json_t *event = json_need(json_object());
	json_put_text(event, "tool", w->call.name);
	json_put_int(event, "call", (int64_t)w->frame.number);
	json_put_text(event, "state", state);
	return event;
}

/* Pass @event (reference taken) to the listener, which may close the session. */
static void tell(const struct session *s, json_t *event)
{
	if (s->listener && s->listener->tool && event)
		s->listener->tool(s->listener->arg, event);
	json_decref(event);
}

static json_t *finished_event(const struct waiting *w, const char *text)
{
	json_t *event = event_of(w, "finished");
	cleanup_json json_t *answer =
		text && is_error_text(text) ? json_loads(text, 0, NULL) : NULL;
	json_put_int(event, "ms", (int64_t)((uv_hrtime() - w->asked_ns) / 1000000));
	json_put_shared(event, "error", json_object_get(json_object_get(answer, "error"), "name"));
	return event;
}

void tool_call_answer(struct tool_call *call, json_t *answer, bool is_untrusted)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was answered is not in the list */
	if (call->answered) {
		call->answered(call, answer);
		json_decref(answer);
		return;
	}
	struct waiting *w = container_of(call, struct waiting, call);
	struct session *s = w->session;
	char *text = text_of(answer);
	unlink_waiting(w);
	text = text ? fit(s, text) : NULL;
	text = text ? keep(w, text, is_untrusted) : NULL;
	if (text)
		send_answer(s, w->frame.number, text);
	json_t *event = w->is_told ? finished_event(w, text) : NULL;
	free(text);
	free_waiting(w);
	tell(s, event);
}

/* ---- calls from the box ---- */

static json_t *check(const struct session *s, const struct tool_frame *f)
{
	const struct tool_calls *c = &s->calls;
	if (s->step_state != STEP_RUNNING)
		return lost("the step is being stopped");
	if (c->n == TOOL_CALLS_MAX)
		return tool_call_error("ToolLimit", "64 calls wait for their answers already",
			"wait for some before making more");
	if (c->bytes + f->bytes > CALLS_HELD_BYTES || c->parts + f->parts > CALLS_HELD_PARTS)
		return tool_call_error("ToolLimit",
			"the arguments of the calls that wait are too large together",
			"wait for some before making more");
	if (c->answer_bytes > CALLS_STEP_BYTES)
		return tool_call_error("ToolLimit",
			"the answers in this step are over 256 MiB already",
			"go on in another step");
	return NULL;
}

void tool_call_deny(struct tool_call *call)
{
	if (call->answered) {
		tool_call_answer(call, tool_call_error("ToolDenied", CONNECT_NOBODY, NULL), false);
		return;
	}
	tool_call_answer(call,
		tool_call_error("ToolDenied", "there are no tools",
			"start retort with --tools FILE; a program may also define a variable "
			"tools of its own"),
		false);
}

static void link_waiting(struct waiting *w)
{
	struct tool_calls *c = &w->session->calls;
	struct waiting **at = &c->first;
	while (*at)
		at = &(*at)->next;
	*at = w;
	c->n++;
	c->bytes += w->frame.bytes;
	c->parts += w->frame.parts;
}

/* Make a pending call that takes over the contents of @f. Returns: NULL if memory is exhausted. */
static struct waiting *hold(struct session *s, struct tool_frame *f)
{
	size_t bytes;
	int64_t place = tool_log_add(&s->record.tools, f->name, f->arguments, &bytes);
	if (place < 0)
		return NULL;
	struct waiting *w = xnew(struct waiting);
	*w = (struct waiting){.session = s,
		.frame = *f,
		.place = place,
		.asked_ns = uv_hrtime(),
		.call = {
			.session = s->id, .owner = "", .name = f->name, .arguments = f->arguments}};
	*f = (struct tool_frame){0};
	link_waiting(w);
	return w;
}

/* Return whether @w is still pending. A listener may have closed the session, which ends the
 * call. */
static bool is_waiting(const struct session *s, const struct waiting *w)
{
	const struct waiting *at = s->calls.first;
	while (at && at != w)
		at = at->next;
	return at != NULL;
}

static void ask(struct waiting *w)
{
	struct session *s = w->session;
	w->is_held = !s->step->is_again;
	if (w->is_held && s->calls.n_held++ == 0)
		step_pause(s);
	w->is_told = tool_log_tells(w->call.name);
	tell(s, w->is_told ? event_of(w, "started") : NULL);
	if (!is_waiting(s, w))
		return;
	if (s->events.call)
		s->events.call(s->events.arg, &w->call);
	else
		tool_call_deny(&w->call);
}

static void take(struct session *s, struct tool_frame *f)
{
	uint64_t number = f->number;
	json_t *refusal = check(s, f);
	struct waiting *w = hold(s, f);
	if (w && !refusal) {
		ask(w);
	} else if (w) {
		tool_call_answer(&w->call, refusal, false);
	} else {
		json_decref(refusal);
		send_refusal(s, number, lost("the engine has no memory for the call"));
	}
}

int tool_calls_take(struct session_driver *p, const struct frame *frame, struct err *err)
{
	struct session *s = p->session;
	struct tool_frame f;
	int r = tool_frame_read(&f, frame->data, frame->bytes, err);
	if (r == 0 && f.number <= p->last_call)
		r = err_set(err, ERR_PROTOCOL, "call %llu after call %llu",
			(unsigned long long)f.number, (unsigned long long)p->last_call);
	if (r < 0) {
		tool_frame_done(&f);
		return r;
	}
	p->last_call = f.number;
	if (f.step != s->step_id || !s->began_ns)
		; /* ignore a call of another step */
	else if (++s->calls.n_made > CALLS_STEP_MAX)
		send_refusal(s, f.number,
			tool_call_error("ToolLimit", "the step has made 10000 calls already",
				"go on in another step"));
	else if (f.error)
		send_refusal(s, f.number, take_ptr(f.error));
	else
		take(s, &f);
	tool_frame_done(&f);
	return 0;
}

/* ---- cancelled calls, and waiting for stdin ---- */

static void cancel(struct waiting *w)
{
	const struct session *s = w->session;
	bool is_known = !w->is_cancelled;
	w->is_cancelled = true;
	if (s->events.cancel && is_known)
		s->events.cancel(s->events.arg, &w->call);
}

/* Return the first call that was not cancelled. Search again after each event `cancel`, because
 * the owner may respond to other calls during this event. */
static struct waiting *first_asked(const struct session *s)
{
	struct waiting *w = s->calls.first;
	while (w && w->is_cancelled)
		w = w->next;
	return w;
}

static void go_on(struct session *s)
{
	if (!s->calls.is_reading)
		return;
	s->calls.is_reading = false;
	if (--s->calls.n_held == 0)
		step_resume(s);
}

static void on_written(void *arg)
{
	go_on(arg);
}

/* Return whether the step can wait for a client to write stdin. This is so if the client can
 * still write to the stdin, all text written so far was read, and a listener can tell the client
 * that the step waits. */
static bool can_be_written(const struct session *s)
{
	const struct stdin_queue *in = s->step->stdin_queue;
	return in && stdin_queue_is_open(in) && stdin_queue_unread(in) == 0 && s->listener &&
		s->listener->waiting;
}

void tool_calls_read(struct session *s)
{
	if (s->step_state == STEP_STOPPING)
		step_interrupt_again(s);
	if (s->calls.is_reading || s->step_state != STEP_RUNNING || !can_be_written(s))
		return;
	/* Set is_reading before the listener is called, because the listener may write text at
	 * once. on_written() then ends the pause only if is_reading is set. */
	s->calls.is_reading = true;
	if (s->calls.n_held++ == 0)
		step_pause(s);
	stdin_queue_watch(s->step->stdin_queue, on_written, s);
	s->listener->waiting(s->listener->arg);
}

bool tool_calls_stop(struct session *s)
{
	for (struct waiting *w; (w = first_asked(s));)
		cancel(w);
	return s->calls.first != NULL;
}

void tool_calls_refuse(struct session *s)
{
	while (s->calls.first)
		tool_call_answer(&s->calls.first->call, lost("the step is being stopped"), false);
}

void tool_calls_end(struct session *s)
{
	go_on(s);
	if (s->step && s->step->stdin_queue)
		stdin_queue_watch(s->step->stdin_queue, NULL, NULL);
	while (s->calls.first) {
		struct waiting *w = s->calls.first;
		unlink_waiting(w);
		cancel(w);
		tool_log_answer(&s->record.tools, w->place, NULL, 0, true);
		free_waiting(w);
	}
}
