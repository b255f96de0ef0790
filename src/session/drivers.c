/*
 * Drivers of a session, one per runtime in use.
 *
 * A driver is started when the session opens, or before the first step of its runtime. It sends
 * READY. Except in `once` mode, it also gets SETUP: the session's name, the modules to import, and,
 * for a runtime whose state is a text, the state that the last driver sent. The driver responds
 * with DONE.
 *
 * After a committed step, session_driver_ask_guard() sends CHECKPOINT, and the driver responds with
 * GUARD. A Python driver has then cloned itself, and GUARD has the clone's process id. Other
 * runtimes send STATE before RESULT if their state has changed: a text from which a new driver can
 * continue.
 *
 * A driver can end at any time. The session handles the end as follows:
 *
 * - While the driver runs a step, its end is an event of the step (STEP_EXITED).
 * - During a rollback that replaces the driver, its end is expected.
 * - Between two steps, the driver's guard replaces it (transaction_revive()). If there is no guard,
 *   the session's state is lost.
 * - After a step of the driver, while the session commits the step or rolls it back, the end is
 *   ignored at first. The state after the step has no name yet, so the session could not go back to
 *   it. session_notice() handles the end later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/inside.h"

#include "base/fd.h"
#include "base/json.h"
#include "runtime/start.h"
#include "session/step/report.h"
#include "session/step_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATE_BYTES_MAX = 4 << 20, NAMES_MAX = 200, NAMES_MS = 5000 };

struct session_driver *python_driver(struct session *s)
{
	return &s->drivers[runtime_index(runtime_by_name("python"))];
}

static struct session_driver *session_driver_of(struct session *s, const struct runtime *runtime)
{
	struct session_driver *p = &s->drivers[runtime_index(runtime)];
	p->session = s;
	p->runtime = runtime;
	return p;
}

/* Return the largest size of a process that may be cloned. Process and clone together must fit
 * into the memory limit. */
static uint64_t guard_bytes(const struct session *s)
{
	return s->limits.value[LIMIT_memory_bytes] / 2;
}

/* ---- frames from a driver, and its end ---- */

static json_t *parse(const struct frame *frame, struct err *err)
{
	json_t *said = json_loadb(frame->data, frame->bytes, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(said))
		return said;
	json_decref(said);
	err_set(err, ERR_PROTOCOL, "a frame of type %u that is not an object", frame->type);
	return NULL;
}

static uint64_t id_of(const json_t *said)
{
	return strtoull(json_get_text(said, "id"), NULL, 10);
}

static int take_state(struct session_driver *p, const struct frame *frame, struct err *err)
{
	struct loss_text loss;
	cleanup_json json_t *said = parse(frame, err);
	const char *state = json_string_value(json_object_get(said, "state"));
	size_t bytes = json_string_length(json_object_get(said, "state"));
	int r = said ? 0 : -EPROTO;
	if (said && (!state || bytes > STATE_BYTES_MAX || strlen(state) != bytes))
		r = err_set(err, ERR_PROTOCOL, "a state that is not a text of at most 4 MiB");
	if (r == 0) {
		state_text_let_go(p->state);
		loss_parse_text(&loss, said);
		p->state = state_text_new(state, &loss);
		p->is_loss_told = false;
	}
	return r;
}

static int take_guard(struct session_driver *p, const struct frame *frame, struct err *err)
{
	cleanup_json json_t *said = parse(frame, err);
	if (!said)
		return -EPROTO;
	if (p->runtime->carry != CARRY_MEMORY)
		p->arm_pid = (int32_t)json_integer_value(json_object_get(said, "pid"));
	if (p->due_id && id_of(said) == p->due_id)
		save_state_guard(p, said);
	return 0;
}

static void take_names(struct session *s, const json_t *said)
{
	session_names_fn *named = take_ptr(s->named);
	deadline_stop(&s->wall);
	const json_t *names = json_object_get(said, "names");
	struct err err;
	bool is_good = json_is_array(names) && json_array_size(names) <= NAMES_MAX;
	err_set(&err, ERR_PROTOCOL, "the driver answered with no list of names");
	named(s->named_arg, is_good ? names : NULL, is_good ? NULL : &err);
}

