/* The HTTP server: its limits, its listeners and its end. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/host.h"
#include "serve/http/http.h"
#include "serve/http/log.h"
#include "serve/http/token.h"

struct http_server;

/* Limits of clients. A client beyond `n_connections_max`, or beyond half of it from one address,
 * replaces the oldest client that has sent no token yet (without tokens: no request). If all
 * clients have sent one, the new client gets status 503; further HTTP_SURPLUS_MAX clients wait
 * until another disconnects. The bodies of all requests together are at most HTTP_BODIES_BYTES. */
enum { HTTP_SURPLUS_MAX = 64, HTTP_BODIES_BYTES = 512 << 20, HTTP_HEAD_BYTES = 64 << 10 };

struct http_config {
	uv_loop_t *loop;
	const struct operation_context *context; /* context of callers without tokens */
	struct token_list *tokens;		 /* NULL: callers need no token */
	struct host_rules hosts;
	const struct http_route *routes; /* borrowed */
	size_t n_routes;
	unsigned n_connections_max;
	uint64_t request_ms; /* time limit for the head of a request; and for each 64 KiB of its
				body */
	uint64_t idle_ms;    /* time limit between requests; and for a client that does not read its
				response */
	struct http_log *log; /* NULL: no log */
};

/* Start a server without listeners. Errors: ERR_NO_MEMORY, ERR_INTERNAL. *@out is then NULL. */
int http_server_open(struct http_server **out, const struct http_config *config, struct err *err);

/* Accept clients at @fd, a listening TCP socket. The server owns @fd, also on failure. @is_given:
 * @fd is inherited from a service manager; such sockets have to be added first. */
enum { HTTP_LISTENERS_MAX = 16 };
int http_server_listen(struct http_server *s, int fd, bool is_given, struct err *err);

/* Refuse new requests with 503, on old and new connections. Clients of an inherited socket wait for
 * the next engine instead. */
void http_server_drain(struct http_server *s);
/* Return the number of requests without a complete response. */
unsigned http_server_n_running(const struct http_server *s);
/* Notify handlers that operations should stop: http_on_stop(). */
void http_server_interrupt(struct http_server *s);

/* Close all connections; clients without a response are treated as disconnected. Then @s is freed
 * and `closed` is called from the loop. Handlers may still respond later; their responses are
 * dropped. */
void http_server_close(struct http_server *s, void (*closed)(void *arg), void *arg);
