/* JSON from a text, fast where it is long. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/*
 * As json_loadb() with JSON_ALLOW_NUL and JSON_REJECT_DUPLICATES, of an object or an array. That
 * one takes a string character by character, through three functions: a value of 10 MiB takes it a
 * tenth of a second. So long strings are read here, and it reads the rest.
 * Owns:    the caller decrefs.
 * Returns: NULL and @error->text.
 */
json_t *json_load_text(const char *data, size_t bytes, json_error_t *error);
