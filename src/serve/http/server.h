/* Who listens for HTTP, whom it lets in, and what it serves. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/host.h"
#include "serve/http/http.h"
#include "serve/http/log.h"
#include "serve/http/token.h"

struct http_server;

/*
 * Of its clients. One over `n_connections_max`, or over half of that from one address, takes the
 * place of the oldest that has brought no token yet (where none is asked for: no request); when all
 * have, it is answered with 503; HTTP_SURPLUS_MAX more than that wait until another has gone. What
 * all requests
 * under way bring along is at most HTTP_BODIES_BYTES.
 */
enum { HTTP_SURPLUS_MAX = 64, HTTP_BODIES_BYTES = 512 << 20, HTTP_HEAD_BYTES = 64 << 10 };

struct http_config {
	uv_loop_t *loop;
	const struct operation_context *context; /* of callers, when there are no tokens */
	struct token_list *tokens;		 /* NULL: none is asked for */
	struct host_rules hosts;
	const struct http_route *routes; /* borrowed */
	size_t n_routes;
	unsigned n_connections_max;
	uint64_t request_ms;  /* for the head of a request; and for each 64 KiB of its body */
	uint64_t idle_ms;     /* between requests; and without taking any of an answer */
	struct http_log *log; /* NULL: none */
};

/* Errors: ERR_NO_MEMORY, ERR_INTERNAL. *@out is then NULL. */
int http_server_open(struct http_server **out, const struct http_config *config, struct err *err);

/*
 * Serve who connects to @fd, a listening TCP socket, which is taken over in any case. @is_given: a
 * service manager has it too; these come before others.
 */
enum { HTTP_LISTENERS_MAX = 16 };
int http_server_listen(struct http_server *s, int fd, bool is_given, struct err *err);

/* Take no more: requests are refused with 503, on old and on new connections; those to a socket
 * that was given wait for the next engine. */
void http_server_drain(struct http_server *s);
/* Requests that are not answered in whole. */
unsigned http_server_n_running(const struct http_server *s);
/* Tell what runs to come to its end: http_on_stop(). */
void http_server_interrupt(struct http_server *s);

/*
 * Close all connections; who has not been answered is gone. `closed` runs from the loop, and @s is
 * freed. What was started may be answered later, to nobody.
 */
void http_server_close(struct http_server *s, void (*closed)(void *arg), void *arg);