/* Handle the response to SETUP. The first response opens the session. */
static void take_setup(struct session_driver *p, const json_t *said)
{
	struct session *s = p->session;
	struct err err;
	const json_t *error = json_object_get(said, "error");
	p->setup_id = 0;
	if (error) {
		const char *name = json_get_text(error, "name");
		const char *message = json_get_text(error, "message");
		err_fail(&err, ERR_USAGE,
			"name modules that this interpreter has: --preload numpy,pandas",
			"%.60s: %.180s", name[0] ? name : "setup failed", message);
	}
	session_opened(s, error ? &err : NULL);
	/* session_make_stem() may be waiting until the driver has responded to SETUP. If so,
	 * session_count() continues it now. */
	session_count(s);
}

static int take_done(struct session_driver *p, const struct frame *frame, struct err *err)
{
	struct session *s = p->session;
	cleanup_json json_t *said = parse(frame, err);
	if (!said)
		return -EPROTO;
	uint64_t id = id_of(said);
	if (s->named && id == s->named_id)
		take_names(s, said);
	else if (p->setup_id && id == p->setup_id)
		take_setup(p, said);
	return 0;
}

static int take_step_frame(struct session_driver *p, const struct frame *frame, struct err *err)
{
	struct session *s = p->session;
	int r = 0;
	if (s->step_driver != p || s->step_state == STEP_NONE || step_is_over(s->step_state))
		return 0;
	switch (frame->type) {
	case FRAME_BEGIN:
		step_began(s);
		break;
	case FRAME_TOOL:
		r = tool_calls_take(p, frame, err);
		break;
	case FRAME_WAITING:
		/* Read the prompt before the listener is told that the step waits. */
		driver_drain(p->driver);
		if (s->step_driver == p)
			tool_calls_read(s);
		break;
	case FRAME_DISPLAY:
		r = step_frame_display(p, frame, err);
		break;
	default:
		r = report_result(frame->data, frame->bytes, s->step_id, &s->record, &s->end, err);
		if (r == 1)
			step_event(s, STEP_RESULT);
	}
	return r;
}

static int take_ready(struct session_driver *p, const struct frame *frame, struct err *err)
{
	cleanup_json json_t *said = parse(frame, err);
	if (!said)
		return -EPROTO;
	const char *missing = json_string_value(json_object_get(said, "missing"));
	if (missing)
		return err_set(err, ERR_RUNTIME, "no %.60s in the image", missing);
	p->pid = (int32_t)json_integer_value(json_object_get(said, "pid"));
	p->is_unnamed = true;
	rollback_ready(p, said);
	return 0;
}

static int on_frame(void *arg, struct driver *d, const struct frame *frame, struct err *err)
{
	struct session_driver *p = arg;
	bool is_of_session = frame->type == FRAME_GUARD || frame->type == FRAME_STATE ||
		frame->type == FRAME_DONE || frame->type == FRAME_BRANCHED;
	(void)d;
	if (p->session->is_once && is_of_session)
		return err_set(err, ERR_PROTOCOL, "a frame of unknown type %u", frame->type);
	switch (frame->type) {
	case FRAME_READY:
		return take_ready(p, frame, err);
	case FRAME_BEGIN:
	case FRAME_DISPLAY:
	case FRAME_TOOL:
	case FRAME_WAITING:
	case FRAME_RESULT:
		return take_step_frame(p, frame, err);
	case FRAME_GUARD:
		return take_guard(p, frame, err);
	case FRAME_STATE:
		return take_state(p, frame, err);
	case FRAME_DONE:
		return take_done(p, frame, err);
	case FRAME_BRANCHED: /* without a loan, the answer to a request that was given up */
		if (p->session->loan)
			stem_hear(p->session->loan, frame);
		return 0;
	default:
		return err_set(err, ERR_PROTOCOL, "a frame of unknown type %u", frame->type);
	}
}

static void on_output(void *arg, struct driver *d, int stream, const char *data, size_t bytes)
{
	struct session_driver *p = arg;
	(void)d;
	step_take_output(p->session, stream, data, bytes);
}

