/* The HTTP server: its limits, how it starts to listen, and how it stops. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/http/host.h"
#include "serve/http/http.h"
#include "serve/http/log.h"
#include "serve/http/token.h"
#include "serve/tls/identity.h"

struct http_server;

/*
 * Limits on clients.
 * At most `n_connections_max` clients are served, and at most half of that number from one IP
 * address. When a limit is reached, a new client replaces the oldest client that has not proved
 * itself. A client proves itself by a request with a valid token or, if no tokens are configured,
 * by any request.
 * If all clients have proved themselves, the requests of the new client get status 503. At most
 * HTTP_SURPLUS_MAX clients are connected only to get this status; further clients wait in the
 * kernel's queue.
 * HTTP_BODIES_BYTES limits the bodies of all requests together. One caller may have half of that.
 */
enum { HTTP_SURPLUS_MAX = 64, HTTP_BODIES_BYTES = 512 << 20, HTTP_HEAD_BYTES = 64 << 10 };

struct http_config {
	uv_loop_t *loop;
	/* Context of callers if no tokens are configured, and for routes without a token. */
	const struct operation_context *context;
	struct token_list *tokens; /* NULL if callers need no token */
	struct tls_identity *tls;  /* NULL if clients speak plain HTTP */
	struct host_rules hosts;
	const struct http_route *routes; /* borrowed */
	size_t n_routes;
	unsigned n_connections_max;
	/* Time limit for the headers of a request, and for each 64 KiB of its body. */
	uint64_t request_ms;
	/* Time limit for a connection without a request, and for a client that does not read its
	 * response. */
	uint64_t idle_ms;
	struct http_log *log; /* NULL if nothing is logged */
};

/* Start a server that does not listen yet. Errors: ERR_NO_MEMORY, ERR_INTERNAL. *@out is NULL after
 * an error. */
int http_server_open(struct http_server **out, const struct http_config *config, struct err *err);

/* Accept clients at @fd, a listening TCP socket. The server owns @fd, also on failure. @is_given
 * tells that @fd was inherited from a service manager. Inherited sockets must be added before
 * others. Errors: ERR_LIMIT, ERR_INTERNAL. */
enum { HTTP_LISTENERS_MAX = 16 };
int http_server_listen(struct http_server *s, int fd, bool is_given, struct err *err);

/* Refuse new requests with status 503, and end upgraded connections. On inherited sockets, stop
 * accepting clients instead: the service manager keeps these sockets open, so new clients wait for
 * the next engine. */
void http_server_drain(struct http_server *s);
/* Return the number of requests whose response is not complete, without upgraded connections. */
unsigned http_server_n_running(const struct http_server *s);
/* Call the functions that handlers have set with http_on_stop(), so that running operations end. */
void http_server_interrupt(struct http_server *s);

/* Close all connections. For handlers that have not responded, this is as if the client had
 * disconnected; they may still respond, without effect. When all is closed, @s is freed, and
 * `closed` is called from the loop. */
void http_server_close(struct http_server *s, void (*closed)(void *arg), void *arg);
