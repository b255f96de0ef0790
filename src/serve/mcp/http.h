/* The Model Context Protocol over Streamable HTTP, both eras at one path. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/http/http.h"
#include "serve/mcp/server.h"

#define MCP_HTTP_PATH "/mcp"

/* Sessions exist in the legacy era only: one for each handshake, with an id that nobody can guess,
 * for its principal only. When there are too many, the one that was idle for longest ends; a
 * session without requests ends after IDLE. */
enum {
	MCP_SESSIONS_MAX = 256,
	MCP_PRINCIPAL_SESSIONS_MAX = 64,
	MCP_SESSION_IDLE_MS = 30 * 60 * 1000,
	MCP_CHECK_MS = 30 * 1000,
};

struct mcp_http;

/* Owns: the caller ends it with mcp_http_close(). */
struct mcp_http *mcp_http_open(uv_loop_t *loop, struct mcp_server *server);

/* To be called after the HTTP server was closed; @h is freed when the loop has run. NULL is
 * nothing. */
void mcp_http_close(struct mcp_http *h);

/* Routes for the HTTP server; their `arg` is the struct mcp_http. */
enum { MCP_HTTP_ROUTES = 3 };
void mcp_http_routes(struct mcp_http *h, struct http_route out[MCP_HTTP_ROUTES]);
