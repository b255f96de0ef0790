/* Internals that the files of the MCP client share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/rate.h"
#include "tool/mcp_client.h"
#include "tool/mcp_link.h"

#define MCP_MODERN "2026-07-28"
#define MCP_META   "io.modelcontextprotocol/"

enum client_state {
	CLIENT_IDLE,	 /* not connected: there is no link */
	CLIENT_PROBING,	 /* the request server/discover was sent */
	CLIENT_GREETING, /* the request initialize was sent */
	CLIENT_READY,
};

struct mcp_client {
	struct mcp_client_config config;
	enum client_state state;
	struct mcp_link *link;
	char version[32];
	bool is_modern, is_closed;
	int64_t last_id;
	struct mcp_call *calls; /* all calls, in the order of creation */
	size_t n_calls;
	uv_timer_t timer; /* set to the nearest deadline of a call */
	struct rate starts;
};

struct mcp_call {
	struct mcp_call *next;
	struct mcp_client *client;
	int64_t id; /* id of the request; MCP_NOTICE before it is sent */
	const char *method;
	json_t *params, *headers;
	uint64_t began_ms, heard_ms;
	int rounds;
	/* is_own: the call is part of the handshake. is_again: the call was sent again after the
	 * session was lost. */
	bool is_own, is_again;
	mcp_done_fn *done;
	void *arg;
	struct mcp_listing *listing;
};

/* Add "jsonrpc": "2.0" to @message and send it. If @message is the request of a call, @call is
 * this call, otherwise NULL. Owns: the function takes over @message. */
int client_send(struct mcp_client *c, struct mcp_call *call, json_t *message, struct err *err);

/* Send the request of a call, with a new id. */
int client_post(struct mcp_client *c, struct mcp_call *call, struct err *err);

/* Create a call and append it to the list. Owns: takes @params. */
struct mcp_call *client_add(
	struct mcp_client *c, const char *method, json_t *params, mcp_done_fn *done, void *arg);
/* Remove a call from the list and free it. done() is not called. */
void client_drop(struct mcp_call *call);

/* Remove a call from the list, call done(), and free the call. client_end() passes @answer to
 * done(), client_lose() passes MCP_LOST and @err. */
void client_end(struct mcp_call *call, const struct mcp_answer *answer);
void client_lose(struct mcp_call *call, const struct err *err);

/* Handle a notification or a request that the server has sent. */
void client_hear(struct mcp_client *c, const json_t *message);

/* Handle a result "input_required": answer the requests in it, and send the call again with the
 * answers. Returns: 0, or negative errno. */
int client_ask(struct mcp_call *call, const json_t *result, struct err *err);

/* Start the handshake on a new link. */
int client_greet(struct mcp_client *c, struct err *err);

/* client_ready() notes that the handshake has succeeded, and sends all waiting calls. client_fail()
 * closes the link, and ends all calls with @err. */
void client_ready(struct mcp_client *c);
void client_fail(struct mcp_client *c, const struct err *err);
