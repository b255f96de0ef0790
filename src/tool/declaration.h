/* Tools of servers as plans know them: by names that are words, and with types that are checked.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/tool.h"
#include "tool/catalog.h"

enum { DECLARATION_DEPTH_MAX = 8, DECLARATION_STEPS_MAX = 20000 };

/*
 * A tool as an entry of a file of tools (tool/fixture.h), without answers: "inputSchema",
 * "outputSchema", "annotations". Parameters have the names of identifier_make(). Of schemas that
 * is left of which a result can be told not to be of: type, enum, const, properties, required,
 * items. What a server that is not trusted says of formats and handles is not in it, for no check
 * can tell whether it is so.
 *
 * Limits:  DECLARATION_DEPTH_MAX; a list of tools together *@steps, which is counted down. What is
 *          beyond them may be anything.
 * Owns:    the caller. Returns: NULL when it has over TOOL_PARAMS_MAX parameters, or without
 * memory.
 */
json_t *declaration_make(const struct catalog_tool *tool, int *steps);

/*
 * Arguments by the tool's own names, of those by declared ones. A name that was not declared stays
 * as it is. Owns: the caller. Returns: NULL without memory.
 */
json_t *declaration_arguments(const struct catalog_tool *tool, const json_t *arguments);

/* "server.tool" in words of a plan. Returns: false when it is longer than a name can be. */
bool declaration_name(const struct catalog_tool *tool, char out[TOOL_NAME_MAX_BYTES + 1]);
