/* All that is needed to serve retort's tools over Streamable HTTP. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/mcp/http.h"
#include "serve/mcp/tools.h"

struct mcp_front {
	struct mcp_tools *tools;
	struct mcp_server *server;
	struct mcp_http *http;
};

/* @config is borrowed for the call. */
void mcp_front_open(struct mcp_front *f, uv_loop_t *loop, const struct mcp_tools_config *config);

/* To be called after the HTTP server was closed: open requests are dropped, their runs interrupted.
 */
void mcp_front_close(struct mcp_front *f);
/* To be called after the engine was closed, which answers all calls. */
void mcp_front_done(struct mcp_front *f);
