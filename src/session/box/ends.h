/* How a driver begins: the descriptors it gets, and its start. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "session/box/driver.h"

/* The ends of its descriptors that a driver gets: stdin, stdout, stderr, channel. */
struct driver_ends {
	int fds[WIRE_SPAWN_FDS];
};

/*
 * Make one with its pipes and its channel; @ends are the caller's to pass on and close. @stdin_fd
 * (taken) becomes its standard input; -1: /dev/null. Errors: ERR_IO, ERR_NO_MEMORY.
 */
int driver_new(struct driver **out, struct box *box, const struct runtime *runtime, int stdin_fd,
	struct driver_ends *ends, struct err *err);

/* Have init start it. Closes @ends. Errors: as init_spawn(). */
int driver_spawn(struct driver *d, const struct runtime_start *start, unsigned is_session,
	struct driver_ends *ends, struct err *err);
void driver_ends_close(struct driver_ends *ends);

/*
 * A pipe for what the box reads or writes. The box's user, who is another than root, may open it
 * again by /proc/self/fd, as /dev/stdout does; nobody outside of the box can name it.
 * Owns: both ends are the caller's. Errors: ERR_IO.
 */
int box_pipe(int ends[2], struct err *err);
