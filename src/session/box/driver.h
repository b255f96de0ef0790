/* A driver: the interpreter of one language in a box, with its channel and its output pipes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "runtime/frame.h"
#include "runtime/runtime.h"
#include "session/box/box.h"
#include "session/box/loss.h"

#include <jansson.h>

struct driver;

/*
 * Callbacks to a driver's owner, from the loop. Each may drop the driver with driver_let_go().
 *
 * frame        A frame has arrived. The callee returns a negative errno, with @err, if the frame
 *              violates the protocol.
 * output       The driver has written to stream 0 (stdout) or 1 (stderr). @data is valid only
 *              during the call.
 * exited       The process has ended. @status is as from wait(2).
 * broken       The driver sent an invalid frame, could not be started, or its box has ended.
 * rolled_back  Init has ended all processes that a failed step started, so the guard can be
 *              resumed. With @err, init could not end them, or the box has ended. If init fails
 *              before the driver itself has ended, `broken` is called instead.
 */
struct driver_events {
	int (*frame)(void *arg, struct driver *d, const struct frame *frame, struct err *err);
	void (*output)(void *arg, struct driver *d, int stream, const char *data, size_t bytes);
	void (*exited)(void *arg, struct driver *d, int status);
	void (*broken)(void *arg, struct driver *d, const struct err *err);
	void (*rolled_back)(void *arg, struct driver *d, const struct err *err);
};

struct driver_pipe {
	int fd;
	uv_poll_t poll;
	bool is_open; /* @poll is open */
	int index;
};

struct channel;

struct driver {
	struct box *box; /* counted reference */
	struct driver *next;
	const struct runtime *runtime;
	uint64_t id; /* id of the driver in its box */
	const struct driver_events *events;
	void *arg;
	struct driver_pipe pipes[2];
	struct channel *channel;
	struct buf in, out;
	unsigned n_put_off;
	/* Descriptors that will be sent with queued frames. @at is the number of bytes queued
	 * before the frame. */
	struct driver_late {
		int fd;
		size_t at;
	} late[4];
	unsigned n_late;
	size_t n_handles;
	struct loss loss; /* in a branch: what the process lost when it was cloned */
	bool is_stem;	  /* driver_be_stem() was called */
	bool is_let_go, is_over;
};

/* ---- start of a driver ---- */

/* Descriptors for the driver's process: stdin, stdout, stderr and its end of the channel. */
struct driver_ends {
	int fds[WIRE_SPAWN_FDS];
};

/*
 * Make a driver with its pipes and its channel. @ends gets the descriptors for its process, which
 * the caller passes on and closes. @stdin_fd (taken over) becomes the standard input; -1 means
 * /dev/null. Errors: ERR_IO.
 */
int driver_new(struct driver **out, struct box *box, const struct runtime *runtime, int stdin_fd,
	struct driver_ends *ends, struct err *err);

/* Have init start the driver's process, and close @ends. Errors: as init_spawn(). */
int driver_spawn(struct driver *d, const struct runtime_start *start, unsigned is_session,
	struct driver_ends *ends, struct err *err);
void driver_ends_close(struct driver_ends *ends);

/*
 * Make a pipe for a process of the box. Its mode lets programs open it again by /proc/self/fd, as
 * they do with /dev/stdout, even if they do not run as root. No path outside of the box leads to
 * the pipe.
 * Owns: the caller owns both ends. Errors: ERR_IO.
 */
int box_pipe(int ends[2], struct err *err);

/* ---- callbacks, signals and end ---- */

/* Set the owner's callbacks. */
void driver_listen(struct driver *d, const struct driver_events *events, void *arg);

/* Return whether the driver's process has ended or has closed the channel. */
bool driver_has_ended(const struct driver *d);

/* Have init send @signal to the driver's process. A driver that has ended gets no signal. */
void driver_signal(struct driver *d, int signal);

/* Drop the driver. Its callbacks are not called any more. It is freed when its handles are
 * closed. Its process may run until the box ends. */
void driver_let_go(struct driver *d);

/* ---- sending frames, and reading frames and output ---- */

/* Queue a frame with a JSON payload. Errors: ERR_LIMIT, ERR_NO_MEMORY. */
int driver_send(struct driver *d, enum frame_type type, const json_t *payload, struct err *err);

/* Queue a frame with a text payload. Errors: as driver_send(). */
int driver_send_text(
	struct driver *d, enum frame_type type, const char *text, size_t bytes, struct err *err);
/* Return how many bytes can still be queued. */
size_t driver_room(const struct driver *d);

/* Queue a frame with a JSON payload and a copy of @fd (-1: no descriptor). Errors: as
 * driver_send(), and ERR_GONE, ERR_IO. */
int driver_send_fd(
	struct driver *d, enum frame_type type, const json_t *payload, int fd, struct err *err);

/*
 * Send one frame with the descriptors @fds (borrowed) at once, without the queue.
 * Errors: ERR_GONE if the frame cannot be sent as a whole. It is also the error if the queue is not
 * empty, because then the frame would overtake the queued frames.
 */
int driver_send_fds(struct driver *d, enum frame_type type, const char *payload, const int *fds,
	size_t n_fds, struct err *err);

/* Tell the driver to prepare to be branched. A second call does nothing. */
void driver_be_stem(struct driver *d);

/* driver_drain() reads the output that the pipes contain now. driver_look() reads the frames
 * that the channel contains now. */
void driver_drain(struct driver *d);
void driver_look(struct driver *d);

/* Replace the channel by the guard's socket @fd (taken over), and resume the guard. Errors:
 * ERR_IO. */
int driver_resume(struct driver *d, int fd, struct err *err);

/* ---- events that the box reports ---- */

void driver_on_exited(struct driver *d, int status);
void driver_on_broken(struct driver *d, const struct err *err);
void driver_on_rolled_back(struct driver *d, const struct err *err);