/* Handle the end of a driver that was not running a step. */
static void driver_gone(struct session_driver *p, const struct err *err)
{
	struct session *s = p->session;
	if (s->named) {
		session_names_fn *named = take_ptr(s->named);
		deadline_stop(&s->wall);
		named(s->named_arg, NULL, err);
	}
	if (s->state == SESSION_MAKING) {
		session_opened(s, err);
		return;
	}
	if (p == s->rollback.failed || p == s->rollback.resumed)
		return;
	if (session_revive_lender(p, err))
		return;
	if (!s->stemmed && !s->branching && s->box && !s->box->is_over && transaction_revive(p))
		return;
	bool has_state = p->is_live && p->runtime->carry == CARRY_MEMORY;
	session_driver_lose(p);
	if (s->stemmed && p->runtime->carry == CARRY_MEMORY)
		session_no_stem(s, err);
	if (has_state && s->box && !s->branching) {
		s->is_lost = true;
		checkpoints_cut(&s->points, 0);
	}
	if (s->box && !s->box->is_over)
		/* session_make_stem() may be waiting for a guard of this driver, which will not
		 * come any more. If so, session_count() continues it now. */
		session_count(s);
	if (s->is_lost && s->step_state == STEP_ASKED)
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, err->msg);
	else
		step_proceed(s);
}

/* Return whether the last step of the driver @p has ended, but the session still works on it:
 * the session commits the step, rolls it back or computes its name. Until the name is known, the
 * session cannot find the checkpoint of the state after the step. So if the driver ends in this
 * time, the session cannot restore that state yet. */
static bool is_settled(const struct session_driver *p)
{
	const struct session *s = p->session;
	return s->step_driver == p && step_is_over(s->step_state) && !s->is_once;
}

void session_notice(struct session *s)
{
	struct err err;
	for (size_t i = 0; session_is_idle(s) && i < ARRAY_LEN(s->drivers); i++) {
		struct session_driver *p = &s->drivers[i];
		if (!p->driver || !p->driver->is_over)
			continue;
		err_set(&err, ERR_GONE, "the driver ended by itself");
		driver_gone(p, &err);
	}
}

static void on_exited(void *arg, struct driver *d, int status)
{
	struct session_driver *p = arg;
	struct session *s = p->session;
	struct err err;
	(void)d;
	/* During a rollback, init has killed the driver, or a program the resumed guard. */
	if (is_rolling_back(s)) {
		rollback_exited(p);
		return;
	}
	/* If the driver ended while the session commits its step or rolls it back, ignore the
	 * end. session_notice() will handle the end of the driver when the step is finished. */
	if (is_settled(p))
		return;
	if (s->step_driver == p && s->step_state != STEP_NONE) {
		s->end.has_exited = true;
		s->end.wait_status = status;
		if (s->began_ns || !WIFEXITED(status)) {
			step_event(s, STEP_EXITED);
			return;
		}
		s->end.why_code = ERR_RUNTIME;
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN,
			"the interpreter ended before the program began: is it a real "
			"interpreter?");
		return;
	}
	err_set(&err, ERR_GONE, "the driver ended by itself");
	driver_gone(p, &err);
}

static void on_broken(void *arg, struct driver *d, const struct err *err)
{
	struct session_driver *p = arg;
	struct session *s = p->session;
	(void)d;
	if (p == s->rollback.failed || p == s->rollback.resumed) {
		rollback_event(s, ROLLBACK_FAILED, err);
		return;
	}
	if (is_settled(p))
		return;
	if (s->step_driver == p && s->step_state != STEP_NONE) {
		s->end.why_code = err->code;
		step_stop(s, err->code == ERR_PROTOCOL ? STEP_CAUSE_PROTOCOL : STEP_CAUSE_BOX,
			STEP_BROKEN, err->msg);
		return;
	}
	driver_gone(p, err);
}

static void on_rolled_back(void *arg, struct driver *d, const struct err *err)
{
	struct session_driver *p = arg;
	(void)d;
	if (!err)
		rollback_event(p->session, ROLLBACK_ENDED, NULL);
	else if (is_rolling_back(p->session))
		rollback_event(p->session, ROLLBACK_FAILED, err);
}

const struct driver_events session_driver_events = {.frame = on_frame,
	.output = on_output,
	.exited = on_exited,
	.broken = on_broken,
	.rolled_back = on_rolled_back};

/* ---- start and setup of drivers ---- */

/* Copy @shared, but with the name of this session in the environment. A session with a seed
 * keeps the shared name, since its results must not depend on the name. */
