/*
 * A driver's channel and pipes, on the loop.
 *
 * The channel is a socket that carries frames in both directions. A frame may carry a descriptor.
 * The kernel delivers a descriptor with the first byte of its message, so such a message begins
 * with the frame that carries the descriptor. The pipes are the driver's stdout and stderr.
 *
 * Three rules keep frames and output in order. Before output is passed on, the channel is read, so
 * that the BEGIN frame of a step is handled before the step's output. When a step is over, the
 * bytes that the pipes contain at that moment are read (driver_drain()), because they belong to the
 * step. When init reports that the driver has ended, its channel is read first (driver_look()),
 * because it may contain a result.
 *
 * Any process of the box may hold the other ends of channel and pipes and write to them, so
 * everything has a limit: bytes read per turn of the loop, bytes queued, the length of a frame.
 * Bytes that are not a valid frame end the driver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/box/driver.h"
#include "session/box/json_dump.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"
#include "runtime/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIPE_BYTES = 1 << 20, /* size of output pipes, the kernel's default maximum for users */
	READ_BYTES = 64 << 10,
	IN_BYTES = FRAME_MAX_BYTES + FRAME_HEAD_BYTES + READ_BYTES,
	OUT_BYTES = 2 * FRAME_MAX_BYTES + 2 * READ_BYTES, /* limit of the queued frames */
	/* Limit of reads in driver_look(): 64 times READ_BYTES is more than a socket can hold. */
	LOOKS_MAX = 64,
	LONG_BYTES = 256 << 10,
	KEEP_BYTES = 1 << 20, /* an empty buffer with more room than this is freed */
};

/* The channel. It is allocated separately, because driver_resume() opens a new channel while
 * libuv is still closing the old one. */
struct channel {
	uv_poll_t poll;
	int fd;
	int events; /* events that @poll waits for, or 0 while the poll is stopped */
	struct driver *driver;
};

/* ---- closing handles ---- */

static void drop_late(struct driver *d)
{
	while (d->n_late > 0)
		fd_close(&d->late[--d->n_late].fd);
}

static void free_driver(struct driver *d)
{
	struct box *box = d->box;
	struct engine *e = box->engine;
	drop_late(d);
	buf_done(&d->in);
	buf_done(&d->out);
	free(d);
	box_let_go(box);
	engine_release(e);
}

static void handle_gone(struct driver *d)
{
	if (--d->n_handles == 0 && d->is_let_go)
		free_driver(d);
}

static void pipe_closed(uv_handle_t *handle)
{
	struct driver_pipe *pipe = container_of((uv_poll_t *)handle, struct driver_pipe, poll);
	fd_close(&pipe->fd);
	handle_gone(handle->data);
}

static void channel_closed(uv_handle_t *handle)
{
	struct channel *c = container_of((uv_poll_t *)handle, struct channel, poll);
	struct driver *d = c->driver;
	fd_close(&c->fd);
	free(c);
	handle_gone(d);
}

static void close_channel(struct driver *d)
{
	struct channel *c = take_ptr(d->channel);
	if (c)
		uv_close((uv_handle_t *)&c->poll, channel_closed);
}

/* ---- output of the driver's process ---- */

/* Read from the pipe once and pass the output on. Returns: the number of bytes; 0 if the pipe is
 * empty; -1 at its end. */
static ssize_t read_some(struct driver *d, struct driver_pipe *pipe)
{
	char *chunk = d->box->engine->chunk;
	ssize_t n = read(pipe->fd, chunk, ENGINE_CHUNK_BYTES);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		return -1;
	if (d->events && d->events->output)
		d->events->output(d->arg, d, pipe->index, chunk, (size_t)n);
	return n;
}

void driver_drain(struct driver *d)
{
	for (int i = 0; i < 2; i++) {
		/* Read only the bytes that the pipe contains now: other processes may write for
		 * ever. */
		int left = 0;
		ssize_t n = 1;
		if (d->pipes[i].is_open)
			(void)ioctl(d->pipes[i].fd, FIONREAD, &left);
		while (!d->is_let_go && left > 0 && n > 0) {
			n = read_some(d, &d->pipes[i]);
			left -= (int)n;
		}
	}
}

/* ---- frames to and from the driver ---- */

static void on_channel(uv_poll_t *poll, int status, int events);
static void on_output(uv_poll_t *poll, int status, int events);

static void watch_channel(struct driver *d)
{
	struct channel *c = d->channel;
	int events = UV_READABLE | (d->out.bytes > 0 ? UV_WRITABLE : 0);
	/* uv_poll_start() costs two system calls even if nothing changes, so avoid it then. */
	if (c && c->events != events)
		(void)uv_poll_start(&c->poll, c->events = events, on_channel);
}

