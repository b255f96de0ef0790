/* Conversion of the result of a tool call to one JSON value. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum { RESULT_BLOCKS_MAX = 1000 };

/*
 * Convert the result of a tools/call request to a value:
 * - the result's structuredContent, if it has one;
 * - otherwise its texts: parsed if they are a JSON object or array, else as a string;
 * - if there are images or links: {"text", "images", "links"}, where an image is {"type",
 * "mimeType", "data"}; but a single image without text and links is the value itself.
 *
 * If the result reports an error, *@is_error is set, and the value is a string with the texts.
 * Owns:    the caller decrefs *@value.
 * Returns: 0; -EPROTO if @result is malformed; -ENOMEM.
 */
int result_read(const json_t *result, json_t **value, bool *is_error, struct err *err);
