/* Links: the transports for messages between the client and an MCP server. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "tool/servers.h"

#include <uv.h>

enum {
	MCP_MESSAGE_BYTES = 64 << 20, /* maximum size of a message, in both directions */
	MCP_MESSAGE_PARTS = 2 << 20,  /* maximum number of JSON values in a message */
	MCP_NOTICE = -1,	      /* id of a message that gets no response */
	MCP_GREETING = -2,	      /* id of the notification that ends the handshake */
};

/* A message to the server. All pointers are borrowed. */
struct mcp_message {
	const char *text;
	size_t bytes;
	int64_t id;	    /* id of the request; or MCP_NOTICE or MCP_GREETING */
	const char *method; /* NULL if the message is a response */
	const char *name;   /* name of the called tool; or NULL */
	/* Additional HTTP headers, {name: value}, or NULL. Only a server of the modern era of the
	 * protocol gets these headers. */
	const json_t *headers;
	const char *version; /* version of the protocol; NULL before it is known */
	bool is_modern;
	uint64_t whole_ms; /* maximum time until the response is complete */
};

/*
 * A report of the transport, which depends on `id`:
 * - The id of a request: the response to this request will not arrive.
 * - MCP_NOTICE: the whole link has ended, so no response will arrive any more.
 * - MCP_GREETING: the HTTP transport has sent the notification that ends the handshake. If `status`
 *   is 2xx, the server has received the notification, and this report is no failure. If `status`
 *   has another value, the handshake has failed.
 */
struct mcp_loss {
	int64_t id;	    /* id of a request; or MCP_NOTICE or MCP_GREETING */
	int status;	    /* HTTP status; 0 if there is none */
	const json_t *body; /* body of the HTTP response, if it is JSON; or NULL */
	struct err err;
};

/* The user of a link. Each of the two callbacks may close the link. */
struct mcp_link_user {
	void *arg;
	void (*on_message)(void *arg, const json_t *message);
	void (*on_loss)(void *arg, const struct mcp_loss *loss);
};

struct mcp_link;

/* A transport. After close(), no callback is called. The memory is freed when the loop has closed
 * the handles. */
struct mcp_link_kind {
	int (*start)(struct mcp_link **out, uv_loop_t *loop, const struct tool_server *server,
		const struct mcp_link_user *user, struct err *err);
	int (*send)(struct mcp_link *link, const struct mcp_message *m, struct err *err);
	/* Ignore the response to the request @id, which nobody needs any more. */
	void (*forget)(struct mcp_link *link, int64_t id);
	void (*close)(struct mcp_link *link);
};

/* The common part of all links. Each transport has a struct that begins with it. */
struct mcp_link {
	const struct mcp_link_kind *kind;
	const struct tool_server *server;
	struct mcp_link_user user;
	uv_loop_t *loop;
};

/* The transport for a server that is a program, with one message per line on its stdin and
 * stdout. The environment of the program has PATH, HOME, LANG and the configured variables. The
 * program leads a process group. When the link is closed, the stdin of the program is closed. If
 * the program does not exit then, its group gets SIGTERM, and later SIGKILL. */
extern const struct mcp_link_kind mcp_stdio;

/* The transport for a server over Streamable HTTP. The server may belong to the legacy era of the
 * protocol (versions up to 2025-11-25), or to the modern era (version 2026-07-28). */
extern const struct mcp_link_kind mcp_http;

/* Parse a message. Owns: the caller decrefs. Returns: NULL and @err if the text is not JSON or is
 * too large. */
json_t *mcp_message_read(const char *text, size_t bytes, struct err *err);
