/* A callback for when a terminal becomes readable, without blocking the loop.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <uv.h>

struct ear;

/* Make the loop call @told whenever @fd, a terminal, is readable. Owns: the caller, until
 * ear_close(), which @told may call. Errors: ERR_NO_MEMORY, ERR_IO. */
int ear_open(struct ear **out, uv_loop_t *loop, int fd, void (*told)(void *arg), void *arg,
	struct err *err);
/* Stop the callback; NULL is allowed. */
void ear_close(struct ear *ear);