static void unwatch_channel(struct driver *d)
{
	d->channel->events = 0;
	(void)uv_poll_stop(&d->channel->poll);
}

/* Send queued bytes once. A descriptor is sent together with the first byte of its frame: the
 * message begins with that frame and ends before the next frame that carries a descriptor. */
static ssize_t send_some(struct driver *d)
{
	bool is_due = d->n_late > 0 && d->late[0].at == 0;
	unsigned next = is_due ? 1 : 0;
	size_t bytes = next < d->n_late ? d->late[next].at : d->out.bytes;
	ssize_t n = is_due ? fd_send(d->channel->fd, d->out.data, bytes, &d->late[0].fd, 1)
			   : send(d->channel->fd, d->out.data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n <= 0)
		return n;
	if (is_due) {
		fd_close(&d->late[0].fd);
		memmove(d->late, d->late + 1, --d->n_late * sizeof *d->late);
	}
	for (unsigned i = 0; i < d->n_late; i++)
		d->late[i].at -= (size_t)n;
	return n;
}

static void flush(struct driver *d)
{
	ssize_t n = 1;
	/* Send until the socket is full. An error is not handled here: if the socket is closed,
	 * init will report that the driver has ended. */
	while (d->channel && d->out.bytes > 0 && (n = send_some(d)) > 0)
		buf_consume(&d->out, (size_t)n);
	if (d->out.bytes == 0 && d->out.room > KEEP_BYTES)
		buf_done(&d->out);
}

static void break_channel(struct driver *d, const struct err *err)
{
	if (d->channel)
		unwatch_channel(d);
	driver_on_broken(d, err);
}

static void take_frames(struct driver *d)
{
	struct frame frame;
	struct err err = {0};
	ssize_t n = 0;
	while (!d->is_let_go && (n = frame_parse(&d->in, &frame, &err)) > 0) {
		struct channel *channel = d->channel;
		int r = d->events->frame(d->arg, d, &frame, &err);
		if (d->is_let_go || d->channel != channel)
			return;
		if (r < 0) {
			n = r;
			break;
		}
		buf_consume(&d->in, (size_t)n);
	}
	if (n < 0 && !d->is_let_go)
		break_channel(d, &err);
	else if (!d->is_let_go && d->in.bytes == 0 && d->in.room > KEEP_BYTES)
		buf_done(&d->in);
}

/* Report the driver as broken, because it has sent a descriptor. The protocol forbids this. */
static void refuse_descriptors(struct driver *d)
{
	struct err err;
	err_set(&err, ERR_PROTOCOL, "a descriptor came over the channel");
	break_channel(d, &err);
}

/* Read from the channel once and handle the frames. Returns: whether there may be more to read. */
static bool receive(struct driver *d)
{
	char *at = buf_reserve(&d->in, READ_BYTES);
	ssize_t n = at ? fd_recv(d->channel->fd, at, READ_BYTES, NULL, 0, NULL) : -ENOMEM;
	if (n == -EAGAIN || n == -EINTR)
		return false;
	if (n == -EPROTO)
		refuse_descriptors(d);
	else if (n <= 0) /* init will report the driver's end */
		unwatch_channel(d);
	if (n <= 0)
		return false;
	buf_grown(&d->in, (size_t)n);
	take_frames(d);
	return true;
}

/* Return whether a long frame should be read in a later turn of the loop, because this turn has
 * already taken long. */
static bool is_put_off(struct driver *d)
{
	return d->in.bytes > LONG_BYTES && timer_is_late(d->box->engine->loop, &d->n_put_off);
}

static void on_channel(uv_poll_t *poll, int status, int events)
{
	struct driver *d = poll->data;
	if (status < 0)
		d->channel->events = 0; /* libuv has stopped the poll */
	if (status == 0 && (events & UV_WRITABLE)) {
		flush(d);
		watch_channel(d);
	}
	if (status < 0 || ((events & UV_READABLE) && !is_put_off(d)))
		receive(d);
}

void driver_look(struct driver *d)
{
	/* Other processes of the box may go on writing, so limit the number of reads. */
	for (int i = 0; i < LOOKS_MAX && d->channel && !d->is_over && receive(d); i++)
		;
}

/* Handle output. The channel is read first, because it may contain the BEGIN frame of the step
 * that wrote the output. */
static void on_output(uv_poll_t *poll, int status, int events)
{
	struct driver_pipe *pipe = container_of(poll, struct driver_pipe, poll);
	struct driver *d = poll->data;
	(void)events;
	if (status == 0 && is_put_off(d))
		return;
	driver_look(d);
	if (!d->is_let_go && (status < 0 || read_some(d, pipe) < 0))
		(void)uv_poll_stop(poll);
}

