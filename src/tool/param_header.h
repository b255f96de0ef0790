/* Headers for arguments that a server wants in HTTP headers as well (x-mcp-header).
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

enum { PARAM_HEADERS_MAX = 16, PARAM_HEADER_DEPTH_MAX = 32 };

/*
 * Make the headers of a call: {"Mcp-Param-Name": value}. Values that are not printable ASCII are
 * written as =?base64?…?=. Missing arguments and null are left out.
 *
 * @arguments: NULL: only validate the x-mcp-header declarations of @schema.
 * Owns: the caller decrefs.
 * Returns: NULL when @schema is invalid: a header name that is no token or occurs twice; a property
 * that is no string, integer or boolean, or that is not reached through "properties" alone; over
 * PARAM_HEADERS_MAX headers; or without memory.
 * Source: Model Context Protocol 2026-07-28, Streamable HTTP (SEP-2243).
 */
json_t *param_headers(const json_t *schema, const json_t *arguments);
