/* Copies bytes from a file of the host into a pipe that is the standard input of a box.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <uv.h>

enum { STDIN_COPY_BYTES = 64 << 10 };

/*
 * A copy in progress. The box gets a pipe and never the host's own descriptor. With that
 * descriptor, a program could change a file's times and modes, or insert characters into a
 * terminal's input.
 */
struct stdin_copy {
	int from, to;
	uv_poll_t from_poll, to_poll;
	int n_open; /* number of libuv handles that are not closed yet */
	bool is_regular, is_closing;
	/* O_NONBLOCK was set in an open file description that other processes share, so it must
	 * be cleared at the end. */
	bool was_blocking;
	/* Called once, after all handles were closed. The caller sets it before the start. */
	void (*closed)(struct stdin_copy *f);
	size_t at, bytes;
	char *data; /* buffer of STDIN_COPY_BYTES, allocated by stdin_copy_start() */
};

/* Start to copy from @from (borrowed; reopened if possible) to @to (taken over). The copy ends
 * when @from is read to its end or nobody reads @to any more. Errors: ERR_IO, ERR_NO_MEMORY. */
int stdin_copy_start(struct stdin_copy *f, uv_loop_t *loop, int from, int to, struct err *err);

/* Stop a copy that was started. A second call does nothing. @f must live until `closed` is
 * called. `closed` is called too if a copy ends by itself. */
void stdin_copy_stop(struct stdin_copy *f);
