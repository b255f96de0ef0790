/*
 * Messages between the engine and the gateway: JSON objects, with descriptors.
 *
 * A message goes in packets of CHANNEL_PACKET_BYTES, of which the last is shorter and has the
 * descriptors. A longer packet would need many pages in a row from the kernel, which may not have
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum {
	CHANNEL_PACKET_BYTES = 64 << 10,
	CHANNEL_BYTES = 8 * CHANNEL_PACKET_BYTES, /* a message is shorter; see FRAME_BYTES */
	CHANNEL_WAITING_MAX = 256 /* messages that wait until the other side reads */
};

struct channel;

struct channel_events {
	/* A message has arrived. @fds: its descriptors, which the callee takes. Returns: 0, or a
	 * negative errno if this is no message that may come; the channel has ended then. */
	int (*message)(void *arg, const json_t *message, int *fds, size_t n_fds);
	/* Called once, from the loop: the other side has ended, or has sent what is no message
	 * (`is_fault`), or does not read. */
	void (*ended)(void *arg, bool is_fault);
	bool takes_fds;
	void *arg;
};

/* Owns: takes @fd, a SOCK_SEQPACKET socket, in any case. Returns: NULL if the loop cannot watch it.
 */
struct channel *channel_open(uv_loop_t *loop, int fd, const struct channel_events *events);

/*
 * Send a message. Never blocks: a message that the other side does not take at once waits. If more
 * than CHANNEL_WAITING_MAX wait, `ended` follows.
 * Owns:    takes @message, which may be NULL if memory ran out, and @fds, in any case.
 * Returns: 0; -E2BIG if the message is too long or has more than FD_PASS_MAX descriptors: nothing
 * is sent, and the channel goes on.
 */
int channel_send(struct channel *c, json_t *message, int *fds, size_t n_fds);

/* Return whether messages wait until the other side reads. */
bool channel_is_full(const struct channel *c);

/* Close the channel. No callback is called any more. */
void channel_close(struct channel *c);
