/* Rows of operations as JSON Schema, and the whole table as JSON. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include "api/operation/operation.h"

/*
 * Of all of these, the caller decrefs; NULL without memory.
 *
 * One parameter or member: {"type", "description", "enum"?, "default"?, "minimum"?, "maximum"?, …}.
 * One type each, but for members that may be null.
 */
json_t *schema_row(const struct param *row);

/* An object of such rows: "properties", "required"?, and "additionalProperties": false. */
json_t *schema_rows(const struct param *rows, size_t n_rows);

/* The parameters of an operation; one of them, NULL also when it has none of that name. */
json_t *operation_schema(const struct operation *op);
json_t *operation_param_schema(const struct operation *op, const char *name);

/* {"operations": [{name, summary, params, result, label, limits?, bounds, errors, events, example,
 * answer}]} */
json_t *schema_operations(void);
