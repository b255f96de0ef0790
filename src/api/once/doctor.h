/* The operation behind `retort doctor`: what this host can enforce. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Check every mechanism, then make a real box and check it from inside.
 *
 * Shape:   {"ok", "checks": [{"name", "state": "ok|weak|missing", "what", "instead"?, "hint"?}],
 *          "limits": {name: {"value", "enforced", "by"?}}?}
 * Blocks:  about as long as a run.
 * Owns:    the caller decrefs *out.
 * Returns: 1 when a box can be made and is tight, 0 when not, negative errno without memory.
 */
int doctor_check(json_t **out, struct err *err);

/*
 * The same in parts, for a running engine. doctor_look() checks the host: {"ok", "checks"}.
 * doctor_code() is the Python program to run in a box. doctor_judge() adds the checks from the
 * program's record (or NULL and @err) to @found.
 * Owns: doctor_look(): the caller decrefs. Returns: NULL without memory.
 */
json_t *doctor_look(void);
const char *doctor_code(void);
void doctor_judge(json_t *found, const json_t *record, const struct err *err);
