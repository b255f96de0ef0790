/* What helps after a step that failed. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * By what the record says. @was_lost: the session's variables were lost since they were made.
 * Returns: a sentence or two for the model, static; NULL: nothing is known.
 */
const char *hint_find(const json_t *record, bool was_lost);
