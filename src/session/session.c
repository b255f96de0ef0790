/*
 * A session over its box.
 *
 * Theory of operation. session_open() asks the warden for a box. When it comes, the session makes the
 * pipes and the channel, has init start the driver, and is open; a step may be sent at once, the driver
 * reads it when it is up. While a step runs, four things are watched: the channel (frames), the two
 * output pipes, init (the driver's end), and clocks (wall; CPU and, where no cgroup does it, memory, by
 * asking the warden for the box's books). What each of them means is decided by the table in step.c.
 *
 * A step with `once` ends with its box: the box is destroyed first, so that nothing can write any more,
 * then the pipes are read to their end, then the record is made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/session.h"

#include "base/fd.h"
#include "base/utf8.h"
#include "runtime/frame.h"
#include "sandbox/init.h"
#include "session/feed.h"
#include "session/report.h"
#include "session/step.h"
#include "session/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	DRIVER_ID = 1,
	GRACE_MS = 1000,	   /* between SIGINT and SIGKILL */
	MEMORY_WATCH_MS = 20,	   /* how stale the engine's knowledge of memory may be */
	CPU_WATCH_MIN_MS = 10,
	PIPE_BYTES = 1 << 20,	   /* what an ordinary user may ask for */
	READ_BYTES = 256 << 10,
	CHANNEL_OUT_BYTES = FRAME_MAX_BYTES + FRAME_HEAD_BYTES,
};

enum session_state { SESSION_MAKING, SESSION_OPEN, SESSION_ENDED, SESSION_CLOSING };

struct stream {
	int fd;
	uv_poll_t poll;
	int index; /* 0 stdout, 1 stderr */
};

struct session {
	struct session_events events;
	uv_loop_t *loop;
	struct warden *warden;
	const struct runtime *runtime;
	enum session_state state;
	char id[RECORD_ID_BYTES];
	int n_handles; /* whose close is not done */

	/* the box */
	struct warden_call call;  /* create, destroy */
	struct warden_call watch; /* usage */
	bool is_watching, has_box;
	uint32_t box;
	uint32_t by[LIMIT_END_];
	struct limits limits;
	int workspace_fd;
	struct init_link init;
	struct workspace before;

	/* the driver */
	struct spawn spawn;
	struct runtime_start start;
	int stdin_fd;
	struct feed feed;
	bool has_feed;
	struct stream streams[2];
	int channel_fd;
	uv_poll_t channel;
	struct buf in, out;
	bool is_channel_open;
	char *chunk; /* READ_BYTES */

	/* the step */
	enum step_state step_state;
	struct step_request req;
	struct step_end end;
	char why[ERR_MSG_BYTES];
	struct record record;
	bool has_record;
	uint64_t display_bytes;
	uint64_t asked_ns, began_ns;
	uv_timer_t wall, meter;
};

static void step_event(struct session *s, enum step_event event);

static void handle_gone(struct session *s);

static void handle_closed(uv_handle_t *handle)
{
	handle_gone(handle->data);
}

static void close_handle(struct session *s, void *handle)
{
	uv_handle_t *h = handle;
	if (uv_is_closing(h))
		return;
	h->data = s;
	uv_close(h, handle_closed);
}

/* ---- what the step table asks for ---- */

static void stop_because(struct session *s, enum step_cause cause, enum step_event event, const char *why)
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
		stop_because(s, STEP_CAUSE_WALL, STEP_LIMIT, NULL);
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

static void drain(struct session *s, struct stream *stream);

static void add_change(void *arg, enum workspace_change change, const struct workspace_file *file)
{
	static const char *const words[] = {"created", "modified", "deleted"};
	cleanup_buf struct buf path = BUF_INIT(3 * 4096);
	/* A name that is no UTF-8 cannot be said in JSON; it is shown repaired. */
	if (file->kind != WORKSPACE_FILE ||
		utf8_repair(&path, file->path, strlen(file->path), NULL) < 0)
		return;
	json_t *row = json_object();
	(void)json_object_set_new(row, "path", json_stringn(buf_str(&path), path.bytes));
	(void)json_object_set_new(row, "change", json_string(words[change]));
	(void)json_object_set_new(row, "size", json_integer((json_int_t)file->size_bytes));
	(void)json_object_set_new(row, "mime", json_string(workspace_mime(file->path)));
	(void)json_array_append_new(arg, row);
}

static void list_files(struct session *s)
{
	struct err err;
	struct workspace after;
	if (workspace_scan(&after, s->workspace_fd, &err) < 0)
		return;
	workspace_compare(&s->before, &after, add_change, s->record.files);
	s->record.files_cut = after.is_cut;
	workspace_done(&after);
}

