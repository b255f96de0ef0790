/* One client of the Model Context Protocol, over any transport. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/mcp/server.h"

struct mcp_peer;
struct operation_context;

/* Where messages go. @message is borrowed; an object or, for a batch, an array. is_last: this is
 * the answer, the last message for the request. On stdio there is one output for all. */
struct mcp_out {
	void *arg;
	void (*send)(void *arg, const json_t *message, bool is_last);
};

struct mcp_peer_config {
	struct mcp_server *server;
	const struct operation_context *context; /* mcp_call_context(), or NULL */
	/* If not NULL, opens the context when it is needed first. Returns: NULL and @err. */
	const struct operation_context *(*open)(void *arg, struct err *err);
	void *open_arg;
	struct mcp_out
		out; /* for messages that belong to no request; send NULL: they are dropped */
	const char *principal; /* to whom sealed states are bound; or NULL */
	bool is_modern_only;   /* only requests without a handshake: a POST without a session */
	const char *version;   /* the revision of a session that is resumed, or NULL */
};

/* The most requests of one peer at a time. */
enum { MCP_CALLS_MAX = 64 };

/* Owns: the caller ends it with mcp_peer_free(). */
struct mcp_peer *mcp_peer_new(const struct mcp_peer_config *config);

/* Cancels its calls; their answers are dropped. */
void mcp_peer_free(struct mcp_peer *p);

/*
 * Take one message as text, or as JSON (borrowed). Answers go to @out, possibly at once.
 * Returns: how many answers there will be: 0 for notifications and for answers to our requests.
 */
unsigned mcp_peer_receive(
	struct mcp_peer *p, const char *text, size_t bytes, const struct mcp_out *out);
unsigned mcp_peer_take(struct mcp_peer *p, const json_t *message, const struct mcp_out *out);

/* Drop further messages for @out_arg; @is_cancelled: also cancel its calls. */
void mcp_peer_forget(struct mcp_peer *p, const void *out_arg, bool is_cancelled);

/* The number of calls and of requests to the client. */
unsigned mcp_peer_n_calls(const struct mcp_peer *p);
/* The revision of the handshake, or NULL before it. */
const char *mcp_peer_version(const struct mcp_peer *p);

/* An error as a message. @id NULL: null. Owns: takes @data; the caller decrefs. */
json_t *mcp_error(const json_t *id, int code, const char *message, json_t *data);
