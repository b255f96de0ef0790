/* Copying bytes both ways between two sockets. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum { RELAY_BYTES = 256 << 10 };

struct relay;

/* Called from the loop when both sides have sent their end, or one of them has failed, and all is
 * freed and closed. */
typedef void relay_done_fn(void *arg);

/*
 * Copy what arrives at @a to @b, and the other way round. When one side has sent its end, the other
 * is told so, and may go on sending. A side that does not read holds up the other one.
 *
 * @scratch: RELAY_BYTES of memory, which several relays may share; it must live as long as they do.
 * Limits:   while a side does not read, up to RELAY_BYTES that it has not taken are kept.
 * Owns:     takes @a and @b, non-blocking stream sockets.
 * Returns:  NULL if the loop cannot watch them; they are closed then, and @done is not called.
 */
struct relay *relay_start(
	uv_loop_t *loop, int a, int b, char *scratch, relay_done_fn *done, void *arg);

/* Send @data to side @to (0: @a, 1: @b) before anything that comes from the other side. To be
 * called right after relay_start(), once for each side at most. Returns: 0, -ENOMEM. */
int relay_begin(struct relay *r, int to, const char *data, size_t bytes);

/* Have the relay write the time of uv_hrtime() to @time_ns whenever it passes something on.
 * @time_ns must live as long as the relay. */
void relay_note_time(struct relay *r, uint64_t *time_ns);

/* Have the relay count in @passed the bytes that it has read from @a and from @b. @passed must live
 * as long as the relay. */
void relay_count(struct relay *r, uint64_t passed[2]);

/* Bound what the kernel keeps for a TCP socket in each direction to RELAY_BYTES (it would take
 * several MiB otherwise), and have it send small messages at once. Sockets that a listening socket
 * accepts inherit this. */
void relay_set_options(int fd);

/* Pass on what has arrived, as far as the receivers take it at once, and close both sides. A side
 * that has not got the end of what the other sends is reset. `done` is still called, once all is
 * freed. */
void relay_stop(struct relay *r);
