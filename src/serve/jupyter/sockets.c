/*
 * The sockets of a kernel.
 *
 * ZeroMQ has threads of its own, and each socket a descriptor that tells when "something" has
 * happened: once, and also when a message was only sent. So the descriptors only wake the loop.
 * Before each sleep of the loop, pump() asks every socket whether it has messages, and reads some.
 * If it has more, an idle handle keeps the loop awake.
 * Source: zmq_getsockopt(3), ZMQ_FD and ZMQ_EVENTS.
 *
 * Whoever can connect can send; so nothing that is not signed gets further than jupyter_read().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/sockets.h"

#include "base/alloc.h"
#include "base/attr.h"
#include "serve/jupyter/libzmq.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	LINGER_MS = 1000,
	TURN_MESSAGES = 32, /* messages of a socket that are read at a time */
	UNREAD_MAX = 10000, /* messages that a client has not read; later ones are dropped */
	REFUSED_TOLD = 10,
	FRAME_BYTES = JUPYTER_TEXT_BYTES + (1 << 20)
};

struct sockets {
	struct libzmq zmq;
	void *context, *socket[JUPYTER_CHANNELS];
	struct signer *signer;
	struct kernel *kernel;
	uv_poll_t polls[JUPYTER_CHANNELS];
	uv_prepare_t prepare;
	uv_idle_t idle;
	size_t n_polls;
	bool is_serving;
	uint64_t n_refused;
	zmq_msg_t frames[JUPYTER_FRAMES];
};

/* ---- opening ---- */

static int fail(const struct sockets *s, const char *what, struct err *err)
{
	int sys = s->zmq.errno_();
	const char *why = s->zmq.strerror_(sys);
	if (sys == EADDRINUSE)
		return err_fail(err, ERR_BUSY,
			"another program listens there: start the kernel again", "%s: %s", what,
			why);
	if (sys == EACCES || sys == EPERM)
		return err_set(err, ERR_ACCESS, "%s: %s", what, why);
	if (sys == ENODEV || sys == EADDRNOTAVAIL || sys == EINVAL || sys == ENAMETOOLONG ||
		sys == ENOENT || sys == EPROTONOSUPPORT)
		return err_set(err, ERR_USAGE, "%s: %s", what, why);
	return err_set(err, sys == ENOMEM ? ERR_NO_MEMORY : ERR_IO, "%s: %s", what, why);
}

static int set(const struct sockets *s, void *socket, int option, int value)
{
	return s->zmq.setsockopt_(socket, option, &value, sizeof value);
}

static int open_socket(
	struct sockets *s, int channel, const struct connection_file *c, struct err *err)
{
	bool is_iopub = channel == JUPYTER_IOPUB;
	int64_t frame_bytes = FRAME_BYTES;
	/* XPUB: it tells of subscribers, so reading it makes them known before the next message. */
	void *socket = s->zmq.socket_(s->context, is_iopub ? ZMQ_XPUB : ZMQ_ROUTER);
	s->socket[channel] = socket;
	if (!socket)
		return fail(s, connection_file_channel(channel), err);
	(void)set(s, socket, ZMQ_LINGER, LINGER_MS);
	(void)set(s, socket, ZMQ_IPV6, 1);
	(void)set(s, socket, ZMQ_SNDHWM, UNREAD_MAX);
	(void)s->zmq.setsockopt_(socket, ZMQ_MAXMSGSIZE, &frame_bytes, sizeof frame_bytes);
	/* A client that connects again keeps its identity. */
	if (!is_iopub)
		(void)set(s, socket, ZMQ_ROUTER_HANDOVER, 1);
	mode_t mask = umask(077); /* a socket with a path is for this user only */
	int r = s->zmq.bind_(socket, c->places[channel]);
	(void)umask(mask);
	return r < 0 ? fail(s, c->places[channel], err) : 0;
}

