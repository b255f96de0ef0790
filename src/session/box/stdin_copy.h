/* Copies bytes from a file of the host into a pipe: the standard input of a box.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <uv.h>

enum { STDIN_COPY_BYTES = 64 << 10 };

/*
 * A copy in progress. The box never gets the host's own descriptor, with which it could change a
 * file's times and modes, or insert characters into a terminal's input.
 */
struct stdin_copy {
	int from, to;
	uv_poll_t from_poll, to_poll;
	int n_open; /* libuv handles that are not closed yet */
	bool is_regular, is_closing;
	bool was_blocking; /* clear O_NONBLOCK at the end: others share the open file description */
	void (*closed)(struct stdin_copy
			*f); /* set by the caller; called once, after all handles are closed */
	size_t at, bytes;
	char *data; /* buffer of STDIN_COPY_BYTES, allocated by stdin_copy_start() */
};

/*
 * Start to copy from @from (borrowed; reopened if possible) to @to (taken over) until one of them
 * ends. Errors: ERR_IO, ERR_NO_MEMORY.
 */
int stdin_copy_start(struct stdin_copy *f, uv_loop_t *loop, int from, int to, struct err *err);

/* Stop a copy that was started; allowed twice. @f must live until `closed`, which is also called
 * after a copy has ended by itself. */
void stdin_copy_stop(struct stdin_copy *f);
