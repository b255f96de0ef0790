/*
 * Reads and writes frames on a stream socket, with descriptors. docs/reference/protocol.md
 * describes their contents.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	FRAME_HEAD_BYTES = 5,
	FRAME_BYTES_MAX = 32 << 20,
	FRAME_FDS_MAX = 64,
	FRAME_RESUME = 3,
	FRAME_BYE = 5,
	FRAME_STEP = 1,	      /* may carry the standard input */
	FRAME_BRANCH = 6,     /* carries the descriptors of struct branch_fds */
	FRAME_CHECKPOINT = 9, /* carries the guard's end of its socket */
	FRAME_READY = 16,
	FRAME_GUARD = 18,
	FRAME_BRANCHED = 22
};

/* Descriptors that arrived with a frame. Owns: the last holder closes them. */
struct frame_fds {
	int fds[FRAME_FDS_MAX];
	int n;
};

void frame_fds_close(struct frame_fds *fds);

/* Return the length field of a header: bytes of type and payload. */
uint32_t frame_length(const unsigned char head[FRAME_HEAD_BYTES]);

/*
 * Write a whole frame. Retries after a signal: after half a frame, the engine would read the next
 * frame as the rest of the payload.
 * Returns: 0, or negative errno.
 */
int frame_write(int fd, int type, const char *payload, size_t bytes);

/*
 * Read once, up to @bytes. Descriptors are appended to @fds; if @fds is NULL, the kernel discards
 * them.
 * Returns: as recvmsg().
 */
ssize_t frame_read_some(int fd, void *out, size_t bytes, struct frame_fds *fds);

/* Read exactly @bytes, continuing after signals. Returns: 0, or -1 at the end of the stream. */
int frame_read(int fd, void *out, size_t bytes, struct frame_fds *fds);
