/*
 * Run one step: its statements and dot commands in order. Collect their results and the first
 * failure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "db.h"

enum {
	STEP_MESSAGE_BYTES = 2048,
	STEP_LINE_BYTES = 512,
	STEP_MARKS_MAX = 32,
	STEP_NAME_BYTES = 128
};

struct step_error {
	const char *name; /* name of the error, NULL if the step succeeded */
	char message[STEP_MESSAGE_BYTES];
	size_t line;		      /* line number of the error in the code, from 1 */
	char source[STEP_LINE_BYTES]; /* text of that line, truncated */
	char caret[STEP_LINE_BYTES +
		16]; /* blanks and a ^ below the position of the error, or "" */
};

/*
 * A savepoint that the program has set, and the number of rows that the step had changed by then.
 */
struct step_mark {
	char name[STEP_NAME_BYTES];
	uint64_t n_changed;
};

struct step {
	struct db *db;
	/*
	 * Send a result that is not the last one. @mimes is a JSON object whose keys are MIME
	 * types.
	 */
	void (*display)(void *arg, const struct buf *mimes);
	void *arg;
	size_t value_bytes;
	char *code;	  /* the code; step_run() replaces each read_csv(…) in it */
	char *typed;	  /* the code as it was written, if it contains read_csv, otherwise NULL */
	struct buf value; /* the latest result as JSON; empty if there is none */
	uint64_t n_changed;   /* number of changed rows, without those rolled back */
	uint64_t n_committed; /* number of changed rows that ROLLBACK can no longer undo */
	struct step_mark marks[STEP_MARKS_MAX];
	size_t n_marks;
	bool has_changed;
	bool is_done; /* the command .quit was run */
	/*
	 * has_kept: the step had effects that a failure does not undo, because something was
	 * committed, begun, set or attached. was_open: a transaction of an earlier step was open at
	 * the start.
	 */
	bool has_kept, was_open;
	/*
	 * What was undone after a failure. "step": everything that the step wrote. "part": only
	 * what the step wrote after an effect that cannot be undone. "transaction": the step, and
	 * what earlier steps wrote in the open transaction. NULL: unknown.
	 */
	const char *undone;
	struct step_error error;
};

/* Run s->code up to its end or its first failure. The outcome is in s->value and s->error. */
void step_run(struct step *s);
void step_done(struct step *s);

/* ---- for dot commands ---- */

/*
 * Run one statement. @at is its position in the code, for messages. Returns: 0, or -1 with the
 * step's error.
 */
int step_statement(struct step *s, const char *sql, const char *at);

/* Add a result that is plain text. Returns: 0, or -1 with the step's error. */
int step_text(struct step *s, const char *text, size_t bytes);

/*
 * Set the step's error, which occurred at @at in the code; step_fail_sql() takes the message from
 * SQLite. Returns: -1.
 */
int step_fail(struct step *s, const char *at, const char *name, const char *fmt, ...)
	attr_printf(4, 5);
int step_fail_sql(struct step *s, const char *at, int rc);
