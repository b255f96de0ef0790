/* Reading of TOML, to the extent that configuration files use it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

/*
 * Read TOML into an equivalent JSON object.
 *
 * Shape: tables, arrays of tables, dotted and quoted keys, basic and literal strings of one line,
 * numbers, booleans, arrays, inline tables. Dates become strings.
 * Limits: a depth of 16. Strings of several lines are refused.
 * Owns: the caller decrefs *@out.
 * Returns: 0; -EINVAL with @name and the line of the mistake; -ENOMEM.
 * Source: TOML 1.0.0.
 */
int toml_read(const char *text, size_t bytes, const char *name, json_t **out, struct err *err);
