/* A line of steps in a file of its own, to be run again. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stddef.h>

/*
 * Shape:  JSON, one object per line. First {"retort_record": 1, "order", "steps": n, "head": digest
 *         of the last, "check": SHA-256 over the rest of this line's members}; then n steps, the
 *         first one first: {"step": digest, "parent", "runtime", "code", "record"}. With a step
 *         that is a file (store/file_step.h) the version is 2 or more, and what was written is
 *         there, too: "content". With one that called tools (store/call_step.h) it is 3, and what
 *         they answered is there: "answers".
 * code, record and content are texts; one that is not UTF-8 is {"base64": text}. Nothing in it is
 * chance: no times, no names of sessions; so the same steps with the same outcome are the same
 * bytes. Limits: RECORDING_MAX in all, RECORDING_STEPS_MAX steps.
 */
enum {
	RECORDING_PLAIN = 1,
	RECORDING_FILES = 2,
	RECORDING_CALLS = 3,
	RECORDING_MAX = 256 << 20,
	RECORDING_STEPS_MAX = 100000
};

/*
 * Owns: everything; recording_done() frees. Of a step: digest, parent, runtime, code and record;
 * its extra is the content of a file that was written, or the answers as JSON; its seq the line it
 * stood in.
 */
struct recording {
	char *order; /* of the session it was recorded in */
	size_t order_bytes;
	struct journal_node *steps;
	size_t n_steps;
};

/*
 * Read strictly: every digest is computed anew, each step's parent is the step before it. Nothing
 * is taken over from a file that is wrong in any place. Errors: ERR_DAMAGED (cut or changed: the
 * message names the line), ERR_USAGE (no recording, or of a newer version), ERR_LIMIT,
 * ERR_NO_MEMORY. @out is empty then.
 */
int recording_parse(struct recording *out, const char *data, size_t bytes, struct err *err);
/* The same from a file. Errors: also ERR_NOT_FOUND, ERR_ACCESS, ERR_IO. */
int recording_load(struct recording *out, const char *path, struct err *err);
void recording_done(struct recording *r);

/*
 * The "check" of the first line: digest_parts() of "retort.recording.1", order, the number of steps
 * (decimal) and head.
 */
void recording_check(char out[DIGEST_BYTES], const char *order, size_t order_bytes, size_t n_steps,
	const char *head);
