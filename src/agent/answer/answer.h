/* The answer of a run: find it in a record, and check that its numbers come from the run. Makes
 * no system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/answer/grounding.h"

#include <jansson.h>

enum { ANSWER_MISSES_MAX = 20 };

/* Return the argument of the record's last call of final_answer(), as an object whose keys are MIME
 * types. Borrowed. Returns: NULL if the step did not call final_answer(). */
const json_t *answer_find(const json_t *record);

/*
 * Return the plain text of the answer @bundle, with U+2400 in place of each NUL. If @bundle is NULL
 * or has no text, return "".
 * Owns:    the caller frees; NULL if memory is exhausted.
 */
char *answer_words(const json_t *bundle);

/* Add the numbers in the outputs of a step to @g, except those of its final_answer(). Returns:
 * 0, -ENOMEM. */
int answer_remember(struct grounding *g, const json_t *record);

/*
 * Find the numbers of the answer @text that do not come from the run.
 *
 * If the answer is plain text, @code is NULL, and all of these numbers are reported.
 *
 * If the answer is the argument of final_answer(), @code is the code of the step that called it.
 * This step may have computed a number and passed it to final_answer() without printing it. So a
 * number is reported only if it is written as a literal in @code.
 * Limits:  at most ANSWER_MISSES_MAX numbers are reported.
 * Owns:    the caller owns the array of texts; NULL if memory is exhausted.
 */
json_t *answer_misses(struct grounding *g, const char *text, const char *code);
