/* A queue for work in the threads of libuv's pool. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <uv.h>

/* The loop serves many clients, so it must not do long work itself. Parsing or writing a text of
 * more than this many bytes is long work. */
enum { WORK_BYTES = 256 << 10 };

/* Priorities of work. Writing a response comes first, because the response can then be sent and
 * its memory freed; reading files creates more responses. */
enum work_kind { WORK_WRITE, WORK_PARSE, WORK_READ, WORK_KIND_END_ };

/* A work item, embedded in the object that the work is for. That object must not move until
 * `done` has been called. */
struct work {
	uv_work_t request;
	struct work *next; /* next in the queue */
	uv_loop_t *loop;
	void (*perform)(struct work *work);
	void (*done)(struct work *work);
};

/*
 * Call @perform in a thread, then @done in the loop's thread, exactly once each. Data that @perform
 * reads must not be changed meanwhile; a shared JSON value may be read, because its reference count
 * is atomic. Call this from the thread of the engine's loop only.
 * Blocks: both are called at once when @loop is NULL, or when a thread cannot be started.
 */
void work_begin(uv_loop_t *loop, enum work_kind kind, struct work *work,
	void (*perform)(struct work *work), void (*done)(struct work *work));
