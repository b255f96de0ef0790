/* Starting a helper program: a program of ours that does one kind of work for the engine, and has
 * one channel to it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

enum { HELPER_FD = 3 }; /* the channel, in the helper */

/*
 * Start @path as @argv with an empty environment, in a process group of its own, so that Ctrl-C at
 * a terminal does not reach it. Its descriptors 0 to 2 are /dev/null, and HELPER_FD is @channel.
 * Owns:   nothing; the caller still owns @channel.
 * Errors: ERR_BOX with a hint.
 */
int helper_start(pid_t *pid, const char *path, char *const argv[], int channel, struct err *err);

/*
 * Wait until the helper @pid, whose channel has been closed, has ended; kill it after @grace_ms.
 * @done is called from the loop, once the process is reaped. @pid may be 0: then there is none.
 */
void helper_end(uv_loop_t *loop, pid_t pid, uint64_t grace_ms, void (*done)(void *arg), void *arg);
