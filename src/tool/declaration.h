/* Declarations of tools for plans: with identifiers as names, and with types that can be
 * checked. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/tool.h"
#include "tool/catalog.h"

enum { DECLARATION_DEPTH_MAX = 8, DECLARATION_STEPS_MAX = 20000 };

/*
 * Make the entry of a tool for a file of tools (tool/fixture.h) without "answers": "inputSchema",
 * "outputSchema", "annotations". Parameters are named by identifier_make(). Of a schema, only
 * keywords that a check of values can verify are kept: type, enum, const, properties, required,
 * items. Formats and handles are kept for trusted servers only, because no check can verify them.
 *
 * Limits: DECLARATION_DEPTH_MAX; *@steps for a whole list of tools, counted down. Beyond the
 * limits a schema allows any value.
 * Owns: the caller. Returns: NULL when the tool has over TOOL_PARAMS_MAX parameters, or without
 * memory.
 */
json_t *declaration_make(const struct catalog_tool *tool, int *steps);

/* Rename arguments from the declared identifiers to the tool's own names. An undeclared name is
 * kept. Owns: the caller. Returns: NULL without memory. */
json_t *declaration_arguments(const struct catalog_tool *tool, const json_t *arguments);

/* Write the name "server.tool" as a plan spells it. Returns: false when the name is too long. */
bool declaration_name(const struct catalog_tool *tool, char out[TOOL_NAME_MAX_BYTES + 1]);
