/*
 * One step: statements and dot commands in order, their results, the first failure.
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
	const char *name; /* NULL: no error */
	char message[STEP_MESSAGE_BYTES];
	size_t line;			  /* from 1 */
	char source[STEP_LINE_BYTES];	  /* that line, truncated */
	char caret[STEP_LINE_BYTES + 16]; /* blanks and ^, or empty */
};

/* The number of changed rows when the program set a savepoint. */
struct step_mark {
	char name[STEP_NAME_BYTES];
	uint64_t n_changed;
};

struct step {
	struct db *db;
	/* Send a result that is followed by another: an object of MIME types, as JSON. */
	void (*display)(void *arg, const struct buf *mimes);
	void *arg;
	size_t value_bytes;
	char *code;	      /* read_csv(…) is replaced in it */
	char *typed;	      /* the original, where the code may be changed, or NULL */
	struct buf value;     /* the last result so far, as JSON, or empty */
	uint64_t n_changed;   /* rows, without those rolled back */
	uint64_t n_committed; /* rows that a ROLLBACK can no longer undo */
	struct step_mark marks[STEP_MARKS_MAX];
	size_t n_marks;
	bool has_changed;
	bool is_done; /* .quit */
	/*
	 * The step has had effects that a failure does not undo: something was committed, begun,
	 * set or attached. And: at the start, a transaction of an earlier step was open.
	 */
	bool has_kept, was_open;
	/*
	 * After a failure, what was undone: "step", everything the step wrote; "part", what it
	 * wrote after an effect that stays; "transaction", also what earlier steps wrote in the
	 * open transaction. NULL: not known.
	 */
	const char *undone;
	struct step_error error;
};

/* Run step->code to its end or first failure; the outcome is in value and error. */
void step_run(struct step *s);
void step_done(struct step *s);

/* ---- for dot commands ---- */

/* Run one statement. @at: its place in the code, for messages. Returns: 0, or -1 with the error. */
int step_statement(struct step *s, const char *sql, const char *at);

/* Add a plain text result. Returns: 0, -1. */
int step_text(struct step *s, const char *text, size_t bytes);

/* Fail with a message, at @at. Returns: -1. */
int step_fail(struct step *s, const char *at, const char *name, const char *fmt, ...)
	attr_printf(4, 5);
int step_fail_sql(struct step *s, const char *at, int rc);
