/* The headers of requests to ports of boxes, and of their responses. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "serve/http/credential.h"

#include <stdbool.h>

/* A port as its clients see it. */
struct port_view {
	/* Path below which the port is served, without a "/" at its end: "/s/SESSION/8000". Empty
	 * if the port has a host name of its own. */
	const char *prefix;
	const char *host;	    /* value of the request's header Host */
	enum credential credential; /* where the token was found */
	bool is_upgrade;	    /* the request opens a WebSocket */
	/* Value of the header Connection, NULL if it is missing: it names headers that are not
	 * passed on. */
	const char *connection;
};

/*
 * Write to @out the value that the program of the box gets for the header @name of a request.
 * Dropped are headers of this connection only (hop by hop), and the token. Source:  RFC
 * 9110, 7.6.1. Returns: whether the header is passed on.
 */
bool port_request_header(
	const struct port_view *view, const char *name, const char *value, struct buf *out);

/*
 * Write to @out the value that the client gets for the header @name of a response. Dropped are
 * headers of one connection, and those that say something about the whole host or about other paths
 * of it. A cookie is tied to the port: it is sent to no other session. Returns: whether the header
 * is passed on.
 */
bool port_answer_header(
	const struct port_view *view, const char *name, const char *value, struct buf *out);

/* The policy that pages below a path get. They have the origin of this server, and so could call
 * it in the name of who looks at them. The policy takes that origin from them. */
#define PORT_POLICY "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads"
