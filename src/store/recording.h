/* Recordings: a sequence of steps in a file of its own, for replay. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stddef.h>

/*
 * Format: JSON, one object per line. The first line is {"retort_record": version, "order", "steps":
 * n, "head": digest of the last step, "check": recording_check() of order, steps and head}. Then n
 * lines follow, the first step first: {"step": digest, "parent", "runtime", "code", "record"}. The
 * version is 1 to 3. File steps (store/file_step.h) need version 2, and their lines also have
 * "content". Tool calls (store/call_step.h) need version 3, and the line also has their responses,
 * as "answers".
 * code, record and content are texts; one that is not UTF-8 is {"base64": text}. A recording
 * contains no times and no names of sessions, so the same steps with the same results give the same
 * bytes.
 * Limits: RECORDING_MAX bytes in all, RECORDING_STEPS_MAX steps.
 */
enum {
	RECORDING_PLAIN = 1,
	RECORDING_FILES = 2,
	RECORDING_CALLS = 3,
	RECORDING_MAX = 256 << 20,
	RECORDING_STEPS_MAX = 100000
};

/*
 * A recording that was read. Each step has digest, parent, runtime, code and record. Its `extra` is
 * the content of the file that it wrote, or the responses of its tools as JSON. Its `seq` is its
 * line number.
 * Owns: its texts and steps; the caller frees them with recording_done().
 */
struct recording {
	char *order; /* the options with which the recorded session was created */
	size_t order_bytes;
	struct journal_node *steps;
	size_t n_steps;
};

/*
 * Parse a recording strictly: compute every digest again, and require that each step's parent is
 * the step before it. A file with any error is refused as a whole; @out is empty then.
 * Errors: ERR_DAMAGED (truncated or changed; the message names the line), ERR_USAGE (not a
 * recording, or of a newer version), ERR_LIMIT, ERR_NO_MEMORY.
 */
int recording_parse(struct recording *out, const char *data, size_t bytes, struct err *err);
/* Read and parse a file. Errors: also ERR_NOT_FOUND, ERR_ACCESS, ERR_IO. */
int recording_load(struct recording *out, const char *path, struct err *err);
void recording_done(struct recording *r);

/* Compute the "check" of the first line: digest_parts() of "retort.recording.1", the order, the
 * number of steps in decimal, and the head. */
void recording_check(char out[DIGEST_BYTES], const char *order, size_t order_bytes, size_t n_steps,
	const char *head);
