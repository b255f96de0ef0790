/* The Model Context Protocol over two file descriptors, with one message per line.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/peer.h"

#include <uv.h>

/* Limits of output that the client has not read yet. Above SOFT, requests of the client are not
 * read. Above HARD, mcp_stdio_run() returns. */
enum { MCP_STDIO_SOFT_BYTES = 1 << 20, MCP_STDIO_HARD_BYTES = 256 << 20 };

struct mcp_stdio_config {
	struct mcp_server *server;
	int in_fd, out_fd;
	void *arg;
	/* Opens the context in which calls start operations, when a call first needs a context.
	 * `open` may start an engine. Returns NULL and @err on failure. The member `open` is NULL
	 * if there is no engine. */
	const struct operation_context *(*open)(void *arg, struct err *err);
	/* Returns the engine's event loop, or NULL while no engine runs; may be NULL. */
	uv_loop_t *(*loop)(void *arg);
	/* Returns whether serving must end, for example after a signal; may be NULL. */
	bool (*is_ended)(void *arg);
};

/*
 * Serve one client until it closes its side of in_fd. Requests that are not answered one second
 * after that are cancelled.
 *
 * Blocks:  until all requests are answered or cancelled, or `is_ended` returns true. The engine's
 *          loop runs meanwhile.
 */
void mcp_stdio_run(const struct mcp_stdio_config *config);
