/* The calls that the code of a running step waits for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "runtime/frame.h"
#include "session/tool_call.h"

#include <stdint.h>

struct session;
struct part;
struct waiting;

/* Of a step: what is beyond is answered with ToolLimit. */
enum { CALLS_STEP_MAX = 10000, CALLS_STEP_BYTES = 256 << 20 };
/* Of the arguments of all calls that wait in a session, as they came and when they are parsed. */
enum { CALLS_HELD_BYTES = 16 << 20, CALLS_HELD_PARTS = 200000 };

struct calling {
	struct waiting *first; /* in the order in which they were made */
	unsigned n;
	unsigned n_held; /* of those, how many the clock stands still for */
	size_t bytes, parts;
	unsigned n_made;       /* in the step */
	uint64_t answer_bytes; /* likewise */
	bool is_reading;       /* it waits for its input, and the clock stands still for that */
};

/* A TOOL frame of the step's driver. Errors: ERR_PROTOCOL. */
int calling_take(struct part *p, const struct frame *frame, struct err *err);

/*
 * A WAITING frame: the step waits for its input. When its inlet is open, its listener is told, and
 * the clock stands still until something is written. One that is being stopped is interrupted
 * once more: Python's input() drops an interrupt that comes while it writes what it asks.
 */
void calling_read(struct session *s);

/* The step is being stopped: outside nobody is to answer any more. Returns: whether anybody waits
 * in the box: calling_refuse() tells them. */
bool calling_stop(struct session *s);
void calling_refuse(struct session *s);

/* It is over: nobody waits any more, and the box is told nothing. */
void calling_end(struct session *s);
