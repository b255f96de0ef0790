/* The output of a program, or what a terminal shows: read from a descriptor, and kept in part.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/box/capture.h"

#include <uv.h>

/*
 * A stream. What is read is kept in @kept: the first and the last bytes, at most its limit.
 *
 * If the stream is held (@is_held), the program waits instead of output being dropped: no more is
 * read than can be kept until a reader has taken it. @taken is the offset up to which it was taken.
 */
struct stream {
	int fd;
	uv_poll_t poll;
	bool is_open;	 /* @poll is open */
	bool is_watched; /* @poll is started */
	bool is_over;	 /* nothing more will come */
	bool is_dry;	 /* when last looked at, the descriptor had no more bytes */
	bool is_held;
	uint64_t taken;
	struct capture kept;
	char *chunk; /* borrowed: room for @chunk_bytes, into which output is read */
	size_t chunk_bytes;
	/* Called when there is more output, or the stream is over. */
	void (*changed)(struct stream *s);
};

/* Read from @fd, which is taken over even after an error. The caller has set `changed` and `chunk`.
 * Errors: ERR_IO. */
int stream_open(struct stream *s, uv_loop_t *loop, int fd, uint64_t limit_bytes, struct err *err);

/* Read all that the descriptor has now. A held stream reads less. */
void stream_drain(struct stream *s);

/* stream_hold() makes the stream a held one. stream_take() says that a reader has taken the output
 * up to @offset. stream_release() lets the program go on: its output is no longer held. */
void stream_hold(struct stream *s);
void stream_take(struct stream *s, uint64_t offset);
void stream_release(struct stream *s);

/* Read no more, and close the pipe or terminal. Until stream_done(), the number of the descriptor
 * stays taken. */
void stream_stop(struct stream *s);

/* Close the descriptor and the poll. @closed is called from the loop, with the poll. stream_done()
 * frees the rest afterwards. If the stream was never opened, stream_close() returns false and
 * @closed is not called. */
bool stream_close(struct stream *s, void *data, uv_close_cb closed);
void stream_done(struct stream *s);
