/* Validation of a value against a JSON Schema that a server wrote. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

enum { FIT_DEPTH_MAX = 32, FIT_STEPS_MAX = 200000 };

/*
 * Check @value against @schema. Supported keywords: type, enum, const, properties, required,
 * additionalProperties, items, prefixItems, minItems, maxItems, minLength, maxLength, minimum,
 * maximum, exclusiveMinimum, exclusiveMaximum, anyOf, oneOf, allOf, not, and $ref within @schema.
 * Other keywords, and a $ref to another document, are ignored: nothing is fetched. No value has an
 * unknown type.
 *
 * Limits: FIT_DEPTH_MAX, FIT_STEPS_MAX; beyond them no value fits.
 * Returns: 0, or -EINVAL with the place in @value and what is needed there.
 * Source: JSON Schema 2020-12.
 */
int fit_check(const json_t *schema, const json_t *value, struct err *err);

/* Find the schema that @ref ("#/$defs/a~1b") points to. Returns: NULL when it is not within
 * @root. */
const json_t *fit_resolve(const json_t *root, const char *ref);
