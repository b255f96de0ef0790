/* Output that does not block the engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* An output. It must not block, because the engine enforces a program's limits while the program's
 * output is passed on. Bytes that a slow or stopped reader has not accepted yet wait in memory, up
 * to the size that the record keeps. */
struct sink {
	int fd;
	struct buf waiting;
	int error; /* errno of a failed write, after which output is dropped */
};

void sink_init(struct sink *s, int fd, size_t max_bytes);
void sink_done(struct sink *s);

/* Write as much as possible without waiting. */
void sink_add(struct sink *s, const void *data, size_t bytes);

/*
 * Write the rest.
 * Blocks:  until the reader has accepted it.
 * Returns: 0, or negative errno of this or an earlier write (-EPIPE if the reader has closed its
 *          end).
 */
int sink_flush(struct sink *s);