int sockets_open(struct sockets **out, const struct connection_file *c, struct err *err)
{
	struct sockets *s = xnew(struct sockets);
	int r = libzmq_load(&s->zmq, err);
	if (r < 0) {
		free(s);
		return r;
	}
	r = signer_new(&s->signer, c->key, err);
	if (r == 0 && !(s->context = s->zmq.ctx_new_()))
		r = fail(s, "ZeroMQ", err);
	for (int i = 0; r == 0 && i < JUPYTER_CHANNELS; i++)
		r = open_socket(s, i, c, err);
	if (r < 0) {
		sockets_free(s);
		return r;
	}
	*out = s;
	return 0;
}

/* ---- receiving ---- */

static void refuse(struct sockets *s, int channel, const struct err *err)
{
	if (++s->n_refused > REFUSED_TOLD)
		return;
	fprintf(stderr, "retort: refused on %s: %s\n", connection_file_channel(channel), err->msg);
	if (s->n_refused == REFUSED_TOLD)
		fputs("retort: further messages that are refused are not reported\n", stderr);
}

static void close_frames(struct sockets *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)s->zmq.msg_close_(&s->frames[i]);
}

/* Receive the frames of a message. Frames beyond JUPYTER_FRAMES are dropped. Returns: their number,
 * with the dropped ones; 0 if there is no message. */
static size_t receive_frames(struct sockets *s, int channel, size_t *n_kept)
{
	size_t n = 0;
	*n_kept = 0;
	for (bool has_more = true; has_more; n++) {
		zmq_msg_t frame;
		(void)s->zmq.msg_init_(&frame);
		if (s->zmq.msg_recv_(&frame, s->socket[channel], ZMQ_DONTWAIT) < 0) {
			(void)s->zmq.msg_close_(&frame);
			break;
		}
		has_more = s->zmq.msg_more_(&frame);
		if (*n_kept < JUPYTER_FRAMES)
			s->frames[(*n_kept)++] = frame;
		else
			(void)s->zmq.msg_close_(&frame);
	}
	return n;
}

/* A heartbeat is sent back as it is. */
static void echo(struct sockets *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)s->zmq.send_(s->socket[JUPYTER_HEARTBEAT], s->zmq.msg_data_(&s->frames[i]),
			s->zmq.msg_size_(&s->frames[i]),
			ZMQ_DONTWAIT | (i + 1 < n ? ZMQ_SNDMORE : 0));
}

static void read_message(struct sockets *s, int channel, size_t n, size_t n_kept)
{
	struct signed_part parts[JUPYTER_FRAMES] = {{NULL, 0}};
	struct jupyter_message m;
	struct err err;
	int r = 0;
	for (size_t i = 0; i < n_kept; i++)
		parts[i] = (struct signed_part){
			s->zmq.msg_data_(&s->frames[i]), s->zmq.msg_size_(&s->frames[i])};
	if (n > n_kept)
		r = err_set(&err, ERR_LIMIT, "%zu frames, limit %d", n, JUPYTER_FRAMES);
	if (r == 0)
		r = jupyter_read(&m, s->signer, parts, n_kept, &err);
	close_frames(s, n_kept);
	if (r < 0)
		refuse(s, channel, &err);
	else
		kernel_receive(s->kernel, (enum jupyter_channel)channel, &m);
}

/* Return whether the socket has a message. This also lets ZeroMQ handle new subscribers. */
static bool has_message(const struct sockets *s, int channel)
{
	int events = 0;
	size_t bytes = sizeof events;
	return s->zmq.getsockopt_(s->socket[channel], ZMQ_EVENTS, &events, &bytes) == 0 &&
		(events & ZMQ_POLLIN);
}

/* Read some messages of a socket. Returns: whether there are more. */
static bool read_some(struct sockets *s, int channel)
{
	size_t n, n_kept;
	for (int i = 0; i < TURN_MESSAGES; i++) {
		if (channel == JUPYTER_SHELL && kernel_is_full(s->kernel))
			return false; /* the end of a request wakes the loop */
		if (!has_message(s, channel) || (n = receive_frames(s, channel, &n_kept)) == 0)
			return false;
		if (channel == JUPYTER_HEARTBEAT && n == n_kept)
			echo(s, n_kept);
		if (channel == JUPYTER_HEARTBEAT || channel == JUPYTER_IOPUB)
			close_frames(s, n_kept);
		else
			read_message(s, channel, n, n_kept);
	}
	return true;
}

