/* The step: the table's actions, clocks, the record. SPDX-License-Identifier: Apache-2.0 */
#include "session/live.h"

#include "base/utf8.h"
#include "sandbox/warden.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GRACE_MS = 1000,      /* between SIGINT and SIGKILL */
	MEMORY_WATCH_MS = 20, /* how stale the engine's knowledge of memory may be */
	CPU_WATCH_MIN_MS = 10,
};

/* ---- what the step table asks for ---- */

void step_stop(struct session *s, enum step_cause cause, enum step_event event, const char *why)
{
	if (s->step_state == STEP_NONE)
		return;
	if (s->end.cause == STEP_CAUSE_NONE && s->step_state != STEP_SETTLING) {
		(void)snprintf(s->why, sizeof s->why, "%s", why ? why : "");
		s->end.cause = cause;
		s->end.why = s->why;
	}
	step_event(s, event);
}

static void on_wall(uv_timer_t *timer)
{
	struct session *s = timer->data;
	if (s->step_state == STEP_STOPPING)
		step_event(s, STEP_GRACE);
	else
		step_stop(s, STEP_CAUSE_WALL, STEP_LIMIT, NULL);
}

void step_began(struct session *s)
{
	if (s->began_ns || s->step_state != STEP_RUNNING)
		return;
	s->began_ns = uv_hrtime();
	/* Until here the limit covered the start of the interpreter; the step has it whole. */
	(void)uv_timer_start(&s->wall, on_wall, s->limits.value[LIMIT_timeout_ms], 0);
	if (s->events.begin)
		s->events.begin(s->events.arg);
}

static void do_interrupt(struct session *s)
{
	init_signal(&s->init, DRIVER_ID, SIGINT);
	(void)uv_timer_start(&s->wall, on_wall, GRACE_MS, 0);
}

static void on_destroyed(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct session *s = container_of(call, struct session, call);
	(void)fds;
	s->has_box = false;
	if (reply->status == 0 && s->has_record)
		s->record.usage = reply->usage;
	step_event(s, STEP_SETTLED);
}

/* What is left of the step's time goes to ending the box; what was measured is kept now. */
static void do_settle(struct session *s)
{
	uint64_t now = uv_hrtime();
	s->record.wall_ms = (double)(now - (s->began_ns ? s->began_ns : s->asked_ns)) / 1e6;
	s->record.queued_ms = s->began_ns ? (double)(s->began_ns - s->asked_ns) / 1e6 : 0;
	(void)uv_timer_stop(&s->wall);
	(void)uv_timer_stop(&s->meter);
	s->state = SESSION_ENDED;
	s->call.done = on_destroyed;
	warden_destroy(s->warden, &s->call, s->box);
}

static void add_change(void *arg, enum workspace_change change, const struct workspace_file *file)
{
	static const char *const words[] = {"created", "modified", "deleted"};
	cleanup_buf struct buf path = BUF_INIT(3 * 4096);
	/* A name that is no UTF-8 cannot be said in JSON; it is shown repaired. */
	struct record *record = arg;
	if (file->kind != WORKSPACE_FILE ||
		utf8_repair(&path, file->path, strlen(file->path), NULL) < 0 ||
		record_add_path(record, change == WORKSPACE_DELETED ? NULL : file->path) < 0)
		return;
	json_t *row = json_object();
	(void)json_object_set_new(row, "path", json_stringn(buf_str(&path), path.bytes));
	(void)json_object_set_new(row, "change", json_string(words[change]));
	(void)json_object_set_new(row, "size", json_integer((json_int_t)file->size_bytes));
	(void)json_object_set_new(row, "mime", json_string(workspace_mime(file->path)));
	(void)json_array_append_new(record->files, row);
}

static void list_files(struct session *s)
{
	struct err err;
	struct workspace after;
	if (workspace_scan(&after, s->workspace_fd, &err) < 0)
		return;
	workspace_compare(&s->before, &after, add_change, &s->record);
	s->record.files_cut = after.is_cut;
	workspace_done(&after);
}

static void do_finish(struct session *s)
{
	driver_drain(s);
	list_files(s);
	step_judge(&s->record, &s->end);
	record_name(&s->record, "", s->req.code, s->req.code_bytes, s->req.argv);
	s->events.done(s->events.arg, &s->record);
}

void step_event(struct session *s, enum step_event event)
{
	struct step_move move = step_advance(s->step_state, event);
	s->step_state = move.next;
	switch (move.action) {
	case STEP_IGNORE:
		break;
	case STEP_INTERRUPT:
		do_interrupt(s);
		break;
	case STEP_SETTLE:
		do_settle(s);
		break;
	case STEP_FINISH:
		do_finish(s);
		break;
	}
}

/* ---- running ---- */

static void on_meter(uv_timer_t *timer);

