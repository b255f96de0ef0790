/*
 * Completions, computed by the session's bash.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "bash.h"

#include <jansson.h>

enum { COMPLETE_NAMES_MAX = 200, COMPLETE_WORD_BYTES = 1024 };

/*
 * Return the completions of the last word of @text: commands at the start of a command, variables
 * after `$`, otherwise files.
 * Limits: at most COMPLETE_NAMES_MAX names; a word of more than COMPLETE_WORD_BYTES gets none.
 * Returns: a new array of strings; NULL when out of memory.
 */
json_t *complete_names(struct bash *b, const char *text);
