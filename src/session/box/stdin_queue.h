/* The standard input of a step while it is open: a queue of text that is written while the step
 * runs. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

/*
 * A pipe; a queue of at most STDIN_QUEUE_BYTES for which the pipe has no room yet; and a copy of
 * all text that was written to the pipe, at most STDIN_QUEUE_TOTAL_BYTES, for the step's record.
 */
struct stdin_queue;

enum { STDIN_QUEUE_BYTES = 1 << 20, STDIN_QUEUE_TOTAL_BYTES = 16 << 20 };

/* Open a queue. Owns: the caller, who calls stdin_queue_close(). Errors: ERR_IO. */
int stdin_queue_open(struct stdin_queue **out, uv_loop_t *loop, struct err *err);
/* Close the queue, which the loop frees later. NULL is allowed. */
void stdin_queue_close(struct stdin_queue *in);

/* Transfer the pipe's reading end to the caller, once. Returns: -1 if it was transferred before. */
int stdin_queue_take_reader(struct stdin_queue *in);

/*
 * Write @data. @is_first: ignore STDIN_QUEUE_BYTES.
 * Errors: ERR_BUSY: the queue is full, no byte was taken; ERR_LIMIT: more than
 * STDIN_QUEUE_TOTAL_BYTES in total; ERR_GONE: the input was ended, or its readers are closed.
 */
int stdin_queue_put(
	struct stdin_queue *in, const char *data, size_t bytes, bool is_first, struct err *err);

/* Set the callback for text that is written and for the end of the input. @told NULL: no callback.
 */
void stdin_queue_watch(struct stdin_queue *in, void (*told)(void *arg), void *arg);

/* End the input: the program reads the queued text and then the end of the file. */
void stdin_queue_end(struct stdin_queue *in);

/* Return the bytes in the queue; the bytes in queue and pipe; whether more can be written. */
size_t stdin_queue_bytes(const struct stdin_queue *in),
	stdin_queue_unread(const struct stdin_queue *in);
bool stdin_queue_is_open(const struct stdin_queue *in);

/* Return the text that was written to the pipe so far, without a cut last character. Borrowed. */
const char *stdin_queue_text(const struct stdin_queue *in, size_t *bytes);
