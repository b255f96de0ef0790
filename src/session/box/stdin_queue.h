/* The standard input of a step while it stays open: text that is written while the step runs, and
 * that waits until the program reads it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

/*
 * A pipe; a queue of at most STDIN_QUEUE_BYTES for which the pipe has no room yet; and a copy of
 * all that went into the pipe, at most STDIN_QUEUE_TOTAL_BYTES, which the step's record keeps.
 */
struct stdin_queue;

enum { STDIN_QUEUE_BYTES = 1 << 20, STDIN_QUEUE_TOTAL_BYTES = 16 << 20 };

/* Owns: the caller, who calls stdin_queue_close(). Errors: ERR_IO. */
int stdin_queue_open(struct stdin_queue **out, uv_loop_t *loop, struct err *err);
/* It is freed later, from the loop. NULL is nothing. */
void stdin_queue_close(struct stdin_queue *in);

/* The end that a program reads; it becomes the caller's, once. Returns: -1 when it was taken
 * already. */
int stdin_queue_take_reader(struct stdin_queue *in);

/*
 * Write @data. @is_first: the queue may become as long as it needs.
 * Errors:  ERR_BUSY: the queue is full, nothing was taken; ERR_LIMIT: over STDIN_QUEUE_TOTAL_BYTES
 * in all; ERR_GONE: the input was ended, or nobody reads it any more.
 */
int stdin_queue_put(
	struct stdin_queue *in, const char *data, size_t bytes, bool is_first, struct err *err);

/* Call @told whenever something is written, or the input is ended. */
void stdin_queue_watch(struct stdin_queue *in, void (*told)(void *arg), void *arg);

/* End the input: the program reads what waits, then the end. */
void stdin_queue_end(struct stdin_queue *in);

/* Bytes in the queue; in the queue and the pipe; and whether more can be written. */
size_t stdin_queue_bytes(const struct stdin_queue *in),
	stdin_queue_unread(const struct stdin_queue *in);
bool stdin_queue_is_open(const struct stdin_queue *in);

/* What went into the pipe so far, up to the last whole character. Borrowed. */
const char *stdin_queue_text(const struct stdin_queue *in, size_t *bytes);
