/* Parameters of a notebook: values as code that sets variables. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

/* NOTEBOOK_PARAM_DEPTH: maximum of nested arrays and objects in a value. */
enum { NOTEBOOK_PARAM_BYTES = 1 << 20, NOTEBOOK_PARAM_DEPTH = 64 };

/* Set the parameter of @text, which is NAME=VALUE, in the object @params. VALUE is JSON, or else a
 * text. Errors: ERR_USAGE: NAME is not a name of a variable, or VALUE is a number out of range. */
int notebook_param_set(json_t *params, const char *text, struct err *err);

/* Set the parameters that are the members of a JSON object. Errors: ERR_USAGE, ERR_LIMIT. */
int notebook_param_read(json_t *params, const char *text, size_t bytes, struct err *err);

/* Append the code that sets variables to the values of @params. @runtime: "python" or "javascript".
 * Errors: ERR_USAGE: another language; ERR_LIMIT: over the maximum of @out. */
int notebook_param_code(
	const json_t *params, const char *runtime, struct buf *out, struct err *err);
