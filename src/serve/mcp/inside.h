/* Server, peer and call of the Model Context Protocol: internals that the files of this directory
 * share. SPDX-License-Identifier: Apache-2.0 */
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

/* A batch: several messages in one JSON array, which get one array of responses. Only revision
 * 2025-03-26 has batches. */
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
	/* The revision that the handshake has selected; NULL before the handshake. */
	const char *version;
	json_t *capabilities; /* the client's capabilities, from the handshake; NULL before it */
	/* {uri: true} for each resource that the client has subscribed to, in the legacy era. */
	json_t *subscribed;
	int log_level;	     /* index in mcp_levels; -1 if the client has set no level */
	json_int_t last_ask; /* the id of our last request to the client */
};

struct mcp_method;

struct mcp_call {
	struct mcp_server *server;
	struct mcp_peer *peer; /* NULL if the client no longer waits for the response */
	struct mcp_call *next, **link;
	const struct mcp_method *method;
	json_t *id, *params, *arguments;
	/* The client's capabilities, borrowed from `params` or `peer`. */
	const json_t *capabilities;
	enum mcp_era era;
	const char *version;
	const char *name; /* name or URI in the request, see named_by; or NULL */
	const struct mcp_row *row;
	char *match;
	struct mcp_out out;
	struct mcp_batch *batch;
	const json_t *token; /* the progress token, borrowed from `params`; or NULL */
	double progress;
	bool has_progress;
	int log_level;
	/* Our requests to the client that are not answered yet. The names of the members are the
	 * ids of the requests, the values are their keys in mcp_call_ask(). NULL if we have sent
	 * none. */
	json_t *asked;
	json_t *answers, *state;
	bool is_abandoned; /* it was cancelled while requests were not answered */
	/* The notifications that a subscriptions/listen request wants, borrowed from `params`; or
	 * NULL. */
	const json_t *listens;
	void (*cancelled)(void *arg);
	void *cancel_arg;
};

enum { METHOD_LEGACY = 1, METHOD_MODERN = 2, METHOD_BOTH = 3 };

struct mcp_method {
	const char *name;
	int eras;
	const char *named_by; /* the member of params that mcp_call_name() returns; or NULL */
	bool is_cached;	      /* clients may cache the result, so it has ttlMs and cacheScope */
	bool (*is_there)(const struct mcp_config *config);
	mcp_start_fn *start;
};

/* Find a method by its name. Returns: NULL if the server does not have the method. */
const struct mcp_method *mcp_method_find(const struct mcp_config *config, const char *name);

/* mcp_capabilities() returns what the server supports: {"tools": {…}, …}. mcp_server_info() returns
 * its identity: {"name", "version", …}. Owns: the caller decrefs. */
json_t *mcp_capabilities(const struct mcp_config *config);
json_t *mcp_server_info(const struct mcp_config *config);

/* The log levels from "debug" to "emergency", and NULL at the end. mcp_level() returns the index of
 * a level, or -1 if @name is not a level. */
extern const char *const mcp_levels[];
int mcp_level(const char *name);

/* Build a notification. Owns: takes @params; the caller decrefs the result. */
json_t *mcp_notification(const char *method, json_t *params);

/* Send @message. @is_last: the message is the response to a request, so no other message for
 * that request follows. Owns: takes @message. */
void mcp_out_send(const struct mcp_out *out, json_t *message, bool is_last);
/* Send the response to a request. If the request is part of a batch, add the response to the
 * batch instead; with the last response, the whole batch is sent. If @message is NULL, the
 * request gets no response. Owns: takes @message. */
void mcp_answer(const struct mcp_out *out, struct mcp_batch *batch, json_t *message);

/* Cancel a call, because the client no longer waits for the response. If the call waits for
 * responses of the client, or is a subscriptions/listen request, no handler works on it: free
 * it. Otherwise notify the handler, which must still end the call. */
void mcp_call_cancel(struct mcp_call *call);
/* Handle a client's response to a request of ours. Returns: false if this call has sent no request
 * with that id. */
bool mcp_call_answered(struct mcp_call *call, const json_t *message);
bool mcp_call_take_answers(struct mcp_call *call);
void mcp_call_free(struct mcp_call *call);
