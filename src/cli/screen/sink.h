/* Output that does not block the engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* An output that does not block. The engine must enforce the limits of a program even while a
 * reader of the output is slow or stopped. So bytes that the reader does not accept yet are kept
 * in memory, up to a maximum. */
struct sink {
	int fd;
	struct buf waiting;
	bool is_held;  /* see sink_hold() */
	bool is_plain; /* only plain writes of few bytes are known not to block */
	int error;     /* errno of a failed write; after that, output is dropped */
};

void sink_init(struct sink *s, int fd, size_t max_bytes);
void sink_done(struct sink *s);

/* Write as much as possible without waiting, and keep the rest in memory. */
void sink_add(struct sink *s, const void *data, size_t bytes);

/* Keep all in memory from now on, or, if not @is_held, write again. */
void sink_hold(struct sink *s, bool is_held);

/*
 * Write what was kept in memory.
 * Blocks: until the reader has accepted it.
 * Returns: 0, or negative errno of this write or an earlier one. It is -EPIPE if the reader has
 * closed its end.
 */
int sink_flush(struct sink *s);
