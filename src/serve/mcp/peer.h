/* A client of the Model Context Protocol, over any transport. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/mcp/server.h"

struct mcp_peer;
struct operation_context;

/* The output for messages. @message is borrowed: an object or, for a batch, an array. is_last: the
 * message is the response, which ends the request's output. On stdio all requests share one output.
 */
struct mcp_out {
	void *arg;
	void (*send)(void *arg, const json_t *message, bool is_last);
};

struct mcp_peer_config {
	struct mcp_server *server;
	const struct operation_context *context; /* the context for mcp_call_context(), or NULL */
	/* If not NULL: opens the context at its first use. Returns: NULL and @err. */
	const struct operation_context *(*open)(void *arg, struct err *err);
	void *open_arg;
	struct mcp_out
		out; /* output for messages without a request; `send` NULL: they are dropped */
	const char *principal; /* principal to which sealed states are bound; or NULL */
	bool is_modern_only;   /* refuse legacy requests: a POST without a session */
	const char *version;   /* the revision of a resumed session, or NULL */
};

/* The maximum number of concurrent requests of one peer. */
enum { MCP_CALLS_MAX = 64 };

/* Create a peer. Owns: the caller ends it with mcp_peer_free(). */
struct mcp_peer *mcp_peer_new(const struct mcp_peer_config *config);

/* Cancel the peer's calls, drop their responses, and free the peer. */
void mcp_peer_free(struct mcp_peer *p);

/*
 * Handle one message, as text or as JSON (borrowed). Responses are sent to @out, possibly at once.
 * Returns: the number of responses to expect: 0 for notifications and for responses to our
 * requests.
 */
unsigned mcp_peer_receive(
	struct mcp_peer *p, const char *text, size_t bytes, const struct mcp_out *out);
unsigned mcp_peer_take(struct mcp_peer *p, const json_t *message, const struct mcp_out *out);

/* Drop further messages for @out_arg; @is_cancelled: also cancel the calls of that output. */
void mcp_peer_forget(struct mcp_peer *p, const void *out_arg, bool is_cancelled);

/* Return the number of open calls and open requests to the client. */
unsigned mcp_peer_n_calls(const struct mcp_peer *p);
/* Return the revision of the handshake; NULL before the handshake. */
const char *mcp_peer_version(const struct mcp_peer *p);

/* Build an error response. @id NULL: null. Owns: takes @data; the caller decrefs. */
json_t *mcp_error(const json_t *id, int code, const char *message, json_t *data);
