/* Internals that the files of the MCP client share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/rate.h"
#include "tool/mcp_client.h"
#include "tool/mcp_link.h"

#define MCP_MODERN "2026-07-28"
#define MCP_META   "io.modelcontextprotocol/"

enum client_state {
	CLIENT_IDLE,	 /* without a link, or its link ended */
	CLIENT_PROBING,	 /* server/discover was sent */
	CLIENT_GREETING, /* initialize was sent */
	CLIENT_READY,
};

struct mcp_client {
	struct mcp_client_config config;
	enum client_state state;
	struct mcp_link *link;
	char version[32];
	bool is_modern, is_closed;
	int64_t last_id;
	struct mcp_call *calls; /* linked list, in the order of creation */
	size_t n_calls;
	uv_timer_t timer; /* set for the nearest deadline */
	struct rate starts;
};

struct mcp_call {
	struct mcp_call *next;
	struct mcp_client *client;
	int64_t id; /* id of the request; MCP_NOTICE: not sent yet */
	const char *method;
	json_t *params, *headers;
	uint64_t began_ms, heard_ms;
	int rounds;
	bool is_own, is_again; /* part of the handshake; sent a second time */
	mcp_done_fn *done;
	void *arg;
	struct mcp_listing *listing;
};

/* Send @message with "jsonrpc": "2.0" added. @call: the call of that request, or NULL. Consumes
 * @message. */
int client_send(struct mcp_client *c, struct mcp_call *call, json_t *message, struct err *err);

/* Send a waiting call under a new id. */
int client_post(struct mcp_client *c, struct mcp_call *call, struct err *err);

/* Create a call and append it to the list. Consumes @params. */
struct mcp_call *client_add(
	struct mcp_client *c, const char *method, json_t *params, mcp_done_fn *done, void *arg);
/* Remove a call from the list and free it, without calling done(). */
void client_drop(struct mcp_call *call);

/* Remove a call from the list, call done() with @answer, or with MCP_LOST and @err, and free it. */
void client_end(struct mcp_call *call, const struct mcp_answer *answer);
void client_lose(struct mcp_call *call, const struct err *err);

/* Handle a notification or a request of the server. */
void client_hear(struct mcp_client *c, const json_t *message);

/* Answer the requests of an "input_required" result and send the call again. Returns: 0, or
 * negative errno. */
int client_ask(struct mcp_call *call, const json_t *result, struct err *err);

/* Begin the handshake on a new link. */
int client_greet(struct mcp_client *c, struct err *err);

/* client_ready(): the handshake succeeded: send all waiting calls. client_fail(): close the
 * link, and end every call with @err. */
void client_ready(struct mcp_client *c);
void client_fail(struct mcp_client *c, const struct err *err);