static void do_finish(struct session *s)
{
	for (int i = 0; i < 2; i++)
		drain(s, &s->streams[i]);
	list_files(s);
	step_judge(&s->record, &s->end);
	record_name(&s->record, "", s->req.code, s->req.code_bytes);
	s->events.done(s->events.arg, &s->record);
}

static void step_event(struct session *s, enum step_event event)
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

/* ---- output ---- */

static void take_output(struct session *s, struct stream *stream, size_t bytes)
{
	if (!s->has_record)
		return;
	int64_t n_head = capture_add(&s->record.out[stream->index], s->chunk, bytes);
	if (n_head < 0)
		stop_because(s, STEP_CAUSE_BOX, STEP_BROKEN, "the host has no memory for its output");
	else if (s->events.output)
		s->events.output(s->events.arg, stream->index, s->chunk, bytes, (size_t)n_head);
}

/* Returns: 1 after some output, 0 when there is none now, -1 at the end. */
static int read_some(struct session *s, struct stream *stream)
{
	ssize_t n = read(stream->fd, s->chunk, READ_BYTES);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		return -1;
	take_output(s, stream, (size_t)n);
	return 1;
}

static void drain(struct session *s, struct stream *stream)
{
	while (stream->fd >= 0 && read_some(s, stream) > 0)
		;
}

static void on_output(uv_poll_t *poll, int status, int events)
{
	struct session *s = poll->data;
	struct stream *stream = container_of(poll, struct stream, poll);
	(void)events;
	if (status < 0 || read_some(s, stream) < 0)
		(void)uv_poll_stop(poll);
}

/* ---- the channel ---- */

static void on_channel(uv_poll_t *poll, int status, int events);

static void set_channel_events(struct session *s)
{
	int events = UV_READABLE | (s->out.bytes > 0 ? UV_WRITABLE : 0);
	(void)uv_poll_start(&s->channel, events, on_channel);
}

static void on_begin(struct session *s)
{
	if (s->began_ns || s->step_state != STEP_RUNNING)
		return;
	s->began_ns = uv_hrtime();
	/* Until here the limit covered the start of the interpreter; the step has it whole. */
	(void)uv_timer_start(&s->wall, on_wall, s->limits.value[LIMIT_timeout_ms], 0);
	if (s->events.begin)
		s->events.begin(s->events.arg);
}

static int take_frame(struct session *s, const struct frame *frame, struct err *err)
{
	const json_t *display;
	int r;
	if (s->step_state == STEP_NONE || s->step_state == STEP_SETTLING)
		return 0;
	switch (frame->type) {
	case FRAME_READY:
		return 0;
	case FRAME_BEGIN:
		on_begin(s);
		return 0;
	case FRAME_DISPLAY:
		r = report_display(frame->data, frame->bytes, &s->record, &s->display_bytes, &display, err);
		if (r == 1 && s->events.display)
			s->events.display(s->events.arg, display);
		return r;
	case FRAME_RESULT:
		r = report_result(frame->data, frame->bytes, &s->record, &s->end, err);
		if (r == 0)
			step_event(s, STEP_RESULT);
		return r;
	default:
		return err_set(err, ERR_PROTOCOL, "a frame of unknown type %u", frame->type);
	}
}

static void take_frames(struct session *s)
{
	struct frame frame;
	struct err err;
	ssize_t n;
	while ((n = frame_parse(&s->in, &frame, &err)) > 0) {
		int r = take_frame(s, &frame, &err);
		if (r < 0) {
			n = r;
			break;
		}
		buf_consume(&s->in, (size_t)n);
	}
	if (n >= 0)
		return;
	(void)uv_poll_stop(&s->channel);
	stop_because(s, STEP_CAUSE_PROTOCOL, STEP_BROKEN, err.msg);
}

static void on_channel(uv_poll_t *poll, int status, int events)
{
	struct session *s = poll->data;
	if (status == 0 && (events & UV_WRITABLE)) {
		ssize_t n = send(s->channel_fd, s->out.data, s->out.bytes, MSG_NOSIGNAL);
		if (n > 0)
			buf_consume(&s->out, (size_t)n);
		set_channel_events(s);
	}
	if (status == 0 && !(events & UV_READABLE))
		return;
	char *at = buf_reserve(&s->in, READ_BYTES);
	ssize_t n = status < 0 || !at ? -1 : read(s->channel_fd, at, READ_BYTES);
	if (n < 0 && at && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		(void)uv_poll_stop(poll); /* the driver's end tells init, and init tells us */
		return;
	}
	buf_grown(&s->in, (size_t)n);
	take_frames(s);
}

