/* HTTP headers that repeat arguments of a call, where the schema of the tool demands them
 * (x-mcp-header). SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

enum { PARAM_HEADERS_MAX = 16, PARAM_HEADER_DEPTH_MAX = 32 };

/*
 * Make the headers for a call: {"Mcp-Param-Name": value}. A value that is not printable ASCII is
 * encoded as =?base64?…?=. A missing argument, or null, gets no header.
 *
 * If @arguments is NULL, only check the x-mcp-header declarations of @schema.
 * Owns:    the caller decrefs the result.
 * Returns: NULL if the declarations are invalid:
 *          - the name of a header is not a token, or occurs twice;
 *          - a property with a header is not a string, integer or boolean;
 *          - a property with a header is inside something other than "properties";
 *          - there are more than PARAM_HEADERS_MAX headers.
 * Source:  Model Context Protocol 2026-07-28, Streamable HTTP (SEP-2243).
 */
json_t *param_headers(const json_t *schema, const json_t *arguments);
