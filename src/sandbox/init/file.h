/* Change the workspace for the engine, as the box's user. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

/*
 * Carry out an INIT_FILE request below /home/user, /tmp or /dev/shm: write a file (in place, or
 * always a new one), make a directory or a link, move a file or give it another name, remove a
 * file, link or directory (with its content, except volumes), set a mode, or set a modification
 * time. Missing parents are made; parents whose mode forbids access are opened. Links are not
 * followed. @fd: the content of the file, read to its end; -1 for other requests.
 * Blocks:  while it copies.
 * Returns: 0, or negative errno.
 */
int file_change(const struct init_request *req, int fd);
/* As file_change(), below another directory than the request names. */
int file_change_below(const char *root, const struct init_request *req, int fd);
