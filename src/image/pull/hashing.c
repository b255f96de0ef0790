/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pull/hashing.h"

#include "base/attr.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE_BYTES = 16 << 20, CHUNK_BYTES = 256 << 10 };

static int write_at(int fd, const char *data, size_t bytes, uint64_t at)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(fd, data + done, bytes - done, (off_t)(at + done));
		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void read_piece(struct hashing *h, char *chunk)
{
	uint64_t end = h->bytes + PIECE_BYTES;
	while (h->sys == 0 && !h->is_at_end && h->bytes < end) {
		size_t most = (size_t)MIN(h->max_bytes - h->bytes, (uint64_t)CHUNK_BYTES);
		ssize_t n = pread(h->fd, chunk, most, (off_t)h->bytes);
		h->is_at_end = n == 0;
		if (n < 0)
			h->sys = errno == EINTR ? 0 : errno;
		if (n <= 0)
			continue;
		if (h->to >= 0)
			h->sys = write_at(h->to, chunk, (size_t)n, h->bytes);
		digest_add(&h->digest, chunk, (size_t)n);
		h->bytes += (uint64_t)n;
	}
}

static void perform(struct work *work)
{
	struct hashing *h = container_of(work, struct hashing, work);
	char *chunk = malloc(CHUNK_BYTES);
	if (chunk)
		read_piece(h, chunk);
	else
		h->sys = ENOMEM;
	free(chunk);
}

static void on_performed(struct work *work)
{
	struct hashing *h = container_of(work, struct hashing, work);
	if (h->is_cancelled)
		h->sys = ECANCELED;
	else if (h->progress)
		h->progress(h);
	if (h->sys || h->is_at_end)
		h->done(h);
	else
		work_begin(h->loop, WORK_READ, &h->work, perform, on_performed);
}

void hashing_begin(struct hashing *h)
{
	digest_begin(&h->digest);
	work_begin(h->loop, WORK_READ, &h->work, perform, on_performed);
}

void hashing_cancel(struct hashing *h)
{
	h->is_cancelled = true;
}
