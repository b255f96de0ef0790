/* What callers are owed: answers that are long. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* A long answer takes memory from the moment at which it begins to be made until the caller has
 * taken it, and a caller may never do so. So these bytes are counted for each caller. The row of an
 * operation with long answers says how many bytes to reckon with. The operation begins when the
 * caller has room for so many; others of the same caller wait in line behind it. One that has
 * waited for OUTSTANDING_WAIT_MS, while no answer was made or taken, is refused. When the answer
 * exists, the front counts its real size until it has been written. */
enum {
	OUTSTANDING_BYTES = 192 << 20,
	OUTSTANDING_IN_LINE = 256 /* of a caller */,
	OUTSTANDING_WAIT_MS = 60000
};

struct operation_context;
struct outstanding_queue;

/* Of one caller; begins as zeros. */
struct outstanding {
	struct outstanding_queue *line;
	size_t bytes;
	uint64_t moved_ms; /* when something was begun or taken */
};

/* The bytes of one answer, embedded in whatever holds that answer; zeros: no bytes. */
struct outstanding_part {
	struct outstanding *of;
	size_t bytes;
};

/* Embedded in what waits. */
struct outstanding_turn {
	struct outstanding_turn *next;
	struct outstanding *of;
	size_t bytes;
	uint64_t since_ms;
	/* Called once: there is room for `bytes`, which are not counted yet; or (@why) there will
	 * be none. */
	void (*begin)(struct outstanding_turn *turn, const struct err *why);
};

/* Who calls; NULL: it is not counted. */
struct outstanding *outstanding_of(const struct operation_context *context);

/* Has the caller more than OUTSTANDING_BYTES? Then another long answer is an error. */
bool outstanding_is_full(const struct outstanding *of);

/* Count @bytes for this answer from now on; 0: it has been taken. @of may be NULL. */
void outstanding_set(struct outstanding_part *owed, struct outstanding *of, size_t bytes);

/* Wait for room: `begin` is called, possibly before this returns. Stop waiting: it is not called
 * any more. */
void outstanding_wait(struct outstanding *of, struct outstanding_turn *turn, size_t bytes);
void outstanding_leave(struct outstanding_turn *turn);

/* Of an engine. @close: what waits is told ERR_GONE, and when the loop has run to its end, @free.
 */
struct outstanding_queue *outstanding_open(uv_loop_t *loop);
void outstanding_close(struct outstanding_queue *line),
	outstanding_free(struct outstanding_queue *line);
