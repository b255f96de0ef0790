/* Describe operations as JSON Schema, for clients. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"

/*
 * Describe one parameter, or one member of a result: {"type", "description", "enum"?, "default"?,
 * "minimum"?, "maximum"?, …}. "type" is one word, or two for a member that may be null.
 *
 * For all functions of this file: the caller decrefs the result, which is NULL if memory is
 * exhausted.
 */
json_t *schema_row(const struct param *row);

/* Describe an object whose members are @rows: {"type", "properties", "required"?,
 * "additionalProperties": false}. */
json_t *schema_rows(const struct param *rows, size_t n_rows);

/* operation_schema() describes all parameters of an operation. operation_param_schema()
 * describes the parameter @name, and returns NULL if there is no such parameter. */
json_t *operation_schema(const struct operation *op);
json_t *operation_param_schema(const struct operation *op, const char *name);

/* Describe all operations: {"operations": [{"name", "summary", "params", "result", "label",
 * "limits"?, "bounds", "errors", "events", "example", "answer"}]}. */
json_t *schema_operations(void);
