/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/front.h"

void mcp_front_open(struct mcp_front *f, uv_loop_t *loop, const struct mcp_tools_config *config)
{
	f->tools = mcp_tools_new(config);
	f->server = mcp_server_new(mcp_tools_served(f->tools));
	f->http = mcp_http_open(loop, f->server);
}

void mcp_front_close(struct mcp_front *f)
{
	mcp_http_close(f->http);
	f->http = NULL;
}

void mcp_front_done(struct mcp_front *f)
{
	mcp_server_free(f->server);
	mcp_tools_free(f->tools);
}
