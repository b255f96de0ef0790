/* A parser for the part of TOML that configuration files use. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

/*
 * Parse TOML into an equivalent JSON object.
 *
 * Shape:   tables, arrays of tables, dotted and quoted keys, basic and literal strings of one line,
 *          numbers, booleans, arrays and inline tables are read. Dates become strings. Strings of
 *          several lines are refused.
 * Limits:  16 levels of nesting.
 * Owns:    the caller decrefs *@out.
 * Returns: 0; -EINVAL with @name and the line of the mistake in @err; -ENOMEM.
 * Source:  TOML 1.0.0.
 */
int toml_read(const char *text, size_t bytes, const char *name, json_t **out, struct err *err);
