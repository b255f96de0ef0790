/* Ports of boxes, reached through the HTTP server. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "serve/http/http.h"

/* The way to all ports, shared by all requests. */
struct port_way;

/* Prepare the way. libcurl is loaded when it is first needed. Owns: the caller closes it after the
 * HTTP server was closed. */
struct port_way *port_way_open(uv_loop_t *loop);
void port_way_close(struct port_way *way);

/*
 * Handler of the route PORT_PATH, whose `arg` is the way: pass the request on to the program of a
 * box, and its response back.
 *
 * The path is /s/SESSION/PORT/…, or the host is PORT-SESSION.NAME (host.h). The port must be open
 * for HTTP (`port.open`), and the session be the caller's. The program gets the path from its third
 * part on. Bodies are passed on as they come, both ways. A WebSocket is passed on byte by byte.
 *
 * Errors: 404: no such session, or its port is not open; 410: the session is closed; 502: nothing
 * listens there, or what came is no HTTP; 503: too many connections to the port.
 */
#define PORT_PATH "/s/"
void port_route_start(void *arg, struct http_exchange *x);

/* A port below another path than PORT_PATH. All texts are copied. */
struct port_pass {
	const char *session;
	uint16_t port;
	const char *target; /* what the program gets: "/path?query"; without a "/", the client is
			     * sent to `prefix` and "/" */
	const char *prefix; /* as in struct port_view */
};

/* As port_route_start(), for a request of another route, with `is_streamed`, which has found out
 * for which port it is. */
void port_route_pass(struct port_way *way, struct http_exchange *x, const struct port_pass *pass);