/* Queue a copy of @fd. It will be sent with the frame that begins after the first @before bytes
 * of the queue. */
static int pass_fd(struct driver *d, int fd, size_t before, struct err *err)
{
	if (!d->channel || d->n_late == ARRAY_LEN(d->late))
		return err_set(err, ERR_GONE, "the driver takes no message");
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, ERR_IO, errno, "hold a descriptor");
	d->late[d->n_late++] = (struct driver_late){.fd = fd, .at = before};
	return 0;
}

static int queue(
	struct driver *d, enum frame_type type, const char *text, size_t bytes, struct err *err)
{
	int r = frame_write(&d->out, type, text, bytes);
	if (r == -E2BIG)
		return err_fail(err, ERR_LIMIT,
			"put data into a file and give it with -v data:/data",
			"the code is over %d MiB", FRAME_MAX_BYTES >> 20);
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "no memory for a message to the driver") : 0;
}

static void send_queued(struct driver *d)
{
	flush(d);
	watch_channel(d);
}

int driver_send_text(
	struct driver *d, enum frame_type type, const char *text, size_t bytes, struct err *err)
{
	int r = queue(d, type, text, bytes, err);
	if (r == 0)
		send_queued(d);
	return r;
}

size_t driver_room(const struct driver *d)
{
	return OUT_BYTES - d->out.bytes;
}

int driver_send_fd(
	struct driver *d, enum frame_type type, const json_t *payload, int fd, struct err *err)
{
	char *text = payload ? json_dump_text(payload, JSON_COMPACT) : strdup("");
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "no memory for a message to the driver");
	size_t before = d->out.bytes;
	int r = queue(d, type, text, strlen(text), err);
	free(text);
	if (r == 0 && fd >= 0)
		r = pass_fd(d, fd, before, err);
	if (r == 0)
		send_queued(d);
	return r;
}

int driver_send(struct driver *d, enum frame_type type, const json_t *payload, struct err *err)
{
	return driver_send_fd(d, type, payload, -1, err);
}

void driver_be_stem(struct driver *d)
{
	/* Ignore an error of sending the STEM frame. A driver that did not get the frame makes
	 * no branch, so the first request for a branch will report the error. */
	struct err none;
	if (!d->is_stem)
		(void)driver_send(d, FRAME_STEM, NULL, &none);
	d->is_stem = true;
}

int driver_send_fds(struct driver *d, enum frame_type type, const char *payload, const int *fds,
	size_t n_fds, struct err *err)
{
	cleanup_buf struct buf frame = BUF_INIT(1024);
	int r = frame_write(&frame, type, payload, strlen(payload));
	ssize_t n = r < 0 || !d->channel || d->out.bytes > 0
		? -EPIPE
		: fd_send(d->channel->fd, frame.data, frame.bytes, fds, n_fds);
	return n == (ssize_t)frame.bytes ? 0
					 : err_set(err, ERR_GONE, "the driver takes no message");
}

/* ---- creation of a driver ---- */

int box_pipe(int ends[2], struct err *err)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, ERR_IO, errno, "make a pipe");
	/* Both ends of a pipe have the same inode, so this sets the mode of both. */
	(void)fchmod(ends[0], 0666);
	return 0;
}

static int open_pipe(struct driver *d, int index, int *theirs, struct err *err)
{
	struct driver_pipe *pipe = &d->pipes[index];
	int ends[2];
	int r = box_pipe(ends, err);
	if (r < 0)
		return r;
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	*theirs = ends[1];
	pipe->fd = ends[0];
	pipe->index = index;
	pipe->poll.data = d;
	r = uv_poll_init(d->box->engine->loop, &pipe->poll, pipe->fd);
	if (r < 0)
		return err_sys(err, ERR_IO, -r, "watch a pipe");
	pipe->is_open = true;
	d->n_handles++;
	(void)uv_poll_start(&pipe->poll, UV_READABLE, on_output);
	return 0;
}

static int take_channel(struct driver *d, int fd, struct err *err)
{
	struct channel *c = xnew(struct channel);
	int r = uv_poll_init(d->box->engine->loop, &c->poll, fd);
	if (r < 0) {
		free(c);
		(void)close(fd);
		return err_sys(err, ERR_IO, -r, "watch a channel");
	}
	fd_refuse_passed(fd);
	c->fd = fd;
	c->driver = d;
	c->poll.data = d;
	d->channel = c;
	d->n_handles++;
	watch_channel(d);
	return 0;
}

