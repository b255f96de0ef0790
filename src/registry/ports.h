/* Ports of sessions: what listens in a box, and where on the host it can be reached.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"
#include "session/port/port.h"

#include <stdbool.h>
#include <stdint.h>

enum { PORTS_SESSION_MAX = 16 }; /* ports of a session that are open on the host */

/* A port to open. */
struct registry_port {
	const char *session;
	uint16_t port; /* in the box */
	/* As for place_parse(); "unix": a socket in the engine's directory; "http": for
	 * registry_port_connect(). */
	const char *listen;
	bool is_early; /* open it even if nothing listens there yet */
};

/* List the ports on which programs of the session listen, and those that are open on the host.
 * Result: {"ports": [{port, listening, addresses?, open?}]}. */
void registry_port_list(struct registry *r, const char *session, registry_done_fn *done, void *arg);

/*
 * Open a port of the session on the host, until registry_port_close() or the session's end. Result:
 * {port, address}, {port, path} or {port, url_path}. A new connection counts as a use of the
 * session. Errors: ERR_NOT_FOUND (nothing listens there), ERR_DENIED (this owner may not; "http"
 * for a session of the operator, who has no token), ERR_LIMIT (the address is taken; too many
 * ports), ERR_USAGE, ERR_ACCESS.
 */
void registry_port_open(
	struct registry *r, const struct registry_port *port, registry_done_fn *done, void *arg);

/* Close the port of the session, and all its connections. Result: {"closed": number of places}.
 * Returns: NULL and
 * @err on failure. Errors: ERR_NOT_FOUND. */
json_t *registry_port_close(
	struct registry *r, const char *session, uint16_t port, struct err *err);

/*
 * Connect to a port of the session that was opened with "http". Only this owner's sessions are
 * found. Owns:   as port_connect(). Errors: ERR_NOT_FOUND: no such session, or its port is not
 * open; ERR_BUSY. NULL is returned then.
 */
struct port_link *registry_port_connect(struct registry *r, const char *session, uint16_t port,
	const struct port_user *user, struct err *err);
