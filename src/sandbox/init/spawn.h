/* Starting a process inside the box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <sys/types.h>

/*
 * Check a request to init: its version, operation, strings and number of descriptors.
 * Returns: 0, or negative errno. Errors: ERR_PROTOCOL, ERR_LIMIT.
 */
int spawn_check(const struct init_request *req, size_t n_fds, struct err *err);

/* A process that was started. */
struct spawned {
	pid_t child;   /* the child of init: the driver, or the minder of a program */
	pid_t program; /* the program that a client started, or 0 */
	/* The minder reports nothing before the caller closes this. -1 for a driver. */
	int go_fd;
};

/*
 * Start the program that @req names in /home/user or in the directory that @req names, with its
 * limits set and @fds as descriptors 0 to 3, or 0 to 2 if a client starts it. Owns:    nothing; the
 * caller closes @fds, and out->go_fd. Blocks:  until the program is executed. Returns: 0, or
 * negative errno. Errors:  ERR_RUNTIME when it cannot be executed, ERR_NOT_FOUND and ERR_ACCESS for
 * its directory, ERR_LIMIT when the box has too many processes, ERR_BOX.
 */
int spawn(const struct init_request *req, const int fds[WIRE_SPAWN_FDS], struct spawned *out,
	struct err *err);