/* ---- init ---- */

static void open_failed(struct session *s, const struct err *err)
{
	s->state = SESSION_ENDED;
	s->events.opened(s->events.arg, err);
}

static void on_init(struct init_link *link, const struct init_event *event)
{
	struct session *s = container_of(link, struct session, init);
	if (!event) {
		stop_because(s, STEP_CAUSE_BOX, STEP_BROKEN, "the box ended unexpectedly");
	} else if (event->kind == INIT_FAILED) {
		s->end.why_code = event->err.code;
		stop_because(s, STEP_CAUSE_BOX, STEP_BROKEN, event->err.msg);
	} else if (event->kind == INIT_EXITED && event->id == DRIVER_ID) {
		/* Its last frames are in the socket: a result sent before the end counts. */
		if (s->is_channel_open)
			on_channel(&s->channel, 0, UV_READABLE);
		s->end.has_exited = s->step_state == STEP_RUNNING || s->step_state == STEP_STOPPING;
		s->end.wait_status = event->status;
		step_event(s, STEP_EXITED);
	}
}

/* ---- opening ---- */

static int open_stream(struct session *s, int index, int *theirs, struct err *err)
{
	struct stream *stream = &s->streams[index];
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, ERR_IO, errno, "pipe");
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	*theirs = ends[1];
	stream->fd = ends[0];
	stream->index = index;
	stream->poll.data = s;
	int r = uv_poll_init(s->loop, &stream->poll, stream->fd);
	if (r == 0) {
		s->n_handles++;
		r = uv_poll_start(&stream->poll, UV_READABLE, on_output);
	}
	return r < 0 ? err_sys(err, ERR_IO, -r, "watch a pipe") : 0;
}

static int open_channel(struct session *s, int *theirs, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_IO, errno, "socketpair");
	*theirs = pair[1];
	s->channel_fd = pair[0];
	s->channel.data = s;
	int r = uv_poll_init(s->loop, &s->channel, s->channel_fd);
	if (r < 0)
		return err_sys(err, ERR_IO, -r, "watch the channel");
	s->n_handles++;
	s->is_channel_open = true;
	set_channel_events(s);
	return 0;
}

static void feed_closed(struct feed *f)
{
	handle_gone(container_of(f, struct session, feed));
}

static int open_stdin(struct session *s, int *theirs, struct err *err)
{
	int ends[2];
	if (s->stdin_fd < 0) {
		*theirs = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return *theirs < 0 ? err_sys(err, ERR_IO, errno, "open /dev/null") : 0;
	}
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, ERR_IO, errno, "pipe");
	*theirs = ends[0];
	s->feed.closed = feed_closed;
	int r = feed_start(&s->feed, s->loop, s->stdin_fd, ends[1], err);
	s->has_feed = s->feed.n_open > 0;
	s->n_handles += s->has_feed;
	return r;
}

static int start_driver(struct session *s, struct err *err)
{
	int *fds = s->spawn.fds;
	int r = open_stdin(s, &fds[0], err);
	for (int i = 0; r == 0 && i < 2; i++)
		r = open_stream(s, i, &fds[1 + i], err);
	if (r == 0)
		r = open_channel(s, &fds[3], err);
	if (r == 0)
		r = init_spawn(&s->init, &s->spawn, err);
	for (int i = 0; i < WIRE_SPAWN_FDS; i++)
		fd_close(&fds[i]);
	return r;
}

static void on_created(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct session *s = container_of(call, struct session, call);
	struct err err;
	if (reply->status < 0 || !fds) {
		open_failed(s, &reply->err);
		return;
	}
	s->has_box = true;
	s->box = reply->box;
	memcpy(s->by, reply->by, sizeof s->by);
	s->workspace_fd = fds[WARDEN_FD_WORKSPACE];
	/* Twice the limit in one process is refused at once; the rest is for the engine to measure. */
	if (s->by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE)
		s->spawn.data_bytes = s->limits.value[LIMIT_memory_bytes] * 2;
	s->init.on_event = on_init;
	int r = init_link_open(&s->init, s->loop, fds[WARDEN_FD_INIT], &err);
	s->n_handles += r == 0;
	if (r == 0)
		r = start_driver(s, &err);
	if (r == 0)
		r = workspace_scan(&s->before, s->workspace_fd, &err);
	if (r < 0) {
		open_failed(s, &err);
		return;
	}
	s->state = SESSION_OPEN;
	s->events.opened(s->events.arg, NULL);
}

