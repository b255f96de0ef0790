/* Lines that a person types for a program which waits for its input. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/service.h"
#include "base/buf.h"
#include "base/readable.h"

#include <stdbool.h>
#include <termios.h>

enum { ANSWER_RUN_BYTES = 64, ANSWER_TYPED_BYTES = 1 << 16 };

/* Starts as ANSWER_INIT(service). */
struct answer {
	struct service *service;
	struct termios before;
	struct ear *ear;  /* a line is awaited; or NULL */
	bool has_lines;	  /* the terminal collects lines, until the end of the step */
	struct buf typed; /* behind the line that was awaited */
	char run[ANSWER_RUN_BYTES];
};

#define ANSWER_INIT(s) ((struct answer){.service = (s), .typed = BUF_INIT(ANSWER_TYPED_BYTES)})

/*
 * An event of a step that was started with stdin_open; others are nothing. From the one that says
 * that it waits, the next line that is typed on standard input, a terminal, goes to it; Ctrl-D at
 * the start of a line ends its input.
 */
void answer_event(struct answer *a, const json_t *event);

/* The step is over: the terminal is as it was. What was typed and not asked for is in `typed`. */
void answer_end(struct answer *a);
