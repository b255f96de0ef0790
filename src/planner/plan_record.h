/* The record of a plan's run: each call, the decision about it, and its outcome.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * A hash chain with one line of canonical JSON per event. The member "before" of each line has the
 * SHA-256 of the previous line. Lines contain digests of values; the values are in a second file,
 * by digest. A record without its values proves what was done; with them the plan can be run again.
 *
 * With @known the plan runs again: recorded outcomes replace calls, and each line that the run
 * writes must equal the next recorded line, until there are no more.
 */
struct plan_record {
	int fd, values_fd; /* files being written; -1: not written */
	char before[DIGEST_BYTES];
	size_t n_lines;
	char **known; /* lines of the record that is run again */
	size_t n_known;
	json_t *values; /* texts by digest */
	bool has_differed;
	bool is_loose; /* lines may differ, because the run has another policy */
};

/* Create the files @path and @path.values. Without @path nothing is written. Returns: 0, negative
 * errno. */
int run_record_open(struct plan_record *r, const char *path, struct err *err);

/*
 * Read a record to run it again, and check its hash chain. With @is_resumed the end may be missing,
 * and new lines are appended to the record.
 * Errors: ERR_DAMAGED names the line that was cut or changed.
 */
int run_record_load(struct plan_record *r, const char *path, bool is_resumed, struct err *err);
void run_record_done(struct plan_record *r);

/* Store a text among the values. Returns: 0 and its digest, negative errno. */
int run_record_value(
	struct plan_record *r, const char *text, char out[DIGEST_BYTES], struct err *err);

/* Append @line, whose reference is taken. Returns: 0, or negative errno: it cannot be written, or
 * differs from the recorded line. */
int run_record_line(struct plan_record *r, json_t *line, struct err *err);

/* Parse the next line of a record that is run again. Returns: NULL if there are no more. Owns: the
 * caller. */
json_t *run_record_next(const struct plan_record *r);
const char *run_record_text(const struct plan_record *r, const char *digest);
