/* The library libmicrohttpd, which is loaded when the HTTP server is started.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <microhttpd.h>

/* The functions of the library that we use. */
#define MICROHTTPD_SYMBOLS(X)                                                                      \
	X(add_connection)                                                                          \
	X(add_response_header)                                                                     \
	X(create_post_processor)                                                                   \
	X(create_response_from_buffer)                                                             \
	X(create_response_from_callback)                                                           \
	X(create_response_for_upgrade)                                                             \
	X(destroy_post_processor)                                                                  \
	X(destroy_response)                                                                        \
	X(get_connection_info)                                                                     \
	X(get_connection_values)                                                                   \
	X(get_daemon_info)                                                                         \
	X(get_timeout)                                                                             \
	X(lookup_connection_value)                                                                 \
	X(post_process)                                                                            \
	X(queue_response)                                                                          \
	X(resume_connection)                                                                       \
	X(run)                                                                                     \
	X(start_daemon)                                                                            \
	X(stop_daemon)                                                                             \
	X(suspend_connection)                                                                      \
	X(upgrade_action)

struct microhttpd {
#define X(symbol) typeof(MHD_##symbol) *symbol;
	MICROHTTPD_SYMBOLS(X)
#undef X
};

/* Load the library at run time. Linking it would cost each start of retort 2 ms of CPU time,
 * because it brings eight libraries for TLS, which we do not use. Errors: ERR_NOT_FOUND with a
 * hint. */
int microhttpd_load(struct microhttpd *m, struct err *err);
