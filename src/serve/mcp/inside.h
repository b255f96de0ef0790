/* Server, peer and call of the Model Context Protocol: declarations shared by the files that
 * implement them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/call.h"
#include "serve/mcp/peer.h"
#include "serve/mcp/seal.h"

#define MCP_META "io.modelcontextprotocol/"

struct mcp_server {
	struct mcp_config config;
	struct mcp_peer *peers;
	struct mcp_seal seal;
};

/* A batch of requests, which gets one response for all. Batches exist in 2025-03-26 only. */
struct mcp_batch {
	struct mcp_out out;
	json_t *answers;
	unsigned n_open;
};

struct mcp_peer {
	struct mcp_peer_config config;
	struct mcp_peer *next, **link;
	struct mcp_call *calls;
	unsigned n_calls;
	const char *version;  /* revision of the handshake; NULL before it */
	json_t *capabilities; /* the client's capabilities, from the handshake */
	json_t *subscribed;   /* subscriptions {uri: true}, in the legacy era */
	int log_level;	      /* index in mcp_levels; -1: not set */
	json_int_t last_ask;  /* id of our last request to the client */
};

struct mcp_method;

struct mcp_call {
	struct mcp_server *server;
	struct mcp_peer *peer; /* NULL: the client no longer waits for the response */
	struct mcp_call *next, **link;
	const struct mcp_method *method;
	json_t *id, *params, *arguments;
	const json_t *capabilities; /* the client's capabilities; borrowed from params or peer */
	enum mcp_era era;
	const char *version;
	const char *name; /* member of params */
	const struct mcp_row *row;
	char *match;
	struct mcp_out out;
	struct mcp_batch *batch;
	const json_t *token; /* progress token; member of params */
	double progress;
	bool has_progress;
	int log_level;
	json_t *asked; /* {our id as text: key} of our open requests to the client; NULL: no request
			  was sent */
	json_t *answers, *state;
	const json_t *listens; /* kinds of subscriptions/listen; member of params */
	void (*cancelled)(void *arg);
	void *cancel_arg;
};

enum { METHOD_LEGACY = 1, METHOD_MODERN = 2, METHOD_BOTH = 3 };

struct mcp_method {
	const char *name;
	int eras;
	const char *named_by; /* the member of params that mcp_call_name() returns, or NULL */
	bool is_cached;	      /* the result has ttlMs and cacheScope */
	bool (*is_there)(const struct mcp_config *config);
	mcp_start_fn *start;
};

/* Find a method by name. Returns: NULL for an unknown method. */
const struct mcp_method *mcp_method_find(const struct mcp_config *config, const char *name);

/* Return the server's capabilities: {"tools": {…}, …}; its identity: {"name", "version", …}. Owns:
 * the caller. */
json_t *mcp_capabilities(const struct mcp_config *config);
json_t *mcp_server_info(const struct mcp_config *config);

/* The log levels: "debug", … "emergency"; NULL at the end. mcp_level(): the index; -1 for an
 * unknown word. */
extern const char *const mcp_levels[];
int mcp_level(const char *name);

/* Build a notification. Owns: takes @params; the caller. */
json_t *mcp_notification(const char *method, json_t *params);

/* Send and release @message. */
void mcp_out_send(const struct mcp_out *out, json_t *message, bool is_last);
/* Send and release the response to a request, which may be part of a batch. */
void mcp_answer(const struct mcp_out *out, struct mcp_batch *batch, json_t *message);

/* Notify the handler that the client no longer waits for the response. A call without a handler is
 * freed. */
void mcp_call_cancel(struct mcp_call *call);
/* Receive a response of the client. Returns: false if this call sent no request with that id. */
bool mcp_call_answered(struct mcp_call *call, const json_t *message);
bool mcp_call_take_answers(struct mcp_call *call);
void mcp_call_free(struct mcp_call *call);
