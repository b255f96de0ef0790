/* Stubs: declarations of tools in a programming language. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "tool/catalog.h"

enum { STUB_BYTES = 8 << 20, STUB_DEPTH_MAX = 5, STUB_PARAMS_MAX = 64, STUB_TYPE_BYTES = 4096 };

/*
 * Append the declarations of a server's tools: a class of static methods for Python, a namespace of
 * TypeScript for JavaScript. Texts of the server occur only in comments and strings.
 *
 * Returns: 0, or negative errno.
 */
int stub_write(struct buf *out, enum identifier_language language, const struct catalog_server *s,
	struct err *err);

/*
 * List the parameters in the order of the Python signature: [{"name", "id", "type", "required",
 * "default"?}]. *@has_more: the tool accepts parameters that are not in the list.
 * Owns: the caller. Returns: NULL without memory.
 */
json_t *stub_params(const struct catalog_tool *tool, bool *has_more);

/* Append the signature in one line: "tools.server.tool(*, a: str, b: int = 1) -> Any". */
int stub_signature(
	struct buf *out, enum identifier_language language, const struct catalog_tool *tool);
