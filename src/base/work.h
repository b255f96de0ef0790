/* A queue for work in the threads of libuv's pool. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <uv.h>

/* A loop serves many clients, so its thread must not do long work. Parsing or writing a text
 * over this many bytes is long work. */
enum { WORK_BYTES = 256 << 10 };

/* Priorities of work, the highest first. Writing a response comes first, because the response
 * can then be sent and its memory freed. Reading files comes last, because it leads to more
 * responses. */
enum work_kind { WORK_WRITE, WORK_PARSE, WORK_READ, WORK_KIND_END_ };

/* A work item, embedded in the object that it works on. That object must not move until `done`
 * has been called. */
struct work {
	uv_work_t request;
	struct work *next; /* next item of the same kind */
	uv_loop_t *loop;
	void (*perform)(struct work *work);
	void (*done)(struct work *work);
};

/*
 * Call @perform in a thread of the pool, then @done in the loop's thread, exactly once each. Data
 * that @perform reads must not be changed meanwhile. @perform may read a JSON value that the loop's
 * thread also reads, because reference counts are atomic. Call this from the thread of the engine's
 * loop only.
 * Blocks: if @loop is NULL, or if the pool refuses the work, @perform and @done are called at once.
 */
void work_begin(uv_loop_t *loop, enum work_kind kind, struct work *work,
	void (*perform)(struct work *work), void (*done)(struct work *work));
