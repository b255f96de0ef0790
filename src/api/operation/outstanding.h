/* Long answers that callers have not read yet. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* A long answer takes memory from when it begins to be made until the caller has read it, which may
 * never happen. So these bytes are counted for each caller. The row of an operation with long
 * answers has an estimate of the bytes (answer_bytes). The operation begins when the caller has
 * room for them; other operations of the caller wait behind it. One that has waited for
 * OUTSTANDING_WAIT_MS, while no answer was begun or read, is refused. When the answer exists, the
 * front counts its real size until it has been written. */
enum {
	OUTSTANDING_BYTES = 192 << 20,
	OUTSTANDING_IN_LINE = 256 /* waiting operations of one caller */,
	OUTSTANDING_WAIT_MS = 60000
};

struct operation_context;
struct outstanding_queue;

/* The unread answers of one caller; all zeros at first. */
struct outstanding {
	struct outstanding_queue *line;
	size_t bytes;
	uint64_t moved_ms; /* when an answer was last begun or read */
};

/* The bytes of one answer, embedded in the data of that answer; zeros: no bytes. */
struct outstanding_part {
	struct outstanding *of;
	size_t bytes;
};

/* A place in the queue, embedded in the data of a waiting operation. */
struct outstanding_turn {
	struct outstanding_turn *next;
	struct outstanding *of;
	size_t bytes;
	uint64_t since_ms;
	/* Called once: there is room for `bytes`, which are not counted yet; or (@why) the
	 * operation is refused. */
	void (*begin)(struct outstanding_turn *turn, const struct err *why);
};

/* Return the counter of the caller; NULL: answers are not counted. */
struct outstanding *outstanding_of(const struct operation_context *context);

/* Has the caller more than OUTSTANDING_BYTES? Then another long answer is an error. */
bool outstanding_is_full(const struct outstanding *of);

/* Set the size of the answer @owed to @bytes in the counter @of (may be NULL), in place of its
 * earlier size. @bytes 0: the caller has read the answer. */
void outstanding_set(struct outstanding_part *owed, struct outstanding *of, size_t bytes);

/* Wait for room: `begin` is called, possibly before this returns. outstanding_leave() ends the
 * wait, so that `begin` is not called. */
void outstanding_wait(struct outstanding *of, struct outstanding_turn *turn, size_t bytes);
void outstanding_leave(struct outstanding_turn *turn);

/* The queue of an engine. outstanding_close() answers waiting operations with ERR_GONE;
 * outstanding_free() must follow when the loop has ended. */
struct outstanding_queue *outstanding_open(uv_loop_t *loop);
void outstanding_close(struct outstanding_queue *line),
	outstanding_free(struct outstanding_queue *line);
