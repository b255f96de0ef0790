/* The server's side of a WebSocket, on the loop. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"
#include "serve/web/frames.h"

struct websocket;

/* The owner of a WebSocket. */
struct websocket_user {
	/* Called when the client has been told that the WebSocket is open. May send messages. */
	void (*opened)(void *arg);
	/* Called with each message; @data is borrowed. */
	void (*message)(void *arg, bool is_text, const char *data, size_t bytes);
	/* Called once from the loop when the WebSocket is over, whoever has ended it. @w is freed
	 * after that. */
	void (*over)(void *arg);
	void *arg;
	size_t message_max_bytes; /* as in struct frames_config */
};

/* A message that is not read within this time closes the connection, as does a client that does not
 * answer a ping. Pings are sent in times of silence, since proxies close idle connections. */
enum { WEBSOCKET_PING_MS = 20000, WEBSOCKET_LOST_MS = 60000, WEBSOCKET_BEHIND_BYTES = 256 << 10 };

/*
 * Check that the request opens a WebSocket. If it does not, answer it: @x must not be used then.
 * Source:  RFC 6455, 4.2.
 * Returns: 0, or -1 if the request was answered with status 400, 426 or 501.
 */
int websocket_check(struct http_exchange *x);

/*
 * Accept the WebSocket of a request that websocket_check() has accepted. @protocol: the subprotocol
 * that the server has chosen, or NULL. @x must not be used afterwards. Owns: *@out is valid until
 * `over` has returned.
 */
void websocket_open(struct websocket **out, uv_loop_t *loop, struct http_exchange *x,
	const char *protocol, const struct websocket_user *user);

/* Send a message. Returns: as frames_send(). */
int websocket_send(struct websocket *w, bool is_text, const char *data, size_t bytes);
/* Return whether WEBSOCKET_BEHIND_BYTES or more wait for the client. */
bool websocket_is_behind(const struct websocket *w);
/* Return how many bytes wait for the client. */
size_t websocket_waiting(const struct websocket *w);
/* Read nothing from the client while @is_paused, so that it has to wait. */
void websocket_pause(struct websocket *w, bool is_paused);
/* End the connection without a word, for a client that does not read. `over` follows from the loop.
 */
void websocket_drop(struct websocket *w);
/* Close the WebSocket. `over` follows, when the client has answered or WEBSOCKET_END_MS have
 * passed. */
enum { WEBSOCKET_END_MS = 2000 };
void websocket_close(struct websocket *w, enum frames_close code, const char *reason);
