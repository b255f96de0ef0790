/* The record of a plan's run: each call, the decision about it, and its outcome.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * The record is a hash chain with one line of canonical JSON per event. The member "before" of each
 * line is the SHA-256 of the line before. Lines contain only digests of values; the values
 * themselves are in a second file. A record without its values proves what was done. With the
 * values, the plan can be run again.
 *
 * When a record is run again, `known` has its lines. The outcomes in these lines replace calls.
 * Each line that the run writes must equal the next line in `known`, until `known` has no more
 * lines.
 */
struct plan_record {
	/* `fd` is the file with the lines of the record, and `values_fd` the file with the
	 * values. Both are -1 if nothing is written. */
	int fd, values_fd;
	char before[DIGEST_BYTES];
	size_t n_lines;
	char **known; /* the lines of the record, if an earlier run is run again */
	size_t n_known;
	json_t *values; /* texts by digest */
	bool has_differed;
	/* The run may write lines that differ from `known`. This is allowed in a replay with
	 * another policy than that of the recorded run. */
	bool is_loose;
};

/* Create the files @path and @path.values. If @path is NULL, nothing is written. Returns: 0,
 * negative errno. */
int run_record_open(struct plan_record *r, const char *path, struct err *err);

/* Read a record to run it again, and check its hash chain. With @is_resumed, the record may be
 * incomplete, and new lines are appended to it. Errors: ERR_DAMAGED with the number of the line
 * that was cut or changed. */
int run_record_load(struct plan_record *r, const char *path, bool is_resumed, struct err *err);
void run_record_done(struct plan_record *r);

/* Write @text to the file of values if the file does not contain this text yet. Returns: 0 with
 * the digest of @text in @out; negative errno. */
int run_record_value(
	struct plan_record *r, const char *text, char out[DIGEST_BYTES], struct err *err);

/* Append @line, and release it. Returns: 0; negative errno if the line cannot be written or differs
 * from the recorded line. */
int run_record_line(struct plan_record *r, json_t *line, struct err *err);

/* For a run that repeats or resumes an earlier run: parse the line of the earlier run's record
 * that the new run has reached. Returns: the line; NULL if the record has no more lines. Owns:
 * the caller releases the line. */
json_t *run_record_next(const struct plan_record *r);
const char *run_record_text(const struct plan_record *r, const char *digest);
