/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/stdin_queue.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "session/box/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct stdin_queue {
	/* Both ends of the pipe. @reader is -1 after the caller took it. */
	int reader, writer;
	bool is_shut; /* the writing end is closed */
	uv_poll_t poll;
	/* No more input is accepted. @writer is closed when all input is written. */
	bool is_ended;
	struct buf all; /* all input that was accepted so far */
	size_t at;	/* number of bytes of @all that are in the pipe or were read */
	void (*told)(void *arg);
	void *arg;
};

static void on_writable(uv_poll_t *poll, int status, int events);

static void shut(struct stdin_queue *in)
{
	(void)uv_poll_stop(&in->poll);
	in->is_shut = true;
	fd_vacate(in->writer);
}

/* Write until the pipe is full. The poll calls this again when the pipe has room. */
static void go_on(struct stdin_queue *in)
{
	while (!in->is_shut && in->at < in->all.bytes) {
		ssize_t n = write(in->writer, in->all.data + in->at, in->all.bytes - in->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			(void)uv_poll_start(&in->poll, UV_WRITABLE, on_writable);
			return;
		}
		if (n < 0)
			shut(in); /* nobody reads the pipe any more */
		else
			in->at += (size_t)n;
	}
	if (!in->is_shut)
		(void)uv_poll_stop(&in->poll);
	if (!in->is_shut && in->is_ended)
		shut(in);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	go_on(poll->data);
}

int stdin_queue_open(struct stdin_queue **out, uv_loop_t *loop, struct err *err)
{
	int ends[2];
	int r = box_pipe(ends, err);
	if (r < 0)
		return r;
	struct stdin_queue *in = xnew(struct stdin_queue);
	*in = (struct stdin_queue){
		.reader = ends[0], .writer = ends[1], .all = BUF_INIT(STDIN_QUEUE_TOTAL_BYTES)};
	r = fd_set_nonblock(in->writer, true);
	if (r == 0)
		r = uv_poll_init(loop, &in->poll, in->writer);
	if (r < 0) {
		fd_close(&in->reader);
		fd_close(&in->writer);
		free(in);
		return err_sys(err, ERR_IO, -r, "watch the step's input");
	}
	in->poll.data = in;
	*out = in;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct stdin_queue *in = handle->data;
	buf_done(&in->all);
	free(in);
}

void stdin_queue_close(struct stdin_queue *in)
{
	if (!in)
		return;
	uv_close((uv_handle_t *)&in->poll, on_closed);
	fd_close(&in->reader);
	fd_close(&in->writer);
}

int stdin_queue_take_reader(struct stdin_queue *in)
{
	return fd_take(&in->reader);
}

int stdin_queue_put(
	struct stdin_queue *in, const char *data, size_t bytes, bool is_first, struct err *err)
{
	if (!stdin_queue_is_open(in))
		return err_fail(err, ERR_GONE,
			in->is_ended ? "it was ended before"
				     : "the program does not read it any more",
			"the step's input was closed");
	if (!is_first && stdin_queue_bytes(in) > 0 &&
		stdin_queue_bytes(in) + bytes > STDIN_QUEUE_BYTES)
		return err_fail(err, ERR_BUSY, "send it again when the program has read some",
			"%zu bytes wait to be read by the step", stdin_queue_bytes(in));
	if (buf_try(&in->all, data, bytes) < 0)
		return err_fail(err, ERR_LIMIT, "write it to a file of the session",
			"the input of a step is over %d MiB in all", STDIN_QUEUE_TOTAL_BYTES >> 20);
	go_on(in);
	if (in->told)
		in->told(in->arg);
	return 0;
}

void stdin_queue_watch(struct stdin_queue *in, void (*told)(void *arg), void *arg)
{
	in->told = told;
	in->arg = arg;
}

void stdin_queue_end(struct stdin_queue *in)
{
	in->is_ended = true;
	go_on(in);
	if (in->told)
		in->told(in->arg);
}

size_t stdin_queue_bytes(const struct stdin_queue *in)
{
	return in->is_shut ? 0 : in->all.bytes - in->at;
}

size_t stdin_queue_unread(const struct stdin_queue *in)
{
	int in_pipe = 0;
	if (!in->is_shut && ioctl(in->writer, FIONREAD, &in_pipe) < 0)
		in_pipe = 0;
	return stdin_queue_bytes(in) + (size_t)in_pipe;
}

bool stdin_queue_is_open(const struct stdin_queue *in)
{
	return !in->is_shut && !in->is_ended;
}

const char *stdin_queue_text(const struct stdin_queue *in, size_t *bytes)
{
	*bytes = in->at == in->all.bytes ? in->at
					 : utf8_cut(buf_str(&in->all), in->all.bytes, in->at);
	return buf_str(&in->all);
}
