/* Start a process inside the box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

/*
 * Check a request to init: version, operation, strings inside the text, descriptors as many as
 * needed. Returns: 0, or negative errno. Errors: ERR_PROTOCOL.
 */
int spawn_check(const struct init_request *req, size_t n_fds, struct err *err);

/*
 * Start req's program with @fds as descriptors 0 to 3, its limits set, in /home/user.
 * Owns:    nothing; the caller closes @fds.
 * Blocks:  until the program is executed.
 * Returns: its pid, or negative errno.
 * Errors:  ERR_RUNTIME when it cannot be executed, ERR_BOX.
 */
int spawn(const struct init_request *req, const int fds[WIRE_SPAWN_FDS], struct err *err);
