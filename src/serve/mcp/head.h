/* HTTP headers of the Model Context Protocol, and the check that they agree with the body.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* The headers of a request. All texts are borrowed; a missing header is NULL. */
struct mcp_head {
	const char *version; /* MCP-Protocol-Version */
	const char *method;  /* Mcp-Method */
	const char *name;    /* Mcp-Name */
	const char *session; /* Mcp-Session-Id */
};

/*
 * Return whether the request has a modern protocol revision (enum mcp_era). The first of these
 * rules that applies decides:
 * - If the body names a revision: yes, because only modern requests do so.
 * - If the method is "initialize", the handshake of legacy revisions: no.
 * - If there is a header MCP-Protocol-Version: no if it names a legacy revision, yes if not.
 * - If there is a header Mcp-Session-Id: no.
 * - If there is a header Mcp-Method: yes.
 * - Otherwise: no.
 */
bool mcp_head_is_modern(const struct mcp_head *head, const json_t *body);

/*
 * Check that the headers of a modern request repeat the members of its body. A member that the body
 * lacks is not an error here.
 * Source:  the specification of 2026-07-28, Streamable HTTP, "Request Metadata".
 * Returns: 0; -1 with the reason in @err->msg.
 */
int mcp_head_check(const struct mcp_head *head, const json_t *body, struct err *err);

/* Return whether a header has the value @value. @text: the value as the client sent it. Blanks
 * around @text are ignored. @text may be encoded as base64, "=?base64?…?=", and is then decoded
 * before it is compared with @value. */
bool mcp_head_is(const char *text, const char *value);
