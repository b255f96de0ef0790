/* Headers of the Model Context Protocol, which must agree with the body. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* The headers. Borrowed; NULL: missing. */
struct mcp_head {
	const char *version; /* MCP-Protocol-Version */
	const char *method;  /* Mcp-Method */
	const char *name;    /* Mcp-Name */
	const char *session; /* Mcp-Session-Id */
};

/* Does @body belong to the modern era? Yes if it names its revision; no if it is a handshake;
 * otherwise yes if the headers name a revision that is not a legacy one, or have Mcp-Method without
 * a session. */
bool mcp_head_is_modern(const struct mcp_head *head, const json_t *body);

/*
 * Do the headers of a modern request agree with its body? Members that the body lacks are not
 * reported here.
 * Source:  the specification of 2026-07-28, Streamable HTTP, "Request Metadata".
 * Returns: 0; -1 and the reason in @err->msg.
 */
int mcp_head_check(const struct mcp_head *head, const json_t *body, struct err *err);

/* Does the header @text have the value @value? The header may be encoded ("=?base64?…?=");
 * surrounding blanks are ignored. */
bool mcp_head_is(const char *text, const char *value);
