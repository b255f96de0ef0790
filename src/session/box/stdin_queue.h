/* The standard input of a step while it stays open: text that is written as the step runs, and
 * waits until the program reads it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

/*
 * A pipe, before it a queue of at most STDIN_QUEUE_BYTES that the program has not made room for
 * yet, and a copy of all that went in, at most STDIN_QUEUE_TOTAL_BYTES, which the step's record
 * keeps.
 */
struct stdin_queue;

enum { STDIN_QUEUE_BYTES = 1 << 20, STDIN_QUEUE_TOTAL_BYTES = 16 << 20 };

/* Owns: the caller ends it with stdin_queue_close(). Errors: ERR_NO_MEMORY, ERR_IO. */
int stdin_queue_open(struct stdin_queue **out, uv_loop_t *loop, struct err *err);
/* It frees itself later, from the loop. NULL is nothing. */
void stdin_queue_close(struct stdin_queue *in);

/* The end that a program reads; it is the caller's, once. Returns: -1 when it was taken. */
int stdin_queue_take_reader(struct stdin_queue *in);

/*
 * Write @data. @is_first: the queue may be as long as it needs.
 * Errors:  ERR_BUSY: the queue is full, nothing was taken; ERR_LIMIT: over STDIN_QUEUE_TOTAL_BYTES
 * in all; ERR_GONE: it was ended, or nobody reads it any more.
 */
int stdin_queue_put(
	struct stdin_queue *in, const char *data, size_t bytes, bool is_first, struct err *err);

/* Call @told whenever something is written, or it is ended. */
void stdin_queue_watch(struct stdin_queue *in, void (*told)(void *arg), void *arg);

/* No more comes: the program sees the end behind what waits. */
void stdin_queue_end(struct stdin_queue *in);

/* Bytes that wait; the same with what is in the pipe; and whether more can be written. */
size_t stdin_queue_bytes(const struct stdin_queue *in),
	stdin_queue_unread(const struct stdin_queue *in);
bool stdin_queue_is_open(const struct stdin_queue *in);

/* What went into the pipe so far, up to a whole character. Borrowed. */
const char *stdin_queue_text(const struct stdin_queue *in, size_t *bytes);
