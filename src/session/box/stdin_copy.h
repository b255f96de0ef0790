/* Standard input for a box: bytes of the host, copied into a pipe. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <uv.h>

enum { STDIN_COPY_BYTES = 64 << 10 };

/*
 * The box never gets the host's own descriptor: whoever holds one can change a file's times and
 * modes, or push characters back into a terminal.
 */
struct stdin_copy {
	int from, to;
	uv_poll_t from_poll, to_poll;
	int n_open; /* libuv handles that are open, or closing */
	bool is_regular, is_closing;
	bool was_blocking; /* set O_NONBLOCK back at the end, since others share the description */
	void (*closed)(struct stdin_copy
			*f); /* set by the caller; called once, when all handles are closed */
	size_t at, bytes;
	char *data; /* of STDIN_COPY_BYTES; there is no feed in most sessions */
};

/*
 * Copy from @from (borrowed; reopened if possible) into @to (taken over) until either ends. Errors:
 * ERR_IO, ERR_NO_MEMORY.
 */
int stdin_copy_start(struct stdin_copy *f, uv_loop_t *loop, int from, int to, struct err *err);

/* Stop a copy that was started; @f must live until `closed`, which also follows an end by itself.
 * May be called twice. */
void stdin_copy_stop(struct stdin_copy *f);
