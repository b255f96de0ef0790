/* The Model Context Protocol over two descriptors: one message per line. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/mcp/peer.h"

#include <uv.h>

/* Limits of the output that the client has not read yet. Above SOFT, the client's requests are not
 * read; above HARD, the connection is closed. */
enum { MCP_STDIO_SOFT_BYTES = 1 << 20, MCP_STDIO_HARD_BYTES = 256 << 20 };

struct mcp_stdio_config {
	struct mcp_server *server;
	int in_fd, out_fd;
	void *arg;
	/* As in struct mcp_peer_config; NULL: no engine. */
	const struct operation_context *(*open)(void *arg, struct err *err);
	uv_loop_t *(*loop)(void *arg); /* the engine's loop; NULL, or returns NULL: no loop yet */
	bool (*is_ended)(void *arg);   /* must the server stop for another reason? Or NULL */
};

/*
 * Serve until the client closes its end. Requests still open a second later are cancelled.
 *
 * Blocks:  until then; the loop is run meanwhile.
 */
void mcp_stdio_run(const struct mcp_stdio_config *config);
