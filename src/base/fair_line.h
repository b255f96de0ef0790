/* A queue that is fair between callers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct fair_turn;

/*
 * A queue for work of which only a number of pieces goes on at a time. The next piece to begin is
 * the oldest one of the caller with the fewest that go on, so that a caller with much work does not
 * delay the others. Not for threads. Initialize the limits; the rest with zeros.
 */
struct fair_line {
	const char *what;	   /* "plans", for messages */
	size_t n_max, n_each;	   /* pieces that go on: in total, and of one caller */
	size_t n_waiting_each;	   /* pieces of one caller that wait */
	struct fair_turn *running; /* oldest first */
	struct fair_turn *waiting; /* oldest first */
	size_t n_running;
	bool is_beginning;
};

/* A piece of work in the queue. The struct is embedded in a larger struct of its caller. */
struct fair_turn {
	/* Called once when the work may begin, possibly by fair_line_take(). It must call
	 * fair_line_end() when the work is over, which may be at once. */
	void (*begin)(struct fair_turn *turn);

	struct fair_turn *next;
	struct fair_line *line;
	const void *caller;
	bool is_running;
};

/* Add a piece to the queue. @caller is any pointer that identifies the caller. Errors: ERR_QUOTA:
 * too many pieces of the caller wait; the piece is then not in the queue. */
int fair_line_take(
	struct fair_line *line, struct fair_turn *turn, const void *caller, struct err *err);

/* Remove a piece that still waits. Returns: whether it waited. */
bool fair_line_leave(struct fair_turn *turn);

/* The work of a piece is over: let the next ones begin. */
void fair_line_end(struct fair_turn *turn);
