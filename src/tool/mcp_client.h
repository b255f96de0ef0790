/* One server of tools, spoken to by MCP. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/servers.h"

#include <uv.h>

struct mcp_client;
struct mcp_call;
enum {
	MCP_CALLS_WAITING_MAX = 256,
	MCP_TOOLS_MAX = 2000,
	MCP_PAGES_MAX = 200,
	MCP_ROUNDS_MAX = 8, /* of questions that one call may ask */
	MCP_STARTS_PER_MINUTE = 30,
	MCP_HARD_FACTOR = 10, /* a call with news ends after so many timeouts */
};

enum mcp_end {
	MCP_RESULT,  /* the server's answer, which may say that the tool failed */
	MCP_REFUSED, /* the server answered with an error */
	MCP_LOST,    /* no answer comes */
};

/* Borrowed. */
struct mcp_answer {
	enum mcp_end end;
	const json_t *result; /* MCP_REFUSED: the error */
	int status;	      /* MCP_LOST: of HTTP, or 0 */
	bool is_unsent;	      /* MCP_LOST: the server never got the question */
	struct err err;	      /* when it is no MCP_RESULT; names the server */
};

typedef void mcp_done_fn(void *arg, const struct mcp_answer *answer);
/* Who waits for an answer. */
struct mcp_waiter {
	mcp_done_fn *done;
	void *arg;
	json_t *headers; /* of param_headers(), or NULL; the call holds on to it */
};

struct mcp_client_config {
	const struct tool_server *server; /* outlives the client */
	uv_loop_t *loop;
	void *arg;
	/* The server asks the user. Returns: {"action", "content"} to be consumed, or NULL: no. */
	json_t *(*ask)(void *arg, const struct tool_server *server, const json_t *params);
	void (*on_progress)(void *arg, const struct tool_server *server, const json_t *params);
	void (*on_tools_changed)(void *arg, const struct tool_server *server);
};

/* ask, on_progress, on_tools_changed may be NULL. Nothing is started. Callers ignore SIGPIPE. */
struct mcp_client *mcp_client_new(const struct mcp_client_config *config);

/* Nobody is called any more. A server that was spawned is asked to end, then made to; its memory
 * goes when the loop has closed all handles. */
void mcp_client_close(struct mcp_client *c);

/*
 * Call a tool. The server is started, and started anew when it has ended since.
 *
 * Limits:  MCP_CALLS_WAITING_MAX at once; the server's timeout, which begins anew with each
 *          progress, and MCP_HARD_FACTOR times as long in all.
 * Owns:    @arguments is borrowed, NULL is none. *@out (which may be NULL) is valid until done()
 *          returned, or it was cancelled.
 * Returns: 0: its done() will be called once, later; or negative errno.
 */
int mcp_client_call(struct mcp_client *c, const char *tool, const json_t *arguments,
	const struct mcp_waiter *waiter, struct mcp_call **out, struct err *err);

/* The tools of all pages, as an array. */
int mcp_client_list(struct mcp_client *c, mcp_done_fn *done, void *arg, struct err *err);

/* Give it up; nobody is called. The server is told. */
void mcp_client_cancel(struct mcp_call *call);

/* The revision of the protocol in use. Returns: NULL before it is known. */
const char *mcp_client_version(const struct mcp_client *c);
