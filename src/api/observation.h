/* The record of a step as a model reads it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* {"text", "images"?: [{"mime", "data"}]}. Owns: the caller. Returns: NULL without memory. */
json_t *observation_make(const json_t *record);
