/* The calls of a step: what is kept of them, and what the record says. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_ROWS_MAX = 100, TOOL_DIGEST_BYTES = 65 };

/*
 * `calls` is an input of the step: [{"name", "arguments", "answer"?}] in the order in which they
 * were made, with digests: of the arguments as canonical JSON, of the answer as the box got it. A
 * call that was not answered before the step ended has no answer. `tools` is for the record:
 * [{"tool", "calls", "errors"?, "bytes_in", "bytes_out"}]; of retort's own functions it lists
 * retort.llm_query only. Each is NULL while it is empty.
 */
struct tool_log {
	json_t *calls, *tools;
	uint64_t n_cut; /* calls of tools beyond the first TOOL_ROWS_MAX */
};

void tool_log_done(struct tool_log *log);

/* Do `tools` and events tell of calls of @name? */
bool tool_log_tells(const char *name);

/* A call was made. @bytes is set to the size of its arguments. Returns: its index in the log, or -1
 * without memory. */
int64_t tool_log_add(
	struct tool_log *log, const char *name, const json_t *arguments, size_t *bytes);

/* The call was answered with @text, of which @bytes are the value; or (NULL) the step has ended. */
void tool_log_answer(
	struct tool_log *log, int64_t place, const char *text, size_t bytes, bool is_error);

/* SHA-256 as hexadecimal digits. */
void tool_log_digest(char out[TOOL_DIGEST_BYTES], const char *text, size_t bytes);
/* The same of arguments, as canonical JSON. Returns: their size in bytes, or 0 without memory. */
size_t tool_log_arguments(char out[TOOL_DIGEST_BYTES], const json_t *arguments);
