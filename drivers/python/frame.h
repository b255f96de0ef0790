/*
 * Read and write frames on a stream socket, together with descriptors. docs/reference/protocol.md
 * describes the content of the frames.
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
	FRAME_STEP = 1,	      /* may carry a descriptor for standard input */
	FRAME_BRANCH = 6,     /* carries the descriptors of struct branch_fds */
	FRAME_CHECKPOINT = 9, /* carries the guard's end of its socket to the engine */
	FRAME_READY = 16,
	FRAME_GUARD = 18,
	FRAME_BRANCHED = 22
};

/* Descriptors that arrived with a frame. Owns: whoever holds them last closes them. */
struct frame_fds {
	int fds[FRAME_FDS_MAX];
	int n;
};

void frame_fds_close(struct frame_fds *fds);

/* Return the length field of a frame's header: the number of bytes of type and payload. */
uint32_t frame_length(const unsigned char head[FRAME_HEAD_BYTES]);

/*
 * Write a whole frame. A write that a signal interrupts is continued, because after half a frame
 * the engine would take the next frame for the rest of the payload.
 * Returns: 0, or negative errno.
 */
int frame_write(int fd, int type, const char *payload, size_t bytes);

/*
 * Read once, at most @bytes. Descriptors that arrive are appended to @fds. If @fds is NULL, the
 * kernel closes them.
 * Returns: what recvmsg() returns.
 */
ssize_t frame_read_some(int fd, void *out, size_t bytes, struct frame_fds *fds);

/*
 * Read exactly @bytes, and continue after signals. Returns: 0, or -1 at the end of the stream or on
 * an error.
 */
int frame_read(int fd, void *out, size_t bytes, struct frame_fds *fds);
