/* Does a value fit a JSON Schema that a server wrote? SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

enum { FIT_DEPTH_MAX = 32, FIT_STEPS_MAX = 200000 };

/*
 * Known are type, enum, const, properties, required, additionalProperties, items, prefixItems,
 * minItems, maxItems, minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum,
 * anyOf, oneOf, allOf, not and $ref within @schema. Other keywords, and a $ref to anywhere else,
 * ask nothing: nothing is fetched. Of a type that there is not is no value.
 *
 * Limits:  FIT_DEPTH_MAX, FIT_STEPS_MAX; beyond them nothing fits.
 * Returns: 0, or -EINVAL with the place in @value and what is needed there.
 * Source:  JSON Schema 2020-12.
 */
int fit_check(const json_t *schema, const json_t *value, struct err *err);

/* What @ref ("#/$defs/a~1b") points to in @root. Returns: NULL when it is elsewhere or nothing. */
const json_t *fit_resolve(const json_t *root, const char *ref);
