/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/linger.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>

enum { CHUNK_BYTES = 64 << 10, CHUNKS_MAX = 128 };

void linger_add(struct lingerers *l, int fd, uint64_t now_ms)
{
	if (l->n == LINGERERS_MAX)
		return;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return;
	l->row[l->n].fd = copy;
	l->row[l->n].bytes = 0;
	l->row[l->n++].until_ms = now_ms + LINGER_MS;
}

/* Read and drop input of the socket @fd, and add its length to *@bytes. Returns: true if more input
 * may follow; false at the end of the input, after an error, or if *@bytes exceeds LINGER_BYTES. */
static bool is_alive(int fd, uint64_t *bytes)
{
	char nowhere[CHUNK_BYTES];
	ssize_t n = 1;
	/* Read at most CHUNKS_MAX chunks in one call, because the event loop cannot do other work
	 * meanwhile. */
	for (int i = 0; i < CHUNKS_MAX && n > 0; i++) {
		n = recv(fd, nowhere, sizeof nowhere, MSG_DONTWAIT | MSG_TRUNC);
		*bytes += n > 0 ? (uint64_t)n : 0;
	}
	if (*bytes > LINGER_BYTES)
		return false;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void linger_check(struct lingerers *l, uint64_t now_ms)
{
	for (size_t i = 0; i < l->n;) {
		if (is_alive(l->row[i].fd, &l->row[i].bytes) && now_ms < l->row[i].until_ms) {
			i++;
			continue;
		}
		fd_close(&l->row[i].fd);
		l->row[i] = l->row[--l->n];
	}
}

void linger_done(struct lingerers *l)
{
	while (l->n > 0)
		fd_close(&l->row[--l->n].fd);
}
