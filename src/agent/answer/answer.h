/* The answer to a task: where it is in a record, and whether its numbers come from the run. No
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/answer/grounding.h"

#include <jansson.h>

enum { ANSWER_MISSES_MAX = 20 };

/* The last argument of final_answer(), by MIME type; NULL: it was not called. Borrowed. */
const json_t *answer_find(const json_t *record);

/*
 * The bundle as text, with U+2400 for a NUL. "" if it has no text, or @bundle is NULL.
 * Owns:    the caller. NULL without memory.
 */
char *answer_words(const json_t *bundle);

/* Remember the numbers in the outputs of a step, except those of its final_answer(). Returns: 0,
 * -ENOMEM. */
int answer_remember(struct grounding *g, const json_t *record);

/*
 * The numbers of the answer @text that do not come from the run. @code: of the step that called
 * final_answer(), or NULL for an answer in plain text. Numbers that the step computed come from the
 * run; numbers written literally in @code do not count as computed. Limits:  the first
 * ANSWER_MISSES_MAX. Owns:    the caller; an array of texts. NULL without memory.
 */
json_t *answer_misses(struct grounding *g, const char *text, const char *code);
