/* A client of one MCP server. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/servers.h"

#include <uv.h>

struct mcp_client;
struct mcp_call;
enum {
	MCP_CALLS_WAITING_MAX = 256,
	MCP_TOOLS_MAX = 2000,
	MCP_PAGES_MAX = 200,
	MCP_ROUNDS_MAX = 8, /* rounds of input_required in one call */
	MCP_STARTS_PER_MINUTE = 30,
	MCP_HARD_FACTOR = 10, /* a call with progress ends after this many timeouts */
};

enum mcp_end {
	MCP_RESULT,  /* the result, which may report that the tool failed */
	MCP_REFUSED, /* the server responded with a JSON-RPC error */
	MCP_LOST,    /* no response will arrive */
};

/* The outcome of a call. Borrowed. */
struct mcp_answer {
	enum mcp_end end;
	const json_t *result; /* the result; MCP_REFUSED: the JSON-RPC error */
	int status;	      /* MCP_LOST: HTTP status, or 0 */
	bool is_unsent;	      /* MCP_LOST: the request was never sent */
	struct err err;	      /* names the server; unset for MCP_RESULT */
};

typedef void mcp_done_fn(void *arg, const struct mcp_answer *answer);
/* The callback for the outcome of a call. */
struct mcp_waiter {
	mcp_done_fn *done;
	void *arg;
	json_t *headers; /* of param_headers(), or NULL; the call takes a reference */
};

struct mcp_client_config {
	const struct tool_server *server; /* outlives the client */
	uv_loop_t *loop;
	void *arg;
	/* Ask the user for the server (elicitation). Returns: {"action", "content"}, which the
	 * client consumes; NULL: declined. */
	json_t *(*ask)(void *arg, const struct tool_server *server, const json_t *params);
	void (*on_progress)(void *arg, const struct tool_server *server, const json_t *params);
	void (*on_tools_changed)(void *arg, const struct tool_server *server);
};

/* Create a client; no server is started yet. ask, on_progress, on_tools_changed may be NULL. The
 * process must ignore SIGPIPE. */
struct mcp_client *mcp_client_new(const struct mcp_client_config *config);

/* Close the client; no callback is called any more. A spawned server gets the end of its input,
 * then signals. The memory is freed when the loop has closed all handles. */
void mcp_client_close(struct mcp_client *c);

/*
 * Call a tool. Starts the server, if it is not running.
 *
 * Limits: MCP_CALLS_WAITING_MAX calls at once; the server's timeout, which restarts with each
 * progress notification; and MCP_HARD_FACTOR timeouts in all.
 * Owns: @arguments is borrowed; NULL stands for {}. *@out (@out may be NULL) is valid until done()
 * has returned or the call was cancelled.
 * Returns: 0: done() will be called once, from the loop; or negative errno.
 */
int mcp_client_call(struct mcp_client *c, const char *tool, const json_t *arguments,
	const struct mcp_waiter *waiter, struct mcp_call **out, struct err *err);

/* List the tools of all pages; the result is an array. */
int mcp_client_list(struct mcp_client *c, mcp_done_fn *done, void *arg, struct err *err);

/* Cancel a call: notify the server, and do not call done(). */
void mcp_client_cancel(struct mcp_call *call);

/* Return the protocol version in use. Returns: NULL before the handshake is done. */
const char *mcp_client_version(const struct mcp_client *c);
