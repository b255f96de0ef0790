/* SHA-256 of a file, in threads of the pool. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/digest.h"
#include "base/work.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A file that is read to its end. It is read in pieces, and what else waits for a thread comes
 * between them. Embedded in the object that wants the digest, which must not move meanwhile.
 *
 * @fd: a regular file, read from its beginning.
 * @to: a file that gets the same bytes; or -1.
 * @max_bytes: read no more.
 * @progress: called from the loop after each piece; NULL: nobody asks.
 * @done: called once, from the loop. `bytes` are read then; `digest` waits for more, or for
 * digest_end(); `sys` is 0 or an errno.
 */
struct hashing {
	struct work work;
	uv_loop_t *loop;
	int fd, to;
	uint64_t max_bytes;
	void (*progress)(struct hashing *h);
	void (*done)(struct hashing *h);
	uint64_t bytes;
	struct digest_state digest;
	int sys;
	bool is_at_end, is_cancelled;
};

/* Begin. Set are the members `loop` to `done`; the others are zero. */
void hashing_begin(struct hashing *h);
/* Read no more: `done` is called soon, with ECANCELED. */
void hashing_cancel(struct hashing *h);
