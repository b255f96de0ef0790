/* Arguments that a server wants in headers as well: x-mcp-header. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include <jansson.h>

enum { PARAM_HEADERS_MAX = 16, PARAM_HEADER_DEPTH_MAX = 32 };

/*
 * The headers that go with a call: {"Mcp-Param-Name": value}. Values that are not printable ASCII
 * are written as =?base64?…?=; what @arguments do not have, or have as null, is left out.
 *
 * @arguments: NULL: only see whether @schema may ask for them as it does.
 * Owns:    the caller decrefs.
 * Returns: NULL when @schema is wrong: a name that is no token or is there twice, a property that
 * is no string, integer or boolean, one that is not reached by "properties" alone; over
 *          PARAM_HEADERS_MAX; or no memory.
 * Source:  Model Context Protocol 2026-07-28, Streamable HTTP (SEP-2243).
 */
json_t *param_headers(const json_t *schema, const json_t *arguments);
