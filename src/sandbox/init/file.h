/* Changing files in the box for the engine, as the box's user.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

/*
 * Carry out an INIT_FILE request below /home/user, /tmp or /dev/shm; see enum init_file_act.
 * Missing parents are made if the request makes something. If the mode of a parent denies its owner
 * access, the mode is changed. Links are not followed. A directory is removed with its content, but
 * volumes in it keep theirs.
 * @fd is the new content of a file to write, and is read to its end. For other requests it is -1.
 * Blocks:  while it copies.
 * Returns: 0, or negative errno.
 */
int file_change(const struct init_request *req, int fd);
/* As file_change(), but below the directory @root. */
int file_change_below(const char *root, const struct init_request *req, int fd);
