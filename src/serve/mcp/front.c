/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/front.h"

int mcp_front_open(struct mcp_front *f, uv_loop_t *loop, const struct mcp_tools_config *config,
	struct err *err)
{
	*f = (struct mcp_front){0};
	f->tools = mcp_tools_new(config);
	f->server = f->tools ? mcp_server_new(mcp_tools_served(f->tools)) : NULL;
	if (!f->server)
		return err_set(err, ERR_NO_MEMORY, "no memory for a server");
	return mcp_http_open(&f->http, loop, f->server, err);
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
