/* Limit the bytes of long answers that callers have not read yet. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/*
 * A long answer takes memory from the beginning of its operation until the caller has read it,
 * which may never happen. So the bytes of unread answers are counted for each caller.
 *
 * An operation with long answers has an estimate of their size in `answer_bytes`. The operation
 * begins when the caller has room for the estimate. Until then it waits in a queue, and later
 * operations of the same caller wait behind it. It is refused if, for OUTSTANDING_WAIT_MS, no
 * other operation of the caller begins and the caller reads no answer.
 *
 * When the answer exists, the front counts its real size instead of the estimate, until the answer
 * has been written.
 */
enum {
	OUTSTANDING_BYTES = 192 << 20,
	OUTSTANDING_IN_LINE = 256 /* maximum of waiting operations of a caller */,
	OUTSTANDING_WAIT_MS = 60000
};

struct operation_context;
struct outstanding_queue;

/* The unread answers of one caller. Initialize with zeros. */
struct outstanding {
	struct outstanding_queue *line;
	size_t bytes;
	uint64_t moved_ms; /* when an operation last began, or an answer was read */
};

/* The unread bytes of one answer. Embedded in the data of the answer. Initialize with zeros. */
struct outstanding_part {
	struct outstanding *of;
	size_t bytes;
};

/* A place in the queue. Embedded in the data of the waiting operation. */
struct outstanding_turn {
	struct outstanding_turn *next;
	struct outstanding *of;
	size_t bytes;
	uint64_t since_ms;
	/* Called once, when the wait of the operation ends. @why NULL: the operation begins,
	 * because its caller has room for `bytes` more unread bytes; `begin` must then count these
	 * bytes with outstanding_set(). @why not NULL: the operation is refused, for the reason in
	 * @why. */
	void (*begin)(struct outstanding_turn *turn, const struct err *why);
};

/* Return the count of the caller's unread answers; NULL if they are not limited. */
struct outstanding *outstanding_of(const struct operation_context *context);

/* Return whether unread answers of the caller exceed OUTSTANDING_BYTES. Another long answer must
 * then be refused. */
bool outstanding_is_full(const struct outstanding *of);

/*
 * Set the number of unread bytes of one answer.
 * @owed: what is counted for this answer. The bytes that an earlier call has counted for @owed are
 * first subtracted again from the count of the caller to whom they were added.
 * @of: the count of the caller who gets the answer. NULL: count the bytes for no caller.
 * @bytes: the number of unread bytes, which is added to @of; 0: the caller has read the answer.
 */
void outstanding_set(struct outstanding_part *owed, struct outstanding *of, size_t bytes);

/* outstanding_wait() waits until the caller has room for @bytes. It may call `begin` before it
 * returns. outstanding_leave() ends the wait without a call of `begin`. */
void outstanding_wait(struct outstanding *of, struct outstanding_turn *turn, size_t bytes);
void outstanding_leave(struct outstanding_turn *turn);

/* Open and close the queue of an engine. outstanding_close() refuses all waiting operations with
 * ERR_GONE. Call outstanding_free() after the loop has ended. */
struct outstanding_queue *outstanding_open(uv_loop_t *loop);
void outstanding_close(struct outstanding_queue *line),
	outstanding_free(struct outstanding_queue *line);
