/* The Model Context Protocol from the server's side: what is served. How messages come and go is in
 * mcp_peer.h, what a handler may do in mcp_call.h. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct mcp_server;
struct mcp_call; /* one request under way */

/* The two ways to speak: with a handshake (to 2025-11-25), and without state (from 2026-07-28). */
enum mcp_era { MCP_LEGACY, MCP_MODERN };

/* JSON-RPC codes of the protocol. */
enum {
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_VERSION = -32022,
};

/* Carries a request out: now or later it answers once, with mcp_call_give() or mcp_call_fail(). */
typedef void mcp_start_fn(struct mcp_call *call);

enum mcp_kind { MCP_TOOL, MCP_RESOURCE, MCP_TEMPLATE, MCP_PROMPT, MCP_KIND_END_ };

/*
 * One thing that is served. @definition is its entry in the list: {"name", …} of a tool or a
 * prompt,
 * {"uri", …} of a resource, {"uriTemplate", …} of a template. A template is matched up to its first
 * "{" and from its last "}" on.
 * Owns: the definition is borrowed; it outlives the server.
 */
struct mcp_row {
	const json_t *definition;
	mcp_start_fn *start;
};

struct mcp_rows {
	const struct mcp_row *row;
	size_t n;
	bool has_list_changed; /* mcp_changed() may come */
	mcp_start_fn *list;    /* the list is made by this instead, or NULL */
};

/* Borrowed; outlives the server. */
struct mcp_config {
	const char *name, *title, *version, *instructions; /* title, instructions: or NULL */
	struct mcp_rows rows[MCP_KIND_END_];
	bool has_logging, has_subscribe;
	mcp_start_fn *complete; /* completion/complete, or NULL */
	unsigned list_ttl_ms;	/* how long a client may keep lists (modern) */
	void *arg;		/* mcp_call_arg() */
};

/* Owns: the caller ends it with mcp_server_free(), after every peer and call. */
struct mcp_server *mcp_server_new(const struct mcp_config *config);
void mcp_server_free(struct mcp_server *s);

/* Tell those who listen that a list, or what a resource holds, is another now. */
void mcp_changed(struct mcp_server *s, enum mcp_kind kind);
void mcp_updated(struct mcp_server *s, const char *uri);

/* The revisions that are spoken, newest first: "2026-07-28", …; NULL at the end. */
extern const char *const mcp_versions[];
/* Returns: its era, or -1 when it is not spoken. */
int mcp_version_era(const char *version);
