/* The log of a step's tool calls. It has two lists: `calls`, from which the step's name is
 * computed, and `tools`, which the step's record shows to the user.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_ROWS_MAX = 100, TOOL_DIGEST_BYTES = 65 };

/*
 * `calls` becomes part of the step's name: [{"name", "arguments", "answer"?}], in the order of the
 * calls. "arguments" is a digest of canonical JSON. "answer" is a digest of the response that the
 * box got, and is missing if the step ended before the response.
 *
 * `tools` is for the record: [{"tool", "calls", "errors"?, "bytes_in", "bytes_out"}]. Of retort's
 * own functions, only retort.llm_query is listed.
 *
 * Each list is NULL while it is empty.
 */
struct tool_log {
	json_t *calls, *tools;
	uint64_t n_cut; /* number of calls of tools that have no row in @tools */
};

void tool_log_done(struct tool_log *log);

/* Return whether calls of @name are listed in `tools` and reported as events. */
bool tool_log_tells(const char *name);

/* Add a call. *@bytes becomes the size of its arguments as JSON. Returns: the call's index in
 * @calls, or -1 if memory is exhausted. */
int64_t tool_log_add(
	struct tool_log *log, const char *name, const json_t *arguments, size_t *bytes);

/* Add the response @text to the call with index @place. @bytes is the size of the value in
 * @text. @text is NULL if the step has ended without a response. */
void tool_log_answer(
	struct tool_log *log, int64_t place, const char *text, size_t bytes, bool is_error);

/* Write the SHA-256 of @text to @out, as hexadecimal digits. */
void tool_log_digest(char out[TOOL_DIGEST_BYTES], const char *text, size_t bytes);
/* Write the digest of @arguments, as canonical JSON, to @out. Returns: the size of that JSON in
 * bytes, or 0 if memory is exhausted. */
size_t tool_log_arguments(char out[TOOL_DIGEST_BYTES], const json_t *arguments);
