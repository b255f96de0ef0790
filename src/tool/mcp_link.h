/* How messages of the Model Context Protocol get to a server and back. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "tool/servers.h"

#include <uv.h>

enum {
	MCP_MESSAGE_BYTES = 64 << 20, /* one message, either way */
	MCP_MESSAGE_PARTS = 2 << 20,  /* its values, which cost memory one by one */
	MCP_NOTICE = -1,	      /* the id of what nobody answers */
	MCP_GREETING = -2, /* the notice that ends the handshake: the rest waits for it */
};

/* One message on its way out. Borrowed. */
struct mcp_message {
	const char *text;
	size_t bytes;
	int64_t id;	       /* or MCP_NOTICE, MCP_GREETING */
	const char *method;    /* NULL: an answer */
	const char *name;      /* of the tool, or NULL */
	const json_t *headers; /* texts by name, of the modern era, or NULL */
	const char *version;   /* of the protocol, once it is known, or NULL */
	bool is_modern;
	uint64_t whole_ms; /* the longest that an answer can take */
};

/* What will not come; of MCP_GREETING: it got there with a status of 2xx, or not. */
struct mcp_loss {
	int64_t id;	    /* the answer to this; MCP_NOTICE: anything, the link is over */
	int status;	    /* of HTTP; 0: none */
	const json_t *body; /* that came with the status, or NULL */
	struct err err;
};

/* Who uses a link. May close it in either. */
struct mcp_link_user {
	void *arg;
	void (*on_message)(void *arg, const json_t *message);
	void (*on_loss)(void *arg, const struct mcp_loss *loss);
};

struct mcp_link;

/* close(): nothing is heard any more; its memory goes when the loop has closed its handles. */
struct mcp_link_kind {
	int (*start)(struct mcp_link **out, uv_loop_t *loop, const struct tool_server *server,
		const struct mcp_link_user *user, struct err *err);
	int (*send)(struct mcp_link *link, const struct mcp_message *m, struct err *err);
	/* The answer to @id does not matter any more. */
	void (*forget)(struct mcp_link *link, int64_t id);
	void (*close)(struct mcp_link *link);
};

/* What the first member of each is. */
struct mcp_link {
	const struct mcp_link_kind *kind;
	const struct tool_server *server;
	struct mcp_link_user user;
	uv_loop_t *loop;
};

/*
 * A program: a message is a line. It gets PATH, HOME, LANG and what its configuration names, and
 * leads a process group that is ended with it: end of input, SIGTERM, SIGKILL.
 */
extern const struct mcp_link_kind mcp_stdio;

/* Streamable HTTP, of both eras. */
extern const struct mcp_link_kind mcp_http;

/* Read one. Returns: NULL and @err when it is none, or too large. The caller decrefs. */
json_t *mcp_message_read(const char *text, size_t bytes, struct err *err);