static int open_channel(struct driver *d, int *theirs, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_IO, errno, "socketpair");
	*theirs = pair[1];
	return take_channel(d, pair[0], err);
}

void driver_ends_close(struct driver_ends *ends)
{
	for (int i = 0; i < WIRE_SPAWN_FDS; i++)
		fd_close(&ends->fds[i]);
}

int driver_new(struct driver **out, struct box *box, const struct runtime *runtime, int stdin_fd,
	struct driver_ends *ends, struct err *err)
{
	struct driver *d = xnew(struct driver);
	*ends = (struct driver_ends){{stdin_fd, -1, -1, -1}};
	engine_hold(box->engine);
	*d = (struct driver){.box = box_hold(box),
		.next = box->drivers,
		.runtime = runtime,
		.id = ++box->last_id,
		.pipes = {{.fd = -1}, {.fd = -1}},
		.in = BUF_INIT(IN_BYTES),
		.out = BUF_INIT(OUT_BYTES)};
	box->drivers = d;
	if (stdin_fd < 0)
		ends->fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int r = ends->fds[0] < 0 ? err_sys(err, ERR_IO, errno, "open /dev/null") : 0;
	for (int i = 0; r == 0 && i < 2; i++)
		r = open_pipe(d, i, &ends->fds[1 + i], err);
	if (r == 0)
		r = open_channel(d, &ends->fds[3], err);
	if (r < 0) {
		driver_ends_close(ends);
		driver_let_go(d);
		return r;
	}
	*out = d;
	return 0;
}

int driver_spawn(struct driver *d, const struct runtime_start *start, unsigned is_session,
	struct driver_ends *ends, struct err *err)
{
	struct box *box = d->box;
	struct spawn spawn = {.id = d->id,
		.argv = (const char *const *)start->argv,
		.envp = (const char *const *)start->envp,
		.limits = &box->limits,
		.is_session = is_session,
		.is_fixed = start->is_fixed};
	/* Without a cgroup, the kernel limits the data of each single process to twice the box's
	 * memory limit, and the engine measures the sum of all processes. */
	if (box->by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE)
		spawn.data_bytes = box->limits.value[LIMIT_memory_bytes] * 2;
	memcpy(spawn.fds, ends->fds, sizeof spawn.fds);
	int r = init_spawn(&box->init, &spawn, err);
	driver_ends_close(ends);
	return r;
}

void driver_listen(struct driver *d, const struct driver_events *events, void *arg)
{
	d->events = events;
	d->arg = arg;
}

int driver_resume(struct driver *d, int fd, struct err *err)
{
	close_channel(d);
	drop_late(d);
	buf_clear(&d->in);
	buf_clear(&d->out);
	d->is_over = false;
	int r = take_channel(d, fd, err);
	return r < 0 ? r : driver_send(d, FRAME_RESUME, NULL, err);
}

bool driver_has_ended(const struct driver *d)
{
	char byte;
	return d->is_over || !d->channel ||
		recv(d->channel->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void driver_signal(struct driver *d, int signal)
{
	if (!d->box->is_over)
		init_signal(&d->box->init, d->id, signal);
}

void driver_let_go(struct driver *d)
{
	struct driver **at = &d->box->drivers;
	if (d->is_let_go)
		return;
	while (*at && *at != d)
		at = &(*at)->next;
	if (*at)
		*at = d->next;
	d->is_let_go = d->is_over = true;
	/* Each open handle keeps the driver in memory. Count this function as one more handle,
	 * so that the driver is not freed before the function has called uv_close() for all
	 * handles. The call of handle_gone() below ends this. */
	d->n_handles++;
	for (int i = 0; i < 2; i++) {
		if (d->pipes[i].is_open)
			uv_close((uv_handle_t *)&d->pipes[i].poll, pipe_closed);
		else
			fd_close(&d->pipes[i].fd);
	}
	close_channel(d);
	handle_gone(d);
}

/* ---- events that the box reports ---- */

void driver_on_exited(struct driver *d, int status)
{
	/* Frames that the driver sent before its end may still be in the socket. A result among
	 * them is valid. */
	driver_look(d);
	if (!d->is_over && d->events) {
		d->is_over = true;
		d->events->exited(d->arg, d, status);
	}
}

void driver_on_broken(struct driver *d, const struct err *err)
{
	if (d->is_over)
		return;
	d->is_over = true;
	if (d->events)
		d->events->broken(d->arg, d, err);
}

void driver_on_rolled_back(struct driver *d, const struct err *err)
{
	if (d->events && d->events->rolled_back)
		d->events->rolled_back(d->arg, d, err);
}
