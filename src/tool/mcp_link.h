/* Links: the transports that carry messages of the Model Context Protocol to a server and back.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/servers.h"

#include <uv.h>

enum {
	MCP_MESSAGE_BYTES = 64 << 20, /* size of one message, in both directions */
	MCP_MESSAGE_PARTS = 2 << 20,  /* number of JSON values in a message */
	MCP_NOTICE = -1,	      /* id of a message without a response */
	MCP_GREETING = -2,	      /* id of the notification that ends the handshake */
};

/* An outgoing message. Borrowed. */
struct mcp_message {
	const char *text;
	size_t bytes;
	int64_t id;	       /* id of the request, MCP_NOTICE or MCP_GREETING */
	const char *method;    /* NULL: a response */
	const char *name;      /* name of the called tool, or NULL */
	const json_t *headers; /* {name: text}, modern era only, or NULL */
	const char *version;   /* protocol version; NULL before it is known */
	bool is_modern;
	uint64_t whole_ms; /* maximal time until the response is complete */
};

/* A response that will not arrive. MCP_GREETING: the notification was delivered when the status
 * is 2xx, and failed otherwise. */
struct mcp_loss {
	int64_t id;	    /* id of the request; MCP_NOTICE: the whole link ended */
	int status;	    /* HTTP status, or 0 */
	const json_t *body; /* JSON body of the response, or NULL */
	struct err err;
};

/* The user of a link. Both callbacks may close the link. */
struct mcp_link_user {
	void *arg;
	void (*on_message)(void *arg, const json_t *message);
	void (*on_loss)(void *arg, const struct mcp_loss *loss);
};

struct mcp_link;

/* A transport. After close() no callback is called; the memory is freed when the loop has closed
 * the handles. */
struct mcp_link_kind {
	int (*start)(struct mcp_link **out, uv_loop_t *loop, const struct tool_server *server,
		const struct mcp_link_user *user, struct err *err);
	int (*send)(struct mcp_link *link, const struct mcp_message *m, struct err *err);
	/* Ignore the response to @id, which is no longer needed. */
	void (*forget)(struct mcp_link *link, int64_t id);
	void (*close)(struct mcp_link *link);
};

/* The first member of each transport's own struct. */
struct mcp_link {
	const struct mcp_link_kind *kind;
	const struct tool_server *server;
	struct mcp_link_user user;
	uv_loop_t *loop;
};

/* A program with one message per line on stdin and stdout. Its environment has PATH, HOME, LANG
 * and the configured variables. It leads a process group, which is ended with it: end of input,
 * then SIGTERM, then SIGKILL. */
extern const struct mcp_link_kind mcp_stdio;

/* Streamable HTTP, both eras. */
extern const struct mcp_link_kind mcp_http;

/* Parse a message. Owns: the caller decrefs. Returns: NULL with @err when it is not JSON, or too
 * large. */
json_t *mcp_message_read(const char *text, size_t bytes, struct err *err);
