/* The Model Context Protocol over Streamable HTTP, both eras at one path. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/http/http.h"
#include "serve/mcp/server.h"

#define MCP_HTTP_PATH "/mcp"

/*
 * Sessions are of the old era: one for each handshake, with an id nobody can guess, for its
 * principal only. The one that was idle for longest gives way to a new one; one without requests
 * for IDLE is over.
 */
enum {
	MCP_SESSIONS_MAX = 256,
	MCP_PRINCIPAL_SESSIONS_MAX = 64,
	MCP_SESSION_IDLE_MS = 30 * 60 * 1000,
	MCP_CHECK_MS = 30 * 1000,
};

struct mcp_http;

/* Owns: the caller ends it with mcp_http_close(). */
struct mcp_http *mcp_http_open(uv_loop_t *loop, struct mcp_server *server);

/* After the HTTP server was closed; @h is freed when the loop has run. NULL is nothing. */
void mcp_http_close(struct mcp_http *h);

/* Rows of the server's table: their `arg` is the struct mcp_http. */
enum { MCP_HTTP_ROUTES = 3 };
void mcp_http_routes(struct mcp_http *h, struct http_route out[MCP_HTTP_ROUTES]);
