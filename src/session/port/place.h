/* Where on the host a port of a box can be reached. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { PLACE_TEXT_BYTES = 128 }; /* an address and port, or the path of a unix socket */

/* An address of the host: of IPv4, IPv6 or a unix socket. */
struct place {
	struct sockaddr_storage address;
	socklen_t address_bytes;
};

/*
 * Read "PORT", "HOST:PORT" or "[HOST]:PORT". Without HOST, and for "localhost", the address is
 * 127.0.0.1. HOST is a number: names are not looked up. Port 0 lets the kernel choose.
 * Errors: ERR_USAGE.
 */
int place_parse(struct place *out, const char *text, struct err *err);

/* Read "[[HOST:]HP:]BP", the value of the option -p: @box_port gets BP, @out the place HOST:HP. If
 * HP is missing, it is BP. Errors: ERR_USAGE. */
int place_parse_option(struct place *out, uint16_t *box_port, const char *text, struct err *err);

/* A unix socket at @path. Errors: ERR_USAGE when the path is too long. */
int place_of_path(struct place *out, const char *path, struct err *err);

/* place_write() writes @p as "127.0.0.1:8080", "[::1]:8080" or a path. place_is_path() returns
 * whether it is a path, that is, a unix socket. */
void place_write(const struct place *p, char out[PLACE_TEXT_BYTES]);
bool place_is_path(const struct place *p);
