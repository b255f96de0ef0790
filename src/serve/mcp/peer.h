/* One client of the Model Context Protocol, whatever carries its messages.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

struct mcp_peer;
struct operation_context;

/*
 * Where the messages of a request go. @message is borrowed, an object or, for a batch, an array.
 * is_last: the answer: nothing more comes for what was received with this. On stdio all are one.
 */
struct mcp_out {
	void *arg;
	void (*send)(void *arg, const json_t *message, bool is_last);
};

struct mcp_peer_config {
	struct mcp_server *server;
	const struct operation_context *context; /* mcp_call_context(), or NULL */
	/* Asked instead at the first need when it is not NULL. Returns: NULL and @err. */
	const struct operation_context *(*open)(void *arg, struct err *err);
	void *open_arg;
	struct mcp_out out;    /* what belongs to no request; send NULL: it is dropped */
	const char *principal; /* requests are sealed for it; or NULL */
	bool is_modern_only;   /* no handshake: a POST without session */
	const char *version;   /* of a session whose handshake was before, or NULL */
};

/* One peer may have so many requests under way. */
enum { MCP_CALLS_MAX = 64 };

/* Returns: NULL without memory. */
struct mcp_peer *mcp_peer_new(const struct mcp_peer_config *config);

/* Its calls are cancelled, and answered to nobody. */
void mcp_peer_free(struct mcp_peer *p);

/*
 * Take one message as text, or as JSON (borrowed). Answers go to @out, possibly at once.
 * Returns: how many answers there will be: 0 for notifications and for answers to our requests.
 */
unsigned mcp_peer_receive(
	struct mcp_peer *p, const char *text, size_t bytes, const struct mcp_out *out);
unsigned mcp_peer_take(struct mcp_peer *p, const json_t *message, const struct mcp_out *out);

/* Nobody is at @out_arg any more: what was to be sent there is dropped; @is_cancelled: and its
 * calls are cancelled. */
void mcp_peer_forget(struct mcp_peer *p, const void *out_arg, bool is_cancelled);

/* What is under way, requests to the client included. */
unsigned mcp_peer_n_calls(const struct mcp_peer *p);
/* The revision of the handshake, or NULL when there was none. */
const char *mcp_peer_version(const struct mcp_peer *p);

/* An error as a message. @id NULL: null. Owns: takes @data; the caller decrefs. */
json_t *mcp_error(const json_t *id, int code, const char *message, json_t *data);
