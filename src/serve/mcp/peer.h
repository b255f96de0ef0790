/* A client of the Model Context Protocol, whatever the transport. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

struct mcp_peer;
struct operation_context;

/* An output for messages to the client. `send` borrows @message, which is an array for a batch.
 * @is_last tells that the message is the response; no other message for that request follows. With
 * stdio, all requests share one output. */
struct mcp_out {
	void *arg;
	void (*send)(void *arg, const json_t *message, bool is_last);
};

struct mcp_peer_config {
	struct mcp_server *server;
	/* Context in which calls start operations, or NULL. */
	const struct operation_context *context;
	/* If `context` is NULL: opens the context when a call needs it. Returns NULL and @err on
	 * failure. */
	const struct operation_context *(*open)(void *arg, struct err *err);
	void *open_arg;
	/* Output for messages that belong to no request. If `send` is NULL, they are dropped. */
	struct mcp_out out;
	/* Name of the client's principal; NULL for the operator. A state that is sealed for this
	 * client is valid only for this principal (seal.h). */
	const char *principal;
	/* Refuse requests of the legacy era. Set for a POST without a session. */
	bool is_modern_only;
	/* The revision of the protocol that an earlier handshake of the client has selected, such
	 * as "2025-06-18"; or NULL. */
	const char *version;
};

/* The maximum number of requests that one peer may have open. */
enum { MCP_CALLS_MAX = 64 };

/* Create a peer. Owns: the caller ends it with mcp_peer_free(). */
struct mcp_peer *mcp_peer_new(const struct mcp_peer_config *config);

/* Free the peer. Its calls are cancelled, and their responses dropped. */
void mcp_peer_free(struct mcp_peer *p);

/*
 * Handle one message from the client, given as text or as JSON (borrowed). Responses are sent to
 * @out, possibly before this returns.
 * Returns: the number of responses that @out gets: 0 for a notification, or for a response to a
 *          request of ours; otherwise 1.
 */
unsigned mcp_peer_receive(
	struct mcp_peer *p, const char *text, size_t bytes, const struct mcp_out *out);
unsigned mcp_peer_take(struct mcp_peer *p, const json_t *message, const struct mcp_out *out);

/* Send no more messages to the output whose `arg` is @out_arg. @is_cancelled: also cancel the
 * calls that send their messages there. */
void mcp_peer_forget(struct mcp_peer *p, const void *out_arg, bool is_cancelled);

/* Return the number of calls that have no response yet. */
unsigned mcp_peer_n_calls(const struct mcp_peer *p);
/* Return the revision that the handshake has selected; NULL before the handshake. */
const char *mcp_peer_version(const struct mcp_peer *p);

/* Build an error response. @id NULL: the response has "id": null. Owns: takes @data (may be NULL);
 * the caller decrefs the result. */
json_t *mcp_error(const json_t *id, int code, const char *message, json_t *data);
