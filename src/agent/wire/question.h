/* Requests to a model as JSON in a form of our own, for programs that act as models. Makes no
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/message.h"

/*
 * Convert a request to JSON. Each option may be missing.
 * Shape: {"model"?, "messages": [{"role", "content": [PART]}],
 * "tools"?: [{"name", "description", "schema"}], "options"?: {"max_tokens", "stop", "effort",
 * "seed", "temperature", "top_p", "schema"}}
 * A PART is one of these; reasoning is left out:
 * {"type": "text", "text"}
 * {"type": "image", "mime", "data"}
 * {"type": "tool_call", "id", "name", "arguments"}
 * {"type": "tool_result", "id", "name", "text", "is_error"?}
 * Owns: the caller; NULL if memory is exhausted.
 */
json_t *question_json(const struct wire_request *q);

/* Return the texts of the messages from index @first on, without images and reasoning. Each part
 * is followed by a newline. Owns: the caller frees; NULL if memory is exhausted. */
char *question_text(const struct wire_request *q, size_t first);
