/* Requests as JSON in a form of our own: for programs that act as models, and for records. No
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"

/*
 * Convert a request to JSON.
 * Shape:   {"model"?, "messages": [{"role", "content": [PART]}],
 * "tools"?: [{"name", "description", "schema"}], "options"?: {"max_tokens", "stop", "effort",
 * "seed", "temperature", "top_p", "schema"}}. PART: {"type": "text", "text"}, {"type": "image",
 * "mime", "data"},
 *          {"type": "tool_call", "id", "name", "arguments"}, {"type": "tool_result", "id", "name",
 *          "text", "is_error"?}. Reasoning is left out.
 * Owns:    the caller; NULL without memory.
 */
json_t *question_json(const struct wire_request *q);

/* Return the texts of the messages from @first on, one line per part. Owns: the caller frees; NULL
 * without memory. */
char *question_text(const struct wire_request *q, size_t first);
