/* The operation behind `retort doctor`: find out what this host can enforce.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Check the host, then make a box and check it from inside.
 *
 * Shape:   {"ok", "checks": [{"name", "state": "ok|weak|missing", "what", "instead"?, "hint"?}],
 *          "limits": {name: {"value", "enforced", "by"?}}?}
 * Blocks:  about as long as a run.
 * Owns:    the caller decrefs *out.
 * Returns: 1 if no check has the state "missing", 0 if one has; -ENOMEM.
 */
int doctor_check(json_t **out, struct err *err);

/*
 * The parts of doctor_check(), for a running engine:
 * - doctor_look() checks the host, and returns {"ok", "checks"}.
 * - doctor_code() returns the Python program to run in a box with the network rules doctor_rules.
 * - doctor_judge() adds the results from that program's record to @found. If the program did not
 *   run, @record is NULL, and @err says why.
 * Owns: the caller decrefs the result of doctor_look(), which is NULL if memory is exhausted.
 */
enum { DOCTOR_RULES = 1 };
extern const char *const doctor_rules[DOCTOR_RULES];
json_t *doctor_look(void);
const char *doctor_code(void);
void doctor_judge(json_t *found, const json_t *record, const struct err *err);
