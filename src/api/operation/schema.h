/* Rows of operations as JSON Schema, and the whole table as JSON. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include "api/operation/operation.h"

/*
 * All functions: the caller decrefs the result; NULL without memory.
 *
 * Describe one parameter or member: {"type", "description", "enum"?, "default"?, "minimum"?,
 * "maximum"?, …}. A row has one type, but a member that may be null has two.
 */
json_t *schema_row(const struct param *row);

/* Describe an object of rows: "properties", "required"?, and "additionalProperties": false. */
json_t *schema_rows(const struct param *rows, size_t n_rows);

/* Describe the parameters of an operation; or one of them: NULL also if the operation does not have
 * it. */
json_t *operation_schema(const struct operation *op);
json_t *operation_param_schema(const struct operation *op, const char *name);

/* Describe all operations: {"operations": [{name, summary, params, result, label, limits?, bounds,
 * errors, events, example, answer}]} */
json_t *schema_operations(void);
