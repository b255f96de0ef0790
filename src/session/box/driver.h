/* A driver: an interpreter in a box, its channel, its output. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "runtime/frame.h"
#include "runtime/runtime.h"
#include "session/box/box.h"
#include "session/box/loss.h"

#include <jansson.h>

struct driver;

/*
 * What its owner hears of a driver, from the loop. Any callback may let go of the driver.
 *
 * frame        one frame; a negative return (with @err) says that it breaks the protocol.
 * output       bytes of stream 0 (stdout) or 1 (stderr), in the engine's chunk.
 * exited       its process ended, @status as wait(2) gives it.
 * broken       it sent an invalid frame, could not be started, or its box is gone.
 * rolled_back  everything that a failed step started has ended, and the guard can be resumed. With
 *              @err, that failed: told only if the driver is over already; else it is `broken`.
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
	bool is_open; /* the poll handle is open */
	int index;
};

struct channel;

struct driver {
	struct box *box; /* held */
	struct driver *next;
	const struct runtime *runtime;
	uint64_t id; /* in its box */
	const struct driver_events *events;
	void *arg;
	struct driver_pipe pipes[2];
	struct channel *channel;
	struct buf in, out;
	unsigned n_put_off;
	/* Descriptors that travel with queued frames, and how many bytes precede each frame. */
	struct driver_late {
		int fd;
		size_t at;
	} late[4];
	unsigned n_late;
	size_t n_handles;
	struct loss loss; /* what it lacks, if it is a branch */
	bool is_stem;	  /* it was told to prepare to be branched */
	bool is_let_go, is_over;
};

/* ---- its start ---- */

/* The driver's ends of stdin, stdout, stderr and channel. */
struct driver_ends {
	int fds[WIRE_SPAWN_FDS];
};

/*
 * Make a driver with its pipes and its channel; the caller passes on @ends and closes them.
 * @stdin_fd (taken over) becomes its standard input; -1: /dev/null. Errors: ERR_IO.
 */
int driver_new(struct driver **out, struct box *box, const struct runtime *runtime, int stdin_fd,
	struct driver_ends *ends, struct err *err);

/* Have init start it. Closes @ends. Errors: as init_spawn(). */
int driver_spawn(struct driver *d, const struct runtime_start *start, unsigned is_session,
	struct driver_ends *ends, struct err *err);
void driver_ends_close(struct driver_ends *ends);

/*
 * A pipe that the box reads or writes. The box's user, who is another than root, may open it again
 * by /proc/self/fd, as /dev/stdout does; outside of the box nobody can name it. Owns: both ends are
 * the caller's. Errors: ERR_IO.
 */
int box_pipe(int ends[2], struct err *err);

/* ---- its life ---- */

/* From now on @events hears of the driver. */
void driver_listen(struct driver *d, const struct driver_events *events, void *arg);

/* Has its process closed the channel? */
bool driver_has_ended(const struct driver *d);

/* Best effort: a driver that has ended needs no signal. */
void driver_signal(struct driver *d, int signal);

/* No more events. It is freed when its handles are closed; its process lives as long as the box. */
void driver_let_go(struct driver *d);

/* ---- its channel and its pipes ---- */

/* Queue a frame. Errors: ERR_LIMIT, ERR_NO_MEMORY. */
int driver_send(struct driver *d, enum frame_type type, const json_t *payload, struct err *err);

/* The same with the payload as text. */
int driver_send_text(
	struct driver *d, enum frame_type type, const char *text, size_t bytes, struct err *err);
/* How many bytes can still be queued. */
size_t driver_room(const struct driver *d);

/* The same with a descriptor (borrowed; -1: none), for a driver that is idle. */
int driver_send_fd(
	struct driver *d, enum frame_type type, const json_t *payload, int fd, struct err *err);

/* Send one frame at once, with descriptors (borrowed); for a driver that is idle. Errors: ERR_GONE.
 */
int driver_send_fds(struct driver *d, enum frame_type type, const char *payload, const int *fds,
	size_t n_fds, struct err *err);

/* Tell it, once, to prepare to be branched. */
void driver_be_stem(struct driver *d);

/* Read what its pipes hold now; what its channel holds now. */
void driver_drain(struct driver *d);
void driver_look(struct driver *d);

/* From now on its channel is @fd (taken over), the socket of a guard. Errors: ERR_IO. */
int driver_resume(struct driver *d, int fd, struct err *err);

/* ---- from the box ---- */

void driver_on_exited(struct driver *d, int status);
void driver_on_broken(struct driver *d, const struct err *err);
void driver_on_rolled_back(struct driver *d, const struct err *err);
