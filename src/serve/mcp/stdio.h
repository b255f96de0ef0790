/* The Model Context Protocol on two descriptors: one message per line. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/mcp/peer.h"

#include <uv.h>

/*
 * Of one client. Above SOFT of what it has not taken yet, its requests are not read; above HARD it
 * is given up.
 */
enum { MCP_STDIO_SOFT_BYTES = 1 << 20, MCP_STDIO_HARD_BYTES = 256 << 20 };

struct mcp_stdio_config {
	struct mcp_server *server;
	int in_fd, out_fd;
	void *arg;
	/* As in struct mcp_peer_config; NULL: there is no engine. */
	const struct operation_context *(*open)(void *arg, struct err *err);
	uv_loop_t *(*loop)(void *arg); /* NULL, or returns NULL: none yet */
	bool (*is_ended)(void *arg);   /* something else says that it is over; or NULL */
};

/*
 * Serve until the client sends no more, or is gone: what is under way then is cancelled after a
 * second.
 *
 * Blocks:  until then; what of the loop is due is run meanwhile.
 */
void mcp_stdio_run(const struct mcp_stdio_config *config);
