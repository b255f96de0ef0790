/* A recorded conversation that acts as a model: its replies, and texts that the requests must
 * contain. Makes no system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reduction.h"

#include "base/buf.h"

enum { RECORDING_BYTES_MAX = 64 << 20, RECORDING_LINES_MAX = 100000 };

struct recording {
	json_t *lines;	 /* array of the lines, without comments and empty lines */
	size_t *numbers; /* line number in the file for each element of `lines` */
	/* at: index of the next line. n_served: how often this line was used. */
	size_t at, n_served;
};

/*
 * Parse a recording. Each line is a JSON object; empty lines and lines that begin with "#" are
 * skipped.
 * Shape:   {"expect"?: [TEXT], "expect_last"?: [TEXT], "reject"?: [TEXT], "times"?: N, "chunk"?: N,
 * "reply": {"text"?, "reasoning"?, "tool_calls"?: [{"id"?, "name", "arguments"?}], "stop"?,
 * "usage"?: {"input", "output", "cached"?, "reasoning"?}}}.
 * Instead of "reply" a line may have "failure": {"class", "message"?, "wait_ms"?}.
 * - "expect": all of these texts must occur in the messages of the request.
 * - "expect_last": all of these texts must occur in its last message.
 * - "reject": none of these texts may occur in any of its messages.
 * - "times": how often the line is used; default 1, 0 means always.
 * - "chunk": number of bytes in each piece of the streamed reply.
 * Owns:    the caller, until recorded_done().
 * Errors:  ERR_USAGE with the number of the line; ERR_LIMIT, ERR_NO_MEMORY.
 */
int recorded_parse(struct recording *out, const char *text, size_t bytes, struct err *err);
void recorded_done(struct recording *r);

/*
 * Reply to a request from the recording. @asked has the texts of all messages of the request,
 * @asked_last the text of its last message.
 * Returns: 0: the reply is in @r; -1: the failure is in @why.
 */
int recorded_answer(struct recording *rec, const char *asked, const char *asked_last,
	struct reduction *r, struct failure *why);
