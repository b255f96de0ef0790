/* Output that never makes the engine wait: written as the reader takes it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/*
 * A program's output is passed on while it runs, and its limits are kept meanwhile; so a reader
 * that is slow, or stopped, must not stop us. What it has not taken yet waits here: at most what
 * the record keeps.
 */
struct sink {
	int fd;
	struct buf waiting;
	int error; /* errno of the write that failed: what comes after is dropped */
};

void sink_init(struct sink *s, int fd, size_t max_bytes);
void sink_done(struct sink *s);

/* Write what can be written now without waiting. */
void sink_add(struct sink *s, const void *data, size_t bytes);

/*
 * Write all that waits.
 * Blocks:  until the reader took it.
 * Returns: 0, or negative errno of this or an earlier write (-EPIPE when the reader is gone).
 */
int sink_flush(struct sink *s);
