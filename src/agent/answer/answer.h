/* The answer of a run: its place in a record, and the check that its numbers come from the run. No
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/answer/grounding.h"

#include <jansson.h>

enum { ANSWER_MISSES_MAX = 20 };

/* Return the last argument of final_answer(), by MIME type; NULL: the step did not call
 * final_answer(). Borrowed. */
const json_t *answer_find(const json_t *record);

/*
 * Return the text of the bundle, with U+2400 for a NUL; "" if the bundle has no text, or @bundle is
 * NULL.
 * Owns:    the caller. NULL without memory.
 */
char *answer_words(const json_t *bundle);

/* Remember the numbers in the outputs of a step, except those of its final_answer(). Returns: 0,
 * -ENOMEM. */
int answer_remember(struct grounding *g, const json_t *record);

/*
 * Find the numbers of the answer @text that do not come from the run. @code: the code of the step
 * that called final_answer(), or NULL for an answer in plain text. Numbers that the step computed
 * come from the run; numbers written literally in @code do not count as computed.
 * Limits:  the first ANSWER_MISSES_MAX.
 * Owns:    the caller; an array of texts. NULL without memory.
 */
json_t *answer_misses(struct grounding *g, const char *text, const char *code);
