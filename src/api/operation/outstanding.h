/* What callers are owed: answers that are long. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/*
 * A long answer costs memory from when it begins to be made until it has been taken, and callers
 * need not take it. So that is counted for each caller. An operation whose answer may be long,
 * whatever else is bounded, says in its row what the answer is reckoned at. It begins when so much
 * more may be owed, and others of its caller wait in line behind it; one that waits for
 * OUTSTANDING_WAIT_MS while nothing is made or taken is refused. An answer that is there is counted
 * by the front, for as long as it has something of it.
 */
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

/* A part of it, embedded in what it is for; zeros are nothing. */
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
	/* Once: there is room for `bytes`, which are not counted yet; or @why not. */
	void (*begin)(struct outstanding_turn *turn, const struct err *why);
};

/* Who calls; NULL: it is not counted. */
struct outstanding *outstanding_of(const struct operation_context *context);

/* More than OUTSTANDING_BYTES? Then one more answer that is long is an error. */
bool outstanding_is_full(const struct outstanding *of);

/* From now on it is @bytes; 0: it is over. @of may be NULL. */
void outstanding_set(struct outstanding_part *owed, struct outstanding *of, size_t bytes);

/* Wait for room: `begin` follows, possibly now. And no more: it does not follow. */
void outstanding_wait(struct outstanding *of, struct outstanding_turn *turn, size_t bytes);
void outstanding_leave(struct outstanding_turn *turn);

/* Of an engine. @close: what waits is told ERR_GONE, and when the loop has run to its end, @free.
 */
struct outstanding_queue *outstanding_open(uv_loop_t *loop);
void outstanding_close(struct outstanding_queue *line),
	outstanding_free(struct outstanding_queue *line);
