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
	MCP_ROUNDS_MAX = 8, /* how often a call may be answered with "input_required" */
	MCP_STARTS_PER_MINUTE = 30,
	/* A call ends after this many timeouts, even if it makes progress. */
	MCP_HARD_FACTOR = 10,
};

enum mcp_end {
	MCP_RESULT,  /* a result arrived; it may report that the tool has failed */
	MCP_REFUSED, /* the server responded with a JSON-RPC error */
	MCP_LOST,    /* no response will arrive */
};

/* The outcome of a call. All pointers are borrowed. */
struct mcp_answer {
	enum mcp_end end;
	const json_t *result; /* the result; for MCP_REFUSED, the JSON-RPC error */
	int status;	      /* for MCP_LOST, the HTTP status; 0 if there is none */
	bool is_unsent;	      /* for MCP_LOST: the request was never sent */
	struct err err;	      /* the error, which names the server; unset for MCP_RESULT */
};

typedef void mcp_done_fn(void *arg, const struct mcp_answer *answer);
/* Where the outcome of a call is reported. */
struct mcp_waiter {
	mcp_done_fn *done;
	void *arg;
	/* Headers for the call, made by param_headers(); or NULL. The call takes a reference. */
	json_t *headers;
};

struct mcp_client_config {
	const struct tool_server *server; /* outlives the client */
	uv_loop_t *loop;
	void *arg;
	/* Asks the user a question of the server (elicitation). Returns: {"action", "content"},
	 * which the client decrefs; NULL if the user declines. */
	json_t *(*ask)(void *arg, const struct tool_server *server, const json_t *params);
	void (*on_progress)(void *arg, const struct tool_server *server, const json_t *params);
	void (*on_tools_changed)(void *arg, const struct tool_server *server);
};

/* Create a client. It starts no server yet. The callbacks ask, on_progress and on_tools_changed may
 * be NULL. The process must ignore SIGPIPE. */
struct mcp_client *mcp_client_new(const struct mcp_client_config *config);

/* Close the client. No callback is called afterwards. If the server is a program, its stdin is
 * closed; if it then does not exit, it is killed. The memory is freed when the loop has closed all
 * handles. */
void mcp_client_close(struct mcp_client *c);

/*
 * Call a tool. If the server does not run, it is started.
 *
 * Limits:  MCP_CALLS_WAITING_MAX calls at once. The call ends after the server's timeout, which
 *          starts again with each progress notification. In any case, the call ends after
 *          MCP_HARD_FACTOR timeouts.
 * Owns:    @arguments is borrowed; NULL stands for {}. *@out (@out may be NULL) is the call, valid
 *          until done() has returned or the call was cancelled.
 * Returns: 0 if done() will be called, once, from the loop; or negative errno.
 */
int mcp_client_call(struct mcp_client *c, const char *tool, const json_t *arguments,
	const struct mcp_waiter *waiter, struct mcp_call **out, struct err *err);

/* List the tools of the server. The result is an array with the tools of all pages. */
int mcp_client_list(struct mcp_client *c, mcp_done_fn *done, void *arg, struct err *err);

/* Cancel a call. The server is notified, and done() is not called. */
void mcp_client_cancel(struct mcp_call *call);

/* Return the version of the protocol that the handshake has selected. Returns: NULL before the
 * handshake has succeeded. */
const char *mcp_client_version(const struct mcp_client *c);
