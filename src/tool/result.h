/* What the answer of a tool comes to. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum { RESULT_BLOCKS_MAX = 1000 };

/*
 * The value of a result of tools/call: its structuredContent; else its texts, as JSON if they are
 * an object or an array, or as a string; else {"text", "images", "links"}, whose images are
 * {"type", "mimeType", "data"}. A single image and nothing else is that image.
 *
 * Owns:    the caller decrefs *@value; of *@is_error it is a string.
 * Returns: 0, -EPROTO when @result is none, -ENOMEM.
 */
int result_read(const json_t *result, json_t **value, bool *is_error, struct err *err);
