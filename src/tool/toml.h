/* TOML as files of settings use it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

/*
 * Read a text as the JSON object that says the same.
 *
 * Shape:   tables, arrays of tables, dotted and quoted keys, basic and literal strings of one line,
 *          numbers, true, false, arrays, inline tables. Dates become strings.
 * Limits:  a depth of 16. Strings of many lines are refused.
 * Owns:    the caller decrefs *@out.
 * Returns: 0, or -EINVAL with @name and the line of what is wrong, -ENOMEM.
 * Source:  TOML 1.0.0.
 */
int toml_read(const char *text, size_t bytes, const char *name, json_t **out, struct err *err);
