/* Addresses at which the engine listens for HTTP. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/socket.h>

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	};
	socklen_t bytes;
};

/*
 * Parse an address: "127.0.0.1:8765", "[::1]:8765", "localhost:8765" (127.0.0.1), "8765" (at
 * 127.0.0.1), ":8765" (at every address of the host). Port 0: the kernel chooses one. Other names
 * are not resolved.
 * Errors:  ERR_USAGE with a hint.
 */
int address_parse(const char *text, struct address *out, struct err *err);

/* Is the address reachable only from this host? */
bool address_is_loopback(const struct address *a);

/* Do both addresses have the same host, regardless of the port? */
bool address_is_same_host(const struct address *a, const struct address *b);

/* An address as text, as in a URL: "127.0.0.1:8765", "[::1]:8765". */
struct address_text {
	char text[64];
};
struct address_text address_format(const struct address *a);

/* Read the address of a bound socket. Returns: 0, or negative errno. */
int address_of(int fd, struct address *out);

/*
 * Listen at @a.
 * Owns:    the caller closes the returned descriptor.
 * Errors:  ERR_LIMIT: the port is in use; ERR_ACCESS: the user may not listen there; ERR_NOT_FOUND:
 *          no such address on this host.
 */
int address_listen(const struct address *a, struct err *err);
