/* Addresses (IP address and port) on which the engine listens for HTTP. SPDX-License-Identifier:
 * Apache-2.0 */
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
 * Parse an address on which to listen:
 *
 *   "127.0.0.1:8765", "[::1]:8765"
 *   "localhost:8765"  127.0.0.1; other names are not resolved
 *   "8765"            127.0.0.1
 *   ":8765"           all IPv4 addresses of the host
 *
 * Port 0 lets the kernel choose a port.
 * Errors:  ERR_USAGE with a hint.
 */
int address_parse(const char *text, struct address *out, struct err *err);

/* Return whether the address is one that only this host can reach, such as 127.0.0.1. */
bool address_is_loopback(const struct address *a);

/* Return whether both addresses have the same IP address. The ports may differ. */
bool address_is_same_host(const struct address *a, const struct address *b);

/* An address in the form that URLs have: "127.0.0.1:8765" or "[::1]:8765". */
struct address_text {
	char text[64];
};
struct address_text address_format(const struct address *a);

/* Get the address to which a socket is bound. Returns: 0, or negative errno. */
int address_of(int fd, struct address *out);

/*
 * Create a TCP socket that listens on @a.
 * Owns:    the caller closes the returned descriptor.
 * Errors:  ERR_LIMIT if the port is in use; ERR_ACCESS if the user may not use the port;
 *          ERR_NOT_FOUND if the host does not have this address.
 */
int address_listen(const struct address *a, struct err *err);
