/* Starting a process inside the box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

/*
 * Check a request to init: its version, operation, strings and number of descriptors.
 * Returns: 0, or negative errno. Errors: ERR_PROTOCOL, ERR_LIMIT.
 */
int spawn_check(const struct init_request *req, size_t n_fds, struct err *err);

/*
 * Start the program that @req names in /home/user, with its limits set and @fds as descriptors 0 to
 * 3.
 * Owns:    nothing; the caller closes @fds.
 * Blocks:  until the program is executed.
 * Returns: its pid, or negative errno.
 * Errors:  ERR_RUNTIME when it cannot be executed, ERR_LIMIT when the box has too many processes,
 * ERR_BOX.
 */
int spawn(const struct init_request *req, const int fds[WIRE_SPAWN_FDS], struct err *err);
