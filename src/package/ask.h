/* Asking a program of this host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/*
 * Run a program of this host and append what it writes to @out, up to its maximum.
 *
 * @argv: its name, which is looked up in the absolute directories of PATH, or its absolute path;
 * and its arguments. It gets the environment of this process, "/" as its directory, so that no file
 * of a project has a say, and no input. What it writes on stderr is lost.
 * Blocks:  until it has ended, at most 10 s; then it is killed.
 * Errors:  ERR_NOT_FOUND: there is no such program. ERR_RUNTIME: it failed, or wrote too much, or
 *          took too long.
 */
int package_ask(struct buf *out, const char *const *argv, struct err *err);
