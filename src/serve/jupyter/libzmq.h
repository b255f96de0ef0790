/* libzmq, loaded when a kernel is started. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <zmq.h>

/* The functions that we use, without the prefix "zmq_". */
#define LIBZMQ_SYMBOLS(X)                                                                          \
	X(bind)                                                                                    \
	X(close)                                                                                   \
	X(ctx_new)                                                                                 \
	X(ctx_term)                                                                                \
	X(errno)                                                                                   \
	X(getsockopt)                                                                              \
	X(msg_close)                                                                               \
	X(msg_data)                                                                                \
	X(msg_init)                                                                                \
	X(msg_more)                                                                                \
	X(msg_recv)                                                                                \
	X(msg_size)                                                                                \
	X(send)                                                                                    \
	X(setsockopt)                                                                              \
	X(socket)                                                                                  \
	X(strerror)

/* Pointers are named with a "_", since errno is a macro. */
struct libzmq {
#define X(symbol) typeof(zmq_##symbol) *symbol##_;
	LIBZMQ_SYMBOLS(X)
#undef X
};

/* Load the library. retort is not linked with it: it and the libraries that it needs would be
 * loaded at each start, and only `retort kernel` uses it. Errors: ERR_NOT_FOUND with a hint. */
int libzmq_load(struct libzmq *lib, struct err *err);
