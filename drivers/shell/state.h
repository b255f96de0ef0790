/*
 * What a shell is between two steps, as text that another shell can read.
 *
 * The shell writes a report of itself; this file judges it and makes of it a script that restores
 * the state. Reports are written by code nobody has reviewed: any bytes are possible. The script is
 * never run but by a shell in the box.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	REPORT_BYTES_MAX = 16 << 20, /* of one report: what a state may be inside the driver */
	TRAPS_BYTES_MAX = 1 << 20,
	STATE_BYTES_MAX = 1 << 20, /* of the text in a STATE frame */
};

struct state {
	int status;	      /* of the last command */
	bool has_aliases;     /* they are expanded: what reads code must know before it does */
	struct buf text;      /* the script that restores all */
	size_t variables_end; /* of @text: functions begin here */
	struct buf
		resume; /* the script that goes before a step: what was set aside between steps */
	struct buf prefix;  /* goes before the step's code, on its first line */
	struct buf params;  /* the line that sets positional parameters */
	struct buf on_exit; /* the user's EXIT trap: a quoted word, or empty */
};

void state_init(struct state *st);
void state_done(struct state *st);

/*
 * Take a report and the traps that belong to it, and @limits: commands that restore those.
 *
 * @exit_hook is what the driver puts before the EXIT trap: a single-quoted word.
 * Limits:  those above; a report that is cut (too large) gives its status and no text.
 * Returns: 0; -EMSGSIZE when only the status could be taken; -EBADMSG when it is no report. On an
 *          error the texts are as they were.
 */
int state_take(struct state *st, const struct buf *report, const struct buf *traps,
	const struct buf *limits, const char *exit_hook);

/*
 * Encode the text for a JSON string: each byte becomes the character of that number. One over
 * STATE_BYTES_MAX loses its largest variables; *@n_omitted counts them.
 * Returns: 0, -E2BIG when functions alone are too much, -ENOMEM.
 */
int state_encode(struct buf *out, const struct state *st, size_t *n_omitted);

/* The reverse. Returns: 0, -EINVAL for what state_encode() cannot have made, -E2BIG, -ENOMEM. */
int state_decode(struct buf *out, const char *text, size_t bytes);

/* Append @text as one single-quoted word of a shell. */
int state_quote(struct buf *out, const char *text, size_t bytes);
