/* Work in a thread of libuv's pool. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <uv.h>

/*
 * The loop serves many clients, so it must not do anything long: parsing or writing a text of
 * more than this many bytes is long.
 */
enum { WORK_BYTES = 256 << 10 };

/* Priorities. Writing an answer comes first: a written answer can be sent and its memory freed,
 * whereas reading files makes more answers. */
enum work_kind { WORK_WRITE, WORK_PARSE, WORK_READ, WORK_KIND_END_ };

/* Embedded in the object that the work is for; that object must not move until `done` has been
 * called. */
struct work {
	uv_work_t request;
	struct work *next; /* next in the queue */
	uv_loop_t *loop;
	void (*perform)(struct work *work);
	void (*done)(struct work *work);
};

/*
 * Call @perform in a thread, then @done in the loop's thread, exactly once each. Data that
 * @perform reads must not be changed meanwhile; a shared JSON value may be read, since its
 * references are counted atomically. Call this from the thread of the engine's loop only. Blocks:
 * runs both at once without a loop (NULL), or when a thread cannot be started.
 */
void work_begin(uv_loop_t *loop, enum work_kind kind, struct work *work,
	void (*perform)(struct work *work), void (*done)(struct work *work));
