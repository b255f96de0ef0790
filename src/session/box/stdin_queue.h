/* The standard input of a step while it stays open: text that is written as the step runs, and
 * waits until the program reads it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

/*
 * A pipe, before it a queue of at most INLET_QUEUE_BYTES that the program has not made room for
 * yet, and a copy of all that went in, at most INLET_BYTES, which the step's record keeps.
 */
struct inlet;

enum { INLET_QUEUE_BYTES = 1 << 20, INLET_BYTES = 16 << 20 };

/* Owns: the caller ends it with inlet_close(). Errors: ERR_NO_MEMORY, ERR_IO. */
int inlet_open(struct inlet **out, uv_loop_t *loop, struct err *err);
/* It frees itself later, from the loop. NULL is nothing. */
void inlet_close(struct inlet *in);

/* The end that a program reads; it is the caller's, once. Returns: -1 when it was taken. */
int inlet_take_reader(struct inlet *in);

/*
 * Write @data. @is_first: the queue may be as long as it needs.
 * Errors:  ERR_BUSY: the queue is full, nothing was taken; ERR_LIMIT: over INLET_BYTES in all;
 *          ERR_GONE: it was ended, or nobody reads it any more.
 */
int inlet_put(struct inlet *in, const char *data, size_t bytes, bool is_first, struct err *err);

/* Call @told whenever something is written, or it is ended. */
void inlet_watch(struct inlet *in, void (*told)(void *arg), void *arg);

/* No more comes: the program sees the end behind what waits. */
void inlet_end(struct inlet *in);

/* Bytes that wait; the same with what is in the pipe; and whether more can be written. */
size_t inlet_queued(const struct inlet *in), inlet_unread(const struct inlet *in);
bool inlet_is_open(const struct inlet *in);

/* What went into the pipe so far, up to a whole character. Borrowed. */
const char *inlet_text(const struct inlet *in, size_t *bytes);