static void own_environment(const struct session *s, const struct runtime_start *shared,
	struct runtime_start *own, char *name)
{
	static const char variable[] = "RETORT_SESSION=";
	*own = *shared;
	snprintf(name, sizeof variable + RECORD_ID_BYTES, "%s%s", variable, s->id);
	for (size_t i = 0; own->envp[i]; i++)
		if (strncmp(own->envp[i], variable, sizeof variable - 1) == 0 &&
			!s->order->has_seed)
			own->envp[i] = name;
}

static int start_driver(struct session_driver *p, int stdin_fd, struct err *err)
{
	struct session *s = p->session;
	char name[sizeof "RETORT_SESSION=" + RECORD_ID_BYTES];
	struct runtime_start own;
	struct driver_ends ends;
	const struct runtime_start *shared = order_start(s->order, p->runtime, err);
	if (!shared)
		return -ENOEXEC;
	own_environment(s, shared, &own, name);
	int r = driver_new(&p->driver, s->box, p->runtime, stdin_fd, &ends, err);
	if (r < 0)
		return r;
	driver_listen(p->driver, &session_driver_events, p);
	return driver_spawn(p->driver, &own, s->is_once ? 0 : 1 + s->is_template, &ends, err);
}

int session_driver_start(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err)
{
	struct session_driver *p = session_driver_of(s, runtime);
	int stdin_fd;
	*out = p;
	if (p->driver)
		return 0;
	int r = session_open_stdin(s, &stdin_fd, err);
	return r < 0 ? r : start_driver(p, stdin_fd, err);
}

struct session_driver *session_driver_adopt(struct session *s, struct driver *d)
{
	struct session_driver *p = session_driver_of(s, d->runtime);
	p->driver = d;
	p->is_live = true;
	p->is_unnamed = true;
	driver_listen(d, &session_driver_events, p);
	return p;
}

/*
 * Make a socket pair for a new guard, and return the box's end. The engine makes the pair, because
 * a socket that was made in the box could be shared with another process there. Returns: -1 if
 * there is no socket; the driver then responds that it has no guard.
 */
