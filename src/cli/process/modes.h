/* What a program has switched on at our terminal: the alternate screen, the mouse, a hidden cursor.
 * A program that ends leaves them itself. When it is left running, or is killed, we do.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/screen/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODES_NUMBERS_MAX = 16, MODES_UNDO_BYTES = 256 };

enum modes_at { MODES_TEXT, MODES_ESCAPE, MODES_CHARSET, MODES_SEQUENCE };

/* The modes, and what has come of a control sequence. Begins as zeros. */
struct modes {
	uint32_t on, ever; /* by row of the table in modes.c: not as usual now, or at any time */
	enum modes_at at;
	char prefix, between; /* of the sequence: "?" in CSI ? 25 l, the blank in CSI 2 SP q */
	uint32_t number[MODES_NUMBERS_MAX];
	size_t n;
};

/* Read output that goes to the terminal, in pieces of any size.
 * Source: ECMA-48, 5.4; XTerm Control Sequences. */
void modes_read(struct modes *m, const char *data, size_t bytes);

/* Write what brings the terminal back to its usual modes. @is_cut: the terminal did not get all
 * that was read. Returns: the bytes of @out. */
size_t modes_undo(const struct modes *m, bool is_cut, char out[MODES_UNDO_BYTES]);

/* Send that to the terminal @out. @is_flushed: what waits in @out is still written, else it is
 * dropped. */
void modes_leave(const struct modes *m, struct sink *out, bool is_flushed);
