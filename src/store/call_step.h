/* The calls of tools that a step made, as its record keeps them. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include "store/node.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * A record's "calls" is a list of {"name", "arguments": digest, "answer"?: digest} in the order in
 * which they were made. The answers are blobs of those digests; in a recording they stand in the
 * step's line as "answers": {digest: text}.
 */

/* Owns: the caller decrefs. Returns: NULL when it made none, or they are not such a list. */
json_t *call_step_calls(const struct journal_node *node);

/* What they were answered: {digest: text}. Owns: the caller decrefs *@out. Errors: ERR_NOT_FOUND,
 * ERR_DAMAGED, ERR_NO_MEMORY. */
int call_step_answers(struct journal *j, const json_t *calls, json_t **out, struct err *err);

/* Is @answers exactly that: every answer there, no other, each with its digest? */
bool call_step_is_answered(const json_t *calls, const json_t *answers);
