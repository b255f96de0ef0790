/* Outputs of a cell as the code interpreter of E2B tells them. Without effects.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/*
 * Make the event for @output, as serve/jupyter/output.h gives it: "stdout", "stderr", "result" or
 * "error". @date: the time for "timestamp".
 * Owns:    the caller decrefs.
 * Returns: NULL if there is nothing to tell, or memory is exhausted.
 */
json_t *code_event(const json_t *output, const char *date);
