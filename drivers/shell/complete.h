/* Completions, asked of the live bash. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bash.h"

#include <jansson.h>

enum { COMPLETE_NAMES_MAX = 200, COMPLETE_WORD_BYTES = 1024 };

/*
 * What the last word of @text may become: commands at the start of one, variables behind `$`, else
 * files.
 * Limits:  COMPLETE_NAMES_MAX; a longer word has none.
 * Returns: a new array of strings; NULL without memory.
 */
json_t *complete_names(struct bash *b, const char *text);
