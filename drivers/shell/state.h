/*
 * The state of a shell between two steps, as a script that restores it in another shell.
 *
 * The shell writes a report of its state. state.c checks the report and composes the script. A
 * report may contain any bytes, because user code can also write to the report file. That is
 * harmless: only a shell in the same box ever runs the script.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	/* Greatest size of a report. The driver cannot restore a state whose report is larger */
	REPORT_BYTES_MAX = 16 << 20,
	TRAPS_BYTES_MAX = 1 << 20,
	STATE_BYTES_MAX = 1 << 20, /* size of the script in a STATE frame */
};

struct state {
	int status;	  /* exit status of the step's last command */
	bool has_aliases; /* alias expansion is on; it must be switched on before code is parsed */
	struct buf text;  /* the whole script that restores the state */
	size_t variables_end; /* offset in @text where the variables end and the functions begin */
	/* script to run before a step; it restores what was set aside between the steps */
	struct buf resume;
	struct buf prefix;  /* commands to put before the step's code, on a line of their own */
	struct buf params;  /* the `set --` command that restores the positional parameters */
	struct buf on_exit; /* the user's EXIT trap as a quoted word, empty if not set */
};

void state_init(struct state *st);
void state_done(struct state *st);

/*
 * Compose the scripts from @report, from the @traps that the shell printed with it, and from
 * @limits, which are commands that restore the resource limits.
 *
 * @exit_hook is a single-quoted word: the driver's part of the EXIT trap, which precedes the user's
 * part in the trap.
 * Limits: REPORT_BYTES_MAX for @report, TRAPS_BYTES_MAX for @traps. A larger report has been
 * truncated: only its exit status is used.
 * Returns: 0; -EMSGSIZE when only the status could be used; -EBADMSG for an invalid report. On an
 * error the scripts remain unchanged.
 */
int state_take(struct state *st, const struct buf *report, const struct buf *traps,
	const struct buf *limits, const char *exit_hook);

/*
 * Encode the script for a JSON string: each byte becomes the Unicode character with that number.
 * When the result would exceed STATE_BYTES_MAX, the largest variables are left out. *@n_omitted is
 * the number of variables that were left out.
 * Returns: 0, -E2BIG when the functions alone are too large, or -ENOMEM.
 */
int state_encode(struct buf *out, const struct state *st, size_t *n_omitted);

/* Decode what state_encode() has written. Returns: 0; -EINVAL for other text; -E2BIG or -ENOMEM. */
int state_decode(struct buf *out, const char *text, size_t bytes);

/*
 * Append the statements that declare, as global variables, those variables of the state that are
 * keys of @names.
 */
int state_declare(struct buf *out, const struct state *st, const json_t *names);

/* Append @text as one single-quoted shell word. */
int state_quote(struct buf *out, const char *text, size_t bytes);
