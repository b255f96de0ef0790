/*
 * Tell whether a step waits for input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Return whether a process waits for input from the pipe @fd, which is empty, and the step cannot
 * continue without it. That is so when @shell itself reads the pipe, or when @shell waits for a
 * child and some process reads the pipe.
 */
bool stdin_is_awaited(pid_t shell, int fd);
