/* Change the workspace for the engine, as the box's user. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

/*
 * Do what an INIT_FILE asks: write a file (in place, or a new one in any case), make a directory or
 * a link, move what there is or give it one name more, remove any of them (a directory with what is
 * in it, but for volumes), set the mode of what is no file, or say when something was modified;
 * below /home/user, /tmp or /dev/shm. Parents are made, and opened where their mode forbids the
 * way. No link is followed.
 * @fd: what a file is to hold, read to its end; -1 for the others.
 * Blocks:  while it copies.
 * Returns: 0, or negative errno.
 */
int file_change(const struct init_request *req, int fd);
/* The same below another directory than the request says. */
int file_change_below(const char *root, const struct init_request *req, int fd);
