/* Stubs: declarations of tools in Python or TypeScript, for code that calls the tools.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "tool/catalog.h"

enum { STUB_BYTES = 8 << 20, STUB_DEPTH_MAX = 5, STUB_PARAMS_MAX = 64, STUB_TYPE_BYTES = 4096 };

/*
 * Append the declarations of a server's tools: in Python a class with static methods, in TypeScript
 * a namespace. The server's texts appear only in comments and strings.
 *
 * Returns: 0, or negative errno.
 */
int stub_write(struct buf *out, enum identifier_language language, const struct catalog_server *s,
	struct err *err);

/*
 * List the parameters of a tool, in the order of its Python signature: [{"name", "id", "type",
 * "required", "default"?}]. *@has_more is set if the tool accepts parameters that are not in the
 * list.
 * Owns:    the caller decrefs the result.
 */
json_t *stub_params(const struct catalog_tool *tool, bool *has_more);

/* Append the signature of a tool as one line: "tools.server.tool(*, a: str, b: int = 1) -> Any". */
int stub_signature(
	struct buf *out, enum identifier_language language, const struct catalog_tool *tool);
