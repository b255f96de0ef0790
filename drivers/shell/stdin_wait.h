/* Does a step wait for input? SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Is the pipe @fd empty, and does @shell read it, or wait for a process while one reads it? */
bool stdin_is_awaited(pid_t shell, int fd);
