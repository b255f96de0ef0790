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

/* Add a response to the call with the index @place in `calls`. @text: the response as JSON. NULL if
 * the step has ended without a response, or if the response could not be stored. @bytes: size of
 * the value in the response, without the JSON around the value. It is 0 for an error. */
void tool_log_answer(
	struct tool_log *log, int64_t place, const char *text, size_t bytes, bool is_error);

/* Write the SHA-256 of @text to @out, as hexadecimal digits. */
void tool_log_digest(char out[TOOL_DIGEST_BYTES], const char *text, size_t bytes);
/* Write the digest of @arguments, as canonical JSON, to @out. Returns: the size of that JSON in
 * bytes, or 0 if memory is exhausted. */
size_t tool_log_arguments(char out[TOOL_DIGEST_BYTES], const json_t *arguments);
