/* A driver: an interpreter in a box, with its channel and output.
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
 * frame        A frame has arrived. A negative return (with @err) says that it violates the
 *              protocol.
 * output       Bytes of stream 0 (stdout) or 1 (stderr), in the engine's chunk.
 * exited       The process has ended; @status is as from wait(2).
 * broken       The driver sent an invalid frame, could not be started, or its box is over.
 * rolled_back  All processes that a failed step started have ended, and the guard can be resumed.
 *              With @err, ending them failed; for a driver that is not over yet, `broken` reports
 *              that.
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
	uint64_t id; /* driver's id in its box */
	const struct driver_events *events;
	void *arg;
	struct driver_pipe pipes[2];
	struct channel *channel;
	struct buf in, out;
	unsigned n_put_off;
	/* descriptors to send with queued frames; @at: bytes queued before the frame */
	struct driver_late {
		int fd;
		size_t at;
	} late[4];
	unsigned n_late;
	size_t n_handles;
	struct loss loss; /* losses of the clone, if it is a branch */
	bool is_stem;	  /* driver_be_stem() was called */
	bool is_let_go, is_over;
};

/* ---- start ---- */

/* The driver's ends of stdin, stdout, stderr and the channel. */
struct driver_ends {
	int fds[WIRE_SPAWN_FDS];
};

/*
 * Make a driver with its pipes and its channel; the caller passes @ends on and closes them.
 * @stdin_fd (taken over) becomes its standard input; -1: /dev/null. Errors: ERR_IO.
 */
int driver_new(struct driver **out, struct box *box, const struct runtime *runtime, int stdin_fd,
	struct driver_ends *ends, struct err *err);

/* Have init start the driver. Closes @ends. Errors: as init_spawn(). */
int driver_spawn(struct driver *d, const struct runtime_start *start, unsigned is_session,
	struct driver_ends *ends, struct err *err);
void driver_ends_close(struct driver_ends *ends);

/*
 * Make a pipe for a process of the box. The box's user, who is not root, may reopen the pipe by
 * /proc/self/fd, as /dev/stdout does; outside of the box no process can name it.
 * Owns: the caller owns both ends. Errors: ERR_IO.
 */
int box_pipe(int ends[2], struct err *err);

/* ---- lifetime ---- */

/* Set the owner's callbacks. */
void driver_listen(struct driver *d, const struct driver_events *events, void *arg);

/* Has the driver's process closed the channel? */
bool driver_has_ended(const struct driver *d);

/* Send @signal through init. A driver that has ended ignores it. */
void driver_signal(struct driver *d, int signal);

/* Drop the driver: no more callbacks. It is freed when its handles are closed; its process may run
 * until the box ends. */
void driver_let_go(struct driver *d);

/* ---- channel and pipes ---- */

/* Queue a frame with a JSON payload. Errors: ERR_LIMIT, ERR_NO_MEMORY. */
int driver_send(struct driver *d, enum frame_type type, const json_t *payload, struct err *err);

/* Queue a frame with a text payload. Errors: as above. */
int driver_send_text(
	struct driver *d, enum frame_type type, const char *text, size_t bytes, struct err *err);
/* Return how many bytes can still be queued. */
size_t driver_room(const struct driver *d);

/* Queue a frame with a JSON payload and a copy of @fd (-1: no descriptor). Errors: also ERR_GONE,
 * ERR_IO. */
int driver_send_fd(
	struct driver *d, enum frame_type type, const json_t *payload, int fd, struct err *err);

/* Send one frame now, with descriptors (borrowed), to a driver for which no frame is queued.
 * Errors: ERR_GONE. */
int driver_send_fds(struct driver *d, enum frame_type type, const char *payload, const int *fds,
	size_t n_fds, struct err *err);

/* Tell the driver, once, to prepare to be branched. */
void driver_be_stem(struct driver *d);

/* driver_drain() reads the output that the pipes contain now, driver_look() the frames in the
 * channel. */
void driver_drain(struct driver *d);
void driver_look(struct driver *d);

/* Replace the channel by @fd (taken over), a guard's socket, and resume the guard. Errors: ERR_IO.
 */
int driver_resume(struct driver *d, int fd, struct err *err);

/* ---- events from the box ---- */

void driver_on_exited(struct driver *d, int status);
void driver_on_broken(struct driver *d, const struct err *err);
void driver_on_rolled_back(struct driver *d, const struct err *err);
