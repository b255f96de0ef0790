/* A connection to a port of a session, for the HTTP server. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "session/port/port.h"

/*
 * Connect to a port that the caller of @context has opened with `port.open` and `listen`: http.
 * Other callers' sessions are not found. Owns, errors: as port_connect(); ERR_NOT_FOUND: no such
 * session, or its port is not open.
 */
struct port_link *port_connection_open(const struct operation_context *context, const char *session,
	uint16_t port, const struct port_user *user, struct err *err);
