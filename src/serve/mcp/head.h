/* What the headers of the Model Context Protocol say, against what the body says.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Borrowed; NULL: not there. */
struct mcp_head {
	const char *version; /* MCP-Protocol-Version */
	const char *method;  /* Mcp-Method */
	const char *name;    /* Mcp-Name */
	const char *session; /* Mcp-Session-Id */
};

/* Is @body for the modern era: does it, or its header, name a revision that is not of the old ones,
 * and is it no handshake? */
bool mcp_head_is_modern(const struct mcp_head *head, const json_t *body);

/*
 * Do the headers of a modern request say what its body says? What is missing in the body is for
 * others to find.
 * Source:  the specification of 2026-07-28, Streamable HTTP, "Request Metadata".
 * Returns: 0, or -1 and why: one sentence in @err->msg.
 */
int mcp_head_check(const struct mcp_head *head, const json_t *body, struct err *err);

/* Is this the value that the header @text stands for, which may be "=?base64?…?="? Blanks around it
 * do not count. */
bool mcp_head_is(const char *text, const char *value);
