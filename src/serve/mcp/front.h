/* The objects that serve retort's tools over Streamable HTTP. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/mcp/http.h"
#include "serve/mcp/tools.h"

struct mcp_front {
	struct mcp_tools *tools;
	struct mcp_server *server;
	struct mcp_http *http;
};

/* Open the server. @config is borrowed for the call. */
void mcp_front_open(struct mcp_front *f, uv_loop_t *loop, const struct mcp_tools_config *config);

/* Close the sessions: open requests are dropped, and their runs interrupted. To be called after the
 * HTTP server was closed. */
void mcp_front_close(struct mcp_front *f);
/* Free the rest. To be called after the engine was closed, which ends all calls. */
void mcp_front_done(struct mcp_front *f);
