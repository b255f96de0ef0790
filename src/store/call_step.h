/* The tool calls of a step, as its record lists them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Format: the member "calls" of a record is a list with an object per call, in the order of the
 * calls: {"name", "arguments": digest, "answer": digest}. "answer" may be missing. The responses
 * are blobs, stored under the digest "answer". A recording has them in the line of the step, as
 * "answers": {digest: text}.
 */

/* Return the list of calls. Owns: the caller decrefs. Returns: NULL when the step called no tool or
 * "calls" is malformed. */
json_t *call_step_calls(const struct journal_node *node);

/* Read the responses of @calls as {digest: text}. Owns: the caller decrefs *@out. Errors:
 * ERR_NOT_FOUND, ERR_DAMAGED, ERR_NO_MEMORY. */
int call_step_answers(struct journal *j, const json_t *calls, json_t **out, struct err *err);

/* Return whether @answers contains exactly the responses of @calls, each under its right digest. */
bool call_step_is_answered(const json_t *calls, const json_t *answers);
