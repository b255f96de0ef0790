/* The objects that together serve retort's tools over Streamable HTTP. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/mcp/http.h"
#include "serve/mcp/tools.h"

struct mcp_front {
	struct mcp_tools *tools;
	struct mcp_server *server;
	struct mcp_http *http;
};

/* Create the tools, the server and the HTTP service in @f. The data that @config points to must
 * outlive them. */
void mcp_front_open(struct mcp_front *f, uv_loop_t *loop, const struct mcp_tools_config *config);

/* End all MCP sessions. Open requests are dropped and their runs interrupted. To be called after
 * the HTTP server was closed. */
void mcp_front_close(struct mcp_front *f);
/* Free the tools and the server in @f. To be called after the engine was closed, because calls may
 * use them until then. */
void mcp_front_done(struct mcp_front *f);
