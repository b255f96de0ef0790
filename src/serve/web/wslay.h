/* The libraries libwslay and GnuTLS, which are loaded when the first WebSocket is opened.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <gnutls/crypto.h>
#include <wslay/wslay.h>

/* The functions that we use, without the prefix "wslay_event_". */
#define WSLAY_SYMBOLS(X)                                                                           \
	X(config_set_max_recv_msg_length)                                                          \
	X(context_free)                                                                            \
	X(context_server_init)                                                                     \
	X(get_close_received)                                                                      \
	X(get_queued_msg_count)                                                                    \
	X(get_queued_msg_length)                                                                   \
	X(queue_close)                                                                             \
	X(queue_msg)                                                                               \
	X(recv)                                                                                    \
	X(send)                                                                                    \
	X(set_error)                                                                               \
	X(want_read)                                                                               \
	X(want_write)

struct wslay {
#define X(symbol) typeof(wslay_event_##symbol) *symbol;
	WSLAY_SYMBOLS(X)
#undef X
	/* of GnuTLS, which libmicrohttpd brings along: SHA-1, for the handshake */
	typeof(gnutls_hash_fast) *hash_fast;
};

/* Load the libraries. Errors: ERR_NOT_FOUND with a hint. */
int wslay_load(struct wslay *w, struct err *err);
