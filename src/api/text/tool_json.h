/* Describe tools as JSON. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/catalog.h"

/*
 * Describe a tool for code in boxes: {"name", "tool", "id", "js_id", "signature", "js_signature",
 * "doc", "params", "extra"}. "params" and "extra" are those of stub_params().
 * @is_whole: "doc" is the whole description; otherwise only its first line.
 * Owns: the caller decrefs the result. Returns: NULL if memory is exhausted.
 */
json_t *tool_json_short(const struct catalog_tool *t, bool is_whole);

/*
 * Describe a tool for clients: {"name", "server", "description", "signature", "js_signature",
 * "read_only", "destructive", "open_world", "input_schema", "output_schema"?}.
 * Owns: the caller decrefs the result. Returns: NULL if memory is exhausted.
 */
json_t *tool_json(const struct catalog_tool *t);
