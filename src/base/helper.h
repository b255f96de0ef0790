/* Starting a helper program: a program of ours that does one kind of work for the engine, and has
 * one channel to it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <sys/types.h>

enum { HELPER_FD = 3 }; /* the channel, in the helper */

/*
 * Start @path as @argv with an empty environment, in a process group of its own, so that Ctrl-C at
 * a terminal does not reach it. Its descriptors 0 to 2 are /dev/null, and HELPER_FD is @channel.
 * Owns:   nothing; the caller still owns @channel.
 * Errors: ERR_BOX with a hint.
 */
int helper_start(pid_t *pid, const char *path, char *const argv[], int channel, struct err *err);
