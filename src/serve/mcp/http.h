/* The Model Context Protocol over Streamable HTTP, both eras at one path. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/http/http.h"
#include "serve/mcp/server.h"

#define MCP_HTTP_PATH "/mcp"

/* Limits of sessions, which exist in the legacy era only. Each handshake creates a session with an
 * unguessable id, which only its principal can use. A new session over the limit ends the session
 * that was idle for longest; a session without requests ends after IDLE. */
enum {
	MCP_SESSIONS_MAX = 256,
	MCP_PRINCIPAL_SESSIONS_MAX = 64,
	MCP_SESSION_IDLE_MS = 30 * 60 * 1000,
	MCP_CHECK_MS = 30 * 1000,
};

struct mcp_http;

/* Start serving MCP. Owns: the caller ends it with mcp_http_close(). */
struct mcp_http *mcp_http_open(uv_loop_t *loop, struct mcp_server *server);

/* End all sessions. To be called after the HTTP server was closed; @h is freed when the loop has
 * run. @h may be NULL. */
void mcp_http_close(struct mcp_http *h);

/* Write the routes for the HTTP server; the `arg` of each is @h. */
enum { MCP_HTTP_ROUTES = 3 };
void mcp_http_routes(struct mcp_http *h, struct http_route out[MCP_HTTP_ROUTES]);
