/* The driver: its descriptors, its frames, its end. SPDX-License-Identifier: Apache-2.0 */
#include "session/live.h"

#include "base/fd.h"
#include "session/report.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20 }; /* what an ordinary user may ask for */

/* ---- output ---- */

static void take_output(struct session *s, struct stream *stream, size_t bytes)
{
	if (!s->has_record)
		return;
	int64_t n_head = capture_add(&s->record.out[stream->index], s->chunk, bytes);
	if (n_head < 0)
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, "the host has no memory for its output");
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

void driver_drain(struct session *s)
{
	for (int i = 0; i < 2; i++)
		while (s->streams[i].fd >= 0 && read_some(s, &s->streams[i]) > 0)
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

/* Send what waits, as soon as the driver takes it. */
void driver_send(struct session *s)
{
	int events = UV_READABLE | (s->out.bytes > 0 ? UV_WRITABLE : 0);
	(void)uv_poll_start(&s->channel, events, on_channel);
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
		step_began(s);
		return 0;
	case FRAME_DISPLAY:
		r = report_display(
			frame->data, frame->bytes, &s->record, &s->display_bytes, &display, err);
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
	step_stop(s, STEP_CAUSE_PROTOCOL, STEP_BROKEN, err.msg);
}

static void on_channel(uv_poll_t *poll, int status, int events)
{
	struct session *s = poll->data;
	if (status == 0 && (events & UV_WRITABLE)) {
		ssize_t n = send(s->channel_fd, s->out.data, s->out.bytes, MSG_NOSIGNAL);
		if (n > 0)
			buf_consume(&s->out, (size_t)n);
		driver_send(s);
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

/* ---- its end ---- */

void driver_on_init(struct init_link *link, const struct init_event *event)
{
	struct session *s = container_of(link, struct session, init);
	if (!event) {
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, "the box ended unexpectedly");
	} else if (event->kind == INIT_FAILED) {
		s->end.why_code = event->err.code;
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, event->err.msg);
	} else if (event->kind == INIT_EXITED && event->id == DRIVER_ID) {
		/* Its last frames are in the socket: a result sent before the end counts. */
		if (s->is_channel_open)
			on_channel(&s->channel, 0, UV_READABLE);
		s->end.has_exited = s->step_state == STEP_RUNNING || s->step_state == STEP_STOPPING;
		s->end.wait_status = event->status;
		if (s->began_ns || !WIFEXITED(event->status)) {
			step_event(s, STEP_EXITED);
			return;
		}
		s->end.why_code = ERR_RUNTIME;
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN,
			"the interpreter ended before the program began; is it one?");
	}
}

/* ---- its start ---- */

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
	driver_send(s);
	return 0;
}

static void feed_closed(struct feed *f)
{
	session_handle_gone(container_of(f, struct session, feed));
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

int driver_start(struct session *s, struct err *err)
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
