/* Checking a value against a JSON Schema that a server wrote. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

enum { FIT_DEPTH_MAX = 32, FIT_STEPS_MAX = 200000 };

/*
 * Check @value against @schema.
 * These keywords are checked: type, enum, const, properties, required, additionalProperties, items,
 * prefixItems, minItems, maxItems, minLength, maxLength, minimum, maximum, exclusiveMinimum,
 * exclusiveMaximum, anyOf, oneOf (as anyOf), allOf, not, and a $ref to a place in @schema.
 * Other keywords are ignored, as is a $ref to another document: nothing is fetched. If "type" is
 * not a type of JSON Schema, no value fits.
 *
 * Limits:  FIT_DEPTH_MAX, FIT_STEPS_MAX. If the check exceeds a limit, the value does not fit.
 * Returns: 0; -EINVAL if the value does not fit. @err then names the place in @value and what is
 *          wrong there.
 * Source:  JSON Schema 2020-12.
 */
int fit_check(const json_t *schema, const json_t *value, struct err *err);

/* Find the schema that a reference such as "#/$defs/name" points to. Returns: NULL if it is not
 * within @root. */
const json_t *fit_resolve(const json_t *root, const char *ref);