static int make_guard_socket(struct session_driver *p)
{
	int pair[2];
	if (p->runtime->carry != CARRY_MEMORY || !p->guard ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	fd_refuse_passed(pair[0]);
	fd_close(&p->guard->due_fd);
	p->guard->due_fd = pair[0];
	return pair[1];
}

void session_driver_ask_guard(struct session_driver *p)
{
	struct err none;
	char id[24];
	if (!p->due_id || p->is_due_said || !p->driver)
		return;
	snprintf(id, sizeof id, "%llu", (unsigned long long)p->due_id);
	cleanup_json json_t *order = json_need(json_pack(
		"{s:s, s:I}", "id", id, "guard_bytes", (json_int_t)guard_bytes(p->session)));
	p->is_due_said = true;
	cleanup_fd int theirs = make_guard_socket(p);
	(void)driver_send_fd(p->driver, FRAME_CHECKPOINT, order, theirs, &none);
}

bool session_driver_is_waiting(const struct session_driver *p)
{
	bool may_be_told = p->runtime->carry == CARRY_MEMORY && !p->session->is_once;
	return may_be_told && p->is_live && !p->due_id && !p->setup_id && !p->no_guard[0] &&
		!p->is_interrupted;
}

/* Add an id to the SETUP frame, so that the driver responds to it. Also add the members
 * "template" and "preload", which only a SETUP with an id has. */
static void ask_setup(struct session_driver *p, json_t *setup)
{
	struct session *s = p->session;
	char id[24];
	p->setup_id = ++s->last_id;
	snprintf(id, sizeof id, "%llu", (unsigned long long)p->setup_id);
	json_put_text(setup, "id", id);
	bool is_template = s->is_template && p->runtime->carry == CARRY_MEMORY;
	json_put_bool(setup, "template", is_template);
	json_t *preload = json_need(json_array());
	for (size_t i = 0; s->preload && s->preload[i]; i++)
		json_add_text(preload, s->preload[i]);
	json_put_new(setup, "preload", preload);
}

/*
 * Send a SETUP frame to the driver of @p. The driver must respond to SETUP if the frame has an id:
 *
 * - If @err is not NULL, the frame has an id.
 * - If @err is NULL, the frame has an id too, unless the runtime is Python.
 *
 * A frame with an id also names the modules to import. A frame without an id does not, because the
 * Python driver has already imported them.
 *
 * Pass NULL for @err in order to ignore errors of sending. They mean that the driver has ended.
 */
int session_driver_setup(struct session_driver *p, enum setup what, struct err *err)
{
	struct session *s = p->session;
	struct err none;
	p->is_unnamed = false;
	cleanup_json json_t *setup = json_need(json_object());
	if (!s->order->has_seed)
		json_put_text(setup, "session", s->id);
	if (err || p->runtime->carry != CARRY_MEMORY)
		ask_setup(p, setup);
	if (p->state && p->runtime->carry == CARRY_TEXT) {
		json_put_text(setup, "state", p->state->s);
		session_driver_tell_loss(p);
		p->is_loss_told = false;
	}
	if (what >= SETUP_WARM && p->runtime->carry == CARRY_MEMORY)
		json_put_bool(setup, "warm", true);
	if (what == SETUP_GUARD && p->runtime->carry == CARRY_MEMORY) {
		if (!p->guard)
			p->guard = guard_new(s->box);
		p->due_id = p->setup_id;
		p->is_due_said = false;
	}
	int r = driver_send(p->driver, FRAME_SETUP, setup, err ? err : &none);
	if (r == 0)
		session_driver_ask_guard(p);
	return r;
}

void session_driver_tell_loss(struct session_driver *p)
{
	if (p->state && p->runtime->carry == CARRY_TEXT && !p->is_loss_told)
		loss_add_text(p->session->notice, p->runtime->name, &p->state->loss);
	p->is_loss_told = true;
}

void session_driver_lose(struct session_driver *p)
{
	struct driver *d = take_ptr(p->driver);
	if (p->runtime && p->runtime->carry == CARRY_MEMORY)
		session_end_loan(p->session);
	guard_let_go(take_ptr(p->guard));
	p->setup_id = p->due_id = p->last_call = 0;
	p->pid = p->arm_pid = 0;
	p->is_live = p->is_interrupted = false;
	p->no_guard[0] = p->barred[0] = '\0';
	if (d)
		driver_let_go(d);
}

void session_drivers_lose(struct session *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		if (s->drivers[i].driver)
			session_driver_lose(&s->drivers[i]);
}

int session_driver_ensure(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err)
{
	bool is_new = !s->drivers[runtime_index(runtime)].driver;
	int r = session_driver_start(s, runtime, out, err);
	return r == 0 && is_new && !s->is_once ? session_driver_setup(*out, SETUP_NAME, err) : r;
}

/* ---- completion of names ---- */

static int ask_names(struct session *s, const struct runtime *runtime, const char *scope,
	const char *text, struct err *err)
{
	struct session_driver *p;
	char id[24];
	if (!session_box(s) || s->step_state != STEP_NONE || s->named)
		return err_set(err, ERR_BUSY, "the session is busy");
	runtime = runtime ? runtime : s->order->runtime;
	if (scope[0] && !runtime->has_scopes)
		return err_set(err, ERR_USAGE, "scope: %s has no scopes", runtime->name);
	int r = session_driver_ensure(s, runtime, &p, err);
	if (r == 0 && p->driver->is_over)
		r = err_set(err, ERR_GONE, "the driver has ended");
	if (r < 0)
		return r;
	s->named_id = ++s->last_id;
	snprintf(id, sizeof id, "%llu", (unsigned long long)s->named_id);
	cleanup_json json_t *ask = json_need(json_object());
	json_put_text(ask, "id", id);
	json_put_text(ask, "text", text);
	json_put_text(ask, "scope", scope[0] ? scope : NULL);
	return driver_send(p->driver, FRAME_NAMES, ask, err);
}

static void on_names_late(uv_timer_t *timer)
{
	struct session *s = timer->data;
	session_names_fn *named = take_ptr(s->named);
	struct err err;
	err_set(&err, ERR_GONE, "the driver listed no names within %d s", NAMES_MS / 1000);
	if (named)
		named(s->named_arg, NULL, &err);
}

void session_names(struct session *s, const struct runtime *runtime, const char *scope,
	const char *text, session_names_fn *done, void *arg)
{
	struct err err;
	if (ask_names(s, runtime, scope, text, &err) < 0) {
		done(arg, NULL, &err);
		return;
	}
	s->named = done;
	s->named_arg = arg;
	deadline_start(&s->wall, on_names_late, NAMES_MS);
}