static void on_idle(uv_idle_t *idle)
{
	(void)idle; /* the loop does not sleep while this is active */
}

static void pump(uv_prepare_t *prepare)
{
	struct sockets *s = prepare->data;
	bool has_more = false;
	for (int i = 0; i < JUPYTER_CHANNELS; i++)
		has_more |= read_some(s, i);
	if (has_more)
		(void)uv_idle_start(&s->idle, on_idle);
	else
		(void)uv_idle_stop(&s->idle);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)poll; /* pump() follows */
	(void)status;
	(void)events;
}

int sockets_serve(struct sockets *s, uv_loop_t *loop, struct kernel *kernel, struct err *err)
{
	s->kernel = kernel;
	s->is_serving = true;
	(void)uv_prepare_init(loop, &s->prepare);
	(void)uv_idle_init(loop, &s->idle);
	s->prepare.data = s;
	for (int i = 0; i < JUPYTER_CHANNELS; i++) {
		int fd = -1;
		size_t bytes = sizeof fd;
		if (s->zmq.getsockopt_(s->socket[i], ZMQ_FD, &fd, &bytes) < 0)
			return fail(s, connection_file_channel(i), err);
		int r = uv_poll_init(loop, &s->polls[i], fd);
		if (r < 0)
			return err_sys(err, ERR_IO, -r, "%s", connection_file_channel(i));
		s->n_polls++;
		(void)uv_poll_start(&s->polls[i], UV_READABLE, on_readable);
	}
	(void)uv_prepare_start(&s->prepare, pump);
	return 0;
}

/* ---- sending ---- */

static bool put(struct sockets *s, int channel, const void *data, size_t bytes, bool has_more)
{
	return s->zmq.send_(s->socket[channel], data, bytes,
		       ZMQ_DONTWAIT | (has_more ? ZMQ_SNDMORE : 0)) >= 0;
}

void sockets_send(struct sockets *s, enum jupyter_channel channel, const struct jupyter_route *to,
	const char *topic, const json_t *const parts[SIGNED_PARTS])
{
	struct jupyter_text text;
	struct err err;
	bool is_going = true;
	if (jupyter_write(&text, s->signer, parts, &err) < 0) {
		fprintf(stderr, "retort: %s\n", err.msg);
		return;
	}
	(void)has_message(s, (int)channel); /* new subscribers get it, too */
	if (channel == JUPYTER_IOPUB)
		is_going = put(s, channel, topic, strlen(topic), true);
	for (size_t i = 0; is_going && channel != JUPYTER_IOPUB && i < to->n; i++)
		is_going = put(s, channel, to->data[i], to->bytes[i] + 1u, true);
	is_going = is_going && put(s, channel, JUPYTER_DELIMITER, strlen(JUPYTER_DELIMITER), true);
	is_going = is_going && put(s, channel, text.signature, strlen(text.signature), true);
	for (int i = 0; is_going && i < SIGNED_PARTS; i++)
		is_going = put(s, channel, text.parts[i], text.bytes[i], i + 1 < SIGNED_PARTS);
	jupyter_text_done(&text);
}

/* ---- the end ---- */

void sockets_stop(struct sockets *s)
{
	if (!s->is_serving)
		return;
	uv_close((uv_handle_t *)&s->prepare, NULL);
	uv_close((uv_handle_t *)&s->idle, NULL);
	for (size_t i = 0; i < s->n_polls; i++)
		uv_close((uv_handle_t *)&s->polls[i], NULL);
	s->is_serving = false;
}

void sockets_free(struct sockets *s)
{
	if (!s)
		return;
	for (int i = 0; i < JUPYTER_CHANNELS; i++)
		if (s->socket[i])
			(void)s->zmq.close_(s->socket[i]);
	if (s->context)
		(void)s->zmq.ctx_term_(s->context);
	signer_free(s->signer);
	free(s);
}
