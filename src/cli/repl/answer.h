/* Input for a program in a box that reads stdin: lines that a person types at the terminal.
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
	struct ear *ear;  /* watches the terminal while the program waits for a line; or NULL */
	bool has_lines;	  /* we have put the terminal into line mode, until the step ends */
	struct buf typed; /* typed input that was not sent to the program yet */
	char run[ANSWER_RUN_BYTES];
};

#define ANSWER_INIT(s) ((struct answer){.service = (s), .typed = BUF_INIT(ANSWER_TYPED_BYTES)})

/* Handle an event of a step that was started with stdin_open. When the program waits for input,
 * the next line that is typed is sent to it. Ctrl-D at the start of a line ends the program's
 * input. Other events are ignored. */
void answer_event(struct answer *a, const json_t *event);

/* After the step, restore the terminal. Input that was not sent remains in `typed`. */
void answer_end(struct answer *a);
