/* What the files of the client share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/rate.h"
#include "tool/mcp_client.h"
#include "tool/mcp_link.h"

#define MCP_MODERN "2026-07-28"
#define MCP_META   "io.modelcontextprotocol/"

enum client_state {
	CLIENT_IDLE,	 /* no link, or one that ended */
	CLIENT_PROBING,	 /* server/discover is under way */
	CLIENT_GREETING, /* initialize is */
	CLIENT_READY,
};

struct mcp_client {
	struct mcp_client_config config;
	enum client_state state;
	struct mcp_link *link;
	char version[32];
	bool is_modern, is_closed;
	int64_t last_id;
	struct mcp_call *calls; /* a list, in the order they were made */
	size_t n_calls;
	uv_timer_t timer; /* the nearest deadline */
	struct rate starts;
};

struct mcp_call {
	struct mcp_call *next;
	struct mcp_client *client;
	int64_t id; /* MCP_NOTICE: not sent yet */
	const char *method;
	json_t *params, *headers;
	uint64_t began_ms, heard_ms;
	int rounds;
	bool is_own, is_again; /* of the handshake; sent a second time */
	mcp_done_fn *done;
	void *arg;
	struct mcp_listing *listing;
};

/* Send {"jsonrpc": "2.0"} with the members of @message, which is consumed. */
int client_send(struct mcp_client *c, struct mcp_call *call, json_t *message, struct err *err);

/* Send a call that waits, under a new id. */
int client_post(struct mcp_client *c, struct mcp_call *call, struct err *err);

/* Make one and put it into the list. @params is consumed. */
struct mcp_call *client_add(
	struct mcp_client *c, const char *method, json_t *params, mcp_done_fn *done, void *arg);
/* Take it out again; nobody is told. */
void client_drop(struct mcp_call *call);

/* Take it out of the list and say what became of it. */
void client_end(struct mcp_call *call, const struct mcp_answer *answer);
void client_lose(struct mcp_call *call, const struct err *err);

/* Something that is no answer: answer it, or hear it. */
void client_hear(struct mcp_client *c, const json_t *message);

/* It asks something before it answers. Returns: 0 when the call was sent again. */
int client_ask(struct mcp_call *call, const json_t *result, struct err *err);

/* Begin the handshake on a link that was just started. */
int client_greet(struct mcp_client *c, struct err *err);

/* After the handshake, and when it cannot be: every call waits no more. */
void client_ready(struct mcp_client *c);
void client_fail(struct mcp_client *c, const struct err *err);
