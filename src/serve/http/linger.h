/* Lingering close, for clients that get an error response while they are still sending the request.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* When a socket with unread input is closed, the kernel resets the connection, and the client may
 * lose the response. So a copy of the socket is kept open for up to LINGER_MS, and its input is
 * read and dropped. */
enum { LINGERERS_MAX = 32, LINGER_BYTES = 128 << 20, LINGER_MS = 2000, LINGER_EACH_MS = 20 };

struct lingerers {
	struct {
		int fd;
		uint64_t until_ms, bytes;
	} row[LINGERERS_MAX];
	size_t n;
};

/* Keep a copy of @fd open. Do nothing if LINGERERS_MAX copies exist already. */
void linger_add(struct lingerers *l, int fd, uint64_t now_ms);

/* Read and drop the input of all sockets. Close those whose client has closed, or whose time or
 * LINGER_BYTES is used up. To be called every LINGER_EACH_MS. */
void linger_check(struct lingerers *l, uint64_t now_ms);
void linger_done(struct lingerers *l);
