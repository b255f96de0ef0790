/* Conversion of a tool's result to one JSON value. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum { RESULT_BLOCKS_MAX = 1000 };

/*
 * Convert a result of tools/call to a value: its structuredContent, if present; otherwise its
 * texts, parsed when they are a JSON object or array, or as a string; with images or links,
 * {"text", "images", "links"}, where an image is {"type", "mimeType", "data"}. A single image
 * without anything else is that image.
 *
 * Owns: the caller decrefs *@value, which is a string when *@is_error is set.
 * Returns: 0, -EPROTO when @result is malformed, -ENOMEM.
 */
int result_read(const json_t *result, json_t **value, bool *is_error, struct err *err);
