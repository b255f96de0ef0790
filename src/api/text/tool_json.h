/* Descriptions of tools as JSON. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/catalog.h"

/*
 * For code in boxes: {"name", "tool", "id", "js_id", "signature", "js_signature", "doc",
 * "params", "extra"}, the last two of stub_params().
 * @is_whole: the whole description; else its first line.
 * Owns: of both, the caller. Returns: of both, NULL without memory.
 */
json_t *tool_json_short(const struct catalog_tool *t, bool is_whole);

/* For programs: the same, and {"server", "description", "read_only", "destructive", "open_world",
 * "input_schema", "output_schema"?}, without doc. */
json_t *tool_json(const struct catalog_tool *t);
