/* Lingering close, for clients that received a response before they had sent the whole request.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Closing a socket with unread input resets the connection, and the response may be lost. So the
 * socket stays open for LINGER_MS, while its input is read and dropped. */
enum { LINGERERS_MAX = 32, LINGER_BYTES = 128 << 20, LINGER_MS = 2000, LINGER_EACH_MS = 20 };

struct lingerers {
	struct {
		int fd;
		uint64_t until_ms, bytes;
	} row[LINGERERS_MAX];
	size_t n;
};

/* Keep a copy of @fd open, unless LINGERERS_MAX copies exist. */
void linger_add(struct lingerers *l, int fd, uint64_t now_ms);

/* Read and drop input; close sockets that are at their end or overdue. To be called every
 * LINGER_EACH_MS. */
void linger_check(struct lingerers *l, uint64_t now_ms);
void linger_done(struct lingerers *l);
