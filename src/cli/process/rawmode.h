/* The terminal of the person who uses a program in a box: in raw mode every key goes to the
 * program, and the program's own terminal interprets it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <termios.h>

/* A terminal, and its mode before it became raw. */
struct rawmode {
	int fd;
	bool is_raw;
	struct termios before;
};

/* Make @fd raw. If we are not in the foreground of the terminal, do nothing: its mode belongs to
 * another program; call again after SIGCONT. */
void rawmode_begin(struct rawmode *raw, int fd);

/* Restore the mode. It may be called any number of times. */
void rawmode_end(struct rawmode *raw);

/* Write the size of the terminal @fd. Returns: false if it has no size. */
bool rawmode_size(int fd, int *rows, int *columns);