/* When to look at the box's books again: soon enough that no limit is passed by much. */
static void set_meter(struct session *s, uint64_t cpu_us)
{
	uint64_t limit_us = s->limits.value[LIMIT_cpu_ms] * 1000;
	uint64_t left_us = cpu_us < limit_us ? limit_us - cpu_us : 0;
	uint64_t n_cpus = MAX(s->limits.value[LIMIT_cpu_milli] / 1000, 1);
	uint64_t delay_ms = MAX(left_us / n_cpus / 1000, (uint64_t)CPU_WATCH_MIN_MS);
	if (s->by[LIMIT_cpu_milli] == LIMIT_BY_NONE)
		delay_ms = MIN(delay_ms, 100);
	if (s->by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE)
		delay_ms = MIN(delay_ms, (uint64_t)MEMORY_WATCH_MS);
	(void)uv_timer_start(&s->meter, on_meter, delay_ms, 0);
}

static void on_usage(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct session *s = container_of(call, struct session, watch);
	(void)fds;
	s->is_watching = false;
	if (reply->status < 0 || s->step_state == STEP_NONE || s->step_state == STEP_SETTLING)
		return;
	const struct box_usage *u = &reply->usage;
	if (s->by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE &&
		u->memory_bytes > s->limits.value[LIMIT_memory_bytes])
		step_stop(s, STEP_CAUSE_MEMORY, STEP_MEMORY, NULL);
	else if (u->cpu_us >= s->limits.value[LIMIT_cpu_ms] * 1000)
		step_stop(s, STEP_CAUSE_CPU, STEP_LIMIT, NULL);
	if (s->step_state == STEP_RUNNING || s->step_state == STEP_STOPPING)
		set_meter(s, u->cpu_us);
}

static void on_meter(uv_timer_t *timer)
{
	struct session *s = timer->data;
	if (s->is_watching)
		return;
	s->is_watching = true;
	s->watch.done = on_usage;
	warden_usage(s->warden, &s->watch, s->box);
}

static int write_step(struct session *s, const struct step_request *req, struct err *err)
{
	json_t *argv = json_array();
	for (size_t i = 0; req->argv && req->argv[i]; i++)
		if (json_array_append_new(argv, json_string(req->argv[i])) < 0) {
			json_decref(argv);
			err_set(err, ERR_USAGE, "argument %zu is not UTF-8", i);
			return err_hint(err, "pass such names in a file: -v names.txt:names.txt");
		}
	json_t *step = json_pack("{s:s, s:o, s:s, s:o, s:s, s:s*, s:I}", "id", "1", "code",
		json_stringn(req->code, req->code_bytes), "filename", req->filename, "argv", argv,
		"mode", req->once ? "once" : "session", "preload", req->preload, "value_bytes",
		(json_int_t)s->limits.value[LIMIT_output_bytes]);
	char *text = step ? json_dumps(step, JSON_COMPACT) : NULL;
	json_decref(step);
	if (!text)
		return err_set(err, ERR_USAGE, "the code or an argument is no UTF-8 text");
	int r = frame_write(&s->out, FRAME_STEP, text, strlen(text));
	free(text);
	if (r == -E2BIG) {
		err_set(err, ERR_LIMIT, "the code is over %d MiB", FRAME_MAX_BYTES >> 20);
		return err_hint(err, "put data into a file and give it with -v data:/data");
	}
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "no memory for the code") : 0;
}

int session_run(struct session *s, const struct step_request *req, struct err *err)
{
	if (s->state != SESSION_OPEN || s->step_state != STEP_NONE)
		return err_set(err, ERR_GONE, "the session is not open and idle");
	int r = write_step(s, req, err);
	if (r < 0)
		return r;
	s->req = *req;
	s->end = (struct step_end){0};
	s->display_bytes = s->began_ns = 0;
	s->asked_ns = uv_hrtime();
	record_init(&s->record, &s->limits);
	s->has_record = true;
	s->record.runtime = s->runtime->name;
	memcpy(s->record.session, s->id, sizeof s->id);
	memcpy(s->record.by, s->by, sizeof s->by);
	s->step_state = STEP_RUNNING;
	driver_send(s);
	(void)uv_timer_start(&s->wall, on_wall, s->limits.value[LIMIT_timeout_ms], 0);
	set_meter(s, 0);
	return 0;
}

void session_interrupt(struct session *s)
{
	/* Asked twice: no more grace. */
	if (s->step_state == STEP_STOPPING && s->end.cause == STEP_CAUSE_CALLER)
		step_event(s, STEP_GRACE);
	else
		step_stop(s, STEP_CAUSE_CALLER, STEP_LIMIT, NULL);
}

int session_workspace_fd(const struct session *s)
{
	return s->workspace_fd;
}
