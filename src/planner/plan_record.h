/* The record of a run of a plan: each call, the decision about it, its outcome.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * A hash chain: one line of canonical JSON per event, each with the SHA-256 of the line before in
 * "before". Lines contain digests instead of values; the values are in a second file, by digest. A
 * record without its values proves what was done; with them it can be run again.
 *
 * With @known a record is run again: its outcomes replace calls, and each line that the run writes
 * must equal the next line of the record, as long as it has lines.
 */
struct plan_record {
	int fd, values_fd; /* -1: not written */
	char before[DIGEST_BYTES];
	size_t n_lines;
	char **known; /* the lines of the record that is run again */
	size_t n_known;
	json_t *values; /* text by digest */
	bool has_differed;
	bool is_loose; /* run under another policy: lines may differ */
};

/* Begin to write to @path and @path.values. Returns: 0, negative errno. */
int run_record_open(struct plan_record *r, const char *path, struct err *err);

/*
 * Read a record to run it again; the hash chain is checked. With @is_resumed the last line may be
 * missing, and new lines are appended.
 * Errors: ERR_DAMAGED names the line that was cut or changed.
 */
int run_record_load(struct plan_record *r, const char *path, bool is_resumed, struct err *err);
void run_record_done(struct plan_record *r);

/* Keep a text among the values. Returns: 0 with its digest, negative errno. */
int run_record_value(
	struct plan_record *r, const char *text, char out[DIGEST_BYTES], struct err *err);

/* Add a line. @line is released. Returns: 0, or negative errno: cannot be written, or differs. */
int run_record_line(struct plan_record *r, json_t *line, struct err *err);

/* The next line of a record that is run again. Returns: NULL: no line is left. Owns: the caller. */
json_t *run_record_next(const struct plan_record *r);
const char *run_record_text(const struct plan_record *r, const char *digest);
