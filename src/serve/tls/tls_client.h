/* Clients that speak TLS: their connections, as plain ones. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/tls/identity.h"

#include <stdint.h>
#include <uv.h>

struct tls_client;  /* the connection of one client */
struct tls_clients; /* those of a server */

struct tls_clients_config {
	uv_loop_t *loop;
	struct tls_identity *identity; /* borrowed */
	uint64_t handshake_ms;	       /* time limit for a handshake, from the connection on */
	uint64_t idle_ms; /* time limit for a client that does not read the end of a response */
};

/* After the server has closed its socket, a client still gets what was sent to it. At most so many
 * clients do at a time; the one that began first is cut off. A client that sends on after that has
 * TLS_LINGER_MS to see the end, and TLS_LINGER_BYTES of what it sends are read and dropped. */
enum { TLS_ORPHANS_MAX = 64, TLS_LINGER_MS = 2000, TLS_LINGER_BYTES = 128 << 20 };

struct tls_clients *tls_clients_open(const struct tls_clients_config *config);

/*
 * Serve a client. The result is a socket on which the server talks with the client in plain bytes.
 * When it is closed or shut down, so is the client's connection, and the other way round.
 *
 * Owns:    takes @fd, the client's non-blocking socket, in any case. The caller closes the result,
 *          and calls tls_client_release() for *@out.
 * Returns: a non-blocking unix socket, or a negative errno.
 */
int tls_client_open(struct tls_clients *all, int fd, struct tls_client **out);

/* Return how many bytes of the server's protocol the client has sent. */
uint64_t tls_client_heard_bytes(const struct tls_client *t);

/* Tell that @t is not used any more. */
void tls_client_release(struct tls_client *t);

/* Send what the server has written, as far as the clients take it at once, and close all
 * connections. Clients must have been released. `closed` is called from the loop when @all is
 * freed. */
void tls_clients_close(struct tls_clients *all, void (*closed)(void *arg), void *arg);
