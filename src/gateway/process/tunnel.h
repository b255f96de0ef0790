/* A WebSocket, once the server has accepted it: bytes pass between the program's connection and the
 * two buffers of its exchange. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/process/exchange.h"

/* Make the response that ends HTTP on the program's connection. Returns: NULL without memory. */
struct MHD_Response *tunnel_response(struct exchange *x);
/* Go on: there is more in x->down, room in x->up, or the server has ended. Does nothing before the
 * response was sent. */
void tunnel_go_on(struct exchange *x);
/* End the program's connection. */
void tunnel_end(struct exchange *x);
