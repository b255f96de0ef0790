/* The messages of a WebSocket, as bytes and back. Makes no system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct frames;

enum { FRAMES_REASON_BYTES = 100 };
/* maximum length of a message that is received, unless the configuration says another one */
enum { FRAMES_MESSAGE_BYTES = 256 << 10 };

/* Codes with which a WebSocket is closed. Source: RFC 6455, 7.4.1. */
enum frames_close {
	FRAMES_NORMAL = 1000,
	FRAMES_GOING_AWAY = 1001,
	FRAMES_POLICY = 1008,
	FRAMES_FAILED = 1011,
};

struct frames_config {
	/* Called with each text or binary message. @data is borrowed. */
	void (*message)(void *arg, bool is_text, const char *data, size_t bytes);
	void *arg;
	size_t message_max_bytes; /* 0: FRAMES_MESSAGE_BYTES */
};

/*
 * Start the server's side of a WebSocket.
 * Owns:   the caller ends *@out with frames_free().
 * Errors: ERR_NOT_FOUND: libwslay is missing; ERR_NO_MEMORY.
 */
int frames_open(struct frames **out, const struct frames_config *config, struct err *err);
void frames_free(struct frames *f);

/*
 * Read what the client has sent. Pings and closes are answered here. Whatever breaks the protocol
 * closes the WebSocket: 1002, 1007 (text that is not UTF-8), 1009 (too long), or without a code (a
 * malformed control frame).
 * Limits: a message of `message_max_bytes`.
 */
void frames_read(struct frames *f, const char *data, size_t bytes);

/* Send a message, a ping, or a close with a code, behind all messages before it. After a close,
 * nothing else is sent. @reason: less than FRAMES_REASON_BYTES. Returns: 0; -EPIPE after a close;
 * -ENOMEM. */
int frames_send(struct frames *f, bool is_text, const char *data, size_t bytes);
int frames_ping(struct frames *f);
int frames_close(struct frames *f, enum frames_close code, const char *reason);

/* Return what is to be sent to the client. The caller consumes it. */
struct buf *frames_out(struct frames *f);
/* Return how many bytes wait to be sent. */
size_t frames_waiting(const struct frames *f);
/* Return whether nothing is left to read or write once frames_out() has been sent. */
bool frames_is_over(const struct frames *f);
/* Return whether the client has sent a close: it will send no more. */
bool frames_is_answered(const struct frames *f);

/* Compute the answer to the client's header Sec-WebSocket-Key. Source: RFC 6455, 4.2.2. Errors:
 * ERR_USAGE: it is no such key; ERR_NOT_FOUND: a library is missing. */
enum { FRAMES_ACCEPT_BYTES = 29 };
int frames_accept(const char *key, char out[FRAMES_ACCEPT_BYTES], struct err *err);
