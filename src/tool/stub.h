/* Tools as the declarations of a language. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "tool/catalog.h"

enum { STUB_BYTES = 8 << 20, STUB_DEPTH_MAX = 5, STUB_PARAMS_MAX = 64, STUB_TYPE_BYTES = 4096 };

/*
 * Append what the tools of a server look like: a class of static methods for Python, a namespace
 * of TypeScript for JavaScript. What servers wrote stands in it as comments and strings only.
 *
 * Returns: 0, or negative errno.
 */
int stub_write(struct buf *out, enum identifier_language language, const struct catalog_server *s,
	struct err *err);

/*
 * The parameters in the order of the Python signature: [{"name", "id", "type", "required",
 * "default"?}]; *@has_more: what stands in no row is taken as well.
 * Owns: the caller. Returns: NULL without memory.
 */
json_t *stub_params(const struct catalog_tool *tool, bool *has_more);

/* "tools.server.tool(*, a: str, b: int = 1) -> Any" in one line. */
int stub_signature(
	struct buf *out, enum identifier_language language, const struct catalog_tool *tool);
