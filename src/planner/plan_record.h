/* The record of a run of a plan: what was called, why it was allowed, what came back.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum { RECORD_DIGEST_BYTES = 65 };

/*
 * One line of canonical JSON per event, each with the SHA-256 of the line before in "before". It
 * has digests, never values: those are beside it, in a file of their own, by digest. A record
 * without its values proves what was done; with them it can be run again.
 *
 * With @known a record is run again: its results are given instead of calls, and as long as there
 * are lines each one that is written must be the next of it.
 */
struct plan_record {
	int fd, values_fd; /* -1: written to nowhere */
	char before[RECORD_DIGEST_BYTES];
	size_t n_lines;
	char **known; /* lines of a record that is run again */
	size_t n_known;
	json_t *values; /* text by digest */
	bool has_differed;
	bool is_loose; /* under another policy: lines may differ */
};

/* Begin to write to @path and @path.values. Returns: 0, negative errno. */
int run_record_open(struct plan_record *r, const char *path, struct err *err);

/*
 * Read one to run it again; every line is checked against the one before. With @is_resumed the last
 * line may be missing, and what comes is written behind it.
 * Errors: ERR_DAMAGED names the line that was cut or changed.
 */
int run_record_load(struct plan_record *r, const char *path, bool is_resumed, struct err *err);
void run_record_done(struct plan_record *r);

/* The digest of a text, which is kept among the values. Returns: 0, negative errno. */
int run_record_value(
	struct plan_record *r, const char *text, char out[RECORD_DIGEST_BYTES], struct err *err);

/* Add a line. @line is released. Returns: 0, or negative errno: not written, or not as it was. */
int run_record_line(struct plan_record *r, json_t *line, struct err *err);

/* The next line of a record that is run again. Returns: NULL when there is none. Owns: the caller.
 */
json_t *run_record_next(const struct plan_record *r);
const char *run_record_text(const struct plan_record *r, const char *digest);
