/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call/port_connection.h"

#include "api/operation/principal.h"
#include "registry/ports.h"
#include "registry/registry.h"

struct port_link *port_connection_open(const struct operation_context *context, const char *session,
	uint16_t port, const struct port_user *user, struct err *err)
{
	struct registry *r = context->registry;
	if (context->principal)
		r = registry_view(r, principal_owner(context->principal));
	if (r)
		return registry_port_connect(r, session, port, user, err);
	err_set(err, ERR_NO_MEMORY, "no memory for a connection");
	return NULL;
}
