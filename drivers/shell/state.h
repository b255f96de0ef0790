/*
 * The state of a shell between two steps, as a script that another shell can run to restore it.
 *
 * The shell writes a report of itself; state.c checks the report and composes the script. A
 * report may contain any bytes: user code can write to the file as well. The script is only ever
 * run by a shell in the box.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	/* Of one report: the largest state that the driver can restore itself */
	REPORT_BYTES_MAX = 16 << 20,
	TRAPS_BYTES_MAX = 1 << 20,
	STATE_BYTES_MAX = 1 << 20, /* of the script in a STATE frame */
};

struct state {
	int status;	      /* exit status of the last command */
	bool has_aliases;     /* aliases are expanded, which must be on before code is parsed */
	struct buf text;      /* the script that restores everything */
	size_t variables_end; /* offset in @text where the functions begin */
	struct buf
		/* The script to run before a step: restores what was set aside between steps */
		resume;
	struct buf prefix;  /* commands to put before the step's code, on its first line */
	struct buf params;  /* the command that sets the positional parameters */
	struct buf on_exit; /* the user's EXIT trap as a quoted word, or empty */
};

void state_init(struct state *st);
void state_done(struct state *st);

/*
 * Compose the state from a report, the traps that belong to it, and @limits, commands that
 * restore the limits.
 *
 * @exit_hook: what the driver puts before the user's EXIT trap, a single-quoted word.
 * Limits: those above; a truncated report (too large) gives its status only.
 * Returns: 0; -EMSGSIZE when only the status could be taken; -EBADMSG for an invalid report. On
 * an error the scripts are unchanged.
 */
int state_take(struct state *st, const struct buf *report, const struct buf *traps,
	const struct buf *limits, const char *exit_hook);

/*
 * Encode the script for a JSON string: each byte becomes the character with that code. When the
 * result exceeds STATE_BYTES_MAX, the largest variables are left out; *@n_omitted counts them.
 * Returns: 0, -E2BIG when functions alone are too large, -ENOMEM.
 */
int state_encode(struct buf *out, const struct state *st, size_t *n_omitted);

/*
 * The reverse. Returns: 0, -EINVAL for text that state_encode() cannot have produced, -E2BIG,
 * -ENOMEM.
 */
int state_decode(struct buf *out, const char *text, size_t bytes);

/* Append @text as one single-quoted shell word. */
int state_quote(struct buf *out, const char *text, size_t bytes);