static int take_start(struct session *s, const struct session_config *c, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && c->start->argv[i]; i++)
		r = runtime_add(s->start.argv, RUNTIME_ARGS_MAX, err, "%s", c->start->argv[i]);
	for (size_t i = 0; r == 0 && c->start->envp[i]; i++)
		r = runtime_add(s->start.envp, RUNTIME_ENV_MAX, err, "%s", c->start->envp[i]);
	s->spawn = (struct spawn){.id = DRIVER_ID, .argv = (const char *const *)s->start.argv,
		.envp = (const char *const *)s->start.envp, .limits = &s->limits,
		.fds = {-1, -1, -1, -1}};
	return r;
}

int session_open(struct session **out, const struct session_config *c,
	const struct session_events *events, struct err *err)
{
	struct session *s = calloc(1, sizeof *s);
	if (s)
		s->chunk = malloc(READ_BYTES);
	if (!s || !s->chunk) {
		free(s);
		return err_set(err, ERR_NO_MEMORY, "no memory for a session");
	}
	s->events = *events;
	s->loop = c->loop;
	s->warden = c->warden;
	s->runtime = c->runtime;
	s->limits = *c->limits;
	s->stdin_fd = c->stdin_fd;
	s->workspace_fd = s->channel_fd = s->init.fd = -1;
	s->streams[0].fd = s->streams[1].fd = -1;
	s->in = BUF_INIT(FRAME_MAX_BYTES + FRAME_HEAD_BYTES + READ_BYTES);
	s->out = BUF_INIT(CHANNEL_OUT_BYTES);
	(void)snprintf(s->id, sizeof s->id, "%s", c->id);
	(void)uv_timer_init(s->loop, &s->wall);
	(void)uv_timer_init(s->loop, &s->meter);
	s->wall.data = s->meter.data = s;
	s->n_handles = 2;
	int r = take_start(s, c, err);
	if (r < 0) {
		s->events.closed = NULL;
		session_close(s);
		return r;
	}
	s->call.done = on_created;
	warden_create(s->warden, &s->call, c->limits, c->binds, c->n_binds);
	*out = s;
	return 0;
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
		stop_because(s, STEP_CAUSE_MEMORY, STEP_MEMORY, NULL);
	else if (u->cpu_us >= s->limits.value[LIMIT_cpu_ms] * 1000)
		stop_because(s, STEP_CAUSE_CPU, STEP_LIMIT, NULL);
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
		(void)json_array_append_new(argv, json_string(req->argv[i]));
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
	set_channel_events(s);
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
		stop_because(s, STEP_CAUSE_CALLER, STEP_LIMIT, NULL);
}

int session_workspace_fd(const struct session *s)
{
	return s->workspace_fd;
}

/* ---- closing ---- */

static void free_session(struct session *s)
{
	struct session_events events = s->events;
	for (int i = 0; i < 2; i++)
		fd_close(&s->streams[i].fd);
	fd_close(&s->channel_fd);
	fd_close(&s->workspace_fd);
	if (s->has_record)
		record_done(&s->record);
	workspace_done(&s->before);
	runtime_start_done(&s->start);
	buf_done(&s->in);
	buf_done(&s->out);
	free(s->chunk);
	free(s);
	if (events.closed)
		events.closed(events.arg);
}

static void handle_gone(struct session *s)
{
	if (--s->n_handles == 0)
		free_session(s);
}

static void on_gone(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct session *s = container_of(call, struct session, call);
	(void)reply;
	for (int i = 0; fds && i < WARDEN_FD_END_; i++)
		(void)close(fds[i]);
	s->has_box = false;
	session_close(s);
}

static void close_handles(struct session *s)
{
	s->state = SESSION_CLOSING;
	warden_forget(s->warden, &s->watch);
	if (s->has_feed)
		feed_stop(&s->feed);
	for (int i = 0; i < 2; i++)
		if (s->streams[i].fd >= 0)
			close_handle(s, &s->streams[i].poll);
	if (s->is_channel_open)
		close_handle(s, &s->channel);
	if (s->init.fd >= 0) {
		s->init.poll.data = s;
		init_link_close(&s->init, handle_closed);
	}
	close_handle(s, &s->wall);
	close_handle(s, &s->meter);
}

void session_close(struct session *s)
{
	if (s->state == SESSION_CLOSING)
		return;
	if (s->state == SESSION_MAKING && s->call.id) {
		s->call.done = on_gone; /* the box comes and goes at once */
		return;
	}
	if (s->has_box) {
		s->call.done = on_gone;
		s->step_state = STEP_NONE;
		warden_destroy(s->warden, &s->call, s->box);
		s->has_box = false;
		return;
	}
	close_handles(s);
}
