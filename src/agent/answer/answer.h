/* The answer to a task: where it is in a record, and whether its numbers come from the run. No
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/answer/grounding.h"

#include <jansson.h>

enum { ANSWER_MISSES_MAX = 20 };

/* What final_answer() was given last, by MIME type; NULL: it was not called. Borrowed. */
const json_t *answer_find(const json_t *record);

/*
 * How it reads: a NUL in it as its picture, U+2400. "" when it cannot be shown, or @bundle is NULL.
 * Owns:    the caller. NULL without memory.
 */
char *answer_words(const json_t *bundle);

/* Remember the numbers of what a step gave, but for what it called its answer. Returns: 0, -ENOMEM.
 */
int answer_remember(struct grounding *g, const json_t *record);

/*
 * The numbers of the answer @text that the run did not give. @code: of the step that gave the
 * answer, or NULL when it is plain text: what such code holds in digits it has not computed, all
 * else it has.
 * Limits:  the first ANSWER_MISSES_MAX.
 * Owns:    the caller; an array of texts. NULL without memory.
 */
json_t *answer_misses(struct grounding *g, const char *text, const char *code);
