/* A server of the Model Context Protocol: the table of its tools, prompts and resources. peer.h
 * handles messages, call.h is the interface of handlers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct mcp_server;
struct mcp_call; /* one request */

/* The two forms of the protocol: with a handshake (up to 2025-11-25), and stateless (from
 * 2026-07-28). */
enum mcp_era { MCP_LEGACY, MCP_MODERN };

/* The protocol's JSON-RPC error codes. */
enum {
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_VERSION = -32022,
};

/* Handle a request: respond once, now or later, with mcp_call_give() or mcp_call_fail(). */
typedef void mcp_start_fn(struct mcp_call *call);

enum mcp_kind { MCP_TOOL, MCP_RESOURCE, MCP_TEMPLATE, MCP_PROMPT, MCP_KIND_END_ };

/*
 * A tool, prompt, resource or template. @definition is its entry in the list: {"name", …} of a tool
 * or a prompt, {"uri", …} of a resource, {"uriTemplate", …} of a template. A URI matches a template
 * if both are equal up to the first "{" and from the last "}" on.
 * Owns:    the definition is borrowed; it outlives the server.
 */
struct mcp_row {
	const json_t *definition;
	mcp_start_fn *start;
};

struct mcp_rows {
	const struct mcp_row *row;
	size_t n;
	bool has_list_changed; /* mcp_changed() may be called */
	mcp_start_fn *list;    /* builds the list instead of `row`; or NULL */
};

/* The configuration of a server. Borrowed; outlives the server. */
struct mcp_config {
	const char *name, *title, *version, *instructions; /* title and instructions may be NULL */
	struct mcp_rows rows[MCP_KIND_END_];
	bool has_logging, has_subscribe;
	mcp_start_fn *complete; /* handler of completion/complete, or NULL */
	unsigned list_ttl_ms;	/* how long a client may cache lists, in the modern era */
	void *arg;		/* returned by mcp_call_arg() */
};

/* Create a server. Owns: the caller ends it with mcp_server_free(), after every peer and call. */
struct mcp_server *mcp_server_new(const struct mcp_config *config);
void mcp_server_free(struct mcp_server *s);

/* Notify subscribers that a list or the content of a resource has changed. */
void mcp_changed(struct mcp_server *s, enum mcp_kind kind);
void mcp_updated(struct mcp_server *s, const char *uri);

/* The supported revisions, newest first: "2026-07-28", …; NULL at the end. */
extern const char *const mcp_versions[];
/* Find the era of a revision. Returns: -1 if the revision is not supported. */
int mcp_version_era(const char *version);
