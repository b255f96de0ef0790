/* The input of a program: what clients write to its stdin or its terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum { INPUT_BYTES = 16 << 20 };

/* A piece of input that waits until the program reads it. It is a member of the caller's struct. */
struct input_piece {
	struct input_piece *next;
	const char *data; /* borrowed until `done` */
	size_t bytes;
	size_t at;   /* how many bytes were written */
	bool is_end; /* the input ends after this piece */
	/* Called once, when the program's pipe has the piece. @err: it has only the first @at bytes
	 * of it, and will get no more. */
	void (*done)(struct input_piece *piece, const struct err *err);
};

/* The input: a descriptor, and the pieces that it has no room for yet, at most INPUT_BYTES. */
struct input {
	int fd;
	uv_poll_t poll;
	bool is_open; /* @poll is open: the program was started with input */
	bool is_shut; /* the input has ended */
	bool is_terminal;
	struct input_piece *first, **last;
	size_t bytes; /* of the pieces */
};

/* Write to @fd, which is taken over even after an error. Errors: ERR_IO. */
int input_open(struct input *in, uv_loop_t *loop, int fd, bool is_terminal, struct err *err);

/*
 * Write a piece. `done` may be called before this function returns.
 * The end of a terminal's input is the character that its settings name (Ctrl-D).
 * Errors: ERR_USAGE: the program was started without input. ERR_GONE: its input was ended.
 * ERR_BUSY: too much waits already. After an error `done` is not called.
 */
int input_put(struct input *in, struct input_piece *piece, struct err *err);

/* Take a piece back; `done` is not called. */
void input_withdraw(struct input *in, struct input_piece *piece);

/* Give up the input: `done` is called for all pieces, with @why. */
void input_shut(struct input *in, const struct err *why);

/* Close the poll. @closed is called from the loop, with the poll; then input_done() closes the
 * descriptor. If there is no input, input_close() returns false and @closed is not called. */
bool input_close(struct input *in, void *data, uv_close_cb closed);
void input_done(struct input *in);
