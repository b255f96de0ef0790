/* Output that never blocks the engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* A program's output is passed on while the engine enforces its limits; so a slow or stopped reader
 * must not block us. What the reader has not taken yet waits here: at most what the record keeps.
 */
struct sink {
	int fd;
	struct buf waiting;
	int error; /* errno of a failed write: further output is dropped */
};

void sink_init(struct sink *s, int fd, size_t max_bytes);
void sink_done(struct sink *s);

/* Write as much as possible without waiting. */
void sink_add(struct sink *s, const void *data, size_t bytes);

/*
 * Write the rest. Blocks: until the reader has taken it.
 * Returns: 0, or negative errno of this or an earlier write (-EPIPE when the reader is gone).
 */
int sink_flush(struct sink *s);
