/* A recorded conversation: the replies of a model, and texts that the requests must contain. No
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reduction.h"

#include "base/buf.h"

enum { RECORDING_BYTES_MAX = 64 << 20, RECORDING_LINES_MAX = 100000 };

struct recording {
	json_t *lines;	     /* array of the recording's lines */
	size_t *numbers;     /* line numbers in the file, one per element of `lines` */
	size_t at, n_served; /* index of the next line; how often that line was used */
};

/*
 * Parse a recording: one JSON object per line; empty lines and lines that begin with "#" are
 * skipped.
 * Shape:   {"expect"?: [TEXT], "expect_last"?: [TEXT], "reject"?: [TEXT], "times"?: N, "chunk"?: N,
 *          "reply": {"text"?, "reasoning"?, "tool_calls"?: [{"id"?, "name", "arguments"?}],
 *          "stop"?, "usage"?: {"input", "output", "cached"?, "reasoning"?}}}; or instead of
 *          "reply": "failure": {"class", "message"?, "wait_ms"?}. All texts of `expect` must occur
 *          in the messages, those of `expect_last` in the last message, those of `reject` nowhere.
 *          "times" is how often the line is used; 0: without end. "chunk" is the size in bytes of
 *          the pieces in which the reply arrives.
 * Owns:    recorded_done().
 * Errors:  ERR_USAGE with the number of the line; ERR_LIMIT, ERR_NO_MEMORY.
 */
int recorded_parse(struct recording *out, const char *text, size_t bytes, struct err *err);
void recorded_done(struct recording *r);

/*
 * Reply to one request from the recording. @asked: the texts of all messages; @asked_last: those of
 * the last message.
 * Returns: 0: the reply is in the reduction; -1: @why has the failure.
 */
int recorded_answer(struct recording *rec, const char *asked, const char *asked_last,
	struct reduction *r, struct failure *why);
