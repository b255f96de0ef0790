/* How a driver begins: the descriptors it gets, and its start. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "session/driver.h"

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
