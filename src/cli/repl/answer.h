/* Input for a program that reads stdin: lines that a person types at the terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/service.h"
#include "base/buf.h"
#include "base/readable.h"

#include <stdbool.h>
#include <termios.h>

enum { ANSWER_RUN_BYTES = 64, ANSWER_TYPED_BYTES = 1 << 16 };

/* Initialized with ANSWER_INIT(service). */
struct answer {
	struct service *service;
	struct termios before;
	struct ear *ear;  /* waits for a line; or NULL */
	bool has_lines;	  /* the terminal is in line mode until the step ends */
	struct buf typed; /* input that was typed before the program asked for it */
	char run[ANSWER_RUN_BYTES];
};

#define ANSWER_INIT(s) ((struct answer){.service = (s), .typed = BUF_INIT(ANSWER_TYPED_BYTES)})

/* Handle an event of a step that was started with stdin_open; other events are ignored. When the
 * program waits for input, the next line typed at the terminal is sent to the program; Ctrl-D at
 * the start of a line ends the program's input. */
void answer_event(struct answer *a, const json_t *event);

/* Restore the terminal after the step. Unused input remains in `typed`. */
void answer_end(struct answer *a);
