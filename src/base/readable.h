/* Be told when a terminal is readable, while the loop does other things. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <uv.h>

struct ear;

/* Have the loop call @told whenever @fd, a terminal, is readable. Owns: ear_close(), also from
 * @told. Errors: ERR_NO_MEMORY, ERR_IO. */
int ear_open(struct ear **out, uv_loop_t *loop, int fd, void (*told)(void *arg), void *arg,
	struct err *err);
/* NULL is ignored. */
void ear_close(struct ear *ear);
