/* Sockets of clients that were answered before they had said all. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * A socket that is closed while something of its peer has not been read resets the connection, and
 * the answer may be lost on the way. So it is kept for a moment, and read to nowhere.
 */
enum { LINGERERS_MAX = 32, LINGER_BYTES = 128 << 20, LINGER_MS = 2000, LINGER_EACH_MS = 20 };

struct lingerers {
	struct {
		int fd;
		uint64_t until_ms, bytes;
	} row[LINGERERS_MAX];
	size_t n;
};

/* Keep a copy of @fd. When there are too many, it is not kept. */
void linger_add(struct lingerers *l, int fd, uint64_t now_ms);

/* Read what came, close who is done or late; to be called each LINGER_EACH_MS. */
void linger_check(struct lingerers *l, uint64_t now_ms);
void linger_done(struct lingerers *l);
