/* A callback for when a terminal becomes readable. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <uv.h>

struct ear;

/*
 * Make the loop call @told whenever the terminal @fd is readable. @told may call ear_close().
 * Owns: the caller ends *@out with ear_close().
 * Errors: ERR_NO_MEMORY, ERR_IO.
 */
int ear_open(struct ear **out, uv_loop_t *loop, int fd, void (*told)(void *arg), void *arg,
	struct err *err);
/* Stop the callback and free @ear, which may be NULL. */
void ear_close(struct ear *ear);
