/* A server of the Model Context Protocol: its tools, prompts and resources. peer.h handles
 * messages; call.h is the interface for handlers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct mcp_server;
struct mcp_call; /* one request */

/* The two families of protocol revisions. Legacy revisions, up to 2025-11-25, begin with a
 * handshake. Modern ones, from 2026-07-28, have none: each request stands alone. */
enum mcp_era { MCP_LEGACY, MCP_MODERN };

/* The protocol's own error codes, in JSON-RPC errors. */
enum {
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_VERSION = -32022,
};

/* The handler of a request. It must respond once, now or later, with a function of call.h such as
 * mcp_call_give() or mcp_call_fail(). */
typedef void mcp_start_fn(struct mcp_call *call);

enum mcp_kind { MCP_TOOL, MCP_RESOURCE, MCP_TEMPLATE, MCP_PROMPT, MCP_KIND_END_ };

/*
 * One tool, prompt, resource or resource template. @definition is its entry in the list that
 * clients get: {"name", …} for a tool or prompt, {"uri", …} for a resource, {"uriTemplate", …} for
 * a template.
 * A URI matches a template if it begins with the text before the template's first "{" and ends with
 * the text after its last "}".
 * Owns:    the definition is borrowed; it outlives the server.
 */
struct mcp_row {
	const json_t *definition;
	mcp_start_fn *start;
};

struct mcp_rows {
	const struct mcp_row *row;
	size_t n;
	bool has_list_changed; /* clients may subscribe to changes of the list: mcp_changed() */
	/* Function that responds with the list. NULL: the list is made from `row`. */
	mcp_start_fn *list;
};

/* The configuration of a server. Owns: all pointers are borrowed and must outlive the server. */
struct mcp_config {
	/* Title and instructions may be NULL. */
	const char *name, *title, *version, *instructions;
	struct mcp_rows rows[MCP_KIND_END_];
	bool has_logging, has_subscribe;
	mcp_start_fn *complete; /* handler of completion/complete; NULL if not supported */
	/* How long a client may cache lists, in ms. Sent only in modern protocol revisions (enum
	 * mcp_era). */
	unsigned list_ttl_ms;
	void *arg; /* returned by mcp_call_arg() */
};

/* Create a server. Owns: the caller ends it with mcp_server_free(), after all peers and calls have
 * ended. */
struct mcp_server *mcp_server_new(const struct mcp_config *config);
void mcp_server_free(struct mcp_server *s);

/* mcp_changed() notifies subscribed clients that a list has changed; mcp_updated() that the content
 * of a resource has changed. */
void mcp_changed(struct mcp_server *s, enum mcp_kind kind);
void mcp_updated(struct mcp_server *s, const char *uri);

/* The supported revisions of the protocol, newest first: "2026-07-28", …; NULL at the end. */
extern const char *const mcp_versions[];
/* Return the era (enum mcp_era) of a revision; -1 if the revision is not supported. */
int mcp_version_era(const char *version);
