/* Work for another thread than the loop's. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <uv.h>

/*
 * A loop that many wait for does nothing that takes it long: parsing and writing a text of more
 * than so many bytes is long.
 */
enum { WORK_BYTES = 256 << 10 };

/* What is done first: an answer that is written can be sent, and its memory is free. What reads a
 * file makes more of them. */
enum work_kind { WORK_WRITE, WORK_PARSE, WORK_READ, WORK_KIND_END_ };

/* Embedded in what it is done for, which stays where it is until `done` has been called. */
struct work {
	uv_work_t request;
	struct work *next; /* in line */
	uv_loop_t *loop;
	void (*perform)(struct work *work);
	void (*done)(struct work *work);
};

/*
 * Have @perform called in a thread, then @done in the loop's; in any case, once each. What @perform
 * reads nobody may change meanwhile. A JSON value that is shared may be read, its references are
 * counted atomically. To be called from one thread: that of the engine's loop.
 * Blocks: does both at once when there is no loop (NULL), or no thread.
 */
void work_begin(uv_loop_t *loop, enum work_kind kind, struct work *work,
	void (*perform)(struct work *work), void (*done)(struct work *work));
