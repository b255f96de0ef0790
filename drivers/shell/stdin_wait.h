/* Does a step wait for input? SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Is the pipe @fd empty, while @shell reads it or waits for a process, and some process reads it?
 */
bool stdin_is_awaited(pid_t shell, int fd);
