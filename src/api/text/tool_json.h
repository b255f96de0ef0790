/* Descriptions of tools as JSON. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/catalog.h"

/*
 * Describe a tool for code in boxes: {"name", "tool", "id", "js_id", "signature", "js_signature",
 * "doc", "params", "extra"}, the last two of stub_params().
 * @is_whole: the whole description; else its first line.
 * Owns: the caller (both functions). Returns: NULL without memory (both functions).
 */
json_t *tool_json_short(const struct catalog_tool *t, bool is_whole);

/* Describe a tool for programs: the same, without doc, and {"server", "description", "read_only",
 * "destructive", "open_world", "input_schema", "output_schema"?}. */
json_t *tool_json(const struct catalog_tool *t);
