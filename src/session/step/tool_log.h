/* The log of a step's tool calls, for the step's name and for its record.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_ROWS_MAX = 100, TOOL_DIGEST_BYTES = 65 };

/*
 * `calls` is an input of the step: [{"name", "arguments", "answer"?}], in the order of the calls.
 * "arguments" is a digest of canonical JSON, "answer" a digest of the response that the box got; it
 * is missing if the step ended before the response. `tools` is for the record: [{"tool", "calls",
 * "errors"?, "bytes_in", "bytes_out"}]; among retort's own functions, only retort.llm_query is
 * listed. Each is NULL while it is empty.
 */
struct tool_log {
	json_t *calls, *tools;
	uint64_t n_cut; /* calls of tools after the first TOOL_ROWS_MAX */
};

void tool_log_done(struct tool_log *log);

/* Are calls of @name listed in `tools` and reported as events? */
bool tool_log_tells(const char *name);

/* Add a call. *@bytes becomes the size of its arguments. Returns: its index in the log, or -1
 * without memory. */
int64_t tool_log_add(
	struct tool_log *log, const char *name, const json_t *arguments, size_t *bytes);

/* Add the response @text, whose value has @bytes; NULL: the step has ended without a response. */
void tool_log_answer(
	struct tool_log *log, int64_t place, const char *text, size_t bytes, bool is_error);

/* Compute SHA-256 as hexadecimal digits. */
void tool_log_digest(char out[TOOL_DIGEST_BYTES], const char *text, size_t bytes);
/* Compute the digest of arguments as canonical JSON. Returns: their size in bytes, or 0 without
 * memory. */
size_t tool_log_arguments(char out[TOOL_DIGEST_BYTES], const json_t *arguments);
