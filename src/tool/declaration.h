/* Declarations of tools for plans. Their names are identifiers, and their types can be checked.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/tool.h"
#include "tool/catalog.h"

enum { DECLARATION_DEPTH_MAX = 8, DECLARATION_STEPS_MAX = 20000 };

/*
 * Make the declaration of a tool: {"inputSchema", "outputSchema", "annotations", "_meta"}. These
 * members mean the same as in the file of tools that fixture_read() reads.
 *
 * - Parameters of the tool are renamed to the identifiers that identifier_make() makes.
 * - Of a schema, only keywords that a check of values can verify are kept: type, enum, const,
 *   properties, required, items.
 * - The keywords "format" and "x-handle" of a schema cannot be verified. They are kept only if the
 *   server of the tool is trusted.
 *
 * Limits:  A schema has at most DECLARATION_DEPTH_MAX levels. *@steps is how many more schemas and
 *          references may be visited. The function counts *@steps down. The declarations of several
 *          tools may share one *@steps. A schema beyond a limit becomes {}, which allows any value.
 * Owns:    the caller decrefs the result.
 * Returns: NULL if the tool has more than TOOL_PARAMS_MAX parameters, or if memory is exhausted.
 */
json_t *declaration_make(const struct catalog_tool *tool, int *steps);

/* Rename arguments from the identifiers of a declaration to the names at the server. An unknown
 * name is kept. Owns: the caller decrefs the result. */
json_t *declaration_arguments(const struct catalog_tool *tool, const json_t *arguments);

/* Write the name "server.tool" of a tool in the form that plans use, with identifiers. Returns:
 * false if the name is too long. */
bool declaration_name(const struct catalog_tool *tool, char out[TOOL_NAME_MAX_BYTES + 1]);
