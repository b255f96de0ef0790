/* The standard input of a step to which a client writes text while the step runs.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

/*
 * A pipe with a queue. The queue holds text for which the pipe has no room yet, at most
 * STDIN_QUEUE_BYTES. All text of a step, at most STDIN_QUEUE_TOTAL_BYTES, is also kept for its
 * record.
 */
struct stdin_queue;

enum { STDIN_QUEUE_BYTES = 1 << 20, STDIN_QUEUE_TOTAL_BYTES = 16 << 20 };

/* Open a queue. Owns: the caller, until stdin_queue_close(). Errors: ERR_IO. */
int stdin_queue_open(struct stdin_queue **out, uv_loop_t *loop, struct err *err);
/* Close the queue. The loop frees it later. @in may be NULL. */
void stdin_queue_close(struct stdin_queue *in);

/* Return the pipe's reading end, which the caller then owns. Returns: -1 if an earlier call has
 * returned it. */
int stdin_queue_take_reader(struct stdin_queue *in);

/*
 * Write @data to the pipe, or to the queue if the pipe is full. @is_first: ignore the limit
 * STDIN_QUEUE_BYTES.
 * Errors: ERR_BUSY: the queue is full, and nothing of @data was written. ERR_LIMIT: the step's text
 * would exceed STDIN_QUEUE_TOTAL_BYTES. ERR_GONE: stdin_queue_end() was called, or nobody reads the
 * pipe any more.
 */
int stdin_queue_put(
	struct stdin_queue *in, const char *data, size_t bytes, bool is_first, struct err *err);

/* Set the callback that is called after each stdin_queue_put() and after stdin_queue_end().
 * @told may be NULL. */
void stdin_queue_watch(struct stdin_queue *in, void (*told)(void *arg), void *arg);

/* End the input. The program reads the queued text and then gets end-of-file. */
void stdin_queue_end(struct stdin_queue *in);

/*
 * stdin_queue_bytes() returns the number of bytes in the queue, stdin_queue_unread() the number of
 * bytes in the queue and in the pipe. stdin_queue_is_open() returns whether more text can be
 * written.
 */
size_t stdin_queue_bytes(const struct stdin_queue *in),
	stdin_queue_unread(const struct stdin_queue *in);
bool stdin_queue_is_open(const struct stdin_queue *in);

/* Return the text that was written to the pipe so far, borrowed. *@bytes does not include a last
 * character that was written only in part. */
const char *stdin_queue_text(const struct stdin_queue *in, size_t *bytes);
