/* The Model Context Protocol over Streamable HTTP. Legacy and modern protocol revisions (enum
 * mcp_era) are served at the same path. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"
#include "serve/mcp/server.h"

#define MCP_HTTP_PATH "/mcp"

/* Limits of sessions. Only legacy protocol revisions (enum mcp_era) have sessions: each handshake
 * creates a session. Its random id works only for the principal that has created it. If a new
 * session exceeds a limit, the session that was unused for longest is ended. A session is also
 * ended after MCP_SESSION_IDLE_MS without a request. */
enum {
	MCP_SESSIONS_MAX = 256,
	MCP_PRINCIPAL_SESSIONS_MAX = 64,
	MCP_SESSION_IDLE_MS = 30 * 60 * 1000,
	MCP_CHECK_MS = 30 * 1000,
};

struct mcp_http;

/* Start to serve MCP. Owns: the caller ends it with mcp_http_close(). */
struct mcp_http *mcp_http_open(uv_loop_t *loop, struct mcp_server *server);

/* End all sessions. To be called after the HTTP server was closed. The loop frees @h later. @h
 * NULL: do nothing. */
void mcp_http_close(struct mcp_http *h);

/* Get the routes for the HTTP server. They refer to @h. */
enum { MCP_HTTP_ROUTES = 3 };
void mcp_http_routes(struct mcp_http *h, struct http_route out[MCP_HTTP_ROUTES]);
